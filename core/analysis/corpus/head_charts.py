"""What one head does in all sentences of a corpus, as charts with their numbers; see `distributions`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.analysis.corpus.distributions import DECILES, DISTANCES, FARTHEST, TOKEN_SIDES, WEIGHT_BINS, TokenMeasure
from core.analysis.corpus.index import CorpusIndex
from core.analysis.pictures import Curve, Curves
from core.analysis.tokens.words import readable
from core.text.byte_pieces import resolve_bytes
from core.text.phrases import Number, Phrase, marked
from core.trace import Head
from core.translator import Translator

STRENGTH_BINS = 30
SENTENCES = marked("sentences")


@dataclass(frozen=True)
class HeadChart:
    """A chart of a head, and its numbers."""

    columns: dict[str, list[Any]]
    picture: Curves

    def table(self) -> dict[str, list[Any]]:
        """The numbers, one row for each."""
        return self.columns


def strongest_weights(index: CorpusIndex, head: Head) -> HeadChart:
    """Number of sentences in each bin of a head's strongest weight between tokens of the text."""
    counts = index.known_distributions().weights[index.rows[head]].tolist()
    ends = [number / WEIGHT_BINS for number in range(WEIGHT_BINS + 1)]
    picture = Curves(
        title=Phrase(marked("{head}, strongest weight of a sentence"), head=head.title),
        axis=Phrase(SENTENCES),
        below=Phrase(marked("strongest weight of a sentence")),
        curves=[_bars(ends, counts, marked("sentences with a strongest weight of about {x}: {y}"))],
        limits=(0, None),
    )
    columns = {"from": ends[:-1], "to": ends[1:], "sentences": counts}
    return HeadChart(columns, picture)


def weight_by_distance(index: CorpusIndex, head: Head, diagonal: bool = False) -> HeadChart:
    """Share of a head's weight at each signed distance; of cross-attention also against the diagonal."""
    table, row = index.known_distributions(), index.rows[head]
    columns = {"distance": list(DISTANCES), "share": table.distances[row].tolist()}
    if head.kind == "cross":
        columns["diagonal"] = table.diagonal[row].tolist()
    is_diagonal = diagonal and head.kind == "cross"
    below = marked("tokens from the diagonal") if is_diagonal else marked("tokens from query to key")
    shares = columns["diagonal" if is_diagonal else "share"]
    says = Phrase(marked("distance {x}: {y} of the weight"))
    picture = Curves(
        title=Phrase(marked("{head}, weight by distance"), head=head.title),
        axis=Phrase(marked("share of the weight")),
        below=Phrase(below),
        curves=[Curve(name="", places=DISTANCES, values=shares, color=0, shape="bars", says=says)],
        names=[(distance, _name(distance)) for distance in DISTANCES],
        limits=(0, None),
        scale="share",
    )
    return HeadChart(columns, picture)


def _name(distance: int) -> str:
    number = Number(distance, "+d" if distance else "d")
    words = {-FARTHEST: marked("\u2264 {number}"), FARTHEST: marked("\u2265 {number}")}.get(distance)
    return number if words is None else Phrase(words, number=number)


def sampled_strengths(index: CorpusIndex, head: Head, decile: int | None = None) -> HeadChart:
    """Strongest pair of a head in each sentence of the sample, weakest first, with its decile from 1.

    The picture is a histogram of the strengths, with those of one decile in another colour.
    """
    table, row = index.known_distributions(), index.rows[head]
    order = [place for place in table.strengths[row].argsort(kind="stable").tolist() if table.strengths[row, place] > 0]
    parts = np.array_split(np.arange(len(order)), DECILES)
    strengths = table.strengths[row, order].tolist()
    columns = {
        "decile": [number for number, part in enumerate(parts, start=1) for _ in part],
        "strength": strengths,
        "line": [index.sentences[number].line for number in table.sentences[order].tolist()],
        "query": table.queries[row, order].tolist(),
        "key": table.keys[row, order].tolist(),
    }
    bins = np.linspace(0, max(strengths, default=1.0), STRENGTH_BINS + 1)
    curves = [_bars(bins.tolist(), _counts(strengths, bins), marked("sentences with a strength of about {x}: {y}"))]
    if decile:
        of_decile = _counts([strengths[place] for place in parts[decile - 1]], bins)
        curves = [
            replace(curves[0], name=Phrase(SENTENCES)),
            replace(curves[0], name=Phrase(marked("this tenth")), values=of_decile, color=1, says=""),
        ]
    picture = Curves(
        title=Phrase(marked("{head}, strengths of a sample of sentences"), head=head.title),
        axis=Phrase(SENTENCES),
        below=Phrase(marked("strength")),
        curves=curves,
        limits=(0, None),
    )
    return HeadChart(columns, picture)


def _counts(strengths: Sequence[float], bins: NDArray[np.float64]) -> list[int]:
    return np.histogram(strengths, bins)[0].tolist()


def _bars(ends: Sequence[float], counts: Sequence[int], says: str) -> Curve:
    """Bars of a histogram, at the middles of bins with these ends."""
    middles = [(low + high) / 2 for low, high in pairwise(ends)]
    return Curve(name="", places=middles, values=counts, color=0, shape="bars", says=Phrase(says))


def tokens_table(translator: Translator, index: CorpusIndex, head: Head, measure: TokenMeasure) -> dict[str, list[Any]]:
    """Return the top query and key tokens of a head as they are read, with their mean weight or strength.

    Raises:
        ValueError: the model has no such token, or the index has no distributions.
    """
    config, table = translator.model.config, index.known_distributions()
    rows: list[tuple[str, int, str, float]] = []
    for side in TOKEN_SIDES:
        of_source = head.kind == "encoder_self" or (head.kind == "cross" and side == "key")
        size = config.vocab_size if of_source else config.target_size
        pieces = translator.tokenizer.pieces if of_source else translator.codec.pieces
        for rank, (token_id, mean) in enumerate(table.top_tokens(index.rows[head], side, measure), start=1):
            if token_id >= size:
                raise ValueError(
                    f"the index has the token id {token_id:,}, the vocabulary {size:,} tokens: it belongs to another "
                    f"model"
                )
            rows.append((side, rank, readable(resolve_bytes(pieces([token_id]))[0]), mean))
    return {name: [row[place] for row in rows] for place, name in enumerate(("side", "rank", "token", "mean"))}
