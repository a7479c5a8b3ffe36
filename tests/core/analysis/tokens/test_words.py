import itertools

import pytest
import torch

from core.analysis.tokens.words import (
    JOINT,
    continues_word,
    is_punctuation,
    map_groups,
    mean_over_words,
    merge_words,
    readable,
    text_words,
    without_special_tokens,
    word,
    word_groups,
)
from core.capture import AttentionMap
from core.text.byte_pieces import Word, character_groups, grapheme_groups, is_special
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator

SENTENCES = [
    "The old house on the hill was built 150 years ago.",
    "Hello \U0001f642\U0001f44d\U0001f3fd, I paid 150.50 $ in the U.S. today (well, nearly)...",
    "\u4f60\u597d\uff0c\u4e16\u754c",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "a\tb </s> <b>x</b>",
    "!",
    "e\u0301te\u0301",
]


def words(tokens: list[str]) -> list[str]:
    return [word(tokens[group.start : group.stop]) for group in word_groups(tokens)]


def pieces(tokenizer: SentencePieceTokenizer, text: str) -> list[str]:
    return [tokenizer.piece(token_id) for token_id in tokenizer.encode(text)]


@pytest.mark.parametrize("text", SENTENCES)
def test_groups_cover_every_token_once_and_in_order(tokenizer: SentencePieceTokenizer, text: str) -> None:
    tokens = ["<s>", *pieces(tokenizer, text), "</s>"]
    for groups in (word_groups(tokens), character_groups(tokens)):
        assert [position for group in groups for position in group] == list(range(len(tokens)))


@pytest.mark.parametrize(
    "text", [*SENTENCES, "\u0627\u0644\u0643\u0644\u0628\u064f", "\U0001f469\u200d\U0001f467 \u0301 x"]
)
def test_a_grapheme_is_within_one_word(tokenizer: SentencePieceTokenizer, text: str) -> None:
    tokens = [*pieces(tokenizer, text), "</s>", "\u0301", "<unk>", "\u0301"]
    groups = list(grapheme_groups(tokens))
    assert [position for group in groups for position in group] == list(range(len(tokens)))
    assert {group.start for group in word_groups(tokens)} <= {group.start for group in groups}


@pytest.mark.parametrize("text", SENTENCES)
def test_the_words_spell_the_text(tokenizer: SentencePieceTokenizer, text: str) -> None:
    spelled = "".join(words(pieces(tokenizer, text)))
    assert spelled == text.replace(" ", "").replace("\t", "\u2409")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("didn't cross (the street)...", ["didn't", "cross", "(", "the", "street", ")", "..."]),
        ("150.50 $, U.S.", ["150.50", "$", ",", "U.S", "."]),
        ("\u4f60\u597d\uff0c\u4e16", ["\u4f60", "\u597d", "\uff0c", "\u4e16"]),
        ("ok \U0001f44d\U0001f3fd\U0001f642", ["ok", "\U0001f44d\U0001f3fd", "\U0001f642"]),
        ("\U0001f468\u200d\U0001f469 x", ["\U0001f468\u200d\U0001f469", "x"]),
        ("(\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7)", ["(", "\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7", ")"]),
    ],
)
def test_words_are_what_a_reader_takes_for_words(tokenizer: SentencePieceTokenizer, text: str, expected: list[str]):
    assert words(pieces(tokenizer, text)) == expected


def test_special_tokens_are_words_of_their_own_and_spelled_ones_are_not_special() -> None:
    assert words(["<s>", "\u2581a", "b", "</s>", "<pad>", "c"]) == ["<s>", "ab", "</s>", "<pad>", "c"]
    assert is_special("</s>")
    assert not is_special(word(["\u2581</", "s>"]))


def test_bytes_that_are_no_utf8_become_the_replacement_character() -> None:
    assert words(["\u2581", "<0xF0>", "<0x41>"]) == ["\ufffd", "A"]


@pytest.mark.parametrize(
    ("token", "label"),
    [
        ("\u2581dog", "dog"),
        ("ing", JOINT + "ing"),
        (",", ","),
        ("</s>", "</s>"),
        ("<0xF0>", "0xF0 1/4"),
        ("<0x60>", "`"),
        ("\u2581", "\u2423"),
        ("\n", JOINT + "\u240a"),
        ("\u4f60", "\u4f60"),
        (Word("dog"), "dog"),
        ("\u2581\u202egnp", "gnp"),
    ],
)
def test_readable(token: str, label: str) -> None:
    assert readable(token) == label


def test_whole_words_carry_no_joint_mark() -> None:
    assert not continues_word(Word("ing"))
    assert continues_word("ing")


@pytest.fixture(scope="module")
def maps(translator: Translator) -> list[AttentionMap]:
    explanation = translator.explain(
        "It doesn't rain in Z\u00fcrich \U0001f642.", "Es regnet nicht in Z\u00fcrich \U0001f642."
    )
    return [layers[-1] for layers in explanation.maps.values()]


def test_merged_rows_sum_to_one_and_merging_twice_changes_nothing(maps: list[AttentionMap]) -> None:
    for attention, merge in itertools.product(maps, (merge_words, mean_over_words)):
        merged = merge(attention)
        torch.testing.assert_close(merged.weights.sum(-1), torch.ones(merged.weights.shape[:2]))
        again = merge(merged)
        assert (again.query_tokens, again.key_tokens, again.predicted_tokens) == (
            merged.query_tokens,
            merged.key_tokens,
            merged.predicted_tokens,
        )
        torch.testing.assert_close(again.weights, merged.weights)


def test_merging_sums_over_keys_and_averages_over_queries() -> None:
    tokens = ("\u2581a", "\u2581b", "c")
    weights = torch.tensor([[[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.5, 0.1, 0.4]]])
    merged = merge_words(AttentionMap("encoder_self", 0, weights, tokens, tokens))
    assert merged.key_tokens == ("a", "bc")
    torch.testing.assert_close(merged.weights, torch.tensor([[[0.1, 0.9], [0.4, 0.6]]]))


def test_a_decoder_row_averaged_over_words_is_the_making_of_one_word() -> None:
    fed, predicted = ("<s>", "\u2581a", "\u2581b", "c"), ("\u2581a", "\u2581b", "c", "</s>")
    weights = torch.eye(4)[None]
    merged = mean_over_words(AttentionMap("decoder_self", 0, weights, fed, fed, predicted))
    assert merged.predicted_tokens == ("a", "bc", "</s>")
    assert merged.query_tokens == ("<s>", "a", "bc")
    assert merged.key_tokens == ("<s>", "a", "bc")
    # `bc` was put out while `a` and then `b` were fed, each of which looked at itself.
    torch.testing.assert_close(merged.weights[0, 1], torch.tensor([0.0, 0.5, 0.5]))


def test_special_tokens_go_and_the_rest_stays_as_it_was(maps: list[AttentionMap]) -> None:
    for attention in maps:
        shown = without_special_tokens(attention)
        assert not any(
            is_special(token) for token in (*shown.key_tokens, *(shown.predicted_tokens or shown.query_tokens))
        )
        first_key = 1 if attention.kind == "decoder_self" else 0
        keys = len(shown.key_tokens)
        torch.testing.assert_close(
            shown.weights, attention.weights[:, : len(shown.query_tokens), first_key : first_key + keys]
        )


def test_hiding_and_merging_may_come_in_either_order(maps: list[AttentionMap]) -> None:
    for attention in maps:
        one, other = without_special_tokens(merge_words(attention)), merge_words(without_special_tokens(attention))
        assert (one.query_tokens, one.key_tokens, one.predicted_tokens) == (
            other.query_tokens,
            other.key_tokens,
            other.predicted_tokens,
        )
        torch.testing.assert_close(one.weights, other.weights)


def test_a_map_of_special_tokens_only_stays_whole() -> None:
    attention = AttentionMap("cross", 0, torch.ones(2, 1, 1), ("<s>",), ("</s>",), ("</s>",))
    assert without_special_tokens(attention).weights.shape == (2, 1, 1)


def test_map_groups_are_the_positions_behind_the_labels(maps: list[AttentionMap]) -> None:
    for attention in maps:
        shown = without_special_tokens(merge_words(attention))
        axes = (attention.row_tokens, shown.row_tokens), (attention.key_tokens, shown.key_tokens)
        groups = map_groups(attention.kind, attention.row_tokens, attention.key_tokens, True, True)
        for (before, after), of_axis in zip(axes, groups, strict=True):
            assert [str(word(before[each.start : each.stop])) for each in of_axis] == [str(word([x])) for x in after]


def test_only_the_axes_of_the_source_are_merged(maps: list[AttentionMap]) -> None:
    """The target is written a token a step: each step keeps its row, and in the decoder each fed token its column."""
    encoder, decoder, cross = maps
    assert len(merge_words(encoder).query_tokens) < len(encoder.query_tokens)
    assert len(merge_words(cross).key_tokens) < len(cross.key_tokens)
    assert merge_words(cross).predicted_tokens == cross.predicted_tokens
    torch.testing.assert_close(merge_words(decoder).weights, decoder.weights)
    assert merge_words(decoder).visible.equal(decoder.visible)
    torch.testing.assert_close(merge_words(cross).weights.sum(2), cross.weights.sum(2))


def test_punctuation() -> None:
    tokens = ("▁,", "...", "€", ".\u0301", "▁a.", "▁", "▁▁", "</s>")
    assert [is_punctuation(token) for token in tokens] == [True, True, True, True, False, False, False, False]


def test_a_whole_word_is_not_taken_for_a_piece_of_the_same_letters() -> None:
    pieces = ("▁Hund", "e", "haus")
    assert word_groups(pieces) == [range(3)]
    assert word_groups(tuple(map(Word, pieces))) == [range(1), range(1, 2), range(2, 3)]
    assert word_groups(pieces) == [range(3)]


def test_codes_of_languages_are_words_of_their_own_without_a_joint_mark() -> None:
    for code in (">>deu<<", "__de__", "deu_Latn"):
        assert not continues_word(code)
        assert readable(code) == code
        assert word_groups([code, "ch", "\u2581The"]) == [range(1), range(1, 2), range(2, 3)]
    assert continues_word("deu")


def test_words_of_a_text_by_the_characters_of_its_tokens():
    """A space belongs to the word after it; a token may be part of several words, or of none."""
    text = "ab  50 %, c"
    spans = [None, (0, 1), (1, 2), (2, 4), (4, 8), (8, 9), (9, 9), (10, 11), (11, 11)]
    assert [list(each) for each in text_words(text, spans)] == [[], [0], [0], [1], [1, 2], [2], [3], [3], []]
