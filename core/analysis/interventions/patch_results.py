"""Results of patching: their tables, pictures and answers. Layers, heads and positions of tables are counted from 0."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from core.analysis.declaration import Columns, PicturedResult
from core.analysis.interventions.pair_runs import COMPONENTS, Component, PairRuns, side_of
from core.analysis.interventions.patching import Effects, Into, all_patched
from core.analysis.interventions.path_patching import Receiver
from core.analysis.pictures import Cell, Grid
from core.analysis.tokens.words import readable
from core.files.tabular import as_columns
from core.text.phrases import Number, Phrase, marked
from core.trace import KIND_NAMES, KINDS, STACKS, Head, Kind, Stack

LEGENDS: dict[Into, str] = {
    "corrupted": marked("share of the difference that the patch recovers"),
    "clean": marked("share of the difference that the patch destroys"),
}
ANSWERS: dict[Into, str] = {
    "corrupted": marked(
        "Patching {part} recovers {share} of the difference; {drawn}, {lot}, the median of all {count}."
    ),
    "clean": marked("Patching {part} destroys {share} of the difference; {drawn}, {lot}, the median of all {count}."),
}
SMALLEST = 0.05  # smaller shares leave a cell empty, of a scale up to 1
LEAST_LIMIT = 0.02  # a smaller scale would show noise
GROUPS: dict[Component, str] = {
    "encoder_self": marked("Self-attention"),
    "encoder_feed_forward": marked("Feed-forward"),
    "encoder_state": marked("State after the layer"),
    "decoder_self": marked("Self-attention"),
    "cross": marked("Cross-attention"),
    "decoder_feed_forward": marked("Feed-forward"),
    "decoder_state": marked("State after the layer"),
}
CELL_TITLES: dict[Component, str] = {
    "encoder_self": marked("Encoder self-attention L{layer}"),
    "encoder_feed_forward": marked("Encoder feed-forward L{layer}"),
    "encoder_state": marked("Encoder state after the layer L{layer}"),
    "decoder_self": marked("Decoder self-attention L{layer}"),
    "cross": marked("Cross-attention L{layer}"),
    "decoder_feed_forward": marked("Decoder feed-forward L{layer}"),
    "decoder_state": marked("Decoder state after the layer L{layer}"),
}
GRIDS: dict[Stack, str] = {
    "encoder": marked("Effects of patches in the encoder"),
    "decoder": marked("Effects of patches in the decoder"),
}


class PatchedCell(NamedTuple):
    """A component of a layer at a position, counted from 0."""

    component: Component
    layer: int
    position: int

    @property
    def title(self) -> Phrase:
        """Its name without its token: `Encoder self-attention L3`."""
        return Phrase(CELL_TITLES[self.component], layer=Number(self.layer + 1, "d"))


@dataclass(frozen=True)
class PatchedPairs(PicturedResult):
    """Runs of a sentence with each corrupted one; the results of patching them, the mean over all, are subclasses."""

    pairs: Sequence[PairRuns]
    into: Into  # the run that is patched
    drawn: ClassVar[str] = marked("a head drawn by lot")  # what the strongest is compared with

    @abstractmethod
    def strongest(self) -> tuple[str, float, Tensor]:
        """Name and share of what has the largest effect, and the shares of all among which it is, of any shape."""

    def answer(self, at: Head | None = None) -> str:
        """What has the largest effect, beside one drawn by lot."""
        part, share, shares = self.strongest()
        lot, count = Number(float(shares.nanmedian()), ".0%"), Number(shares.numel(), ",")
        values = {"part": part, "drawn": Phrase(self.drawn), "share": Number(share, ".0%"), "lot": lot, "count": count}
        return Phrase(ANSWERS[self.into], **values)

    def summary(self) -> str:
        """Both metrics of each pair, and whether the clean one comes back if everything is patched."""
        return "\n".join(map(_both_metrics, self.pairs))

    def position_names(self, component: Component) -> list[str]:
        """The token at each position, or both where the sentences differ: `girl | boy`."""
        return [
            readable(clean)
            if clean == corrupted
            else f"{readable(clean)} | {'/'.join(map(readable, corrupted.split('/')))}"
            for clean, corrupted in zip(*position_tokens(self.pairs, component), strict=True)
        ]

    def scaled(self, limit: float = 1.0) -> dict[str, Any]:
        """Legend and scale of a grid of `share_cell`s."""
        low, high = (Number(end, ".0f" if limit == 1 else ".3f") for end in (-limit, limit))
        return {"legend": Phrase(LEGENDS[self.into]), "ends": (low, high), "scale": "diverging"}


def _both_metrics(runs: PairRuns) -> str:
    first, second = map(runs.translator.codec.piece, (runs.token, runs.against))
    what = f"{first} minus {second}" if runs.metric == "difference" else f"log-probability of {first}"
    gap = abs(all_patched(runs) - runs.clean)
    return f"{what}: clean {runs.clean:.6f}, corrupted {runs.corrupted:.6f}; all patched: clean (gap {gap:.1g})"


def share_cell(share: float, *, limit: float = 1.0, head: Head | None = None) -> Cell:
    """A cell for a share on a diverging linear scale from -limit to limit; NaN is not measured yet."""
    if share != share:
        return Cell(text="", says=Phrase(marked("not measured yet")), shade=0.0, head=head)
    text = Number(share, ".2f" if limit == 1 else ".3f") if abs(share) >= SMALLEST * limit else ""
    return Cell(text=text, says=Number(share, "+.3f"), shade=share / limit, head=head)


def shares_limit(shares: Sequence[float]) -> float:
    """End of a scale for the effects of paths, which are small: the largest of them."""
    return max(LEAST_LIMIT, *(abs(share) for share in shares if share == share), 0.0)


def largest(shares: Tensor) -> int:
    """Number of the largest absolute share, of those that are measured."""
    return int(shares.nan_to_num(0).abs().argmax())


def components_of(side: Stack) -> list[Component]:
    """Components of one side, in the order of the columns."""
    return [component for component in COMPONENTS if side_of(component) == side]


@dataclass(frozen=True)
class PatchedComponents(PatchedPairs):
    """Effects of patching each component at each position: [layers, positions]."""

    effects: Mapping[Component, Effects]
    drawn = marked("an output of attention drawn by lot")

    def table(self) -> Columns:
        """A row for each component, layer and position: the tokens there, the metric, and the recovered share.

        The corrupted tokens of several pairs are joined by `/`.
        """
        rows: list[tuple[object, ...]] = []
        for component, effects in self.effects.items():
            clean, corrupted = position_tokens(self.pairs, component)
            for layer, (values, shares) in enumerate(
                zip(effects.values.tolist(), effects.recovered.tolist(), strict=True)
            ):
                for position, (value, share) in enumerate(zip(values, shares, strict=True)):
                    rows.append((component, layer, position, clean[position], corrupted[position], value, share))
        names = ("component", "layer", "position", "clean_token", "corrupted_token", "metric", "recovered")
        return as_columns(names, rows)

    def pictures(self, at: Head | None = None) -> tuple[Grid, ...]:
        """A grid of each side, with a row for each position, and a column for each layer of each component."""
        return tuple(self._of_side(side) for side in STACKS)

    def _of_side(self, side: Stack) -> Grid:
        columns = self.columns(side)
        shares = torch.cat(
            [self.effects[each].moved(self.into) for each in components_of(side)]
        )  # [columns, positions]
        names = self.position_names(columns[0][0])
        return Grid(
            title=Phrase(GRIDS[side]),
            columns=[f"L{layer + 1}" for _, layer in columns],
            rows=[(name, list(map(share_cell, row))) for name, row in zip(names, shares.T.tolist(), strict=True)],
            groups=[(Phrase(GROUPS[each]), len(self.effects[each].values)) for each in components_of(side)],
            **self.scaled(),
        )

    def columns(self, side: Stack) -> list[tuple[Component, int]]:
        """Component and layer of each column of the grid of a side."""
        return [(each, layer) for each in components_of(side) for layer in range(len(self.effects[each].values))]

    def place_of(self, cell: PatchedCell) -> tuple[int, int]:
        """The row and the column of a cell in the grid of its side."""
        return cell.position, self.columns(side_of(cell.component)).index((cell.component, cell.layer))

    def share(self, cell: PatchedCell) -> float:
        """The share of the difference that a patch makes; NaN where not measured yet."""
        return float(self.effects[cell.component].moved(self.into)[cell.layer, cell.position])

    def strongest_cell(self) -> PatchedCell:
        """The attention layer and position with the largest effect."""
        cells: list[PatchedCell] = []
        for kind in KINDS:
            shares = self.effects[kind].moved(self.into)
            cells.append(PatchedCell(kind, *divmod(largest(shares), shares.size(1))))
        return cells[largest(torch.tensor(list(map(self.share, cells))))]

    def strongest(self) -> tuple[str, float, Tensor]:
        """The attention layer with the largest effect: states after layers carry everything."""
        cell, shares = self.strongest_cell(), [self.effects[kind].moved(self.into).flatten() for kind in KINDS]
        token = self.position_names(cell.component)[cell.position]
        part = Phrase(marked("{component} at {token}"), component=cell.title, token=token)
        return part, self.share(cell), torch.cat(shares)


@dataclass(frozen=True)
class PatchedHeads(PatchedPairs):
    """Effects [H] of patching each head of an attention layer, by position."""

    kind: Kind
    layer: int
    effects: Mapping[int, Effects]

    def table(self) -> Columns:
        """A row for each position and each head."""
        clean, corrupted = position_tokens(self.pairs, self.kind)
        rows = [
            (position, clean[position], corrupted[position], head, value, share)
            for position, effects in self.effects.items()
            for head, (value, share) in enumerate(zip(effects.values.tolist(), effects.recovered.tolist(), strict=True))
        ]
        return as_columns(("position", "clean_token", "corrupted_token", "head", "metric", "recovered"), rows)

    def pictures(self, at: Head | None = None) -> tuple[Grid, ...]:
        """A grid with a row for each position."""
        names = self.position_names(self.kind)
        rows = [
            (names[position], [share_cell(share, head=head) for head, share in self._shares(position)])
            for position in self.effects
        ]
        columns = [f"H{head + 1}" for head in range(len(rows[0][1]))]
        title = Phrase(marked("Effects of single heads"))
        return (Grid(title=title, columns=columns, rows=rows, width=5, **self.scaled()),)

    def strongest(self) -> tuple[str, float, Tensor]:
        """The head with the largest effect at one position."""
        shares = [each for position in self.effects for each in self._shares(position)]
        head, share = max(shares, key=lambda each: abs(each[1]))
        return head.title, share, torch.tensor([each for _, each in shares])

    def _shares(self, position: int) -> list[tuple[Head, float]]:
        shares = self.effects[position].moved(self.into).tolist()
        return [(Head(self.kind, self.layer, head), share) for head, share in enumerate(shares)]


@dataclass(frozen=True)
class PatchedPaths(PatchedPairs):
    """Effects [senders, 1] of patching the path from each head to a receiver, at all positions at once."""

    receiver: Receiver
    senders: Sequence[Head]
    effects: Effects

    def table(self) -> Columns:
        """A row for each sender."""
        metrics, shares = self.effects.values[:, 0].tolist(), self.effects.recovered[:, 0].tolist()
        rows = [(*sender, value, share) for sender, value, share in zip(self.senders, metrics, shares, strict=True)]
        return as_columns((*Head._fields, "metric", "recovered"), rows)

    def pictures(self, at: Head | None = None) -> tuple[Grid, ...]:
        """A grid with a row for each layer, and a column for each of its heads."""
        shares = dict(zip(self.senders, self.effects.moved(self.into)[:, 0].tolist(), strict=True))
        limit = shares_limit(list(shares.values()))
        kinds: list[Kind] = [kind for kind in KINDS if any(head.kind == kind for head in self.senders)]
        heads = range(max((head.head for head in self.senders), default=0) + 1)

        def cell(head: Head) -> Cell | None:
            return share_cell(shares[head], limit=limit, head=head) if head in shares else None

        grid = Grid(
            title=Phrase(marked("Effects of heads through the paths to the receiver")),
            columns=[f"H{head + 1}" for head in heads] * len(kinds),
            rows=[
                (f"L{layer + 1}", [cell(Head(kind, layer, head)) for kind in kinds for head in heads])
                for layer in sorted({head.layer for head in self.senders})
            ],
            groups=[(Phrase(KIND_NAMES[kind]), len(heads)) for kind in kinds],
            width=6,
            **self.scaled(limit),
        )
        return (grid,)

    def strongest(self) -> tuple[str, float, Tensor]:
        """The head with the largest effect."""
        shares = self.effects.moved(self.into)[:, 0]
        number = largest(shares)
        return self.senders[number].title, float(shares[number]), shares


@dataclass(frozen=True)
class PatchedPositions(PatchedPairs):
    """Effects [1, positions] of patching the output of one head on the path to a receiver, by position."""

    sender: Head
    receiver: Receiver
    effects: Effects
    drawn = marked("a position drawn by lot")

    def table(self) -> Columns:
        """A row for each position."""
        names = self.position_names(self.sender.kind)
        values, shares = self.effects.values[0].tolist(), self.effects.recovered[0].tolist()
        return {"position": range(len(names)), "token": names, "metric": values, "recovered": shares}

    def pictures(self, at: Head | None = None) -> tuple[Grid, ...]:
        """A grid with one row."""
        shares = self.effects.moved(self.into)[0].tolist()
        limit = shares_limit(shares)
        cells = [share_cell(share, limit=limit) for share in shares]
        columns = self.position_names(self.sender.kind)
        title = Phrase(marked("Effects by position of the sender"))
        return (Grid(title=title, columns=columns, rows=[("", cells)], width=7, **self.scaled(limit)),)

    def strongest(self) -> tuple[str, float, Tensor]:
        """The position with the largest effect."""
        shares = self.effects.moved(self.into)[0]
        position = largest(shares)
        token = self.position_names(self.sender.kind)[position]
        part = Phrase(marked("{component} at {token}"), component=self.sender.title, token=token)
        return part, float(shares[position]), shares


def position_tokens(pairs: Sequence[PairRuns], component: Component) -> tuple[list[str], list[str]]:
    """Clean and corrupted token at each position of a component."""
    if side_of(component) == "decoder":
        fed = [str(token) for token in pairs[0].fed_tokens]
        return fed, fed
    clean = [str(token) for token in pairs[0].source_tokens[0]]
    others = zip(*(runs.source_tokens[1] for runs in pairs), strict=True)
    return clean, ["/".join(dict.fromkeys(map(str, tokens))) for tokens in others]
