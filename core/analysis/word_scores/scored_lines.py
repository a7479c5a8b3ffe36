"""Word scores: log-probabilities of the words of translations, worst first.

The log-probability of a word is the sum over its tokens, log P(word | source, words before it) in nats: given
translations are scored by forced decoding, others are the best of a beam search. It measures how probable the model
finds a word, not whether the word is right: a correct rare name may have a low one, and a fluent mistake a high one. A
word of many tokens has the product of their probabilities.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from core.analysis.tokens.words import word, word_groups
from core.results import ScoredText
from core.text.sentences import naming_sentence
from core.text.text_files import Line
from core.translator import Translator

WINDOW = 16  # lines that are translated together


@dataclass(frozen=True)
class ScoredLine:
    """A sentence with its scored translation; whether that was given, or is the model's own."""

    number: int
    source: str
    target: ScoredText
    is_given: bool = False


@dataclass(frozen=True)
class WordScore:
    """A word of a translation."""

    line: ScoredLine  # the sentence and its translation
    number: int  # of the word in the translation, from 1; `</s>` is a word
    tokens: range  # its positions in `line.target.tokens`
    text: str
    log_prob: float  # in nats

    @property
    def probability(self) -> float:
        """Probability of the word, given the source and the words before it."""
        return math.exp(self.log_prob)


def score_lines(
    translator: Translator, lines: Sequence[Line], beam_size: int = 4, length_penalty: float = 0.6
) -> Iterator[ScoredLine]:
    """Score sentences one after the other, in order; the translations that are not given are searched.

    Raises:
        ValueError: a sentence cannot be translated or scored; the message names its line.
    """
    for start in range(0, len(lines), WINDOW):
        window = lines[start : start + WINDOW]
        for line in window:
            with naming_sentence(line.number, "line"):
                translator.codec.source_ids(line.source)
        searched = [line for line in window if line.target is None]
        translated = translator.translate_batch([line.source for line in searched], beam_size, length_penalty)
        best = {line.number: each.hypotheses[0] for line, each in zip(searched, translated, strict=True)}
        if translator.config.autoregressive:  # the scores of the model's own pass, not those of the faster search
            pairs = [(line.source, best[line.number].token_ids) for line in searched]
            scores = translator.score_batch(pairs, length_penalty)
            best = {line.number: each for line, each in zip(searched, scores, strict=True)}
        for line in window:
            target = best.get(line.number) or _given(translator, line, length_penalty)
            yield ScoredLine(line.number, line.source, target, is_given=line.target is not None)


def _given(translator: Translator, line: Line, length_penalty: float) -> ScoredText:
    assert line.target is not None
    try:
        return translator.score(line.source, line.target, length_penalty)
    except ValueError as error:
        raise ValueError(f"line {line.number}: {error}") from error


def word_scores(line: ScoredLine) -> list[WordScore]:
    """Return the words of a translation, in order, `</s>` included."""
    tokens, log_probs = line.target.tokens, line.target.token_log_probs
    return [
        WordScore(
            line,
            number,
            group,
            word([tokens[position] for position in group]),
            math.fsum(log_probs[position] for position in group),
        )
        for number, group in enumerate(word_groups(tokens), start=1)
    ]


def worst_words(lines: Iterable[ScoredLine]) -> list[WordScore]:
    """Return the words of all translations, the least probable first."""
    return sorted((each for line in lines for each in word_scores(line)), key=lambda each: each.log_prob)


def word_columns(words: Sequence[WordScore]) -> dict[str, list[Any]]:
    """A row for each word; lines and words are counted from 1."""
    return {
        "log_prob": [each.log_prob for each in words],
        "probability": [each.probability for each in words],
        "word": [each.text for each in words],
        "line": [each.line.number for each in words],
        "number": [each.number for each in words],
        "source": [each.line.source for each in words],
        "translation": [each.line.target.text for each in words],
    }


def app_query(score: WordScore, digest: str) -> str:
    """Return the query of the app's address that shows a word in its translation, by the checkpoint's SHA-256."""
    return line_query(score.line, digest, [f"target.{score.number}"])


def line_query(line: ScoredLine, digest: str, words: Sequence[str] = ()) -> str:
    """Return the query of the app's address that shows a translation and selects words such as `target.3`, from 1."""
    return urlencode({**target_settings(line.source, line.target.token_ids, digest), "word": list(words)}, doseq=True)


def target_settings(source: str, token_ids: Sequence[int], digest: str) -> dict[str, str]:
    """Return the settings in the app's address that show a translation by the checkpoint with this SHA-256."""
    return {"text": source, "target": ".".join(map(str, token_ids)), "model": digest[:8]}
