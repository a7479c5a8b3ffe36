"""`python -m core explain` and `explain-arrays`: explanations as files."""

import argparse
from pathlib import Path
from typing import Any

from core.analysis.subject import SENTENCE, sentence_target
from core.export.attention_arrays import explanation_of_arrays, load_arrays
from core.export.files import SUFFIXES, check_suffix, save_explanation
from core.export.record import ExplanationRecord, record_of
from core.files.console import printable
from core.files.file_writing import check_folder_of, file_digest
from core.mask_predict_translation import explain_iteration
from core.results import Explanation
from core.translator import Translator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `explain` to a parser."""
    SENTENCE.add_arguments(parser)
    _add_output(parser)


def add_array_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `explain-arrays` to a parser."""
    parser.add_argument("arrays", type=Path, metavar="ARRAYS", help="an .npz file, see core/export/attention_arrays.py")
    _add_output(parser)


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        help=f"output file; its suffix selects the format: {', '.join(SUFFIXES)}",
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the file, and print its name and the translation.

    Raises:
        ValueError: the text or an option is invalid.
        OSError: the checkpoint cannot be read, or the file cannot be written.
    """
    _check_output(arguments.output)
    translator = Translator.from_checkpoint(arguments.checkpoint)
    settings: dict[str, Any] = {"target": "given"}
    if arguments.target is None:
        settings = {"target": "search", "beam_size": arguments.beam_size, "length_penalty": arguments.length_penalty}
    if translator.config.autoregressive:
        explanation = translator.explain(arguments.text, sentence_target(translator, arguments))
    else:
        explanation = _last_iteration(translator, arguments)
        settings = {"target": "mask-predict", "length_candidates": arguments.beam_size}
    digest = file_digest(arguments.checkpoint)
    _write(arguments.output, record_of(explanation, translator, settings, arguments.checkpoint.name, digest))


def _last_iteration(translator: Translator, arguments: argparse.Namespace) -> Explanation:
    """Explain the last iteration of a translation by mask-predict."""
    if arguments.target is not None:
        translator.codec.require_autoregressive("--target")
    best = translator.translate(arguments.text, arguments.beam_size).hypotheses[0]
    return explain_iteration(translator, arguments.text, best)


def run_arrays(arguments: argparse.Namespace) -> None:
    """Write the explanation of an array file, and print its name and the translation.

    Raises:
        ValueError: as `run`; an ArrayError if the file is not an array file.
        OSError: the array file cannot be read, or the file cannot be written.
    """
    _check_output(arguments.output)
    explanation = explanation_of_arrays(load_arrays(arguments.arrays))
    _write(arguments.output, ExplanationRecord(explanation, settings={"arrays": arguments.arrays.name}))


def _check_output(output: Path) -> None:
    check_suffix(output.suffix)
    check_folder_of(output)


def _write(output: Path, record: ExplanationRecord) -> None:
    save_explanation(output, record)
    print(printable(f"{output} ({output.stat().st_size / 1e6:.2f} MB): {record.explanation.target}"))
