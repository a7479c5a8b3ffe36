"""Word alignments in the Pharaoh format.

One line per sentence, such as `0-0 1-2 2?1`: source word, then target word, counted from 0.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from core.text.text_files import read_text, split_lines
from core.text.text_normalization import normalized
from core.text.tokenizer_files import naming

Link = tuple[int, int]  # source word, target word; from 0

_LINK = re.compile(r"([0-9]+)([-?p])([0-9]+)")


@dataclass(frozen=True)
class GoldLinks:
    """Links annotated by people in a sentence pair (Och & Ney 2003)."""

    sure: frozenset[Link]  # links that an alignment must have
    possible: frozenset[Link]  # links that it may have; includes the sure ones

    def __post_init__(self) -> None:
        if not self.sure <= self.possible:
            object.__setattr__(self, "possible", self.possible | self.sure)


def parse_links(line: str, source_words: int | None = None, target_words: int | None = None) -> GoldLinks:
    """Parse one line: `3-4` is a sure link, `3?4` or `3p4` a possible one; lengths are checked if given.

    Raises:
        ValueError: a link is malformed or out of range.
    """
    sure: set[Link] = set()
    possible: set[Link] = set()
    for text in normalized(line).split():
        match = _LINK.fullmatch(text)
        if match is None:
            raise ValueError(
                f"{text!r} is not a link: expected SOURCE-TARGET such as 0-0, or 0?0 or 0p0 for a possible link"
            )
        link = int(match[1]), int(match[3])
        for name, word, length in (("source", link[0], source_words), ("target", link[1], target_words)):
            if length is not None and word >= length:
                raise ValueError(f"{text!r} is out of range: the {name} has {length} words, counted from 0")
        (sure if match[2] == "-" else possible).add(link)
    return GoldLinks(frozenset(sure), frozenset(possible | sure))


def format_links(links: GoldLinks | Iterable[Link]) -> str:
    """Format links in order; those that are only possible with a `?`."""
    gold = links if isinstance(links, GoldLinks) else GoldLinks(frozenset(links), frozenset())
    return " ".join(
        f"{source}{'-' if (source, target) in gold.sure else '?'}{target}" for source, target in sorted(gold.possible)
    )


@dataclass(frozen=True)
class GoldPair:
    """A sentence and its translation, words separated by spaces, with gold links."""

    source: str
    target: str
    links: GoldLinks


def read_gold_pairs(source: str | Path, target: str | Path, links: str | Path) -> list[GoldPair]:
    """Read three UTF-8 files with corresponding lines.

    Raises:
        ValueError: a file is empty or not UTF-8; the files differ in length; a sentence is blank or a line of links is
            invalid, in which case the message names the line.
        OSError: a file cannot be read.
    """
    paths = [Path(path) for path in (source, target, links)]
    source_lines, target_lines, link_lines = map(_read_lines, paths)
    with naming(", ".join(path.name for path in paths)):
        return gold_pairs(source_lines, target_lines, link_lines)


def gold_pairs(source_lines: list[str], target_lines: list[str], link_lines: list[str]) -> list[GoldPair]:
    """Combine sentences and their links.

    Raises:
        ValueError: as `read_gold_pairs`.
    """
    if not len(source_lines) == len(target_lines) == len(link_lines):
        raise ValueError(
            f"{len(source_lines)} source lines, {len(target_lines)} target lines and {len(link_lines)} lines of "
            f"links: expected equal numbers"
        )
    pairs: list[GoldPair] = []
    for number, (source, target, line) in enumerate(zip(source_lines, target_lines, link_lines, strict=True), start=1):
        for name, text in (("source", source), ("target", target)):
            if not text.strip():
                raise ValueError(f"line {number}: the {name} is blank")
        try:
            links = parse_links(line, len(source.split()), len(target.split()))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
        pairs.append(GoldPair(source, target, links))
    return pairs


def _read_lines(path: Path) -> list[str]:
    text = read_text(path)
    if not text.strip():
        raise ValueError(f"{path.name} is empty or has only white space: expected one line for each sentence pair")
    return split_lines(text)
