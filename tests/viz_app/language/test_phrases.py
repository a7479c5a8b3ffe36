"""Texts of `core` that the pages show are in the catalogues, from where they stand in `core`."""

import pytest

from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.heads.labels import DEFINITIONS
from core.analysis.interventions.minimal_pairs import CONTRASTS
from core.analysis.layers.layer_types import LAYER_TYPES
from core.drawing.drawing_data import KIND_NAMES, KIND_TEXTS, TITLES
from core.formats.model_facts import architecture_facts, token_facts
from core.model.preset_configs import PRESETS
from core.text.phrases import Phrase, listed
from tests.viz_app.language.texts import Texts
from viz_app import language
from viz_app.language import translated
from viz_app.language.extraction import template

CONFIG = PRESETS["base"]


def words(text: str) -> set[str]:
    """The words of a text that `core` composes, and those of the phrases in it."""
    return {text.words}.union(*map(words, text.values.values())) if isinstance(text, Phrase) else set()


FACTS = architecture_facts(CONFIG) | token_facts(CONFIG)
SHOWN = {
    "behaviours": {text for each in BEHAVIOURS.values() for text in (each.name, each.text)},
    "labels": {*DEFINITIONS}.union(*map(words, DEFINITIONS.values())),
    "contrasts": {each.capitalize() for each in CONTRASTS},
    "facts": {*FACTS}.union(*map(words, FACTS.values())),
    "axes": {*KIND_NAMES.values(), *KIND_TEXTS.values(), *(title for pair in TITLES.values() for title in pair)},
    "layers": {each.name for each in LAYER_TYPES.values()},
    "lists": {listed(["{first}", "{rest}"])},
}


@pytest.mark.parametrize("kind", SHOWN)
def test_texts_of_core_are_in_the_catalogues(kind: str) -> None:
    assert {text for text in SHOWN[kind] if text not in template()} == set()


def test_a_phrase_is_translated_with_the_phrases_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    german = {"{count} tokens": "{count} Tokens", "{first}, {rest}": "{first}; {rest}", "none": "keine"}
    monkeypatch.setattr(language, "translations", lambda _: Texts(german))
    phrase = listed([Phrase("{count} tokens", count="{7}"), "none", Phrase("none")])
    assert translated(phrase) == "{7} Tokens; none; keine"
    assert translated("none") == "none"  # of a file
    assert translated(phrase, str.title).endswith("; None; keine")  # as a name is written within an answer
