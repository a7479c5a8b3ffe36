"""`python -m train evaluate`: BLEU, chrF and perplexity on test sets."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from core.decoding.mask_predict import ITERATIONS
from core.files.console import show
from core.inference.device import Precision
from core.text.bleu_tokenizers import LANGUAGES
from core.text.text_files import one_line
from core.translator import Translator
from train.cli.shared_options import add_evaluation_options, finish_evaluation
from train.data.parallel_text import TEXT_FORMATS
from train.eval.bleu import bleu_notes
from train.eval.translation_scores import Score, TestSet, evaluate
from train.snapshot_checksum import check_checksum


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--source", type=Path, nargs="+", required=True, help=f"one file for each test set: {TEXT_FORMATS}"
    )
    parser.add_argument("--target", type=Path, nargs="+", required=True, help="their references, in the same order")
    parser.add_argument("--name", nargs="+", help="names of the test sets (default: those of the source files)")
    parser.add_argument(
        "--iterations", type=ITERATIONS, default=10, help="iterations of mask-predict, for a model without causal mask"
    )
    parser.add_argument(
        "--language",
        default="de",
        help=f"language of the references, for BLEU of tokenized text; {', '.join(LANGUAGES)} have tokenizers of their "
        f"own for every BLEU, which the references' script chooses, too",
    )
    parser.add_argument("--precision", choices=get_args(Precision), default="exact", help="precision of the search")
    beam = "beam size; of mask-predict, length candidates"
    add_evaluation_options(parser, 4, 0.6, "the translations to PATH/NAME.txt", beam)


def _evaluate(options: argparse.Namespace) -> None:
    tests = _test_sets(options.source, options.target, options.name or [None] * len(options.source))
    if options.record and options.precision != "exact":
        raise ValueError(
            f"--record with --precision {options.precision}: a checkpoint records scores of the exact model; "
            f"leave one of them out"
        )
    check_checksum(options.checkpoint)
    translator = Translator.from_checkpoint(options.checkpoint, options.device, options.precision)
    search = options.beam_size, options.length_penalty, options.language, options.iterations

    def results() -> Iterator[tuple[str, Score, Iterator[str]]]:
        for test in tests:
            score, hypotheses = evaluate(translator, test, *search)
            for note in bleu_notes(hypotheses, [target for _, target in test.pairs], options.language):
                show(f"{test.name}: {note}")
            yield test.name, score, map(one_line, hypotheses)

    finish_evaluation(options, results())


def _test_sets(sources: list[Path], targets: list[Path], names: list[str | None]) -> list[TestSet]:
    if not len(sources) == len(targets) == len(names):
        raise ValueError(
            f"{len(sources)} source files, {len(targets)} target files and {len(names)} names: give as many of each"
        )
    tests = [TestSet.read(*files) for files in zip(sources, targets, names, strict=True)]
    if len({test.name for test in tests}) < len(tests):
        raise ValueError(
            f"two test sets have the same name ({', '.join(test.name for test in tests)}): name them with --name"
        )
    return tests


COMMAND = ("measure sacreBLEU, chrF, BLEU as in the paper and perplexity on test sets", _add_arguments, _evaluate)
