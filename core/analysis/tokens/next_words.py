"""Probabilities of whole words: what a model finds probable at each word of a translation, however it is spelled.

The probability of a word is a sum over its spellings in pieces: that of the pieces, times that of any token behind them
that does not go on with the word. Spellings are followed up to `MOST_PIECES` pieces, as long as these have a
probability of `LEAST`; what the others of the same word could add at most is known.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from core.analysis.tokens.words import UNSPACED_SCRIPTS, is_punctuation
from core.decoding.constraints import Surfaces
from core.results import Target
from core.translator import Translator

LEAST, MOST_PIECES = 0.003, 12
Pieces = tuple[int, ...]


@dataclass(frozen=True)
class WordOption:
    """What could stand at a place of a translation: a word, a punctuation mark, or the end."""

    text: str  # without spaces; "" for the end
    token_ids: Pieces  # its most probable spelling; of the written word, its own
    tokens: tuple[str, ...]  # the same as pieces
    end: Pieces  # the best token behind it that ends it, if the model would rather go on with the word
    probability: float  # of the spellings that were followed: a lower bound
    missing: float  # the most that its other spellings could add
    is_written: bool


@torch.inference_mode()
def next_words(
    translator: Translator, source: str, target: Target, num_words: int = 5
) -> dict[range, tuple[WordOption, ...]]:
    """The most probable words, best first, and the written one at the positions of each word of a translation.

    Raises:
        ValueError: as `Translator.explain`, or the model does not predict one token after the other.
    """
    translator.codec.require_autoregressive("the probability of a word")
    ids, surfaces = translator.token_ids(source, target), translator.setup.surfaces
    next_logits = translator.shared.next_logits([ids.source], packed=False)
    excluded = list(translator.setup.options().excluded)
    goes_on, is_whole = _continuing(surfaces)
    starts = [
        at
        for at, each in enumerate(ids.predicted)
        if not (at and goes_on[each] and not is_whole[ids.predicted[at - 1]])
    ]
    words = zip(starts, [*starts[1:], len(ids.predicted)], strict=True)
    places = {start: _Place(tuple(ids.predicted[start:stop]), translator) for start, stop in words}
    live, parents = [(0, Pieces(), 1.0)], [0]  # the target and words begun along it: place, pieces, probability
    while live:
        tokens = [pieces[-1] if pieces else ids.fed[start] for start, pieces, _ in live]
        rows = torch.tensor([tokens, parents], device=translator.model.device)[:, None]
        behind = next_logits(rows[0], rows[1], None)[0].float().softmax(-1).cpu()  # [W, V]
        behind[:, excluded] = 0
        followed, live, parents = live, list[tuple[int, Pieces, float]](), []
        for row, (start, pieces, probability) in enumerate(followed):
            begun = [(start + 1, pieces, 1.0)] if not pieces and start + 1 < len(ids.fed) else []
            if start in places:
                begun += [(start, *each) for each in places[start].follow(pieces, probability * behind[row])]
            live += begun
            parents += [row] * len(begun)
    return {range(start, start + len(of.written)): of.options(num_words) for start, of in places.items()}


class _Place:
    """A place of a translation, and the spellings of words there that have been followed."""

    def __init__(self, written: Pieces, translator: Translator) -> None:
        self.written, self.surfaces, self.codec = written, translator.setup.surfaces, translator.codec
        self.goes_on, self.is_whole = _continuing(self.surfaces)
        self.behind: dict[Pieces, Tensor] = {}  # probability of followed pieces and each token behind them, [V]
        self.spellings: dict[bytes, dict[Pieces, float]] = defaultdict(dict)  # of each word, with their probabilities

    def follow(self, pieces: Pieces, values: Tensor) -> list[tuple[Pieces, float]]:
        """Take the probability of each token behind some pieces, [V]; return the longer spellings to be followed."""
        self.behind[pieces] = values
        likely = values >= LEAST
        if self.written[: len(pieces)] == pieces != self.written:
            likely[self.written[len(pieces)]] = True
        if pieces:
            self.spellings[self._text(pieces)][pieces] = float(values[~self.goes_on].sum())
            likely &= self.goes_on
        further = {(*pieces, each): float(values[each]) for each in likely.nonzero()[:, 0].tolist()}
        for longer in (each for each in further if self.is_whole[each[-1]]):
            self.spellings[self._text(longer)][longer] = further[longer]
        is_end = len(pieces) >= max(MOST_PIECES, len(self.written))
        return [] if is_end else [each for each in further.items() if not self.is_whole[each[0][-1]]]

    def options(self, count: int) -> tuple[WordOption, ...]:
        written, totals = self._text(self.written), {each: sum(of.values()) for each, of in self.spellings.items()}
        best = sorted(totals, key=totals.__getitem__, reverse=True)
        return tuple(self._option(each, totals[each]) for each in best if each in (*best[:count], written))

    def _option(self, text: bytes, probability: float) -> WordOption:
        spellings = self.spellings[text]
        pieces = self.written if self.written in spellings else max(spellings, key=spellings.__getitem__)
        values, end = self.behind.get(pieces), Pieces()
        if values is not None and values[self.goes_on].sum() > values[~self.goes_on].sum():
            end = (int(values.masked_fill(self.goes_on, 0).argmax()),)
        word, tokens = text.decode(errors="replace").strip(), tuple(map(self.codec.piece, pieces))
        return WordOption(word, pieces, tokens, end, probability, self._missing(text), pieces == self.written)

    def _missing(self, text: bytes) -> float:
        """Probability of all beginnings of a word that were not followed."""
        total, known = 0.0, {*self.behind, *self.spellings[text]}
        for pieces, values in self.behind.items():
            begun = self._text(pieces)
            for stop in range(len(begun) + 1, len(text) + 1) if text.startswith(begun) else ():
                spelling = self.surfaces.spelling(text[len(begun) : stop])
                total += sum(float(values[each]) for each in spelling if (*pieces, each) not in known)
        return total

    def _text(self, pieces: Pieces) -> bytes:
        return b"".join(self.surfaces.of_token[each] for each in pieces)


@lru_cache(maxsize=4)
def _continuing(surfaces: Surfaces) -> tuple[Tensor, Tensor]:
    """Which tokens go on with a word behind others, and which ones no token goes on with, [V] each."""
    texts = [surface.decode(errors="ignore") for surface in surfaces.of_token]
    apart = [
        not surface or is_punctuation(text.strip()) or bool(UNSPACED_SCRIPTS.match(text.strip()))
        for surface, text in zip(surfaces.of_token, texts, strict=True)
    ]
    goes_on = [not alone and not text.startswith(" ") for alone, text in zip(apart, texts, strict=True)]
    is_whole = [alone or (text.endswith(" ") and text != " ") for alone, text in zip(apart, texts, strict=True)]
    return torch.tensor(goes_on), torch.tensor(is_whole)
