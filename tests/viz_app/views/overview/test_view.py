"""The page Overview without a browser: Figure 1, and where its links lead."""

import base64
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from core.trace import KINDS
from core.translator import Translator
from tests.viz_app.pages import Start, opened, reading
from viz_app.page_list import VIEWS
from viz_app.views.overview import figure1
from viz_app.views.overview.figure1 import TARGETS, figure1_content

SENTENCE = "Where is the dog?"


def filled(template: str, **values: object) -> str:
    """A link with values in place of the names in braces, as `addressOf` of figure1.js fills it."""
    return re.sub(r"\{(\w+)\}", lambda found: quote(str(values.get(found[1], "")), safe=""), template)


def followed(start: Start, link: str) -> AppTest:
    parts = urlsplit(link)
    address: dict[str, Any] = {name: texts[-1] for name, texts in parse_qs(parts.query).items()}
    return opened(start(**{"text": SENTENCE, "beam_size": "1", **address}), parts.path)


@pytest.fixture(scope="module")
def payload(tiny_checkpoint: Path) -> dict[str, Any]:
    """The data of the figure, of a sentence by the tiny model."""
    translator = Translator.from_checkpoint(tiny_checkpoint, "cpu")
    best = translator.translate(SENTENCE, beam_size=1).hypotheses[0]
    return figure1_content(translator.explain(SENTENCE, best.token_ids), translator.model.config)


def test_a_model_of_any_project_has_all_its_heads_and_links(
    start: Start, checkpoint_of_any_kind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(figure1, "_component", lambda data, key: sent.append(data))
    app = opened(start(checkpoint_of_any_kind, text=SENTENCE, beam_size="1"), "overview")
    config = reading(app).model.translator.model.config
    assert any("The model, and this sentence in it" in each.value for each in app.markdown)
    assert not app.error
    assert sent[-1]["links"].keys() == TARGETS.keys()
    for kind in KINDS:
        stack = "encoder" if kind == "encoder_self" else "decoder"
        maps, shape = sent[-1]["maps"][kind], sent[-1]["model"][stack]
        assert len(maps["layers"]) == shape["layers"] == getattr(config, f"num_{stack}_layers")
        size = 2 * maps["rows"] * maps["columns"]
        assert all(
            [len(base64.b64decode(head)) for head in heads] == [size] * shape["heads"] for heads in maps["layers"]
        )


def test_a_parser_has_the_links_that_fit(start: Start, tree_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(figure1, "_component", lambda data, key: sent.append(data))
    app = opened(start(tree_checkpoint, text="A dog runs."), "overview")
    assert not app.error
    assert {"head", "step", "other"} <= sent[-1]["links"].keys() < TARGETS.keys()


def test_every_link_leads_to_a_page_for_the_kind_of_model() -> None:
    names = {page.name: page.models for page in VIEWS}
    assert {page for page, _ in TARGETS.values()} <= names.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_opens_on_heads_with_its_kind_layer_head_and_word(
    start: Start, payload: dict[str, Any], kind: str
) -> None:
    word = payload["tokens"]["source"][-2]["word"]
    app = followed(start, filled(links()["head"], kind=kind, layer=2, head=3, word=word))
    assert app.button_group(key="kind").value == kind
    assert app.multiselect(key=f"heads_{kind}").value == ["L2 H3"]
    assert app.query_params["word"] == word


@pytest.mark.parametrize(("stack", "at"), [("encoder", "feed_forward-hidden"), ("decoder", "cross-residual")])
def test_a_sub_layer_opens_step_by_step_with_its_layer_and_token(
    start: Start, payload: dict[str, Any], stack: str, at: str
) -> None:
    token = payload["tokens"]["source" if stack == "encoder" else "target"][2]
    app = followed(start, filled(links()["step"], stack=stack, layer=2, head=1, step=at, **token))
    assert app.button_group(key="stack").value == stack
    assert app.selectbox(key="step_layer").value == "L2"
    assert app.selectbox(key="followed").value == token["followed"]
    assert app.query_params["at"] == at


def test_a_layer_opens_layer_by_layer(start: Start) -> None:
    app = followed(start, filled(links()["decoder.layer"], row=2, layer=1))
    assert app.query_params["cell"] == "2.1"


def test_a_probability_opens_the_question_why_not_this_word(start: Start, payload: dict[str, Any]) -> None:
    option = next(each for each in payload["options"][1] if not each["predicted"])
    app = followed(start, filled(links()["other"], row=2, piece=option["token"]))
    assert app.selectbox(key="token").value == 1
    assert app.button_group(key="rather_than").value == option["token"]


def links() -> dict[str, str]:
    """The links of a translation model without what the frame of a page adds."""
    texts = {link: [f"{name}={text}" for name, text in settings.items()] for link, (_, settings) in TARGETS.items()}
    return {link: f"{page}?{'&'.join(texts[link])}" for link, (page, _) in TARGETS.items()}


def test_a_link_keeps_the_sentence_and_its_settings(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[dict[str, str]] = []
    monkeypatch.setattr(figure1, "_component", lambda data, key: drawn.append(data["links"]))
    opened(start(text=SENTENCE, beam_size="1"), "overview")
    assert drawn[-1].keys() == TARGETS.keys()
    for link, address in drawn[-1].items():
        texts = parse_qs(urlsplit(address).query)
        assert (texts["text"], texts["beam_size"]) == ([SENTENCE], ["1"]), link
    assert drawn[-1]["head"].endswith("kind={kind}&heads_{kind}=L{layer}%20H{head}&word={word}")
