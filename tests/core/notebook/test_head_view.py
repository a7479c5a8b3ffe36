"""The selection of a `HeadView` is checked, reaches Python, and survives a change of the explanation."""

import html
import json
import re

import pytest
import torch
from traitlets import TraitError

from core import Explanation, Translator
from core.notebook import HeadView
from core.trace import Head
from tests.core.export.test_html_page import assert_every_weight

SOURCE = "A dog </script><b>runs</b>."


@pytest.fixture(scope="module")
def explanation(translator: Translator) -> Explanation:
    return translator.explain(SOURCE, "Ein Hund rennt.")


def test_the_selection_of_the_browser_reaches_python(explanation: Explanation) -> None:
    view = explanation.show()
    heads: list[Head] = []
    view.observe(lambda change: heads.append(change["new"]), "head")
    view.set_state({"head": ["decoder_self", 1, 2], "side": "key", "words": [2, 0], "view": "Map"})
    assert view.head == Head("decoder_self", 1, 2)
    assert heads == [view.head]
    assert (view.side, view.words, view.view) == ("key", (0, 2), "Map")
    assert view.tokens == (explanation.fed_tokens[0], explanation.fed_tokens[2])
    assert torch.equal(view.weights, explanation.maps["decoder_self"][1].weights[2])


def test_rows_of_the_decoder_are_named_by_the_predicted_token(explanation: Explanation) -> None:
    view = explanation.show(("cross", 0, 0))
    view.words = range(2)
    assert view.tokens == explanation.predicted_tokens[:2]


def test_the_browser_gets_every_weight(explanation: Explanation) -> None:
    assert_every_weight(explanation.show().get_state()["_data"], explanation)


@pytest.mark.parametrize(
    ("trait", "value", "message"),
    [
        ("head", ("cross", 2, 0), r"there is no head \('cross', 2, 0\): .* cross with 2 layers of 4 heads"),
        ("head", ("cross", 0, -1), "there is no head"),
        ("head", "cross L1 H1", "there is no head"),
        ("words", (0, 99), r"there are no words \(0, 99\) on the side 'query': expected positions from 0 to"),
        ("words", "dog", "there are no words 'dog'"),
        ("side", "rows", "'side' trait"),
        ("view", "Lies", "'view' trait"),
    ],
)
def test_a_wrong_selection_is_refused(explanation: Explanation, trait: str, value: object, message: str) -> None:
    view = explanation.show()
    before = getattr(view, trait)
    with pytest.raises(TraitError, match=message):
        setattr(view, trait, value)
    assert getattr(view, trait) == before


def test_words_that_the_other_axis_lacks_are_dropped(translator: Translator) -> None:
    view = translator.explain("A dog runs through the green grass.", "Hund").show(("cross", 0, 0))
    view.side = "key"
    view.words = (0, view.weights.size(1) - 1)
    view.side = "query"
    assert view.words == (0,)


def test_another_explanation_keeps_the_head(explanation: Explanation, translator: Translator) -> None:
    view = explanation.show(("encoder_self", 1, 3), view="Map")
    view.words = (1,)
    view.explanation = other = translator.explain("Hello", "Hallo")
    assert view.head == ("encoder_self", 1, 3)
    assert (view.words, view.view) == ((), "Map")
    assert view.get_state()["_data"]["source"] == "Hello"
    assert view.map is other.maps["encoder_self"][1]


def test_without_maps_there_is_nothing_to_draw(explanation: Explanation) -> None:
    with pytest.raises(ValueError, match="there is no attention to draw"):
        HeadView(Explanation(**{**vars(explanation), "maps": {}}))


def test_a_saved_notebook_has_a_page_in_place_of_the_widget(explanation: Explanation) -> None:
    data, _ = explanation.show(("cross", 1, 2))._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    frame = re.fullmatch(
        r'<iframe sandbox="allow-scripts" title="[^"<>]*" srcdoc="([^"]*)" style="[^"]*"></iframe>', data["text/html"]
    )
    assert frame
    found = re.search(r'id="data">(.*?)</script>', html.unescape(frame[1]))
    assert found
    assert json.loads(found[1])["source"] == SOURCE
    assert json.loads(found[1])["first"] == ["cross", 1, 2]
