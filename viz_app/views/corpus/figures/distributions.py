"""What one head does in all sentences of a corpus, as small charts and tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.analysis.corpus.distributions import (
    DECILES,
    DISTANCES,
    FARTHEST,
    TOKEN_SIDES,
    WEIGHT_BINS,
    TokenMeasure,
    TokenSide,
)
from core.analysis.corpus.index import CorpusIndex
from core.analysis.heads.head import Head
from core.analysis.tokens.words import readable
from core.text.byte_pieces import resolve_bytes
from core.translator import Translator
from viz_app.drawing.plotly_chart import bare_axis, empty_figure, with_layout
from viz_app.drawing.theme import SMALL, Theme
from viz_app.language import localized, tr

Table = dict[str, list[Any]]

HEIGHT = 150
STRENGTH_BINS = 30
MARGIN = (48, 6, 12, 42)


def weights_table(index: CorpusIndex, head: Head) -> Table:
    """Return the number of sentences in each bin of a head's strongest weight between tokens of the text."""
    counts = index.known_distributions().weights[index.rows[head]]
    return {
        "from": [number / WEIGHT_BINS for number in range(WEIGHT_BINS)],
        "to": [(number + 1) / WEIGHT_BINS for number in range(WEIGHT_BINS)],
        "sentences": counts.tolist(),
    }


def weights_figure(index: CorpusIndex, head: Head, theme: Theme) -> go.Figure:
    """Draw the histogram of `weights_table`."""
    table = weights_table(index, head)
    ends = ([localized(each, ".2f") for each in table[name]] for name in ("from", "to"))
    texts = [
        tr("sentences with a strongest weight of {low} to {high}: {count:,}", low=low, high=high, count=count)
        for low, high, count in zip(*ends, table["sentences"], strict=True)
    ]
    titles, ticks = (tr("strongest weight of a sentence"), tr("sentences")), _quarters(WEIGHT_BINS, 1.0, "g")
    return _bars(theme, range(WEIGHT_BINS), table["sentences"], texts, titles, ticks)


def _quarters(bins: int, most: float, form: str) -> dict[float, str]:
    """Return ticks at the quarters of a histogram from 0 to its end, by their places among the bins."""
    return {bins * share / 4 - 0.5: localized(most * share / 4, form) for share in range(5)}


def distances_table(index: CorpusIndex, head: Head) -> Table:
    """Return the share of a head's weight at each signed distance, and in cross-attention against the diagonal."""
    table, row = index.known_distributions(), index.rows[head]
    columns: Table = {"distance": list(DISTANCES), "share": table.distances[row].tolist()}
    return columns | ({"diagonal": table.diagonal[row].tolist()} if head.kind == "cross" else {})


def distances_figure(index: CorpusIndex, head: Head, theme: Theme, diagonal: bool = False) -> go.Figure:
    """Draw a column of `distances_table`, in cross-attention also against the diagonal."""
    shares = distances_table(index, head)["diagonal" if diagonal and head.kind == "cross" else "share"]
    names = [_distance(distance) for distance in DISTANCES]
    texts = [
        tr("distance {distance}: {share:.1%} of the weight", distance=name, share=share)
        for name, share in zip(names, shares, strict=True)
    ]
    title = tr("tokens from the diagonal") if diagonal and head.kind == "cross" else tr("tokens from query to key")
    ticks: dict[float, str] = {each: _distance(each) for each in (-FARTHEST, -8, -1, 1, 8, FARTHEST)}
    return _bars(theme, DISTANCES, [100 * share for share in shares], texts, (title, tr("% of the weight")), ticks)


def _distance(distance: int) -> str:
    name = localized(distance, "+d").replace("-", "\u2212") if distance else "0"
    return f"\u2264 {name}" if distance == -FARTHEST else f"\u2265 {name}" if distance == FARTHEST else name


def strengths_table(index: CorpusIndex, head: Head) -> Table:
    """Return the strongest pair of a head in each sentence of the sample, weakest first, with its decile from 1."""
    table, row = index.known_distributions(), index.rows[head]
    order = [place for place in table.strengths[row].argsort(kind="stable").tolist() if table.strengths[row, place] > 0]
    parts = np.array_split(np.arange(len(order)), DECILES)
    return {
        "decile": [number for number, part in enumerate(parts, start=1) for _ in part],
        "strength": table.strengths[row, order].tolist(),
        "line": [index.sentences[number].line for number in table.sentences[order].tolist()],
        "query": table.queries[row, order].tolist(),
        "key": table.keys[row, order].tolist(),
    }


def strengths_figure(index: CorpusIndex, head: Head, theme: Theme, decile: int | None = None) -> go.Figure:
    """Draw a histogram of the strengths of `strengths_table`, with the ends of a decile, from 1, marked."""
    table = strengths_table(index, head)
    strengths = np.array(table["strength"])
    most = float(strengths.max()) if len(strengths) else 1.0
    counts, ends = np.histogram(strengths, STRENGTH_BINS, (0.0, most))
    texts = [
        tr(
            "sentences with a strength of {low} to {high}: {count}",
            low=localized(float(low), ".2f"),
            high=localized(float(high), ".2f"),
            count=int(count),
        )
        for low, high, count in zip(ends, ends[1:], counts, strict=False)
    ]
    titles, ticks = (tr("strength"), tr("sentences")), _quarters(STRENGTH_BINS, most, ".2g")
    figure = _bars(theme, range(STRENGTH_BINS), counts.tolist(), texts, titles, ticks)
    chosen = [each for each, number in zip(table["strength"], table["decile"], strict=True) if number == decile]
    for end in {min(chosen), max(chosen)} if chosen else ():
        place = end * STRENGTH_BINS / most - 0.5
        figure.add_shape(
            type="line", x0=place, x1=place, y0=0, y1=1, yref="paper", line={"color": theme.text, "width": 1.5}
        )
    return figure


def _bars(
    theme: Theme,
    x: Sequence[int],
    y: Sequence[float],
    texts: Sequence[str],
    titles: tuple[str, str],
    ticks: Mapping[float, str],
) -> go.Figure:
    """Draw a bar for each of the places x, which are consecutive numbers."""
    figure = empty_figure(theme, HEIGHT, MARGIN)
    figure.add_bar(
        x=list(x),
        y=list(y),
        name=titles[1],
        text=texts,
        textposition="none",
        marker={"color": theme.head_colors[0]},
        hovertemplate="%{text}<extra></extra>",
    )
    font = {"size": SMALL, "color": theme.faint}
    shared = {"showticklabels": True, "tickfont": {**font, "family": theme.monospace_font}}
    across, up = ({"text": title, "font": font} for title in titles)
    places = {"tickvals": list(ticks), "ticktext": list(ticks.values()), "range": [x[0] - 0.5, x[-1] + 0.5]}
    return with_layout(
        figure,
        bargap=0.15,
        xaxis=bare_axis(**shared, title=across, **places),
        yaxis=bare_axis(**shared, title=up, rangemode="tozero", nticks=4),
    )


def token_names(translator: Translator, head: Head, side: TokenSide, ids: list[int]) -> list[str]:
    """Return token ids of one side of a head's attention as they are read.

    Raises:
        ValueError: The model has no such token.
    """
    config = translator.model.config
    of_source = head.kind == "encoder_self" or (head.kind == "cross" and side == "key")
    size = config.vocab_size if of_source else config.target_size
    if ids and max(ids) >= size:
        raise ValueError(
            tr(
                "the index has the token id {token_id}, the vocabulary {size} tokens: it belongs to another model",
                token_id=max(ids),
                size=size,
            )
        )
    if not of_source:
        return [readable(translator.codec.piece(token_id)) for token_id in ids]
    return [readable(resolve_bytes(translator.tokenizer.pieces([token_id]))[0]) for token_id in ids]


def tokens_table(translator: Translator, index: CorpusIndex, head: Head, measure: TokenMeasure) -> Table:
    """Return the top query and key tokens of a head, with their mean weight or strength.

    Raises:
        ValueError: As `token_names`, or the index has no distributions.
    """
    columns: Table = {"side": [], "rank": [], "token": [], "mean": []}
    for side in TOKEN_SIDES:
        found = index.known_distributions().top_tokens(index.rows[head], side, measure)
        columns["side"] += [side] * len(found)
        columns["rank"] += range(1, len(found) + 1)
        columns["token"] += token_names(translator, head, side, [token_id for token_id, _ in found])
        columns["mean"] += [value for _, value in found]
    return columns
