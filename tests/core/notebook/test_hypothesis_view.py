"""Hypotheses in a notebook, with and without the heads that explain them."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
from traitlets import TraitError

from core import Translator
from core.drawing.figure1 import figure1_data

SOURCE = "A dog <b>runs</b>."


def test_a_selected_hypothesis_is_explained(translator: Translator) -> None:
    view = translator.show(SOURCE, beam_size=3)
    assert len(view.translation.hypotheses) == 3
    view.hypotheses.set_state({"hypothesis": 2})
    last = view.translation.hypotheses[2]
    assert view.hypotheses.selected is last
    assert view.heads.explanation.fed_tokens[1:] == last.tokens[: len(view.heads.explanation.fed_tokens) - 1]
    assert view.heads.get_state()["_data"]["target"] == view.heads.explanation.target


def test_figure_1_is_that_of_the_selected_hypothesis(translator: Translator) -> None:
    view = translator.show(SOURCE, beam_size=2)
    view.hypotheses.hypothesis = 1
    figure = view.heads.get_state()["_data"]["figure1"]
    assert figure == figure1_data(view.heads.explanation, translator.config)
    assert view.heads.explanation.show().get_state()["_data"]["figure1"] is None  # of no known model


def test_the_table_has_the_numbers_of_the_hypotheses(translator: Translator) -> None:
    translation = translator.translate(SOURCE, beam_size=2)
    for row, hypothesis in zip(
        translation.show().get_state()["_data"]["hypotheses"], translation.hypotheses, strict=True
    ):
        score, log_prob, tokens = (number.replace("\u2212", "-") for number in row["numbers"])
        assert float(score) == pytest.approx(hypothesis.score, abs=0.005)
        assert float(log_prob) == pytest.approx(hypothesis.log_prob, abs=0.005)
        assert int(tokens) == len(row["tokens"]) == len(hypothesis.token_ids)


def test_an_unknown_hypothesis_is_refused(translator: Translator) -> None:
    view = translator.translate(SOURCE, beam_size=2).show()
    with pytest.raises(TraitError, match="there is no hypothesis 2: expected 0 to 1"):
        view.hypothesis = 2


def test_a_saved_notebook_has_the_texts_escaped(translator: Translator) -> None:
    data, _ = translator.show(SOURCE)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "<th>A dog &lt;b&gt;runs&lt;/b&gt;.<tr>" in data["text/html"]
    assert data["text/html"].count("<iframe") == 1


def test_colab_gets_the_widget_manager_of_each_view(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its address in the metadata, Colab's own manager is used, which has no anywidget."""
    colab = ModuleType("google.colab.output")
    colab.__dict__["_widgets"] = SimpleNamespace(_installed_url="https://example.com/manager.js")
    colab.__dict__["enable_custom_widget_manager"] = lambda: None
    monkeypatch.setitem(sys.modules, colab.__name__, colab)
    view = translator.show(SOURCE)
    for each in (view, view.hypotheses, view.heads):
        data, metadata = each._repr_mimebundle_()
        assert metadata == {
            "application/vnd.jupyter.widget-view+json": {
                "colab": {"custom_widget_manager": {"url": "https://example.com/manager.js"}}
            }
        }
        assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == each.model_id


def test_without_the_extra_it_says_what_to_install(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("core.notebook")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    translation = translator.translate(SOURCE)
    for show in (translation.show, translator.explain(SOURCE, "Hund").show, lambda: translator.show(SOURCE)):
        with pytest.raises(ImportError, match=r"needs anywidget, .* extra `notebook`"):
            show()
