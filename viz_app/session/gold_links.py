"""Gold alignments: those of the sentence that is read, and whole texts that people bring along."""

from collections.abc import Hashable, Sequence

import streamlit as st

from core.analysis.alignment.pharaoh import GoldLinks, GoldPair, Link, format_links, gold_pairs

LINKS = "links"  # the widget that holds the current sentence's links, in the Pharaoh format
_MADE_FOR, _KEPT = "links_made_for", "links_of"
SEPARATOR = "|||"
MAX_BYTES = 5 * 2**20  # of an uploaded text


def recall_links(identity: Hashable) -> None:
    """Before their box is drawn: bring back the links that were made for this sentence, or none."""
    kept: dict[Hashable, str] = st.session_state.setdefault(_KEPT, {})
    made_for = st.session_state.get(_MADE_FOR)
    if (made_for is not None and made_for != identity) or (LINKS not in st.session_state and identity in kept):
        st.session_state[LINKS] = kept.get(identity, "")
    st.session_state[_MADE_FOR] = identity


def keep_links(identity: Hashable, line: str) -> None:
    """After their box was drawn: remember what it says."""
    st.session_state[_KEPT][identity] = line


def links_of(identity: Hashable) -> str:
    """The links that were made for a sentence, as a line; on other pages than their own too."""
    kept: dict[Hashable, str] = st.session_state.get(_KEPT, {})
    return kept.get(identity, "")


def set_links(links: frozenset[Link]) -> None:
    """Write links into the box, as if they had been typed."""
    st.session_state[LINKS] = format_links(links)


def toggle_link(gold: GoldLinks, link: Link) -> None:
    """Add a sure link, or take away one that is there."""
    if link in gold.possible:
        changed = GoldLinks(gold.sure - {link}, gold.possible - {link})
    else:
        changed = GoldLinks(gold.sure | {link}, gold.possible | {link})
    st.session_state[LINKS] = format_links(changed)


def given_pairs(files: Sequence[tuple[str, bytes]], pasted: str) -> list[GoldPair]:
    """What files hold, source, target and links, if all three are there; else what was pasted.

    Raises:
        ValueError: neither is there, or as `uploaded_pairs` and `pasted_pairs`.
    """
    if len(files) == 3:
        return uploaded_pairs(files)
    if not pasted.strip():
        raise ValueError(
            f"there are {len(files)} of 3 files and no pasted lines: upload source, target and links, "
            f"or paste lines of source {SEPARATOR} target {SEPARATOR} links"
        )
    return pasted_pairs(pasted)


def pasted_pairs(text: str) -> list[GoldPair]:
    """Lines of `source ||| target ||| 0-0 1-2`; blank lines are skipped.

    Raises:
        ValueError: a line has not three parts, or as `gold_pairs`.
    """
    lines = [(number, line.split(SEPARATOR)) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    for number, parts in lines:
        if len(parts) != 3:
            raise ValueError(
                f"line {number} has {len(parts)} part{'s'[: len(parts) > 1]}, expected 3: source {SEPARATOR} target "
                f"{SEPARATOR} links"
            )
    sources, targets, links = ([parts[place] for _, parts in lines] for place in range(3))
    return gold_pairs(sources, targets, links)


def uploaded_pairs(files: Sequence[tuple[str, bytes]]) -> list[GoldPair]:
    """Source, target and links as the names and the bytes of three files that go line by line together.

    Raises:
        ValueError: a file is too large or not UTF-8, or as `gold_pairs`.
    """
    sources, targets, links = (_lines(name, content) for name, content in files)
    return gold_pairs(sources, targets, links)


def _lines(name: str, content: bytes) -> list[str]:
    if len(content) > MAX_BYTES:
        raise ValueError(f"{name} is larger than {MAX_BYTES // 2**20} MB: give fewer lines, or use the command line")
    try:
        return content.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 text: {error}") from error
