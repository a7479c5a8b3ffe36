"""Characters that a vocabulary lacks, and the plainer form of a text."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.unseen_characters import Alphabet, character_names, not_copied
from core.text.byte_pieces import BYTES
from core.text.tokenizer import SentencePieceTokenizer

LETTERS = Alphabet(SentencePieceTokenizer.of_characters(f"{string.printable[:95]}\u00e4\u00fc"))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The \ufb01reman is \ufb01ghting the \ufb01re.", "The fireman is fighting the fire."),  # ligatures
        ("\uff21 \uff44\uff4f\uff47 \uff52\uff55\uff4e\uff53\uff0e", "A dog runs."),  # full-width letters
        ("A \U0001d41d\U0001d428\U0001d420 runs.", "A dog runs."),  # mathematical letters
        ("A beau\u00adti\u00adful girl.", "A beautiful girl."),  # soft hyphens
        ("A\u200bgirl\u200b runs.\u200b", "A girl runs."),  # zero-width spaces
        ("A girl\u200b, a boy\u200b\u200b.", "A girl, a boy."),
        ("\u200eA\u200f girl\u2060 \u202dru\ufe0fns\u202c.", "A girl runs."),  # marks without a width
        ("\ufeffA girl\u3000runs\u3002", "A girl runs."),
        ("fu\u0308r La\u0308rm", "f\u00fcr L\u00e4rm"),  # decomposed
        ("well\u2010known, well\u2011known, it\u02bcs", "well-known, well-known, it's"),
        ("He has \uff11, \u0661 and \u0967 dogs.", "He has 1, 1 and 1 dogs."),  # digits of other scripts
    ],
)
def test_the_plain_form_has_characters_of_the_vocabulary(text: str, plain: str) -> None:
    assert LETTERS.unseen(text)
    assert not LETTERS.unseen(plain)
    assert LETTERS.plain_form(text) == plain


@pytest.mark.parametrize(
    "text", ["A dog runs.", "f\u00fcr", "\u6771\u4eac", "\U0001f469\u200d\U0001f52c", "\u2764\ufe0f", "na\u0327"]
)
def test_text_without_a_plainer_form_stays(text: str) -> None:
    assert LETTERS.plain_form(text) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_plain_form_lacks_no_more_characters_and_is_final(text: str) -> None:
    plain = LETTERS.plain_form(text)
    assert len(LETTERS.unseen(plain)) <= len(LETTERS.unseen(text))
    assert LETTERS.plain_form(plain) == plain


def test_unseen_characters_are_those_spelled_as_bytes(
    tokenizer: SentencePieceTokenizer, parallel_text: list[tuple[str, str]]
) -> None:
    alphabet = Alphabet(tokenizer)
    assert alphabet.unseen("A dog \ufb01 runs \U0001f415 and \ufb01.\u2028") == ("\ufb01", "\U0001f415")
    text = "".join(sentence for pair in parallel_text for sentence in pair)
    for character in alphabet.unseen(text):
        assert any(piece in BYTES for piece in tokenizer.pieces(tokenizer.encode(character)))
    assert not any(piece in BYTES for piece in tokenizer.pieces(tokenizer.encode("The dog")))


def test_characters_of_words_are_known_though_no_words() -> None:
    class Words:
        vocab_size, language_codes = 3, (">>fra<<",)

        def encode(self, text: str) -> list[int]:
            return [1 if text == "ab" else 0]

        def pieces(self, token_ids: list[int]) -> list[str]:
            return [("<unk>", "\u2581ab", "\u2581cd")[token_id] for token_id in token_ids]

    assert Alphabet(Words()).unseen(">>fra<< abcde") == ("e",)  # pyright: ignore[reportArgumentType]


def test_names_show_a_character_or_say_what_it_is() -> None:
    assert character_names("\ufb01\u00ad\u0308\x07") == [
        "\ufb01 (U+FB01)",
        "U+00AD soft hyphen",
        "U+0308 combining diaeresis",
        "U+0007",
    ]


def test_what_a_translation_copied_needs_no_note_unless_it_is_a_letter() -> None:
    assert not_copied(("@", "\u20ac", "\u6f22", "\ufb01"), "An @ und \u6f22, ein \ufb01sh.") == (
        "\u20ac",
        "\u6f22",
        "\ufb01",
    )
