"""`python -m core corpus`: index the strongest examples of heads and neurons."""

import argparse
import itertools
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from core.analysis.alignment.aligners import head_error_rates, rank_aligners
from core.analysis.alignment.pharaoh import read_gold_pairs
from core.analysis.corpus.behaviours import BEHAVIOURS, ranked
from core.analysis.corpus.collection import CorpusPass
from core.analysis.corpus.index import CorpusFacts, CorpusIndex
from core.analysis.corpus.index_file import SUFFIX, index_beside, load_index, save_index
from core.decoding.states import BEAM_SIZES
from core.files.console import printable
from core.files.file_writing import check_folder_of, file_digest
from core.files.number_range import FROM_1
from core.text.text_files import Line, parse_lines, read_text
from core.translator import Translator

GIVEN = "given"  # `CorpusFacts.translations` of translations that the file has


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `corpus` to a parser."""
    parser.add_argument("--checkpoint", type=Path, required=True, help="the model")
    parser.add_argument(
        "--input",
        type=Path,
        required=True,
        help=f"sentences, one per line, after a tab their translations if given; or an index ({SUFFIX}), whose "
        "sentences, name and licence are used again",
    )
    parser.add_argument(
        "-o", "--output", type=Path, help=f"the index (default: beside the model, its name with {SUFFIX})"
    )
    parser.add_argument("--limit", type=FROM_1, help="read only the first N sentences")
    parser.add_argument(
        "--beam-size",
        type=BEAM_SIZES,
        default=1,
        help="beam size of the search for translations that are not given; 1 is greedy search",
    )
    parser.add_argument(
        "--gold",
        nargs=3,
        metavar=("SOURCE", "TARGET", "LINKS"),
        help="sentences with links annotated by people, as for align: scores how far heads agree with them",
    )
    parser.add_argument("--name", help="name of the corpus, stored in the index (default: name of the file)")
    parser.add_argument("--licence", help="licence of the sentences")
    parser.add_argument("--attribution", help="attribution of the sentences, if their licence asks for one")


def run(options: argparse.Namespace) -> int | None:
    """Write the index, and print the first heads of each behaviour.

    Progress is shown on stderr. Interrupted by Ctrl-C, it writes the index of the sentences read, and returns 130.

    Raises:
        ValueError: a file is invalid.
        OSError: a file cannot be read or written.
    """
    output: Path = options.output or index_beside(options.checkpoint)
    lines, facts = _sentences(options)
    check_folder_of(output)
    translator = Translator.from_checkpoint(options.checkpoint)
    error_rates = {}
    if options.gold:
        pairs = read_gold_pairs(*options.gold)
        error_rates = head_error_rates(rank_aligners(translator, tqdm(pairs, unit=" gold pairs", file=sys.stderr)))
    corpus = CorpusPass(translator, lines[: options.limit], options.beam_size, error_rates)
    was_stopped = _read(corpus)
    index = corpus.index(facts)
    save_index(output, index)
    left_out = f", {corpus.left_out} lines left out (repeated or too long)" if corpus.left_out else ""
    stopped = f" of {len(corpus.lines):,}, stopped" if was_stopped else ""
    size = f"{output.stat().st_size / 1e6:.2f} MB"
    print(printable(f"{output}: {corpus.done:,} sentences{stopped}{left_out}, {size}") + "\n")
    print(format_behaviours(index))
    return 130 if was_stopped else None


def _sentences(options: argparse.Namespace) -> tuple[Sequence[Line], CorpusFacts]:
    """Sentences to read, and the facts of the new index."""
    checkpoint, source = Path(options.checkpoint), Path(options.input)
    facts = CorpusFacts(checkpoint.name, file_digest(checkpoint), source.name)
    if source.name.endswith(SUFFIX):
        former = load_index(source)
        lines = [Line(each.line, each.source) for each in former.sentences]
        facts = replace(former.facts, checkpoint=facts.checkpoint, digest=facts.digest)
    else:
        text = read_text(source)
        try:
            lines = parse_lines(text)
        except ValueError as error:
            raise ValueError(f"{source.name}: {error}") from error
    given = {
        name: value
        for name, value in (
            ("corpus", options.name),
            ("licence", options.licence),
            ("attribution", options.attribution),
            ("translations", translations_of(lines, options.beam_size)),
        )
        if value is not None
    }
    return lines, replace(facts, **given)


def translations_of(lines: Sequence[Line], beam_size: int) -> str:
    """`CorpusFacts.translations`: given, or else the beam size of the search."""
    return GIVEN if all(line.target is not None for line in lines) else str(beam_size)


def _read(corpus: CorpusPass) -> bool:
    """Read the corpus, and return whether Ctrl-C stopped it."""
    try:
        with tqdm(total=len(corpus.lines), unit=" sentences", file=sys.stderr) as bar:
            for count in corpus.steps():
                bar.update(count)
    except KeyboardInterrupt:
        if not corpus.done:
            raise
        return True
    return False


def format_behaviours(index: CorpusIndex, top: int = 3) -> str:
    """Format the first heads of each behaviour as a text table; layers and heads are counted from 1."""
    width = max(len(each.name) for each in BEHAVIOURS.values())
    rows = [f"{'heads that':<{width}}  highest scores, counted from 1"]
    for name, behaviour in BEHAVIOURS.items():
        first = itertools.islice(ranked(index, name), top)
        scores = ", ".join(f"{card.head} {score:.2f}" for card, score in first)
        rows.append(f"{behaviour.name:<{width}}  {scores or 'not measured'}")
    return "\n".join(rows)
