"""Gold links between words, of the current sentence and of whole texts."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from core.analysis.alignment.pharaoh import GoldLinks, GoldPair, Link, format_links, gold_pairs
from core.text.text_files import split_lines
from viz_app.language import RefusedError, tr_count
from viz_app.session import address
from viz_app.session.uploaded_text import decoded

LINKS = address.LINKS  # the links of the current sentence, in the Pharaoh format
SEPARATOR = "|||"
MAX_BYTES = 5 * 2**20  # of an uploaded text


@dataclass
class SentenceLinks:
    """The links that a session has made for each reading."""

    # by the reading's identity, in the Pharaoh format
    lines: dict[Hashable, str] = field(default_factory=dict[Hashable, str])
    current: Hashable = None  # the reading whose links the box has

    def before_box(self, identity: Hashable, line: str | None) -> str | None:
        """Return the line to fill into the box, whose value is `line`, or None before it is drawn; None: leave it."""
        changed = self.current is not None and self.current != identity
        self.current = identity
        return self.lines.get(identity, "") if changed or (line is None and identity in self.lines) else None


def toggled(gold: GoldLinks, link: Link) -> str:
    """Add a sure link, or remove a link that exists; in the Pharaoh format."""
    if link in gold.possible:
        return format_links(GoldLinks(gold.sure - {link}, gold.possible - {link}))
    return format_links(GoldLinks(gold.sure | {link}, gold.possible | {link}))


def given_pairs(files: Sequence[tuple[str, bytes]], pasted: str) -> list[GoldPair]:
    """Read source, target and links from three files, or else from pasted lines.

    Raises:
        ValueError: neither is there, or as `uploaded_pairs` and `pasted_pairs`.
    """
    if len(files) == 3:
        return uploaded_pairs(files)
    if not pasted.strip():
        raise RefusedError(
            "there are {count} of 3 files and no pasted lines: upload source, target and links, or paste lines of "
            "source {separator} target {separator} links",
            count=len(files),
            separator=SEPARATOR,
        )
    return pasted_pairs(pasted)


def pasted_pairs(text: str) -> list[GoldPair]:
    """Read lines of `source ||| target ||| 0-0 1-2`; blank lines are skipped.

    Raises:
        ValueError: a line does not have three parts, or as `gold_pairs`.
    """
    lines = [(number, line.split(SEPARATOR)) for number, line in enumerate(split_lines(text), start=1) if line.strip()]
    for number, parts in lines:
        if len(parts) != 3:
            raise ValueError(
                tr_count(
                    "line {number} has {count} part, expected 3: source {separator} target {separator} links",
                    "line {number} has {count} parts, expected 3: source {separator} target {separator} links",
                    len(parts),
                    number=number,
                    separator=SEPARATOR,
                )
            )
    sources, targets, links = ([parts[column] for _, parts in lines] for column in range(3))
    return gold_pairs(sources, targets, links)


def uploaded_pairs(files: Sequence[tuple[str, bytes]]) -> list[GoldPair]:
    """Read source, target and links from the names and bytes of three files.

    Raises:
        ValueError: a file is too large or not UTF-8, or as `gold_pairs`.
    """
    sources, targets, links = (_lines(name, content) for name, content in files)
    return gold_pairs(sources, targets, links)


def _lines(name: str, content: bytes) -> list[str]:
    return split_lines(decoded(name, content, MAX_BYTES, "align"))
