"""Words of the tokens of other tokenizers: those of the text, however they are spelled."""

from collections.abc import Callable

import numpy as np
import pytest
import sentencepiece
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from core.analysis.tokens.words import word, word_groups
from core.export.attention_arrays import ArrayError, explanation_of_arrays
from core.export.piece_spellings import SPELLINGS, Spelling, common_pieces, spelling_of
from core.export.record import ExplanationRecord, description, parse_description, weights_of
from core.results import Explanation
from core.text.byte_pieces import is_special
from tests.core.formats.marian_models import Pairs, sentencepiece_model

TEXTS = (
    "A dog runs through the green grass",
    "Die Straße führt über zwei Brücken",
    "Il Ġermanja hija sabiħa",
    "你好 नमस्ते 👍🏽 xyz",
    "unaffable caféteria",
)
LETTERS_OF_TRAINING, UNSPACED = TEXTS[:2], TEXTS[3]


def by_bytes(lines: list[str]) -> Callable[[str], list[str]]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    )
    return lambda text: tokenizer.encode(text).tokens


def by_word_pieces(lines: list[str]) -> Callable[[str], list[str]]:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(
        lines, trainers.WordPieceTrainer(vocab_size=200, special_tokens=["[UNK]"], show_progress=False)
    )
    return lambda text: ["[CLS]", *tokenizer.encode(text).tokens, "[SEP]"]


def by_word_ends(lines: list[str]) -> Callable[[str], list[str]]:
    tokenizer = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=300, end_of_word_suffix="</w>", show_progress=False)
    )
    return lambda text: [*tokenizer.encode(text).tokens, "</s>"]


def by_joints(lines: list[str]) -> Callable[[str], list[str]]:
    """As subword-nmt writes pieces, here of two letters."""

    def pieces(word: str) -> list[str]:
        parts = [word[start : start + 2] for start in range(0, len(word), 2)]
        return [*(f"{part}@@" for part in parts[:-1]), parts[-1]]

    return lambda text: [piece for word in text.split() for piece in pieces(word)]


def by_sentencepiece(lines: list[str]) -> Callable[[str], list[str]]:
    processor = sentencepiece.SentencePieceProcessor(
        model_proto=sentencepiece_model(lines, 400, byte_fallback=True, normalization_rule_name="identity")
    )
    return lambda text: [*processor.id_to_piece(processor.encode(text)), "</s>"]


WAYS: dict[Spelling, Callable[[list[str]], Callable[[str], list[str]]]] = {
    "byte-level": by_bytes,
    "wordpiece": by_word_pieces,
    "word-ends": by_word_ends,
    "subword-nmt": by_joints,
    "sentencepiece": by_sentencepiece,
    "words": lambda _: str.split,
}


def explained(source: list[str], target: list[str], spelling: object = None) -> Explanation:
    shape = 1, 1, len(target) - 1, len(source)
    arrays = {
        "source_tokens": np.array(source),
        "target_tokens": np.array(target),
        "cross_attentions": np.full(shape, 1 / len(source), np.float32),
    }
    return explanation_of_arrays(arrays if spelling is None else {**arrays, "spelling": np.array(spelling)})


def words(tokens: tuple[str, ...]) -> list[str]:
    groups = [group for group in word_groups(tokens) if not is_special(tokens[group.start])]
    return [word(tokens[group.start : group.stop]) for group in groups]


@pytest.mark.parametrize("name", SPELLINGS)
def test_the_words_are_those_of_the_text(name: Spelling, parallel_text: Pairs) -> None:
    """Also after a file of the explanation has been read again. Tokens of one letter are no matter for `words`."""
    split = WAYS[name]([text for pair in parallel_text for text in pair])
    for text in TEXTS:
        if text not in LETTERS_OF_TRAINING and name in ("wordpiece", "word-ends"):
            continue
        tokens = split(text)
        assert spelling_of(tokens) == (None if name == "words" else name), tokens
        found = explained(tokens, ["</s>", *tokens])
        assert (found.source, found.target) == (text, text)
        read = parse_description(description(ExplanationRecord(found)), weights_of(found)).explanation
        for each in (found, read):
            cross = each.maps["cross"][0]
            for side in (each.source_tokens, each.predicted_tokens, cross.key_tokens, cross.predicted_tokens or ()):
                assert "".join(words(side)) == text.replace(" ", "")
                if text != UNSPACED:  # in scripts without spaces, each piece is a word
                    assert words(side) == text.split()
            assert is_special(each.fed_tokens[0]), "the start, though it is called as the end"


def test_letters_of_maltese_are_no_bytes() -> None:
    for tokens in (["\u2581Iċ", "\u2581Ġermanja"], ["Iċ", "Ġermanja"], ["Ġer@@", "manja"], ["Ġerm", "##anja"]):
        found = explained(tokens, ["<pad>", *tokens])
        assert words(found.source_tokens)[-1] == "Ġermanja"
        assert found.target == found.source == " ".join(words(found.source_tokens))


def test_a_file_may_say_how_its_tokens_are_spelled() -> None:
    """Where the tokens do not show it, and for each side where they differ."""
    tokens = ["Il", "Ġermanja", "hija"]
    assert explained(tokens, ["<s>", *tokens]).source == "Il ermanjahija"
    assert explained(tokens, ["<s>", *tokens], "words").source == "Il Ġermanja hija"
    found = explained(tokens, ["<s>", "un", "happy"], ["words", "byte-level"])
    assert (found.source, found.target) == ("Il Ġermanja hija", "unhappy")
    assert explained(["un", "happy"], ["<s>", "\u0120un"]).source == "unhappy", "as the other side"


@pytest.mark.parametrize("spelling", ["bpe", 3, ["words", "bpe"], ["words"] * 3])
def test_an_unknown_spelling_is_refused(spelling: object) -> None:
    with pytest.raises(ArrayError, match=r"^spelling is .*, expected one of sentencepiece, byte-level, wordp"):
        explained(["a"], ["<s>", "b"], spelling)


def test_special_tokens_are_known_at_the_ends_only() -> None:
    tokens = ["__en__", "\u2581a", "</s>", "\u2581b", "</s>", "eng_Latn"]
    found = map(is_special, common_pieces(tokens, "sentencepiece"))
    assert [*found] == [True, False, False, False, True, True]
    assert explained(tokens, ["</s>", "</s>"]).source == "a </s> b"
    assert [is_special(each) for each in explained(tokens, ["</s>", "x", "</s>"]).predicted_tokens] == [False, True]


def test_unknown_words_are_kept() -> None:
    assert explained(["[CLS]", "the", "[UNK]", "##s", "[SEP]"], ["[CLS]", "der", "[SEP]"]).source == "the <unk>s"
    assert explained(["\u2581a", "<unk>", "</s>"], ["</s>", "\u2581b"]).source == "a <unk>"


def test_characters_have_spaces_of_their_own() -> None:
    assert explained([*"a dog"], ["<s>", *"ein Hund"]).target == "ein Hund"
