"""The Python beside every export runs as it stands, and writes the same table as the CSV button."""

import io
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from core import Translator
from core.analysis.corpus.index_file import index_beside, save_index
from core.analysis.layers import path_length
from core.analysis.over_training.history import open_history, pack_history
from core.analysis.signs.pair_signs import SIGNS
from core.analysis.signs.thresholds import SignThresholds, Threshold
from core.cli.commands import main
from core.export import load_explanation
from core.images.rendering import Style, render
from core.text.tokenizer import SentencePieceTokenizer
from tests.viz_app.pages import Start, comes_to, healthy, opened, parsed, reading, state_of
from viz_app.controls import downloads, job_control
from viz_app.controls.job_control import TURN
from viz_app.frame import share_menu
from viz_app.session import model_paths, python_code, sample_sentences, signs
from viz_app.session.jobs import Job
from viz_app.session.models import ROOT, model_at
from viz_app.session.open_models import OpenModels
from viz_app.views.compare.one_sentence import nearest as compare_nearest
from viz_app.views.compare.test_set.compared_file import ComparedFile
from viz_app.views.corpus.opened_index import OwnIndex
from viz_app.views.experiments.head_paths import paths_survey
from viz_app.views.experiments.switches.switched_heads import HeadsOffSlot
from viz_app.views.models.over_training import measurement
from viz_app.views.models.parsing import parser_model
from viz_app.views.paper.build_one import lab_run
from viz_app.views.paper.positions.score_decomposition import FIRST_LAYER
from viz_app.views.translate.generation import compared_models
from viz_app.views.translate.score.scored_file import ScoredFile
from viz_app.views.why.contrast.faithfulness_sample import FaithfulnessSample

Row = tuple[Callable[[], bytes], Callable[[str], str]]  # the CSV, and the script from the name of its file


@pytest.fixture(scope="module", autouse=True)
def opened_once() -> Iterator[None]:
    """The scripts of all rows share the checkpoints and histories that they open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Translator, "from_checkpoint", cache(Translator.from_checkpoint))
        patch.setattr("core.analysis.over_training.history.snapshots.open_history", cache(open_history))
        yield


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Row]:
    """The export rows drawn, by their names."""
    found: dict[str, Row] = {}

    def record(
        name: str, files: dict[str, Callable[[], bytes]], _picture: object, python: Callable[[str], str]
    ) -> None:
        found[name] = files.get("csv", bytes), python

    monkeypatch.setattr(downloads, "export_row", record)
    monkeypatch.setattr(python_code, "is_on_this_machine", lambda: True)
    monkeypatch.chdir(tmp_path)  # a script runs in any folder
    return found


def test_only_visitors_of_this_machine_see_its_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    paths = ROOT / "checkpoints" / "en-de.safetensors", tmp_path / "model.safetensors"
    for is_here, shown in ((True, str(paths[1])), (False, "model.safetensors")):
        monkeypatch.setattr(python_code, "is_on_this_machine", lambda is_here=is_here: is_here)
        assert [*map(python_code.shown_path, paths)] == ["checkpoints/en-de.safetensors", shown]


def run_all(rows: dict[str, Row], count: int) -> None:
    """Run the script of every row drawn since the last call."""
    assert len(rows) == count, list(rows)
    for name, (csv, python) in rows.items():
        with TemporaryDirectory() as folder:
            code = python(f"{folder}/out.csv")
            assert "viz_app" not in code
            exec(compile(code, name, "exec"), {})
            found, expected = (pd.read_csv(io.BytesIO(file)) for file in (Path(folder, "out.csv").read_bytes(), csv()))
            # a search that is repeated by a replay gives the same numbers to rounding
            pd.testing.assert_frame_equal(found, expected, rtol=1e-4, atol=1e-5, obj=code)
    rows.clear()


def only(rows: dict[str, Row], *beginnings: str) -> None:
    """Leave out the rows of other pages, and those that were compared before."""
    for name in [name for name in rows if not name.startswith(beginnings)]:
        del rows[name]


def after_job(app: AppTest, rows: dict[str, Row], job: Job | None) -> AppTest:
    """The app with the rows that it draws when a job has ended."""
    assert job is not None
    while job.advance(TURN):
        pass
    rows.clear()
    return healthy(app.run())


WHERE = "text=Where?&beam_size=1"
CONTRIBUTIONS = "contributions(?!-heads|-source|-prefix)|lexicon"
TRAINING_STEPS = ("", "&at=label&reference=Wo?", "&at=gradient")
SELECTION = "selection=cross|norms|L1+H2|Mean+of+all|Maximum+of+chosen"


@pytest.mark.parametrize(
    ("address", "count", "names"),
    [
        ("translate?text=Where?&beam_size=2&target=345.28.2", 2, ""),
        ("beam?text=Where?&beam_size=2&prefix=345", 1, "beam"),
        (f"heads?{WHERE}&hide_special=false&heads_cross=L1+H2", 2, ""),
        (f"heads?{WHERE}&hide_special=false&weights=norms&heads_cross=Maximum+of+chosen&heads_cross=L2+H1", 3, ""),
        (f"heads?{WHERE}&hide_special=false&weights=gradient&heads_cross=Mean+of+all", 2, ""),
        (f"heads?{WHERE}&hide_special=false&weights=rollout&layers_cross=L2", 2, ""),
        (f"heads?{WHERE}&kind=joint", 1, ""),
        (f"heads?{WHERE}&kind=joint&weights=norms", 1, ""),
        (f"heads?{WHERE}&view=bertviz&bertviz_view=Head+view", 1, ""),
        (f"heads?{WHERE}&view=bertviz&bertviz_view=Model+view", 1, ""),
        (f"alignment?{WHERE}&target=345.28.346.2&links=0-0", 1, ""),
        (f"table_3?{WHERE}", 1, ""),
        # of the contributions, all but pictures of the numbers of the others
        (f"contributions?{WHERE}&target=345.28.2&term=cross+L2+H1&against=mean+of+all", 3, CONTRIBUTIONS),
        (f"contributions?{WHERE}&target=345.28.2&term=decoder+L1+H2&against=mean+of+all", 3, CONTRIBUTIONS),
        (f"lens?{WHERE}&target=345.28.2", 3, "lens|encoder-levels"),
        (f"step_through?{WHERE}&target=345.28.2&at=cross-softmax", 1, ""),
        *((f"training_step?{WHERE}&target=345.28.2&schedule_step=50{at}", 1, "") for at in TRAINING_STEPS),
        *((f"paper_figures?{WHERE}&figure=Figure+{n}&paper_text_{n}=A+dog+runs.", 1, "") for n in (3, 4, 5)),
        (f"paper_figures?{WHERE}&figure=Selection+on+Heads&{SELECTION}", 1, ""),
    ],
)
def test_an_address(start: Start, rows: dict[str, Row], address: str, count: int, names: str) -> None:
    page, parameters = parsed(address)
    opened(start(**parameters), page)
    for name in [name for name in rows if not re.match(names, name)]:
        del rows[name]
    run_all(rows, count)


def test_samples_and_a_beam_under_constraints(start: Start, rows: dict[str, Row]) -> None:
    settings = {"text": "Where?", "beam_size": "2", "min_length": "2", "forbidden": "1.345"}
    app = opened(start(samples="true", num_samples="3", top_p="0.8", **settings), "translate")
    run_all(rows, 3)
    opened(app, "beam")
    only(rows, "beam")
    run_all(rows, 1)


@pytest.mark.parametrize("against", ["Hypothesis", "Sentence"])
def test_compare(start: Start, rows: dict[str, Row], monkeypatch: pytest.MonkeyPatch, against: str) -> None:
    monkeypatch.setattr(job_control, "TURN", 60.0)
    for module in (compare_nearest, sample_sentences):
        monkeypatch.setattr(module, "SHIPPED", ("A dog.", "It rains."))
    cell = {"compare_head_cross": "L2 H3", "products": "compare_second_cross_map.cross.2.3.1.1", "nearest": "true"}
    if against == "Sentence":
        cell |= {"second_head_cross": "L1 H2", "products": "compare_second_cross_map.cross.1.2.1.1"}
    app = opened(start(text="A dog.", beam_size="2", against=against, second_text="A wet dog.", **cell), "compare")
    only(rows, "first", "second", "difference", "score-products", "nearest")
    run_all(rows, 5)
    if against == "Sentence":
        healthy(app.selectbox(key="compare_weights").set_value("rollout").run())
        run_all(rows, 3)


def test_switches(start: Start, rows: dict[str, Row]) -> None:
    app = opened(start(text="Where?", beam_size="1", switched="cross L1 H2 0.5"), "switches")
    after_job(app, rows, state_of(app, HeadsOffSlot).measured.job)  # type: ignore[union-attr]
    run_all(rows, 3)


def test_training(start: Start, rows: dict[str, Row], tiny_checkpoint: Path, tmp_path: Path) -> None:
    for suffix in (".log.jsonl", ".md"):
        shutil.copy(ROOT / "checkpoints" / f"en-de{suffix}", tmp_path)
    app = opened(start(Path(shutil.copy(tiny_checkpoint, tmp_path / "en-de.safetensors")), text="A dog."), "training")
    run_all(rows, 1)
    for view in ("Learning rate", "Samples"):
        healthy(app.segmented_control(key="training_view").set_value(view).run())
        run_all(rows, 1)


@pytest.mark.parametrize("own", ["", "".join(f"a{number} b\tb a{number}\n" for number in range(20))])
def test_build_one(start: Start, rows: dict[str, Row], monkeypatch: pytest.MonkeyPatch, own: str) -> None:
    monkeypatch.setattr(lab_run, "STEPS", (2,))
    choice = {"lab_task": "own" if own else "sort", "lab_part": "no_positions", "lab_size": "one", "lab_steps": "2"}
    app = opened(start(**choice, lab_seed="7"), "build_one")
    if own:
        healthy(app.text_area(key="lab_own").set_value(own).run())
    run = state_of(app, lab_run.LabSlot).measured
    after_job(app, rows, run and run.job)
    run_all(rows, 2)


def test_table_1(start: Start, rows: dict[str, Row], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_length, "TRACED", (2, 4, 8))
    monkeypatch.setattr(path_length, "path_lengths", cache(path_length.path_lengths.__wrapped__))
    app = opened(start(text="Where?", beam_size="1"), "why")
    run_all(rows, 1)
    for view in app.segmented_control(key="why_view").options[1:]:
        healthy(app.segmented_control(key="why_view").set_value(view).run())
        run_all(rows, 1)


def test_score(start: Start, rows: dict[str, Row], monkeypatch: pytest.MonkeyPatch) -> None:
    limits = SignThresholds({name: Threshold(0.5, 8, 0.0) for name in SIGNS}, "a sample", 8)
    monkeypatch.setattr(signs, "thresholds", lambda _: limits)
    app = opened(start(text="Where?", beam_size="1"), "score")
    app.text_area(key="score_pasted").set_value("A dog runs.\tEin Hund.\nThe sea.")
    healthy(app.button(key="score_submit").click().run())
    after_job(app, rows, state_of(app, ScoredFile).job)
    run_all(rows, 1)  # the sentences, as signs fire
    healthy(app.segmented_control(key="listed").set_value("words").run())
    run_all(rows, 1)


def test_two_models_over_a_test_set(start: Start, rows: dict[str, Row], small_checkpoint: Path) -> None:
    app = start(text="Where?", beam_size="1")
    state_of(app.run(), OpenModels).add(model_at(small_checkpoint), show=False)
    app = opened(app, "test_set")
    app.text_area(key="test_set_pasted").set_value("A dog runs.\tEin Hund rennt.\nThe sea.\tDas Meer.")
    healthy(app.button(key="test_set_submit").click().run())
    after_job(app, rows, state_of(app, ComparedFile).job)
    run_all(rows, 6)


def test_contrast(start: Start, rows: dict[str, Row], small_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_control, "TURN", 60.0)
    app = opened(start(small_checkpoint, text="Where?", beam_size="1", target="345.28.2", token="1"), "contrast")
    sample = state_of(app, FaithfulnessSample)
    sample.begin(reading(app).model, ("Where?", "The sea."), True)
    after_job(app, rows, sample.job)
    run_all(rows, 5)


def test_generation(
    start: Start, rows: dict[str, Row], mask_predict_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compared_models, "MASK_PREDICT", mask_predict_checkpoint)
    monkeypatch.setattr(compared_models, "drafts_for", lambda *_: True)  # a model drafts for itself
    opened(start(text="Where?", beam_size="2", iterations="3", generation_step="1"), "generation")
    for name in [name for name in rows if name not in ("one-by-one", "speculative") and "mask-predict" not in name]:
        del rows[name]  # of the page Translate, and measured times
    run_all(rows, 4)


@pytest.fixture
def two_snapshots(run_history: Path, tmp_path: Path) -> Path:
    """The last two snapshots of `run_history` in one file."""
    run = Path(shutil.copytree(run_history, tmp_path / "run"))
    min((run / "history").iterdir()).unlink()
    pack_history(run, tmp_path / "two.history.zip")
    return tmp_path / "two.history.zip"


def test_over_training(
    start: Start, rows: dict[str, Row], two_snapshots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_paths, "may_type_path", lambda: True)
    monkeypatch.setattr(job_control, "TURN", 60.0)
    for module in (measurement, sample_sentences):
        monkeypatch.setattr(module, "SHIPPED", ("Where?", "The sea."))
    cell = {"trained_head": "2.3", "products": "trained_map_now.cross.2.3.1.1"}
    app = start(text="Where?", beam_size="1", trained_steps="100", **cell)
    app.session_state["history"] = str(two_snapshots)
    opened(app, "over_training")
    run_all(rows, 4)
    for view, count in (("Layers", 2), ("Translations", 1), ("Loss", 1)):
        healthy(app.segmented_control(key="trained_view").set_value(view).run())
        for name in [name for name in rows if name.startswith(("snapshot", "score-products"))]:
            del rows[name]  # compared above
        run_all(rows, count)
    healthy(app.segmented_control(key="trained_view").set_value("Score").run())
    healthy(app.segmented_control(key="trained_on").set_value("Sentence").run())
    run_all({"score": rows["trained-score-cross"]}, 1)


@pytest.mark.parametrize(("view", "count"), [("Components", 3), ("Paths between heads", 2)])
def test_patching(start: Start, rows: dict[str, Row], monkeypatch: pytest.MonkeyPatch, view: str, count: int) -> None:
    monkeypatch.setattr(job_control, "TURN", 60.0)
    address = {"text": "His hand.", "beam_size": "1", "target": "345.28.346.2", "sender": "encoder_self.1.2"}
    opened(start(**address, patch_view=view, patch_mean="true", patch_into="clean"), "patching")
    run_all(rows, count)


def test_head_paths(
    start: Start, rows: dict[str, Row], small_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_control, "TURN", 60.0)
    monkeypatch.setattr(paths_survey, "MEASURED", 12)  # fewer edges than there are
    shown = {"path": "encoder_self.1.2-cross.2.1-key", "products": "paths-map-1.cross.2.1.1.2"}
    address = {"text": "Where?", "beam_size": "1", "target": "345.28.2", "token": "2", "paths_by": "zero"}
    opened(start(small_checkpoint, **address, **shown), "head_paths")
    run_all(rows, 2)


def test_positions(start: Start, rows: dict[str, Row]) -> None:
    app = opened(start(text="Where?", beam_size="1"), "positions")
    run_all(rows, 1)
    for view in ("Sinusoids", "Similarity", "Rotation", "Extrapolation", FIRST_LAYER):
        healthy(app.segmented_control(key="positions_view").set_value(view).run())
        run_all(rows, 1)


def test_parsing(start: Start, rows: dict[str, Row], tree_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser_model, "SHIPPED", tree_checkpoint)
    app = opened(start(text="It rains.", beam_size="1"), "parsing")
    rows.clear()
    healthy(app.run())
    position = next(match[1] for each in app.markdown if (match := re.search(r"at position (\d+) of", each.value)))
    rows.clear()
    healthy(comes_to(app, products=f"bracket_map.cross.1.2.{position}.1").run())
    run_all(rows, 3)


def test_picture(start: Start, rows: dict[str, Row], line_checkpoint: Path) -> None:
    shown = {"picture_view": "map", "picture_head": "L2 H3", "products": "picture_map.cross.2.3.1.1"}
    opened(start(line_checkpoint, picture_text="Hi", picture_noise="5", **shown), "picture")
    run_all(rows, 2)


def test_the_path_of_a_checkpoint_in_the_project_is_relative_and_an_upload_is_named(
    tokenizer: SentencePieceTokenizer,
) -> None:
    from core.model import Transformer
    from core.model.preset_configs import PRESETS
    from viz_app.session.model_memory import Loaded
    from viz_app.session.models import Model
    from viz_app.session.python_code import model_part
    from viz_app.session.uploads import TOGETHER

    translator = Loaded(Translator(Transformer(PRESETS["tiny"]), tokenizer))
    assert "from_checkpoint('a/b.safetensors')" in model_part(Model("b", "", translator, str(ROOT / "a/b.safetensors")))
    assert model_part(Model("b", "", translator, "b.safetensors")).endswith("# the file that you uploaded")
    imported = model_part(Model("b", "", translator, TOGETHER, is_imported=True))
    assert "import_checkpoint('.')  # the folder of the files that you uploaded" in imported


def test_corpus(start: Start, rows: dict[str, Row], tiny_checkpoint: Path, tmp_path: Path) -> None:
    checkpoint = Path(shutil.copy(tiny_checkpoint, tmp_path / "model.safetensors"))
    (tmp_path / "pairs.tsv").write_text("A dog runs.\tEin Hund.\nThe sea.\tDas Meer.", encoding="utf-8")
    assert main(["corpus", "--checkpoint", str(checkpoint), "--input", str(tmp_path / "pairs.tsv")]) == 0
    address = {"corpus_head": "cross L1 H1", "corpus_range": "spread_0_1", "corpus_kind": "cross"}
    app = opened(start(checkpoint, text="Where?", beam_size="1", **address), "corpus")
    only(rows, "corpus")
    run_all(rows, 3)
    healthy(app.select_slider(key="corpus_decile").set_value("1").run())
    run_all(rows, 4)  # with the strengths of the sample
    healthy(app.button_group(key="corpus_part").set_value("All sentences").run())
    run_all(rows, 4)
    app.button_group(key="corpus_part").set_value("Tokens")
    healthy(app.button_group(key="corpus_view").set_value("Two measures").run())
    run_all(rows, 2)
    app.button_group(key="corpus_view").set_value("Neurons")
    opened(app, "translate")
    run_all(rows, 2)


def test_own_corpus_index(start: Start, rows: dict[str, Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script opens the index under the name with which it was saved."""
    app = opened(start(text="Where?", beam_size="1"), "corpus")
    app.text_area(key="corpus_text").set_value("A dog runs.\tEin Hund.\nThe sea.\tDas Meer.")
    healthy(app.button(key="corpus_submit").click().run())
    own = state_of(app, OwnIndex)
    after_job(app, rows, own.job)
    assert own.opened is not None
    rows.clear()
    healthy(app.run())
    model = Path(reading(app).model.path)
    monkeypatch.chdir(tmp_path)
    save_index(index_beside(tmp_path / model.name), own.opened.index)
    assert "# the file that you saved or uploaded" in rows["corpus-heads"][1]("out.csv")
    run_all(rows, 3)


def test_iteration_of_mask_predict(
    start: Start, mask_predict_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the menu offers of a model that predicts all tokens at once explains its last iteration."""
    monkeypatch.setattr(python_code, "is_on_this_machine", lambda: True)
    app = healthy(start(mask_predict_checkpoint, text="Where?", beam_size="2").run())
    about = reading(app)
    assert about.hypothesis.fed_ids is not None
    monkeypatch.chdir(tmp_path)
    exec(compile(share_menu.python(about), "menu", "exec"), {})
    own = load_explanation(next(tmp_path.glob("*.json"))).explanation
    assert own.log_probs == pytest.approx(about.explain().log_probs, abs=1e-5)


def test_uploaded_picture(
    start: Start, rows: dict[str, Row], line_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = opened(start(line_checkpoint), "picture")
    healthy(app.segmented_control(key="picture_source").set_value("Upload a picture").run())
    file = io.BytesIO()
    Image.fromarray(render("up", Style())).save(file, "PNG")
    rows.clear()
    healthy(app.file_uploader(key="picture_file").set_value(("up.png", file.getvalue(), "image/png")).run())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "up.png").write_bytes(file.getvalue())
    run_all(rows, 1)
