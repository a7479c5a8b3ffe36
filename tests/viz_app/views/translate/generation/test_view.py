"""The page Generation without a browser, and the other pages while the model has no causal mask."""

import html
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.analysis.tokens.words import readable
from core.formats.checkpoint import save_checkpoint
from core.model import Transformer
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.viz_app.pages import Start, healthy, opened, reading
from viz_app.page_list import VIEWS
from viz_app.views.translate.generation import compared_models


@pytest.fixture(autouse=True)
def shipped(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    tiny_model: Transformer,
    tokenizer: SentencePieceTokenizer,
    mask_predict_checkpoint: Path,
) -> None:
    """A smaller model of the same vocabulary as the shipped draft, and the tiny mask-predict model. Each runs once."""
    monkeypatch.setattr(compared_models, "RUNS", 1)
    torch.manual_seed(2)
    draft = Transformer(replace(tiny_model.config, num_decoder_layers=1))
    save_checkpoint(tmp_path / "tiny-draft.safetensors", draft, tokenizer)
    monkeypatch.setattr(compared_models, "DRAFT", tmp_path / "tiny-draft.safetensors")
    monkeypatch.setattr(compared_models, "MASK_PREDICT", mask_predict_checkpoint)


@pytest.fixture
def forced_checkpoint(tmp_path: Path, tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> Path:
    """A model whose translations begin with a forced token."""
    path = tmp_path / "forced.safetensors"
    save_checkpoint(path, Transformer(replace(tiny_model.config, forced_first_id=5)), tokenizer)
    return path


def drawn(app: AppTest) -> list[str]:
    return [body for each in app.get("html") if 'class="token-rows"' in (body := str(each.proto.body))]


def test_three_ways_and_the_attention_of_an_iteration(start: Start, mask_predict_checkpoint: Path) -> None:
    app = opened(start(text="Where is it?", iterations="3", generation_step="2"), "generation")
    one_by_one, speculative, mask_predict = drawn(app)
    current = reading(app)
    greedy = current.model.translator.translate("Where is it?", 1, 0.0)
    assert one_by_one.count("<tr") == 2
    checks = speculative.count("<tr")
    table = app.dataframe[-1].value.set_index("search")
    assert list(table.index) == ["Greedy search", "Beam search, 4", "Speculative decoding", "Mask-predict"]
    assert table["tokens"]["Speculative decoding"] == len(greedy.hypotheses[0].token_ids)
    assert table["passes of the decoder"]["Speculative decoding"] == checks
    assert mask_predict.count("<tr") == table["passes of the decoder"]["Mask-predict"]
    assert "class=selected><th scope=row>Iteration 2<" in mask_predict
    best = Translator.from_checkpoint(mask_predict_checkpoint, "cpu").translate("Where is it?", 5, iterations=3)
    pieces = [f"<b dir=auto>{html.escape(readable(token))}</b>" for token in best.hypotheses[0].tokens]
    last = mask_predict.split("<tr")[-1]
    assert re.findall("<b.*?</b>", last) == pieces
    assert last.count('class="predicted"') == (best.hypotheses[0].fed_ids or ()).count(3)
    assert 'class="masked"' not in last
    app.segmented_control(key="generation_kind").set_value("cross")
    healthy(app.slider(key="draft_tokens").set_value(1).run())


@pytest.mark.usefixtures("small_pages")
def test_other_pages_say_that_they_do_not_fit(start: Start, mask_predict_checkpoint: Path) -> None:
    app = healthy(start(mask_predict_checkpoint, text="Where?", iterations="2", picture_view="table").run())
    assert reading(app).hypothesis.fed_ids is not None
    for page in VIEWS[1:]:
        opened(app, page.name)
        notes = [note.value for note in app.info if "predicts all tokens of a translation at once" in note.value]
        assert bool(notes) != ("mask-predict" in page.models), page.name
        assert not app.error, page.name


def test_without_the_other_models_the_page_says_what_is_missing(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DRAFT", "MASK_PREDICT"):
        monkeypatch.setattr(compared_models, name, Path("nothing.safetensors"))
    app = opened(start(text="Where is it?"), "generation")
    assert [note.value.split(":")[0] for note in app.info] == [
        "There is no smaller model with the vocabulary of tiny\\.safetensors to draft for it",
        "There is no model without causal mask",
    ]
    assert len(drawn(app)) == 1


def test_a_forced_first_token_leaves_speculative_decoding_out(start: Start, forced_checkpoint: Path) -> None:
    app = opened(start(forced_checkpoint, text="Where is it?", iterations="1"), "generation")
    assert not app.error
    assert "begins with a forced token" in app.info[0].value
    assert list(app.dataframe[-1].value["search"]) == ["Greedy search", "Beam search, 4", "Mask-predict"]


@pytest.mark.parametrize(("seconds", "expected"), [(0.01, 3), (0.2, 2), (5.0, 1)])
def test_a_run_that_takes_long_is_not_repeated(monkeypatch: pytest.MonkeyPatch, seconds: float, expected: int) -> None:
    monkeypatch.setattr(compared_models, "RUNS", 3)
    times, runs = iter(range(100)), list[int]()
    monkeypatch.setattr(compared_models, "time", SimpleNamespace(perf_counter=lambda: next(times) * seconds))
    found = compared_models._measured(lambda: runs.append(0))  # pyright: ignore[reportPrivateUsage]
    assert (len(runs), found.seconds) == (expected, pytest.approx(seconds))
