"""Characters that the tokens of a text come from, in texts that people type and in others."""

import json
import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise

import pytest

from core.files.shipped_files import shipped_checkpoint
from core.formats.checkpoint import load_checkpoint
from core.text.byte_pair_encoding import moses_normalisation, moses_tokenization
from core.text.dictionary_tokenizer import SETTINGS, SOURCE_DICTIONARY, DictionaryTokenizer, dictionary_file
from core.text.marian_tokenizer import MarianTokenizer
from core.text.piece_splitting import CHARACTERS, MERGES, SENTENCEPIECE, WORDS
from core.text.tokenizer import BYTES, SPACE_MARK, SentencePieceTokenizer, Tokenizer
from core.text.traced_text import Step, TracedText, aligned, changed
from tests.core.formats.marian_models import Pairs, sentencepiece_model
from tests.lazy_imports import sacremoses
from tests.strange_sentences import is_text, strange_sentence

STRANGE = [text for number in range(60) if is_text(text := strange_sentence("spans", number)) and len(text) < 300]
PLAIN = ("A dog runs through the green grass.", "a b c d", "Two children")
KINDS = ("bytes", "shipped", "marian", "nfkc", "unigram", "merges", "moses", "everything", "words", "characters")


def dictionary_tokenizer(files: dict[str, bytes], pieces: list[str], **settings: object) -> DictionaryTokenizer:
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *dict.fromkeys(pieces)]
    files = {**files, SOURCE_DICTIONARY: dictionary_file(pieces), SETTINGS: json.dumps(settings).encode()}
    return DictionaryTokenizer(files, 0)


@pytest.fixture(scope="module")
def tokenizers(tokenizer: SentencePieceTokenizer, parallel_text: Pairs) -> dict[str, Tokenizer]:
    lines = [text for pair in parallel_text for text in pair]
    nfkc = sentencepiece_model(lines)
    of_nfkc = SentencePieceTokenizer(nfkc)
    pieces = [of_nfkc.piece(number) for number in range(3, of_nfkc.vocab_size)]
    vocabulary = {piece: number for number, piece in enumerate(["</s>", "<unk>", ">>deu<<", *pieces, "<pad>"])}
    marian = {"source.spm": nfkc, "target.spm": nfkc, "vocab.json": json.dumps(vocabulary).encode()}
    merges = {MERGES: b"t h\nth e</w>\na n\nr u\nru n\n"}
    letters = [*"abcdefghijklmnopqrstuvwxyz", *(f"{letter}@@" for letter in "abcdefghijklmnopqrstuvwxyz")]
    return {
        "bytes": tokenizer,
        "shipped": load_checkpoint(shipped_checkpoint()).tokenizer,
        "marian": MarianTokenizer(marian, len(vocabulary), len(vocabulary), 0),
        "nfkc": of_nfkc,
        "unigram": dictionary_tokenizer(
            {SENTENCEPIECE: nfkc}, pieces, prefixes={"de": "to German: "}, target_language="de"
        ),
        "merges": dictionary_tokenizer(merges, letters, moses=False),
        "moses": dictionary_tokenizer(merges, letters, normalise=True, source_language="en"),
        "everything": dictionary_tokenizer(
            merges, letters, unicode_normalise=True, lower_case=True, lower_case_words=True, normalise=True
        ),
        "words": dictionary_tokenizer({}, ["the"], split=WORDS),
        "characters": dictionary_tokenizer({}, [*"abcdefgh"], split=CHARACTERS),
    }


@pytest.mark.parametrize("name", KINDS)
def test_every_token_comes_from_characters_in_order(name: str, tokenizers: dict[str, Tokenizer]):
    """There are as many spans as tokens, within the text, and none is left out but those before the text."""
    tokenizer = tokenizers[name]
    for text in (*STRANGE, *PLAIN):
        if name in ("marian", "unigram") and text.startswith(">>fra<<"):  # a language that they do not have
            continue
        spans, token_ids = tokenizer.spans(text), tokenizer.encode(text)
        assert len(spans) == len(token_ids), text
        leading = len(tokenizer.leading_roles(token_ids))
        assert all(span is None for span in spans[:leading])
        found = [span for span in spans[leading:] if span is not None]
        assert len(found) == len(spans) - leading, text
        assert all(0 <= start <= stop <= len(text) for start, stop in found), text
        assert all(first[0] <= second[0] and first[1] <= second[1] for first, second in pairwise(found)), text


@pytest.mark.parametrize("name", KINDS)
def test_a_token_of_a_plain_text_comes_from_what_it_spells(name: str, tokenizers: dict[str, Tokenizer]):
    """`<unk>` spells the characters it comes from, and every character that is not white space belongs to one token."""
    tokenizer = tokenizers[name]
    for text in PLAIN:
        spans, token_ids = tokenizer.spans(text), tokenizer.encode(text)
        leading = len(tokenizer.leading_roles(token_ids))
        covered: list[int] = []
        for piece, span in list(zip(tokenizer.pieces(token_ids), spans, strict=True))[leading:]:
            written = text[slice(*span)] if span else ""
            covered += range(*span) if span and not written.isspace() else ()
            if piece != "<unk>":
                assert (
                    piece.replace(SPACE_MARK, "").removesuffix("@@")
                    == (written.lower() if name == "everything" else written).strip()
                )
        assert covered == [index for index, character in enumerate(text) if not character.isspace()]


@pytest.mark.parametrize("name", ["bytes", "shipped"])
def test_no_character_of_any_text_is_left_out(name: str, tokenizers: dict[str, Tokenizer]):
    """All tokens of the bytes of a character come from it."""
    for text in STRANGE:
        spans = tokenizers[name].spans(text)
        pieces = tokenizers[name].pieces(tokenizers[name].encode(text))
        covered = {index for span in spans if span for index in range(*span)}
        wanted = {index for index, each in enumerate(text) if not each.isspace() and each != SPACE_MARK}
        assert wanted <= covered, text
        characters = [text[slice(*span)] for piece, span in zip(pieces, spans, strict=True) if piece in BYTES and span]
        assert all(len(each) <= 1 for each in characters)


@pytest.mark.parametrize("make", [lambda: moses_tokenization("en", True), lambda: moses_normalisation("de")])
def test_steps_of_a_traced_text_are_those_of_the_text(make: Callable[[], list[Step]]):
    steps = make()
    for text in (*STRANGE, *PLAIN):
        assert changed(TracedText.of(text), steps).text == changed(text, steps)


def test_steps_of_moses_are_what_sacremoses_does():
    tokenizer = sacremoses.MosesTokenizer("en")
    for text in (*STRANGE, *PLAIN):
        normal = sacremoses.MosesPunctNormalizer("de").normalize(text)
        assert changed(text, moses_normalisation("de")) == normal
        assert changed(text, moses_tokenization("en", False)).split() == tokenizer.tokenize(
            text, aggressive_dash_splits=True
        )


def origins(text: str, steps: list[Step]) -> list[tuple[str, str]]:
    """Words of a text after some steps, and the characters they come from."""
    traced = changed(TracedText.of(text), steps)
    spans = [(match[0], traced.span(*match.span())) for match in re.finditer(r"\S+", traced.text)]
    return [(word, text[slice(*span)] if span else "") for word, span in spans]


def test_words_that_moses_splits_joins_and_spells():
    """Escapes have letters and digits of their own, and a comma changes places with a quote."""
    tokenization = moses_tokenization("en", True)
    assert origins("[1 [1]", tokenization) == [("&#91;", "["), ("1", "1"), ("&#91;", "["), ("1", "1"), ("&#93;", "]")]
    assert origins("a-b & c\u2026", tokenization) == [
        ("a", "a"),
        ("@-@", "-"),
        ("b", "b"),
        ("&amp;", "&"),
        ("c", "c"),
        ("...", "\u2026"),
    ]
    assert origins('"a", b', tokenization) == [("&quot;", '"'), ("a", "a"), (",", '",'), ("&quot;", '",'), ("b", "b")]
    assert origins("50 % ( a ) : \u201eb\u201c", moses_normalisation("de")) == [
        ("50%", "50 %"),
        ("(a):", "( a ) :"),
        ('"b"', "\u201eb\u201c"),
    ]


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_normal_forms_of_unicode(form: str):
    """Each character comes from the part of the text that has it for its normal form."""
    for text in (
        "\ufb01re o\ufb03ce",
        "cafe\u0301 caf\u00e9",
        "\uff21\uff42\u3000\uff43",
        "\u1100\u1161\u11a8 \uac01",
        "\u00bd \u2460",
    ):
        changed_text = unicodedata.normalize(form, text)
        for character, (start, stop) in zip(changed_text, aligned(text, changed_text), strict=True):
            assert character.isspace() or character in unicodedata.normalize(form, text[start:stop])


def test_a_long_text_is_compared_in_little_time():
    """Two texts that are too long to be compared by character come from each other as a whole, but for their ends."""
    old, new = "x" + "ab" * 3000 + "y", "x" + "ba" * 2999 + "y"
    spans = aligned(old, new)
    assert spans[0] == (0, 1)
    assert spans[-1] == (len(old) - 1, len(old))
    assert set(spans[1:-1]) <= {(1, len(old) - 1), *((index, index + 1) for index in range(len(old)))}
