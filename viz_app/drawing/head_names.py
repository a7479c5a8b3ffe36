"""Displayed names of heads: `L5 H3`, `Mean of all`; and their colours."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import cache

from core.analysis.heads.head import Head
from core.analysis.heads.mean_and_maximum import ALL as ALL
from core.analysis.heads.mean_and_maximum import CHOSEN as CHOSEN
from core.analysis.heads.mean_and_maximum import LayerHead as LayerHead
from core.capture import AttentionMap
from core.drawing.drawing_data import KIND_NAMES as KIND_NAMES
from core.drawing.drawing_data import KIND_TEXTS as KIND_TEXTS
from viz_app.drawing.theme import Theme, head_name
from viz_app.language import marked, tr

COMBINED_NAMES: dict[LayerHead, str] = {  # also values of options: `tr` where they are shown
    (ALL, 0): marked("Mean of all"),
    (ALL, 1): marked("Maximum of all"),
    (CHOSEN, 0): marked("Mean of chosen"),
    (CHOSEN, 1): marked("Maximum of chosen"),
}

COMBINED_TITLES = (marked("mean"), marked("max"))  # short names of the two


@cache  # of all heads, for each list of heads on a page
def name_of(layer: int, head: int) -> str:
    """Return the name of a head or of a combination: (4, 2) -> `L5 H3`, (ALL, 0) -> `Mean of all`."""
    return COMBINED_NAMES[layer, head] if layer < 0 else head_name(layer, head)


def shown_name(name: str) -> str:
    """Return a name of `names` as it is shown: those of combinations in the visitor's language."""
    return tr(name) if name in COMBINED_NAMES.values() else name


def head_title(head: Head) -> str:
    """Return a head's name with its kind: `Cross L5 H3`."""
    return f"{tr(KIND_NAMES[head.kind])} {name_of(head.layer, head.head)}"


def head_titles(heads: Iterable[Head]) -> list[str]:
    """Return the `head_title` of each head."""
    kinds = {kind: tr(name) for kind, name in KIND_NAMES.items()}
    return [f"{kinds[head.kind]} {name_of(head.layer, head.head)}" for head in heads]


def layer_name(layer: int, head: int) -> str:
    """Return the name of a map that stands for all heads of a layer: (4, 0) -> `L5`."""
    return COMBINED_NAMES[layer, head] if layer < 0 else f"L{layer + 1}"


def drawn_heads(
    layer: int, heads: Sequence[int], theme: Theme, name: Callable[[int, int], str]
) -> list[tuple[int, dict[str, str]]]:
    """Return heads of one layer with their names, colours and dashes; see `HeadData` in types.d.ts."""

    def style(head: int) -> dict[str, str]:
        short = tr(COMBINED_TITLES[head]) if layer < 0 else f"H{head + 1}"
        return {"name": tr(name(layer, head)), "short": short, **asdict(theme.head_mark(head))}

    return [(head, style(head)) for head in heads]


def names(maps: Sequence[AttentionMap], name: Callable[[int, int], str] = name_of) -> list[str]:
    """Return the names of all heads of these layers, then those of the combinations."""
    return [
        *(name(attention.layer, head) for attention in maps for head in range(attention.num_heads)),
        *COMBINED_NAMES.values(),
    ]


def parsed(name: str) -> LayerHead:
    """Parse a name: `L5 H3` -> (4, 2), `L5` -> (4, 0), `Mean of all` -> (ALL, 0)."""
    for place, combined_name in COMBINED_NAMES.items():
        if name == combined_name:
            return place
    numbers = re.fullmatch(r"L(\d+)(?: H(\d+))?", name)
    if numbers is None:
        raise ValueError(f"{name!r} is not the name of a head, expected one such as 'L5 H3'")
    return int(numbers[1]) - 1, int(numbers[2] or 1) - 1
