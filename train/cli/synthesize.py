"""`python -m train synthesize`: pairs made by rule from parallel text, to teach what it has too little of.

That is copying letter by letter, and capitals. A word that stands once on each side, alike, is a name or a number, so
whatever is to be copied can take its place, on both sides at once. Currey et al. (2017) copy whole sentences for the
same purpose.
"""

import argparse
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from core.files.file_writing import check_folder_of, write_text
from core.files.number_range import SEEDS, NumberRange
from train.data.parallel_text import TEXT_FORMATS, Pair, read_parallel

SHARE = NumberRange(float, 0, 1)
# In these, 9 stands for a digit, ^ for a capital letter, ~ for a word of the text, & for a letter of another script.
_INTEGERS = [digits * "9" for digits in range(1, 11)]
_NUMBERS = [
    *(*_INTEGERS, *_INTEGERS),
    *("99:99", "2099-09-09", "9.99.9", "9.9.9", "199.99.9.99", "+99 99 9999999", "^-999", "^^9999", "9999/99", "%d"),
]
_NAMES = [
    *("^~", "^~", "^~~", "^~-^~", "~@~.org", "~.~@~.com", "https://~.org/~", "www.~.com/~", "/home/~/~", "/~/~/~.~"),
    *("~.~", "~_~.~", "--~", "--~-~", "-^", "~_~()", "~_~_~", "{~}", "{~_~}", "%s", "<b>^~</b>", "<~>^~</~>", "Ctrl+^"),
    *("@~", '"~"', "`~ --~`", "&&&", "&&&&"),
]
_EMOJI = (0x1F600, 0x1F64F), (0x1F300, 0x1F5FF), (0x1F680, 0x1F6C5)  # blocks of Unicode
_SCRIPTS = (0x3B1, 0x3C9), (0x430, 0x44F), (0x5D0, 0x5EA), (0x3041, 0x3093), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3)
_SLOT = re.compile(r"(?<![\w.,:/@<%{-])(?:\d+|[A-Z][a-z]{2,})(?![\w/@>%}-]|[.,:]\w)")
_END = re.compile(r"[.!?…]*\s*$")
_MOST_WORDS = 30, 12  # of a source that gets something to copy, or capitals, whose letters are pieces of their own
_KEPT_WORDS = 2_000  # of the text before


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    for side in ("source", "target"):
        parser.add_argument(f"--{side}", type=Path, nargs="+", required=True, help=f"{side} side: {TEXT_FORMATS}")
    parser.add_argument(
        "--copying",
        type=SHARE,
        default=0.01,
        metavar="SHARE",
        help="make this share of the pairs again with numbers, addresses, code and the like in them",
    )
    parser.add_argument(
        "--capitals",
        type=SHARE,
        default=0.02,
        metavar="SHARE",
        help="make this share again in capitals on both sides, or with a source in lower case",
    )
    parser.add_argument("--seed", type=SEEDS, default=1, help="seed of what is drawn")
    parser.add_argument(
        "-o", "--output", type=Path, nargs=2, required=True, metavar=("SOURCE", "TARGET"), help="files to write"
    )


def _synthesize(options: argparse.Namespace) -> None:
    for path in options.output:
        check_folder_of(path)
    read = read_parallel(options.source, options.target)
    pairs = list(synthetic_pairs(read, options.copying, options.capitals, options.seed))
    for path, side in zip(options.output, zip(*pairs, strict=True) if pairs else ((), ()), strict=True):
        write_text(path, "".join(f"{line}\n" for line in side))
    print(f"{len(pairs):,} pairs")


def synthetic_pairs(pairs: Iterable[Pair], copying: float, capitals: float, seed: int) -> Iterator[Pair]:
    """Yield pairs made from `pairs`; `copying` and `capitals` are the shares of them that become one of each kind.

    Half of those for capitals are both sides in capitals, half are sources in lower case with the target as it was.
    """
    draw, words = random.Random(seed), ["name", "file", "info"]
    for source, target in pairs:
        length = len(source.split())
        if draw.random() < copying and length <= _MOST_WORDS[0]:
            yield _copied(source, target, words, draw)
        if draw.random() < capitals:
            if draw.random() < 0.5:
                yield source.lower(), target
            elif length <= _MOST_WORDS[1]:
                yield source.upper(), target.upper()
        words += re.findall(r"\b[a-z]{3,9}\b", source)
        del words[:-_KEPT_WORDS]


def _copied(source: str, target: str, words: list[str], draw: random.Random) -> Pair:
    """Replace the words that stand once on each side, alike; without any, put something before the last mark."""
    found, in_target = _SLOT.findall(source), _SLOT.findall(target)
    once = [word for word in found if found.count(word) == in_target.count(word) == 1]
    things = {word: _written(draw.choice(_NUMBERS if word.isdigit() else _NAMES), words, draw) for word in once}
    if things and draw.random() < 0.8:
        source, target = (_SLOT.sub(lambda slot: things.get(slot[0], slot[0]), text) for text in (source, target))
        return source, target
    emoji = chr(draw.randint(*draw.choice(_EMOJI)))
    thing = draw.choice((emoji, *3 * [f"({_written(draw.choice(_NUMBERS + _NAMES), words, draw)})"]))
    source, target = (_END.sub(lambda end: f" {thing}{end[0]}", text, count=1) for text in (source, target))
    return source, target


def _written(pattern: str, words: list[str], draw: random.Random) -> str:
    """Draw what the marks of a pattern stand for."""
    script = draw.choice(_SCRIPTS)
    drawn = {
        "9": lambda: draw.choice("0123456789"),
        "^": lambda: chr(draw.randint(ord("A"), ord("Z"))),
        "~": lambda: (
            draw.choice(words)
            if draw.random() < 0.7
            else "".join(draw.choices("aeioubdfgklmnprst", k=draw.randint(2, 6)))
        ),
        "&": lambda: chr(draw.randint(*script)),
    }
    text = re.sub(r"\^~", lambda _: drawn["~"]().capitalize(), pattern)
    return re.sub(r"[9^~&]", lambda mark: drawn[mark[0]](), text)


COMMAND = ("make pairs by rule that teach copying letter by letter, and capitals", _add_arguments, _synthesize)
