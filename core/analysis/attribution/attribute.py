"""The analyses of why A rather than B: `attribute` for one prediction, `faithfulness` of its methods on a file."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from core.analysis.attribution.contrast import contrast_at, runner_up
from core.analysis.attribution.contrast_methods import (
    METHODS,
    ContrastAttribution,
    ContrastMethod,
    attribute_contrast,
)
from core.analysis.attribution.faithfulness import Ranking, rank_methods, sample_curves
from core.analysis.declaration import Analysis, option
from core.analysis.subject import MODEL, piece_id, predicted_position
from core.files.number_range import COUNTED_FROM_1, SEEDS
from core.text.text_files import read_text, split_lines
from core.translator import Translator

METHODS_HELP = f"methods, from {', '.join(METHODS)} (default: all that apply)"


@dataclass(frozen=True)
class AttributeOptions:
    """Options of `attribute`; the token is that at a position counted from 0, the others are ids."""

    token: int = option(
        help="number of the predicted token, counted from 1",
        metavar="N",
        type=COUNTED_FROM_1,
        read=predicted_position,
    )
    piece: int | None = option(
        None, "explain this piece instead of the predicted one, such as \u2581Hund", type=str, read=piece_id
    )
    against: int | None = option(
        None,
        "why not this piece (default: the most probable other one)",
        metavar="PIECE",
        group="other",
        type=str,
        read=piece_id,
    )
    alone: bool = option(False, "explain the log-probability of the token alone", group="other")
    methods: tuple[ContrastMethod, ...] | None = option(None, METHODS_HELP, metavar="NAME", choices=METHODS)


def attribute(
    translator: Translator, source: str, target: str | Sequence[int], options: AttributeOptions
) -> ContrastAttribution:
    """Attribute a predicted token, rather than another, to source and prefix tokens.

    Raises:
        ValueError: as `attribute_contrast`.
    """
    against = options.against
    if against is None and not options.alone:
        against = runner_up(contrast_at(translator, source, target, options.token, options.piece))
    return attribute_contrast(translator, source, target, options.token, options.piece, against, options.methods)


ATTRIBUTE = Analysis(
    "attribute",
    "attribute a predicted token, rather than another, to source and prefix tokens",
    attribute,
    AttributeOptions,
)


@dataclass(frozen=True)
class FaithfulnessOptions:
    """Options of `faithfulness`."""

    input: Path = option(help="sentences, one per line", metavar="FILE")
    alone: bool = option(False, "explain log p(A) alone, rather than A against the runner-up B")
    seed: int = option(
        0, "seed of the choice of tokens and of the random orders (default: %(default)s)", metavar="N", type=SEEDS
    )
    methods: tuple[ContrastMethod, ...] | None = option(None, METHODS_HELP, metavar="NAME", choices=METHODS)


def faithfulness(translator: Translator, options: FaithfulnessOptions) -> Ranking:
    """Rank the methods by how far the probability falls without the tokens that they rank highest.

    Progress is shown on stderr.

    Raises:
        ValueError: the file has no sentences, or one that cannot be translated.
        OSError: the file cannot be read.
    """
    sentences = [line.strip() for line in split_lines(read_text(options.input)) if line.strip()]
    if not sentences:
        raise ValueError(f"{options.input} has no sentences: give a file with one per line")
    examples = sample_curves(translator, sentences, not options.alone, options.methods, options.seed)
    shown = tqdm(examples, total=len(sentences), unit=" sentences", file=sys.stderr)
    return rank_methods([example.curves for example in shown])


FAITHFULNESS = Analysis(
    "faithfulness",
    "measure on a file of sentences which attribution methods are faithful to a model",
    faithfulness,
    FaithfulnessOptions,
    MODEL,
)
