"""Texts of `core` that the pages show are in the catalogues: they are listed again, as `core` marks none."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import core
from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.heads.labels import DEFINITIONS
from core.analysis.interventions.minimal_pairs import CONTRASTS
from core.capture import KINDS
from core.formats.model_facts import architecture_facts, token_facts
from core.model.preset_configs import PRESETS
from core.text.phrases import Phrase, listed
from viz_app import language
from viz_app.drawing.core_texts import translated
from viz_app.language.extraction import interface_texts

CONFIG = PRESETS["base"]
# functions that make phrases, and the position of the argument that has the words
COMPOSED = {"Phrase": 0, "_of_share": 0, "_label": 0, "listed": 1}


def phrase_words() -> Iterator[str]:
    """The words of all phrases in `core`, from its code."""
    sources = (path.read_text(encoding="utf-8") for path in sorted(Path(core.__file__).parent.rglob("*.py")))
    for source in filter(re.compile(rf"\b({'|'.join(COMPOSED)})\(").search, sources):
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Call(ast.Name(name), arguments) if len(arguments) > COMPOSED.get(name, len(arguments)):
                    words = ast.walk(arguments[COMPOSED[name]])
                    yield from (
                        each.value for each in words if isinstance(each, ast.Constant) and each.value != "_self"
                    )
                case _:
                    pass


SHOWN = {
    "behaviours": lambda: {
        text for each in BEHAVIOURS.values() for text in (each.name[:1].upper() + each.name[1:], each.text)
    },
    "labels": lambda: {*DEFINITIONS, *DEFINITIONS.values()},
    "contrasts": lambda: {each.capitalize() for each in CONTRASTS},
    "facts": lambda: {name[:1].upper() + name[1:] for name in architecture_facts(CONFIG) | token_facts(CONFIG)},
    "phrases": lambda: {
        *phrase_words(),
        listed(["{first}", "{rest}"]),
        *(kind.removesuffix("_self") for kind in KINDS),
    },
}


@pytest.mark.parametrize("kind", SHOWN)
def test_texts_of_core_are_marked(kind: str) -> None:
    assert not SHOWN[kind]() - interface_texts().keys()


def test_a_phrase_is_translated_with_the_phrases_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    german = {"{count} tokens": "{count} Tokens", "{first}, {rest}": "{first}; {rest}", "none": "keine"}
    monkeypatch.setattr(language, "catalogue", lambda _: german)
    phrase = listed([Phrase("{count} tokens", count="{7}"), "none", Phrase("none")])
    assert translated(phrase) == "{7} Tokens; none; keine"
    assert translated("none") == "none"  # of a file
