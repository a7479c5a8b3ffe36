"""Contents in memory: those of the operator go, the least recently used first, when there is no room."""

import gc
import threading
from pathlib import Path
from weakref import ref

import pytest

from core import Translator, load_checkpoint, save_checkpoint
from core.files.budget import MIB
from core.files.process_memory import PROCESS
from viz_app.session import environment, model_memory
from viz_app.session.model_opening import opened_model
from viz_app.session.models import Model, ModelError, model_at

pytestmark = pytest.mark.usefixtures("nothing_in_memory")


@pytest.fixture
def files(tiny_checkpoint: Path, tmp_path: Path) -> list[Path]:
    """Four checkpoints that differ in one parameter."""
    checkpoint = load_checkpoint(tiny_checkpoint)
    paths = [tmp_path / f"{number}.safetensors" for number in range(4)]
    for path in paths:
        next(iter(checkpoint.model.parameters())).data += 0.01
        save_checkpoint(path, checkpoint.model, checkpoint.tokenizer)
    return paths


def in_memory(models: list[Model]) -> list[bool]:
    return [(model.digest, "exact") in model_memory._in_memory for model in models]


def test_the_least_recently_used_goes_and_is_loaded_again(files: list[Path]) -> None:
    first, second = models = [model_at(path) for path in files[:2]]
    assert in_memory(models) == [True, True]
    found = first.translator.translate("A dog.").hypotheses[0]
    assert first.translator is first.translator
    assert model_memory._drop_offered()
    assert in_memory(models) == [True, False]
    assert second.translator is not None
    assert model_memory._drop_offered()
    assert in_memory(models) == [False, True]
    assert model_memory._drop_offered()
    assert not model_memory._drop_offered()
    again = first.translator.translate("A dog.").hypotheses[0]
    assert (again.token_ids, again.log_prob) == (found.token_ids, found.log_prob)


def test_a_model_for_which_there_is_no_memory_is_refused(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    monkeypatch.setattr(PROCESS, "limit", 10**9)
    monkeypatch.setattr(PROCESS, "reclaim", ())
    monkeypatch.setenv(environment.MEMORY_VARIABLE, "1000")
    model_memory.limit_memory()
    assert PROCESS.limit == 1000 * MIB
    offered, of_who_left = model_at(files[0]), [opened_model([files[1]], "")]
    monkeypatch.setattr(model_memory, "end_left_visitor", lambda: bool(of_who_left) and not of_who_left.clear())
    monkeypatch.setattr(PROCESS, "limit", PROCESS.held + files[0].stat().st_size)
    mine = opened_model([files[2]], "")
    assert not of_who_left
    assert in_memory([offered, mine]) == [True, True], "who has left goes first"
    monkeypatch.setattr(PROCESS, "limit", PROCESS.held + files[0].stat().st_size)
    other = opened_model([files[3]], "")
    assert in_memory([offered, mine, other]) == [False, True, True]
    monkeypatch.setattr(PROCESS, "limit", PROCESS.held + files[0].stat().st_size)
    message = r"1\.safetensors would take \d+ MB, .* that the app may have: use a smaller model, close a model, or"
    with pytest.raises(ModelError, match=message):
        opened_model([files[1]], "")


def test_what_runs_on_a_model_goes_on_while_it_is_evicted(files: list[Path]) -> None:
    model = model_at(files[0])
    translator = model.translator
    model_memory._drop_offered()
    assert model.translator is translator, "found again, not loaded a second time"
    model_memory._drop_offered()
    assert translator.translate("A dog.").hypotheses
    gone = ref(translator)
    del translator
    assert gone() is None


def test_many_visitors_load_a_model_once(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    model, loads = model_at(files[0]), list[Path]()
    model_memory._kept.clear()
    load = Translator.from_checkpoint
    monkeypatch.setattr(
        Translator, "from_checkpoint", lambda path, **options: loads.append(path) or load(path, **options)
    )
    found: list[Translator] = []
    threads = [threading.Thread(target=lambda: found.append(model.translator)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == [files[0]]
    assert len(set(map(id, found))) == 1


def test_another_file_is_not_taken_for_the_one_that_was_evicted(files: list[Path]) -> None:
    model = model_at(files[0])
    model_memory._kept.clear()
    files[0].write_bytes(files[1].read_bytes())
    with pytest.raises(ModelError, match=r"0\.safetensors has changed since it was opened: open it again"):
        _ = model.translator
    files[0].unlink()
    with pytest.raises(ModelError, match=r"0\.safetensors cannot be read \(No such file or directory\)"):
        _ = model.translator
