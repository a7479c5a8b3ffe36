"""Source words that a translation has left out: the sign `left_out`.

Without a word that is translated, the translation becomes less probable; without one that is not, more probable. So
spans of one to three neighbouring words are left out of the source x, and the value of a span is what this adds to the
mean log-probability of the T predicted tokens of the translation y,

    (1/T) [log P(y | x without the span) - log P(y | x)]    in nats per token.

(J. Vamvas and R. Sennrich: As Little as Possible, as Much as Necessary. ACL 2022, who leave out constituents.) Only
spans with a content word count, as function words may rightly have no counterpart. Content words are told from function
words by their form, so that no list of words of a language is needed: at least five letters (frequent words, with
little content, are short: Zipf 1935), a digit, or a capital inside a sentence; in scripts without spaces, where pieces
stand for words, two letters.

Each span is a pass of the model, so a sentence of 20 words takes some 50: five times as long as its translation.
`python -m benchmarks.signs` measures how often it is right. A word may also be left out rightly.
"""

import math
from collections.abc import Iterator, Sequence

from core.analysis.signs.pair_signs import MarkedWord, Sign
from core.analysis.tokens.words import UNSPACED_SCRIPTS, text_word_groups, word
from core.translator import Translator

LONGEST = 3  # words of a span
LONG = 5  # letters of a content word
LONG_UNSPACED = 2  # in scripts without spaces between words
MOST_TOKENS = 60_000  # of all passes together: those of a sentence of some 120 words


def is_content(text: str, is_first: bool = False) -> bool:
    """Whether a word is one with content, by its form; a capital means nothing at the start of a sentence."""
    letters = sum(map(str.isalnum, text))
    if letters == 0:
        return False
    if any(map(str.isdigit, text)) or (letters > 1 and text[0].isupper() and not is_first):
        return True
    return letters >= (LONG_UNSPACED if UNSPACED_SCRIPTS.search(text) else LONG)


def spans(source_tokens: Sequence[str]) -> list[range]:
    """Positions of the tokens of all spans that can be left out; something is left of the source."""
    groups, content = text_word_groups(source_tokens), _content_words(source_tokens)
    has_content = [group in content for group in groups]
    return [
        range(groups[first].start, groups[first + length - 1].stop)
        for length in range(1, LONGEST + 1)
        for first in range(len(groups) - length + 1)
        if any(has_content[first : first + length]) and length < len(groups)
    ]


def _content_words(source_tokens: Sequence[str]) -> list[range]:
    labelled = [(group, word(source_tokens[group.start : group.stop])) for group in text_word_groups(source_tokens)]
    return [group for place, (group, text) in enumerate(labelled) if is_content(text, place == 0)]


def span_values(translator: Translator, source: str, target: str | Sequence[int]) -> Iterator[tuple[range, float]]:
    """The value of each span, in any order, as its pass is computed.

    Raises:
        ValueError: as `Translator.score`, or the sentence has too many spans.
    """
    ids = translator.codec.scored_ids(source, target)
    found = spans(translator.codec.source_pieces(ids.source))
    forced = translator.codec.num_forced(ids.predicted, source)
    tokens = (len(found) + 1) * (len(ids.source) + len(ids.fed))
    if tokens > MOST_TOKENS:
        raise ValueError(
            f"leaving out each of {len(found)} spans takes {tokens:,} tokens, at most {MOST_TOKENS:,} are computed: "
            f"split the sentence"
        )
    shorter = [ids._replace(source=ids.source[: span.start] + ids.source[span.stop :]) for span in found]
    ((_, whole),) = translator.shared.pass_log_probs([ids])
    predicted = len(ids.predicted) - forced
    for index, log_probs in translator.shared.pass_log_probs(shorter):
        gain = math.fsum(log_probs[forced:]) - math.fsum(whole[forced:])
        yield found[index], gain / predicted if predicted else -math.inf


def left_out_sign(source_tokens: Sequence[str], values: Iterator[tuple[range, float]]) -> Sign:
    """The sign of a pair, with the content words of all `span_values` that do not overlap with a better one."""
    words, taken = _content_words(source_tokens), set[int]()
    ranked = sorted(values, key=lambda each: (-each[1], each[0].start, each[0].stop))
    marks: list[MarkedWord] = []
    for span, value in ranked:
        if taken.isdisjoint(span):
            taken.update(span)
            marks += [MarkedWord(("source", group), value) for group in words if group.start in span]
    return Sign("left_out", ranked[0][1] if ranked else -math.inf, tuple(marks))


def left_out(translator: Translator, source: str, target: str | Sequence[int]) -> Sign:
    """The sign `left_out` of a pair.

    Raises:
        ValueError: as `span_values`.
    """
    tokens = translator.codec.source_pieces(translator.codec.source_ids(source))
    return left_out_sign(tokens, span_values(translator, source, target))
