"""The note below the sentence, on any page."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis import unseen_characters
from core.files.file_writing import file_digest
from core.formats.checkpoint import load_checkpoint
from core.translator import Translator
from tests.viz_app.pages import healthy
from viz_app.drawing.display_text import plain
from viz_app.frame.source_note import SENTENCES_KEY, UNKNOWN, unseen_text
from viz_app.session import source_doubts


def notes(app: AppTest, text: str) -> list[str]:
    app.text_input(key="text").set_value(text)
    return [warning.value for warning in healthy(app.run()).warning]


def test_the_note_stands_for_unknown_characters_and_for_other_languages(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not healthy(app.run()).warning
    (text,) = notes(app, "\U0001f600\U0001f436")
    assert text.startswith(UNKNOWN)
    assert r"\(U\+1F600\)" in text
    assert notes(app, "A dog runs.") == []  # there is no index to know the language by
    monkeypatch.setattr(source_doubts, "source_language", lambda _model: SimpleNamespace(is_other=lambda _text: True))
    (text,) = notes(app, "A dog sleeps.")
    assert "Is this in the language" in text


def test_lower_case_is_offered_for_capitals_and_a_sentence_of_known_characters_for_others(app: AppTest) -> None:
    app.run()
    (text,) = notes(app, "A DOG RUNS HERE.")
    assert text.startswith("This is in capitals")
    (button,) = [button for button in app.button if button.label.startswith("Translate instead")]
    healthy(button.click().run())
    assert app.text_input(key="text").value == "A dog runs here."
    assert not app.warning
    (text,) = notes(app, "A dog ru\u00adns in the \ufb01eld.")
    assert "lacks the characters U\\+00AD soft hyphen, \ufb01 \\(U\\+FB01\\)" in text
    (button,) = [button for button in app.button if button.label.startswith("Translate instead")]
    healthy(button.click().run())
    assert app.text_input(key="text").value == "A dog runs in the field."
    assert not app.warning
    (text,) = notes(app, "A dog runs \u20ac.")
    assert "lacks the character \u20ac \\(U\\+20AC\\)" in text
    assert not any("instead" in button.label for button in app.button)
    (text,) = notes(app, "\u6771\u4eac\u306b\u884c\u304f\u3002")  # of which the plain form has the full stop only
    assert "does not know most of these characters" in text
    assert not any("instead" in button.label for button in app.button)


def test_characters_that_the_translation_has_too_get_no_note(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(characters: tuple[str, ...], translation: str) -> tuple[str, ...]:
        assert translation
        return tuple({*characters} - {"\u20ac"})

    app.run()
    monkeypatch.setattr(unseen_characters, "not_copied", lacking)
    assert notes(app, "A dog for \u20ac.") == []
    (text,) = notes(app, "A dog for \u20ac or \u20bf.")
    assert "lacks the character \u20bf" in text


def test_a_shipped_model_knows_its_language_by_its_index() -> None:
    path = Path(__file__).parents[3] / "checkpoints/en-de.safetensors"
    model = SimpleNamespace(path=str(path), digest=file_digest(path), translator=load_checkpoint(path))
    language = source_doubts.source_language.__wrapped__(model)
    assert [language.is_other(text) for text in ("Wo ist der Bahnhof?", "Where is the station?")] == [True, False]


def test_the_code_of_a_right_to_left_letter_stands_after_it() -> None:
    assert unseen_text(("\u05d0", "\u00e9")).count("\u2066\u05d0 \\(U\\+05D0\\)\u2069, \u00e9") == 1


def test_sentences_that_the_translation_lacks_are_translated_one_by_one(app: AppTest, translator: Translator) -> None:
    app.run()
    (text,) = notes(app, "A dog runs. The sea. Where?")  # the model is untrained and ends no sentence
    assert text.startswith("You entered 3 sentences, and the translation has ")
    app.session_state[SENTENCES_KEY] = True
    healthy(app.run())
    found = translator.translate_text("A dog runs. The sea. Where?", beam_size=2)
    drawn = [markdown.value for markdown in app.markdown]
    assert all(plain(sentence.text) in drawn for sentence in found.sentences)
    (button,) = [button for button in app.button if button.label == plain("The sea.")]
    healthy(button.click().run())
    assert app.text_input(key="text").value == "The sea."
    assert not app.warning
