"""`python -m train prepare`: parallel text to a tokenizer and token shards."""

import argparse
from pathlib import Path

from core.files.number_range import FROM_1
from core.files.strict_json import readable_json
from train.data.filters import RATIOS, Filters
from train.data.parallel_text import TEXT_FORMATS, ParallelText
from train.data.preparation import prepare
from train.data.preparation_settings import BPE_DROPOUTS, SEGMENTATIONS, Preparation, Segmentation
from train.data.public_corpora import SETS
from train.data.synthetic_pairs import SHARES, Synthesis
from train.data.token_shards import DataError

DEFAULT_SEGMENTATIONS = 8


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="output folder")
    _add_text(parser)
    parser.add_argument("--vocab-size", type=FROM_1, default=37_000, help="pieces of the joint vocabulary")
    parser.add_argument(
        "--tokenizer",
        type=Path,
        help="use this SentencePiece model, or that of this .safetensors checkpoint, instead of learning one",
    )
    parser.add_argument(
        "--labels", type=Path, help=f"one label for each training pair, such as its origin: {TEXT_FORMATS}"
    )
    parser.add_argument(
        "--repeat",
        nargs="*",
        default=[],
        metavar="LABEL=TIMES",
        help="how often the pairs of a label occur in an epoch (default: once; 0 leaves them out)",
    )
    parser.add_argument(
        "--bpe-dropout",
        type=BPE_DROPOUTS,
        default=0.0,
        metavar="P",
        help="leave out each merge of two pieces with this probability in the training text (Provilkov et al. 2020; "
        "default: 0)",
    )
    parser.add_argument(
        "--segmentations",
        type=SEGMENTATIONS,
        help=f"with --bpe-dropout: an epoch has each pair N times, in other pieces (default: {DEFAULT_SEGMENTATIONS})",
    )
    for name, purpose in (
        ("copying", "with numbers, addresses, code and the like, the same on both sides"),
        ("capitals", "with a source in capitals or, one of four, in lower case, and the target as it is"),
    ):
        parser.add_argument(
            f"--{name}",
            type=SHARES,
            default=0.0,
            metavar="SHARE",
            help=f"make this share of an epoch's pairs again {purpose} (default: none)",
        )
    _add_filters(parser)
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the folder's content even if it was prepared from other text"
    )


def _add_text(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the text."""
    for part, purpose in (("", "training"), ("valid-", "validation")):
        for side in ("source", "target"):
            parser.add_argument(
                f"--{part}{side}",
                type=Path,
                nargs="+",
                default=[],
                help=f"{side} side of the {purpose} text, one sentence per line: {TEXT_FORMATS}",
            )
        parser.add_argument(
            f"--{part}pairs",
            type=Path,
            nargs="+",
            default=[],
            help=f"both sides of the {purpose} text: .tsv (may be compressed, as .tsv.gz), Moses .zip or .parquet",
        )
    parser.add_argument("--set", choices=sorted(SETS), help="download this public training and validation text")
    parser.add_argument(
        "--downloads", type=Path, metavar="FOLDER", help="folder for downloads (default: FOLDER/downloads)"
    )
    parser.add_argument(
        "--languages",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="names of the two sides in the files of --pairs and --valid-pairs, such as en de",
    )


def _add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the conditions for leaving out pairs."""
    parser.add_argument(
        "--max-words", type=FROM_1, help="leave out pairs with more than N words on a side (default: no limit)"
    )
    parser.add_argument(
        "--max-ratio",
        type=RATIOS,
        metavar="R",
        help="leave out pairs where one side has more than R times the characters of the other (default: no limit)",
    )
    parser.add_argument("--no-identical", action="store_true", help="leave out pairs with two identical sides")
    parser.add_argument("--no-duplicates", action="store_true", help="leave out pairs that occurred before")


def _prepare(options: argparse.Namespace) -> None:
    languages = tuple(options.languages) if options.languages else None
    train = ParallelText(options.source, options.target, options.pairs, languages)
    valid = ParallelText(options.valid_source, options.valid_target, options.valid_pairs, languages)
    repeat = _repetitions(options.repeat)
    segmentations = options.segmentations
    if segmentations is None:
        segmentations = DEFAULT_SEGMENTATIONS if options.bpe_dropout else 1
    if options.set:
        if files := [*train.files, *valid.files]:
            raise DataError(f"--set {options.set} brings its own text: leave out {', '.join(map(str, files))}")
        train, valid = SETS[options.set].fetch(options.downloads or options.folder / "downloads")
    manifest = prepare(
        options.folder,
        Preparation(
            train,
            valid,
            options.vocab_size,
            tokenizer=options.tokenizer,
            labels=options.labels,
            repeat=repeat,
            filters=Filters(
                max_words=options.max_words,
                max_ratio=options.max_ratio,
                identical=options.no_identical,
                duplicates=options.no_duplicates,
            ),
            segmentation=Segmentation(options.bpe_dropout, segmentations),
            synthesis=Synthesis(options.copying, options.capitals),
        ),
        overwrite=options.overwrite,
    )
    print(readable_json(manifest))


def _repetitions(items: list[str]) -> dict[str, int]:
    """Parse `LABEL=TIMES` items."""
    try:
        return {label: int(times) for label, times in (item.split("=") for item in items)}
    except ValueError as error:
        raise DataError(f"--repeat expects LABEL=TIMES with a whole number, found {' '.join(items)}") from error


COMMAND = ("turn parallel text into a tokenizer and token shards; run again to resume", _add_arguments, _prepare)
