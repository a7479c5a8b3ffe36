"""An alignment as tables: of aligners with scores, and of words with weights and links."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd
from torch import Tensor

from core.analysis.alignment.aligners import Aligner, Rows
from core.analysis.alignment.coverage import (
    absentmindedness_in,
    absentmindedness_out,
    attention_confidence,
    coverage_deviation,
    coverage_penalty,
)
from core.analysis.alignment.pharaoh import GoldLinks, Link
from core.analysis.alignment.sentence_alignment import HeadOrMean, WordAlignment
from viz_app.drawing.display_text import decimal
from viz_app.drawing.theme import head_name
from viz_app.language import marked, tr

if TYPE_CHECKING:
    pass


ROW_NAMES: dict[Rows, str] = {"predicted": marked("by predicted word"), "fed": marked("by input word")}
ROWS_IN_TABLE: dict[Rows, str] = {"predicted": marked("predicted"), "fed": marked("fed")}


def aligner_title(place: HeadOrMean) -> str:
    """Return the name of an aligner in the visitor's language, counted from 1: `L5 H3`, `L5 mean`, `mean`."""
    layer, head = place
    if layer is not None and head is not None:
        return head_name(layer, head)
    return tr("mean") if layer is None else f"L{layer + 1} {tr('mean')}"


def aligner_table(aligners: Sequence[Aligner]) -> pd.DataFrame:
    """Return a row for each aligner: name (counted from 1), rows, alignment error rate, precision and recall."""
    rows = [
        (
            aligner_title((each.layer, each.head)),
            tr(ROWS_IN_TABLE[each.rows]),
            each.score.error_rate,
            each.score.precision,
            each.score.recall,
        )
        for each in aligners
    ]
    return pd.DataFrame(rows, columns=["head", "rows", "AER", "precision", "recall"])


def ribbon_table(alignment: WordAlignment, gold: GoldLinks) -> pd.DataFrame:
    """Return a row for each pair of words: its weight, whether it is a link, and its gold label.

    Positions are counted from 0; `gold` is "sure", "possible" or empty.
    """
    rows = [
        (
            target,
            target_word,
            source,
            source_word,
            weight,
            (source, target) in alignment.links,
            _said(gold, (source, target)),
        )
        for target, (target_word, row) in enumerate(zip(alignment.target, alignment.weights.tolist(), strict=True))
        for source, (source_word, weight) in enumerate(zip(alignment.source, row, strict=True))
    ]
    return pd.DataFrame(
        rows, columns=["target_position", "target", "source_position", "source", "weight", "link", "gold"]
    )


def target_table(alignment: WordAlignment, shares: Sequence[float]) -> pd.DataFrame:
    """Return a row for each target word: its link with its weight, and its shares from source and prefix."""
    best = {target: source for source, target in alignment.links}
    rows = [
        (
            name,
            alignment.source[best[index]] if index in best else "",
            alignment.weights[index].max().item() if index in best else 0.0,
            shares[index] if shares else float("nan"),
            1 - shares[index] if shares else float("nan"),
        )
        for index, name in enumerate(alignment.target)
    ]
    return pd.DataFrame(rows, columns=["target", "looks_at", "weight", "from_source", "from_prefix"])


def coverage_table(alignment: WordAlignment) -> pd.DataFrame:
    """Return a row for each source word: the attention from all target words, and the words linked to it."""
    rows = [
        (
            name,
            covered,
            " ".join(alignment.target[target] for source, target in sorted(alignment.links) if source == index),
        )
        for index, (name, covered) in enumerate(zip(alignment.source, alignment.coverage, strict=True))
    ]
    return pd.DataFrame(rows, columns=["source", "coverage", "linked_to"])


def _said(gold: GoldLinks, link: Link) -> str:
    return "sure" if link in gold.sure else "possible" if link in gold.possible else ""


def coverage_text(weights: Tensor) -> str:
    """Say in numbers how well weights [T, S], whose rows sum to 1, cover the source."""
    scores = (coverage_penalty, coverage_deviation, absentmindedness_out, absentmindedness_in, attention_confidence)
    penalty, deviation, out, back, confidence = (decimal(score(weights), 2) for score in scores)
    return tr(
        "Coverage penalty {penalty}, deviation {deviation}; absentmindedness {out} from the target, {back} from the "
        "source; attention confidence {confidence}",
        penalty=penalty,
        deviation=deviation,
        out=out,
        back=back,
        confidence=confidence,
    )
