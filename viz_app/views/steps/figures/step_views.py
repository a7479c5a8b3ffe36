"""Steps of a token as views: a formula, a sentence, and blocks of numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from core.analysis.tokens.words import readable
from viz_app.language import tr

Vector = NDArray[np.float64]
Scale = Literal["signed", "positive", "share"]  # of a bar: to both sides of 0, from 0 to the largest, from 0 to 1
VISIBLE = 0.4  # value of a cell of the mask, for a calm colour


@dataclass(frozen=True)
class NumberColumn:
    """A number beside each row, with a bar."""

    title: str  # above it; a text that `tr` translates where it is shown
    scale: Scale = "signed"  # of its bar
    digits: int = 3  # after the point


@dataclass(frozen=True, kw_only=True)
class VectorRow:
    """A vector with its name."""

    label: str  # A token, or a name
    is_token: bool = False  # whether it is a token
    # [n] drawn as cells or bars; NaN where something is hidden. Empty for none
    values: Vector = field(default_factory=lambda: np.empty(0))
    numbers: Sequence[float | None] = ()  # one for each column of the block; None where the mask hides it
    note: str = ""  # at the end
    is_marked: bool = False  # whether it has a frame
    as_bars: bool = False  # whether the values are bars instead of cells
    limit: float | None = None  # largest absolute value of the scale; None: that of the block


def token_rows(
    tokens: Sequence[str], numbers: Iterable[Sequence[float | None]], marked_row: int = -1
) -> list[VectorRow]:
    """Return a row of numbers for each token."""
    return [
        VectorRow(label=token, is_token=True, numbers=row, is_marked=index == marked_row)
        for index, (token, row) in enumerate(zip(tokens, numbers, strict=True))
    ]


@dataclass(frozen=True)
class Block:
    """Vectors below each other, on one scale."""

    title: str  # above them
    rows: Sequence[VectorRow]  # from top to bottom
    width: int = 32  # cells of a line; a longer vector goes on in the next line
    columns: Sequence[NumberColumn] = ()  # of numbers beside the rows
    names: Sequence[str] = ()  # of the cells; by default they are counted from 1

    @property
    def limit(self) -> float:
        """The largest absolute value of all rows without a limit of their own, 1 if there is none."""
        return max((largest(row.values) for row in self.rows if row.limit is None), default=0) or 1.0

    @property
    def has_legend(self) -> bool:
        """Whether there are cells or bars on the scale of the block."""
        return any(row.values.size and row.limit is None for row in self.rows)

    def column_limit(self, column: int) -> float:
        """The largest absolute number of a column, 1 if there is none."""
        if self.columns[column].scale == "share":
            return 1.0
        return max((abs(row.numbers[column] or 0) for row in self.rows), default=0) or 1.0


def mask_block(queries: Sequence[str], keys: Sequence[str], visible: Tensor, marked_row: int) -> Block:
    """Return the mask [Q, K] of an attention."""
    rows = [
        VectorRow(
            label=token, is_token=True, values=np.where(seen, VISIBLE, np.nan), is_marked=row == marked_row, limit=1.0
        )
        for row, (token, seen) in enumerate(zip(queries, visible.numpy(), strict=True))
    ]
    title = tr("rows may attend to the coloured columns")
    return Block(title, rows, width=len(keys), names=[readable(key) for key in keys])


@dataclass(frozen=True, kw_only=True)
class StepView:
    """One step."""

    name: str  # in the address, such as `cross-scores`
    group: str  # sub-layer that it belongs to
    title: str  # of the step
    section: str  # of the paper
    formula: str  # in the paper's symbols, as `math_tree` reads it
    text: str  # description of the step, in a sentence
    # part and quantities: of the table of these numbers, see `TokenPath.table`
    part: str
    quantities: tuple[str, ...] = ()
    numbers: Sequence[str] = ()  # the same with numbers in their place, a line each
    facts: Sequence[tuple[str, str]] = ()  # single numbers by name
    blocks: Sequence[Block] = ()  # vectors; rows of the last one can be picked if there are details
    details: Sequence[Block] = ()  # for each row of the last block, the numbers behind it
    picked: int = 0  # the row picked first
    figure: str = ""  # of the paper, and which part of it; "" if it draws no such step
    aside: tuple[str, str] | None = None  # A paragraph and its formula, below the blocks


class StepHeading(NamedTuple):
    """What a step has whatever its numbers are: attributes of `StepView`, in English."""

    group: str
    title: str
    section: str
    part: str
    quantities: tuple[str, ...] = ()


def step_view(headings: Mapping[str, StepHeading], name: str, **options: Any) -> StepView:
    """Return a step with the heading of its name, and other attributes of `StepView`."""
    at = headings[name]
    told: dict[str, Any] = {**at._asdict(), "group": tr(at.group), "title": tr(at.title), **options}
    return StepView(name=name, **told)


def step_named(views: Sequence[StepView], name: str) -> StepView:
    """Return the step of this name, else that of another sub-layer, else the first."""
    same = [view for view in views if view.name == name]
    alike = [view for view in views if view.name.partition("-")[2] == name.partition("-")[2] != ""]
    return (same or alike or list(views))[0]


def numbers_of(values: Tensor) -> Vector:
    """Return a tensor as the values of a row."""
    return values.detach().double().numpy()


def named(label: str, values: Tensor, **options: Any) -> VectorRow:
    """Return a vector with a name, and other attributes of `VectorRow`."""
    return VectorRow(label=label, values=numbers_of(values), **options)


def largest(values: Vector) -> float:
    """Return the largest absolute value, 0 if there is none."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0))
