"""`python -m core translate`: translate the lines of a file or of standard input."""

import argparse
import io
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import chain
from pathlib import Path

import torch

from core.cli.file_translation.engine import Engine, TranslateBatches
from core.cli.file_translation.interrupt import stop_on_signals
from core.cli.file_translation.job_output import FileOutput, StreamOutput, open_output
from core.cli.file_translation.line_notes import LineNotes
from core.cli.file_translation.lines import InputReader, LineWindow, count_lines, open_input, read_windows
from core.cli.file_translation.progress_bar import LineProgress
from core.cli.file_translation.search_options import add_search_options, engine_of
from core.cli.file_translation.windows import TranslatedLines, translate_windows
from core.cli.file_translation.workers import worker_pool
from core.files.console import show
from core.files.number_range import NumberRange
from core.files.shipped_files import shipped_checkpoint
from core.inference.device import usable_cores
from core.text.marian_tokenizer import MarianTokenizer
from core.text.sentences import one_per_line
from core.translator import Translator

MAX_WORKERS = 1024
LINES_PER_WORKER = 100  # least number; with fewer, a process takes longer to start than to translate
MANY_LINES = 1000  # from here on, as many workers as the cores allow
UNTRANSLATED = 3  # exit status


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `translate` to a parser."""
    parser.add_argument(
        "--checkpoint", type=Path, default=shipped_checkpoint(), help="the model (default: the shipped en-de)"
    )
    parser.add_argument("--input", type=Path, help="input file; .gz and .xz are decompressed (default: standard input)")
    parser.add_argument(
        "--text",
        help="a text to translate instead of a file: lines that were broken by hand are joined, and the translation of "
        "each sentence is a line",
    )
    parser.add_argument("--output", type=Path, help="output file (default: standard output)")
    parser.add_argument(
        "--resume", action="store_true", help="continue an interrupted --output, with the same input and options"
    )
    parser.add_argument(
        "--strict", action="store_true", help="stop with status 1 at the first line that cannot be translated"
    )
    parser.add_argument(
        "--workers",
        type=NumberRange(int, 1, MAX_WORKERS),
        help="number of processes (default: one per core; OMP_NUM_THREADS sets the threads of each)",
    )
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="address of a Ray cluster to run on, HOST:PORT or auto; needs pip install 'ray[data]'",
    )
    add_search_options(parser)


def run(options: argparse.Namespace) -> int:
    """Translate each line as a sentence, or sentence by sentence if it is too long; return 3 if some are left empty.

    Raises:
        ValueError: an option or the checkpoint is invalid, or a line cannot be translated and `--strict` is given.
        OSError: a file cannot be read or written, or a worker died.
        StoppedError: on SIGINT or SIGTERM.
    """
    if options.resume and not options.output:
        raise ValueError("--resume needs --output FILE: standard output cannot be continued")
    if options.ray:
        from core.cli.file_translation.ray_cluster import require_cluster  # Ray is optional

        require_cluster(options.ray)
    if options.text is not None and options.input:
        raise ValueError("--text with --input: one text or one file is translated; leave out one of them")
    translator = Translator.from_checkpoint(options.checkpoint, precision=options.precision)
    engine = engine_of(options, translator)
    engine.with_translator(translator)([])  # raises before any file is touched
    with stop_on_signals(), ExitStack() as stack:
        stream = stack.enter_context(open_input(options.input)) if options.input else sys.stdin.buffer
        if options.text is not None:
            stream = io.BytesIO(one_per_line(options.text).encode())
        total = count_lines(stream) if not options.input or options.input.is_file() else None
        reader = InputReader(stream, str(options.input or "the input"))
        if options.output:
            output = stack.enter_context(open_output(options.output, engine.settings(), options.resume))
            _skip(reader, output)
            stack.enter_context(_advice(output))
        else:
            output = StreamOutput(sys.stdout.buffer, sys.stdout.isatty())
        progress = stack.enter_context(closing(LineProgress(total, output.progress.lines)))
        codes, notes = _required_codes(translator), LineNotes(translator)
        parts = stack.enter_context(closing(_translated(read_windows(reader), translator, engine, options, progress)))
        for part in parts:
            for problem in part.problems:
                progress.message(problem)
            if codes and any(line.strip() and not line.lstrip().startswith(b">>") for line in part.window.lines):
                progress.message(
                    f"The model has several target languages, and some lines name none: begin them with one of {codes}"
                )
                codes = ""
            output.write(part.lines, len(part.problems), part.window.digest)
            notes.add(part.window.start, part.window.lines, part.lines)
        progress.complete()
    for message in notes.messages():
        show(message)
    if output.progress.untranslated:
        counts = f"{output.progress.untranslated} of {output.progress.lines} lines"
        show(f"{counts} could not be translated and are empty")
        return UNTRANSLATED
    return 0


def _required_codes(translator: Translator) -> str:
    """Language codes with one of which a source should begin, for display; "" if there is a default or only one."""
    codes = translator.tokenizer.language_codes if isinstance(translator.tokenizer, MarianTokenizer) else ()
    return ", ".join(codes[:8]) + ", ..." * (len(codes) > 8)


def _translated(
    windows: Iterator[LineWindow],
    translator: Translator,
    engine: Engine,
    options: argparse.Namespace,
    progress: LineProgress,
) -> Generator[TranslatedLines]:
    """Translated windows in input order, from this process, workers or a cluster."""
    if options.ray:
        from core.cli.file_translation.ray_cluster import translate_on_ray  # Ray is optional

        for part in translate_on_ray(options.ray, windows, engine, options.workers):
            if options.strict and part.problems:
                raise ValueError(part.problems[0])
            progress.update(part.window.end)
            yield part
        return
    first = next(windows, None)
    if first is None:
        return
    cores = usable_cores() if translator.model.device.type == "cpu" else 1  # processes would contend for a GPU
    num_workers = options.workers or default_workers(cores, engine.threads, len(first.lines))
    with _engine_pool(engine, translator, num_workers) as translate_batches:
        yield from translate_windows(
            chain([first], windows), translator, translate_batches, options.strict, progress.update
        )


@contextmanager
def _engine_pool(engine: Engine, translator: Translator, num_workers: int) -> Generator[TranslateBatches]:
    """Worker processes, or this process if a single one is enough."""
    if num_workers > 1:
        with worker_pool(engine, num_workers) as translate_batches:
            yield translate_batches
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(engine.threads)
    try:
        yield engine.in_this_process(translator)
    finally:
        torch.set_num_threads(threads)


def default_workers(cores: int, threads: int, lines: int) -> int:
    """Number of processes, with `threads` threads each; fewer for an input, or a first window, of few lines."""
    return max(1, min(cores // threads, cores if lines >= MANY_LINES else lines // LINES_PER_WORKER))


def _skip(reader: InputReader, output: FileOutput) -> None:
    """Skip the lines that are already translated."""
    done = output.progress
    reader.skip(done.lines)
    if done.lines and (reader.lines_read, reader.digest) != (done.lines, done.input_sha256):
        raise ValueError(
            f"the first {done.lines} lines of the input differ from those translated in {output.path}: give the same "
            f"input, or another --output"
        )


@contextmanager
def _advice(output: FileOutput) -> Generator[None]:
    """On failure, print how to resume the job."""
    try:
        yield
    except BaseException:
        written = f"{output.progress.lines} lines are written to {output.path}"
        show(f"{written}; the same command with --resume continues it")
        raise
