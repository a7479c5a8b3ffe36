"""Words from sub-word pieces: grouping, labels, attention between words."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import torch

from core.capture import AttentionMap
from core.text.byte_pieces import (
    PlacedPiece,
    Word,
    decode_pieces,
    grapheme_groups,
    is_combining,
    is_special,
    is_standalone,
    may_continue,
    shown_text,
    text_groups,
    token_kinds,
    token_role,
    visible,
)
from core.text.tokenizer import SPACE_MARK, Role
from core.text.traced_text import Span
from core.trace import Kind

JOINT = "\u00b7"  # precedes a piece that continues a word

# Scripts without spaces between words; every piece is a word of its own there.
UNSPACED_SCRIPTS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def continues_word(token: str) -> bool:
    """Whether a piece continues a word, as `ing` in `read` `ing`: with letters or digits, and no space before it."""
    return may_continue(token) and _has_letters(token)


def _has_letters(token: str) -> bool:
    """Whether a piece is of a word of several pieces: not punctuation, nor of a script without spaces."""
    return not is_punctuation(token) and not UNSPACED_SCRIPTS.match(token)


def readable(token: str) -> str:
    """Display label of one token.

    The space mark is removed, a joint mark precedes a piece that continues a word, and byte tokens show their character
    if it is known. Special tokens and whole words (`Word`) are unchanged, and a prefix of the model has no joint marks.
    Labels are plain text: escape them in HTML.
    """
    return readable_all((token,))[0]


def readable_all(tokens: Iterable[str]) -> list[str]:
    """Display labels of tokens, see `readable`."""
    known = [(token, shown_text(token), may_continue(token) and not is_special(token)) for token in tokens]
    return [JOINT + text if goes_on and _has_letters(token) else text for token, text, goes_on in known]


def word_groups(tokens: Sequence[str]) -> list[range]:
    """Consecutive ranges of positions that form a word each.

    A word begins at a space, at every special token, and behind a prefix of the model. Punctuation at a word's edge is
    a separate word (`dog` `.`), inside a word it is not (`did` `n` `'` `t`). Byte tokens count as the character they
    spell. In scripts without spaces, each piece is a word.
    """
    return list(_word_groups(tuple(tokens), token_kinds(tokens)))


def text_word_groups(tokens: Sequence[str]) -> list[range]:
    """Word groups without the special tokens: the words of the text."""
    return text_groups(tokens, word_groups(tokens))


def spelled_words(tokens: Sequence[str]) -> list[tuple[range, str]]:
    """Positions and labels of the words of the text that have a letter or a digit."""
    labelled = ((group, word(tokens[group.start : group.stop])) for group in text_word_groups(tokens))
    return [(group, label) for group, label in labelled if any(map(str.isalnum, label))]


@lru_cache(maxsize=256)  # a page asks for the same few axes again and again
def _word_groups(tokens: tuple[str, ...], _kinds: tuple[tuple[type, Role], ...]) -> tuple[range, ...]:
    """As `word_groups`, cached by the kinds, too: a `Word` and a special token equal a piece of the same letters."""
    return tuple(group for chunk in _spaced_chunks(tokens) for group in _split_punctuation(chunk))


def word_labels(tokens: Sequence[str]) -> tuple[str, ...]:
    """Display labels of `word_groups`."""
    return _word_labels(tuple(tokens), token_kinds(tokens))


@lru_cache(maxsize=256)
def _word_labels(tokens: tuple[str, ...], kinds: tuple[tuple[type, Role], ...]) -> tuple[str, ...]:
    """As `word_labels`, cached as `_word_groups` is: all layers have the same tokens."""
    return tuple(word(tokens[group.start : group.stop]) for group in _word_groups(tokens, kinds))


def word(tokens: Sequence[str]) -> str:
    """Display label of one word: its tokens joined without the space mark, bytes decoded as UTF-8.

    Special tokens are unchanged, and a word of a prefix of the model remains special.
    """
    if len(tokens) == 1 and (is_special(tokens[0]) or isinstance(tokens[0], Word)):
        return tokens[0]
    text = decode_pieces(tokens)
    if is_special(tokens[0]):
        return PlacedPiece(text, token_role(tokens[0]))
    return Word(visible(text.removeprefix(SPACE_MARK).replace(SPACE_MARK, " ")))


def text_words(text: str, spans: Sequence[Span | None]) -> list[range]:
    """Numbers of the words of a text that each token is part of, by the characters it comes from (`source_spans`).

    Words are separated by white space, which belongs to the word after it, as `SPACE_MARK` does. A token has one
    number, more if a tokenizer has joined words, or none if it is not of the text.
    """
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    return [range(0) if span is None else _words_at(ends, *span) for span in spans]


def _words_at(ends: Sequence[int], start: int, stop: int) -> range:
    first = bisect_right(ends, start)
    return range(first, min(max(bisect_left(ends, stop), first) + 1, len(ends)))


def axis_groups(tokens: Sequence[str], words: bool = False, hide_special: bool = False) -> list[range]:
    """Positions of each label of an axis, with words merged or special tokens hidden.

    For an axis of a map use `map_groups`. An axis with special tokens only keeps them.
    """
    groups = word_groups(tokens) if words else [range(position, position + 1) for position in range(len(tokens))]
    if hide_special:
        return text_groups(tokens, groups) or groups
    return groups


def merged_axes(kind: Kind) -> tuple[bool, bool]:
    """Whether the rows and the keys of a map that is drawn are merged into words: on the source's side alone.

    The target is written a token a step. A merged row would be a mean over steps, and a merged key would hold tokens
    that a row has not written yet: either would show weight on what comes later.
    """
    return kind == "encoder_self", kind != "decoder_self"


def map_groups(
    kind: Kind, rows: Sequence[str], keys: Sequence[str], words: bool = False, hide_special: bool = False
) -> tuple[list[range], list[range]]:
    """Positions of each row and each key of a map, as `shown_tokens` makes it of `row_tokens` and `key_tokens`."""
    of_rows, of_keys = merged_axes(kind)
    return axis_groups(rows, words and of_rows, hide_special), axis_groups(keys, words and of_keys, hide_special)


def merge_words(attention: AttentionMap) -> AttentionMap:
    """Attention between words of the source, and from each step of the decoder: see `merged_axes`.

    Weights are summed over the pieces of a key, and in the encoder averaged over those of a query. Rows still sum to 1.
    A word may attend to another if any of its pieces may attend to any piece of the other.
    """
    return _merged(attention, *merged_axes(attention.kind))


def mean_over_words(attention: AttentionMap) -> AttentionMap:
    """As `merge_words`, with the words of the target merged, too: for statistics over words, never to be drawn.

    A decoder row is the mean over the steps that predicted the pieces of one word, so `predicted_tokens` are the words
    of the translation. `query_tokens` name the last word fed before the first of those pieces was predicted; the pieces
    of the word itself were fed in between.
    """
    return _merged(attention, rows=True, keys=True)


def _merged(attention: AttentionMap, rows: bool, keys: bool) -> AttentionMap:
    weights, mask, hidden = attention.weights, attention.visible, attention.hidden
    queries, predicted = attention.query_tokens, attention.predicted_tokens
    if rows:
        groups = word_groups(attention.row_tokens)
        weights = torch.stack([weights[:, group.start : group.stop].mean(1) for group in groups], 1)  # [H, words, K]
        mask = torch.stack([mask[group.start : group.stop].any(0) for group in groups])  # [words, K]
        if hidden is not None:
            hidden = torch.stack([hidden[:, group.start : group.stop].mean(1) for group in groups], 1)
        fed = zip(word_groups(queries), word_labels(queries), strict=True)
        label_of = {position: label for group, label in fed for position in group}
        queries, predicted = tuple(label_of[group.start] for group in groups), predicted and word_labels(predicted)
    if keys:
        groups = word_groups(attention.key_tokens)
        weights = torch.stack([weights[:, :, group.start : group.stop].sum(2) for group in groups], 2)
        mask = torch.stack([mask[:, group.start : group.stop].any(1) for group in groups], 1)
    return replace(
        attention,
        weights=weights,
        query_tokens=queries,
        key_tokens=word_labels(attention.key_tokens) if keys else attention.key_tokens,
        predicted_tokens=predicted,
        mask=mask,
        hidden=hidden,
    )


def without_special_tokens(attention: AttentionMap) -> AttentionMap:
    """The map without special tokens, see `core.text.byte_pieces.is_special`.

    Keys are dropped if they are special, rows if `AttentionMap.row_tokens` are: the decoder row that was fed `<s>`
    predicts the first word and stays. Nothing is renormalised, so the rest of a row to 1 is its weight on special
    tokens. An axis with special tokens only stays whole.
    """
    rows = axis_groups(attention.row_tokens, hide_special=True)
    keys = axis_groups(attention.key_tokens, hide_special=True)
    return attention.select([row.start for row in rows], [key.start for key in keys])


def _spaced_chunks(tokens: Sequence[str]) -> Iterator[list[tuple[range, str]]]:
    """Runs of tokens without spaces: (positions, text) of each character or piece."""
    chunk: list[tuple[range, str]] = []
    for group in list(grapheme_groups(tokens)):
        token = tokens[group.start]
        starts = is_standalone(token) or token.startswith(SPACE_MARK)
        if chunk and (starts or is_special(token) != is_special(tokens[group.start - 1])):
            yield chunk
            chunk = []
        chunk.append((group, decode_pieces(tokens[group.start : group.stop])))
        if is_standalone(token):
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _split_punctuation(chunk: Sequence[tuple[range, str]]) -> Iterator[range]:
    """Words of a chunk: edge punctuation and pieces of unspaced scripts apart."""
    edges = [not text.strip(SPACE_MARK) or is_punctuation(text) for _, text in chunk]
    first = next((i for i, edge in enumerate(edges) if not edge), len(chunk))
    last = len(chunk) - next((i for i, edge in enumerate(reversed(edges)) if not edge), 0)
    start, previous = chunk[0][0].start, SPACE_MARK
    for index, (group, text) in enumerate(chunk):
        inside = first < index < last and not UNSPACED_SCRIPTS.search(text) and not UNSPACED_SCRIPTS.search(previous)
        repeats = edges[index] and text == previous  # as in "..."
        if not (inside or repeats or previous == SPACE_MARK):
            yield range(start, group.start)
            start = group.start
        previous = text
    yield range(start, chunk[-1][0].stop)


def is_punctuation(token: str) -> bool:
    """Whether a token is punctuation or symbols only, combining characters included."""
    bare = token.replace(SPACE_MARK, "")
    return _is_mark(bare[:1]) and all(_is_mark(character) or is_combining(character) for character in bare)


def _is_mark(character: str) -> bool:
    return character != "" and unicodedata.category(character)[0] in "PS"


def shown_tokens(
    maps: Iterable[AttentionMap], words: bool = False, without_special: bool = False
) -> list[AttentionMap]:
    """Maps with the tokens to show: sub-words merged to words, and without special tokens, if that is asked for."""
    shown = [merge_words(attention) if words else attention for attention in maps]
    return [without_special_tokens(attention) for attention in shown] if without_special else shown
