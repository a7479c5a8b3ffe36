"""`python -m train COMMAND`: prepare data, train, average, evaluate. `--help` lists the commands."""

import argparse
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from core.config import PRESETS
from core.cpu_inference import Precision
from core.device import best_device
from core.translator import Translator
from train.average import average
from train.card import record_scores, write_card
from train.cli.recipe_options import add_device_option, add_recipe_options, given_recipe
from train.cli.table3 import add_table3
from train.cli.trees import add_evaluate_trees, add_prepare_trees
from train.data.filters import Filters
from train.data.parallel_text import ParallelText
from train.data.preparation import prepare
from train.data.public_corpora import SETS
from train.data.token_shards import DataError, read_manifest
from train.eval.translation_scores import Score, TestSet, evaluate
from train.loop import fit
from train.presets import add_presets
from train.recipe import recipe_for
from train.runs.allocator import tune_memory
from train.runs.run_folder import RunError, RunFolder
from train.runs.stop_signals import StoppedError

Commands = Any  # what argparse's add_subparsers returns has no public name


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit status: 1 after an error, which it explains on stderr."""
    parser = command_line()
    options = parser.parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # who read has read enough; nothing is left to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except StoppedError as stopped:
        print(f"{parser.prog} {options.command}: {stopped}", file=sys.stderr)
        return 128 + stopped.signal_number
    except KeyboardInterrupt:
        print(f"{parser.prog} {options.command}: interrupted; what was saved is whole", file=sys.stderr)
        return 128 + signal.SIGINT
    except (
        ValueError,
        FloatingPointError,
        OSError,
        RunError,
    ) as error:  # DataError and CheckpointError are ValueErrors
        print(f"{parser.prog} {options.command}: {error}", file=sys.stderr)
        return 1
    return 0


def command_line() -> argparse.ArgumentParser:
    """Every command with its options; parsed, `run` is the function of the command."""
    parser = argparse.ArgumentParser(prog="python -m train", description="Prepare data, train, average and evaluate.")
    commands = parser.add_subparsers(dest="command", required=True, title="commands", metavar="COMMAND")
    _add_prepare(commands)
    add_prepare_trees(commands)
    _add_fit(commands)
    _add_average(commands)
    _add_evaluate(commands)
    add_evaluate_trees(commands)
    _add_card(commands)
    add_table3(commands)
    add_presets(commands)
    return parser


def _add_prepare(commands: Commands) -> None:
    parser = commands.add_parser(
        "prepare", help="parallel text to a tokenizer and token shards; run it again to go on where it stopped"
    )
    parser.add_argument("folder", type=Path, help="where they go")
    for part, what in (("", "to train on"), ("valid-", "to validate on")):
        one_side = "one sentence a line; plain, .gz, .xz, .bz2 or .zst"
        for side in ("source", "target"):
            parser.add_argument(
                f"--{part}{side}",
                type=Path,
                nargs="+",
                default=[],
                metavar="FILE",
                help=f"{side} text {what}: {one_side}",
            )
        parser.add_argument(
            f"--{part}pairs",
            type=Path,
            nargs="+",
            default=[],
            metavar="FILE",
            help=f"both sides {what}: .tsv, Moses .zip or .parquet",
        )
    parser.add_argument(
        "--set", choices=sorted(SETS), help="a public text to download: what to train and to validate on"
    )
    parser.add_argument(
        "--downloads", type=Path, metavar="FOLDER", help="where downloads are kept (default: FOLDER/downloads)"
    )
    parser.add_argument(
        "--languages",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="what the files of --pairs call the two sides, such as en de",
    )
    parser.add_argument(
        "--vocab-size", type=int, default=37_000, help="pieces of the joint vocabulary (default: %(default)s)"
    )
    parser.add_argument(
        "--tokenizer", type=Path, metavar="FILE", help="use the pieces of this SentencePiece model or checkpoint"
    )
    parser.add_argument("--labels", type=Path, metavar="FILE", help="one label a training pair, such as its origin")
    parser.add_argument(
        "--repeat", nargs="*", default=[], metavar="LABEL=TIMES", help="how often an epoch shows the pairs of a label"
    )
    parser.add_argument("--max-words", type=int, metavar="N", help="leave out pairs with a side of more words")
    parser.add_argument(
        "--max-ratio",
        type=float,
        metavar="R",
        help="leave out pairs with a side of more than R times the other's characters",
    )
    parser.add_argument("--no-identical", action="store_true", help="leave out pairs whose sides are the same")
    parser.add_argument("--no-duplicates", action="store_true", help="leave out pairs that came before")
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace what the folder holds, even if it was prepared from other text",
    )
    parser.set_defaults(run=_prepare)


def _prepare(options: argparse.Namespace) -> None:
    try:
        repeat = {label: int(times) for label, times in (item.split("=") for item in options.repeat)}
    except ValueError as error:
        raise DataError(f"--repeat wants LABEL=TIMES with a whole number, found {' '.join(options.repeat)}") from error
    languages = tuple(options.languages) if options.languages else None
    train = ParallelText(options.source, options.target, options.pairs, languages)
    valid = ParallelText(options.valid_source, options.valid_target, options.valid_pairs, languages)
    if options.set:
        if train.files or valid.files:
            raise DataError(
                f"--set {options.set} brings its own text: leave out "
                f"{', '.join(map(str, (*train.files, *valid.files)))}"
            )
        train, valid = SETS[options.set].fetch(options.downloads or options.folder / "downloads")
    manifest = prepare(
        options.folder,
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
        overwrite=options.overwrite,
    )
    print(json.dumps(manifest, indent=2, ensure_ascii=False))


def _add_fit(commands: Commands) -> None:
    parser = commands.add_parser(
        "fit",
        help="train a preset; run it again to go on where it stopped",
        epilog="`python -m train presets` says what each preset is, and what it took and scored where it was measured.",
    )
    parser.add_argument("preset", choices=sorted(PRESETS))
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="what `prepare` made")
    parser.add_argument(
        "--run",
        type=Path,
        required=True,
        metavar="FOLDER",
        dest="folder",
        help="the run's folder: log, snapshots, state",
    )
    parser.add_argument(
        "--init", type=Path, metavar="FILE", help="a checkpoint whose parameters to begin with, in place of random ones"
    )
    add_device_option(parser)
    parser.add_argument(
        "--compile",
        action="store_true",
        help="compile the layers, which takes a while at first; on a GPU only, and unmeasured",
    )
    add_recipe_options(parser)
    parser.set_defaults(run=_fit)


def _fit(options: argparse.Namespace) -> None:
    config = replace(PRESETS[options.preset], vocab_size=read_manifest(options.data)["vocab_size"])
    recipe = replace(recipe_for(options.preset), **given_recipe(options))
    tune_memory()
    fit(
        options.preset,
        config,
        recipe,
        options.data,
        options.folder,
        best_device(options.device),
        options.init,
        options.compile,
    )


def _add_average(commands: Commands) -> None:
    parser = commands.add_parser("average", help="the mean of a run's last snapshots, as one checkpoint")
    parser.add_argument(
        "paths", type=Path, nargs="+", metavar="RUN | FILE", help="a run's folder, or checkpoints, oldest first"
    )
    parser.add_argument(
        "--last", type=int, metavar="N", help="how many of the run's snapshots (default: all that are there)"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    parser.add_argument("--half", action="store_true", help="write float16 instead of float32: half the bytes")
    parser.set_defaults(run=_average)


def _average(options: argparse.Namespace) -> None:
    paths = options.paths
    if not paths[0].exists():
        raise ValueError(f"there is no {paths[0]}: give a run's folder, or checkpoints, oldest first")
    if options.last is not None and options.last < 1:
        raise ValueError(f"--last ({options.last}) must be at least 1; leave it out for the mean of all snapshots")
    if len(paths) == 1 and paths[0].is_dir():
        found = RunFolder(paths[0]).snapshots()
        if len(found) < (options.last or 1):
            raise ValueError(f"{paths[0]} has {len(found)} snapshots, fewer than the {options.last or 1} asked for")
        paths = found[-options.last :] if options.last else found
    elif options.last:
        raise ValueError("--last goes with one run's folder: name either a folder or files")
    facts = average(paths, options.output, options.half)
    print(f"{options.output}: the mean of {', '.join(path.name for path in paths)}, stored as {facts['stored_as']}")


def _add_evaluate(commands: Commands) -> None:
    parser = commands.add_parser(
        "evaluate", help="sacreBLEU, chrF, the paper's kind of BLEU and perplexity on test sets"
    )
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument(
        "--source", type=Path, nargs="+", required=True, metavar="FILE", help="one file a test set; plain, .gz or .xz"
    )
    parser.add_argument(
        "--target", type=Path, nargs="+", required=True, metavar="FILE", help="their references, in the same order"
    )
    parser.add_argument("--name", nargs="+", help="what to call the test sets (default: the names of the source files)")
    parser.add_argument("--beam-size", type=int, default=4, help="default: %(default)s")
    parser.add_argument("--length-penalty", type=float, default=0.6, help="default: %(default)s")
    parser.add_argument(
        "--language",
        default="de",
        help="of the references, such as de: for BLEU of tokenized text (default: %(default)s)",
    )
    parser.add_argument(
        "--precision", choices=get_args(Precision), default="exact", help="of the search; default: %(default)s"
    )
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write the translations to FOLDER/NAME.txt")
    parser.add_argument("--json", action="store_true", help="print the scores as JSON")
    parser.add_argument("--record", action="store_true", help="put the scores into the checkpoint's training facts")
    add_device_option(parser)
    parser.set_defaults(run=_evaluate)


def _evaluate(options: argparse.Namespace) -> None:
    names = options.name or [None] * len(options.source)
    if not len(options.source) == len(options.target) == len(names):
        raise ValueError(
            f"{len(options.source)} source files, {len(options.target)} target files, {len(names)} names: they must "
            f"be as many"
        )
    tests = [TestSet.read(*files) for files in zip(options.source, options.target, names, strict=True)]
    if len({test.name for test in tests}) < len(tests):
        raise ValueError(
            f"two test sets are called the same ({', '.join(test.name for test in tests)}): tell them apart with --name"
        )
    if options.record and options.precision != "exact":
        raise ValueError(
            f"--record with --precision {options.precision}: a checkpoint holds scores of the exact model; leave one "
            f"out"
        )
    translator = Translator.from_checkpoint(options.checkpoint, options.device, options.precision)
    scores: list[Score] = []
    for test in tests:
        score, hypotheses = evaluate(translator, test, options.beam_size, options.length_penalty, options.language)
        scores.append(score)
        if not options.json:
            print(score)
        if options.write:
            options.write.mkdir(parents=True, exist_ok=True)
            (options.write / f"{test.name}.txt").write_text(
                "".join(f"{line}\n" for line in hypotheses), encoding="utf-8"
            )
    if options.json:
        print(json.dumps([score.facts() for score in scores], indent=2, ensure_ascii=False))
    if options.record:
        record_scores(options.checkpoint, scores)


def _add_card(commands: Commands) -> None:
    parser = commands.add_parser("card", help="write a model card from what a checkpoint knows of itself")
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="default: the checkpoint's name, ending in .md"
    )
    parser.add_argument(
        "--log",
        type=Path,
        metavar="FILE",
        help="the run's log.jsonl: its curves are drawn beside the card, and a thinned copy is kept",
    )
    parser.add_argument("--licences", type=Path, metavar="FILE", help="Markdown on the data's origins and licences")
    parser.add_argument("--limits", type=Path, metavar="FILE", help="Markdown on what the model is bad at")
    parser.set_defaults(run=_card)


def _card(options: argparse.Namespace) -> None:
    texts = [path.read_text(encoding="utf-8") if path else "" for path in (options.licences, options.limits)]
    output = options.output or options.checkpoint.with_suffix(".md")
    write_card(options.checkpoint, output, options.log, *texts)
    print(output)


if __name__ == "__main__":
    sys.exit(main())
