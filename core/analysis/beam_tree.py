"""Tree of all candidates of a beam search: the hypothesis that each continued, and its fate."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import eq
from typing import Any

from core.analysis.tokens.words import readable
from core.decoding import FREE, BeamState, Constraints, Fate, Hypothesis, SearchOptions, Stop, best_hypotheses
from core.files.tabular import Tabular
from core.results import ScoredText
from core.text.byte_pieces import BytePiece, PlacedPiece, bytes_of, resolve_bytes
from core.text.phrases import Number, Phrase, marked
from core.text.tokenizer import Tokenizer
from core.translator import Translator

ELLIPSIS = "\u2026"
FATES: dict[Fate, str] = {"live": marked("live"), "finished": marked("finished"), "pruned": marked("pruned")}


@dataclass(frozen=True)
class BeamNode:
    """One candidate: a hypothesis identified by its last token."""

    position: int  # of the last token in the target, from 1
    rank: int  # among the candidates of its position, 0 for the best
    parent: int | None  # rank of its parent among the candidates of the previous position; None at the first position
    # last token as a piece. A byte token names the character spelled by its best continuation, with an ellipsis if
    # other continuations spell another one.
    token: str
    token_log_prob: float  # log-probability of the last token given the tokens before it, in nats
    log_prob: float  # log-probability of the whole hypothesis, in nats
    score: float  # `log_prob` divided by the length penalty
    token_ids: tuple[int, ...]  # all tokens, without `<s>`
    text: str  # the same, decoded
    fate: Fate  # `live` (kept in the beam), `finished` (ended with `</s>`) or `pruned` (ranked below the beam)
    alive_until: int  # last position at which it or a descendant was live or finished; `position` - 1 if it was pruned


@dataclass(frozen=True)
class BeamTree(Tabular):
    """A whole search."""

    steps: tuple[tuple[BeamNode, ...], ...]  # the candidates of each position, best first, at most 2 x beam_size
    stop: Stop  # reason why the search ended, see `core.decoding.BeamState`
    options: SearchOptions  # options of the search
    best: tuple[int, ...]  # token ids of the best hypothesis
    finished: tuple[Hypothesis, ...]  # all finished hypotheses, best first
    num_forced: int = 0  # length of the forced prefix. Each of its tokens is the only candidate of its position.
    start: str = "<s>"  # piece that the decoder begins with

    def path(self, node: BeamNode) -> list[BeamNode]:
        """The node and its ancestors, from the first token on."""
        return _path(self.steps, node)

    def node(self, token_ids: Sequence[int]) -> BeamNode | None:
        """The candidate with these tokens, or None."""
        nodes = self.steps[len(token_ids) - 1] if 0 < len(token_ids) <= len(self.steps) else ()
        return next((node for node in nodes if node.token_ids == tuple(token_ids)), None)

    def best_through(self, node: BeamNode) -> BeamNode | None:
        """The end of the best hypothesis that begins with the tokens of a node, or None.

        It is a finished one or, if the search ended at the limit of the length, one that is still live there.
        """
        finished = (each for nodes in self.steps for each in nodes if each.fate == "finished")
        ends = sorted(finished, key=lambda each: -each.score)
        if self.stop == "limit":
            ends += [each for each in self.steps[-1] if each.fate == "live"]
        return next((end for end in ends if end.token_ids[: node.position] == node.token_ids), None)

    def survivors(self, most_dropped: int) -> list[BeamNode]:
        """Ends of what was kept: the finished hypotheses, best first, then those that were dropped or still live in the
        end, the ones first that had gone furthest from all finished ones.
        """
        finished = [node for each in self.finished if (node := self.node(each.token_ids))]
        left = [
            node for nodes in self.steps for node in nodes if node.fate == "live" and node.alive_until == node.position
        ]

        def shared(node: BeamNode) -> int:
            common = (takewhile(bool, map(eq, node.token_ids, each.token_ids)) for each in finished)
            return max((len(list(each)) for each in common), default=0)

        return finished + sorted(left, key=lambda node: shared(node) - node.position)[:most_dropped]

    def hypothesis(self, node: BeamNode) -> ScoredText:
        """The hypothesis that ends at a node."""
        path = self.path(node)
        return ScoredText(
            text=node.text,
            token_ids=node.token_ids,
            tokens=tuple(each.token for each in path),
            token_log_probs=tuple(each.token_log_prob for each in path),
            score=node.score,
            finished=node.token_ids[-1] == self.options.eos_id,
        )

    def answer(self) -> Phrase:
        """How many candidates and translations there were, and by how much the best of these leads."""
        values = {"candidates": sum(map(len, self.steps)), "finished": len(self.finished)}
        texts: dict[str, str] = {name: Number(each, ",") for name, each in values.items()}
        if len(self.finished) < 2:
            return Phrase(marked("Of {candidates} candidates {finished} finished."), **texts)
        texts |= zip(("best", "next"), (Number(each.score, ".2f") for each in self.finished[:2]), strict=True)
        words = marked(
            "Of {candidates} candidates {finished} finished: the best has the score {best}, the next {next}."
        )
        return Phrase(words, **texts)

    def table(self) -> dict[str, list[Any]]:
        """A row for each candidate, positions and ranks from 1, with its fate and the reason for it."""
        nodes = [node for step in self.steps for node in step]
        return {
            "position": [node.position for node in nodes],
            "rank": [node.rank + 1 for node in nodes],
            "text": [node.text for node in nodes],
            "token": [readable(node.token) for node in nodes],
            **{name: [getattr(node, name) for node in nodes] for name in ("token_log_prob", "log_prob", "score")},
            "fate": [Phrase(FATES[node.fate]) for node in nodes],
            "reason": [self.reason(node) for node in nodes],
        }

    def reason(self, node: BeamNode) -> Phrase:
        """The fate of a node in the whole search, and its reason, in one sentence."""
        beam = self.options.beam_size
        if node.position <= self.num_forced:
            return Phrase("Forced: no other candidate was considered here.")
        if node.fate == "finished":
            place = 1 + [hypothesis.token_ids for hypothesis in self.finished].index(node.token_ids)
            of = Number(len(self.finished), ",")
            return Phrase("Finished: number {place} of {count} by score.", place=Number(place, ","), count=of)
        if node.fate == "pruned" and node.token_ids[-1] == self.options.eos_id:
            return Phrase(
                "Pruned: a finished hypothesis counts only among the first {count} candidates.", count=Number(beam, ",")
            )
        if node.fate == "pruned":
            return Phrase(
                "Pruned: others that do not end, as many as the beam is wide ({count}), rank above it.",
                count=Number(beam, ","),
            )
        if node.position == len(self.steps):
            return Phrase("Still live when the search stopped.")
        if node.alive_until == len(self.steps):
            return Phrase("Continued: a later hypothesis grew from it.")
        return Phrase(
            "Continued until position {last}; at {next} no continuation ranked within the beam.",
            last=Number(node.alive_until, ","),
            next=Number(node.alive_until + 1, ","),
        )

    def stop_reason(self) -> Phrase:
        """Why the search ended, in one sentence."""
        wanted, finished = self.options.num_hypotheses, len(self.finished)
        if self.stop == "limit":
            return Phrase(
                "Stopped: {count} tokens are the limit, 50 more than the source has.",
                count=Number(len(self.steps), ","),
            )
        if self.stop == "beam_finished":
            return Phrase(
                "Stopped: as many hypotheses have finished ({count}) as the beam is wide.", count=Number(finished, ",")
            )
        if finished < wanted:
            return Phrase("Stopped: no live hypothesis is left.")
        return Phrase(
            "Stopped: no live hypothesis can still score above {score}, the score of number {number} of the finished, "
            "because log-probabilities only fall.",
            score=Number(self.finished[wanted - 1].score, ".2f"),
            number=Number(wanted, ","),
        )


def beam_tree(
    translator: Translator,
    text: str,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    num_hypotheses: int | None = None,
    prefix: Sequence[int] = (),
    constraints: Constraints = FREE,
) -> BeamTree:
    """Tree of the search that `Translator.translate` makes.

    Other threads may use the model between two positions.

    Raises:
        ValueError: as `Translator.translate`.
    """
    options = translator.setup.options(beam_size, length_penalty, num_hypotheses, constraints)
    states = translator.search(text, beam_size, length_penalty, num_hypotheses, prefix, constraints)
    return build_tree(states, options, translator.tokenizer.target, len(prefix))


def build_tree(
    states: Iterable[BeamState], options: SearchOptions, tokenizer: Tokenizer, num_forced: int = 0
) -> BeamTree:
    """Build the tree of a search for one sentence.

    Args:
        states: all states, in order.
        options: options of the search.
        num_forced: length of the forced prefix.

    Raises:
        ValueError: there are no states, or the search has not ended.
    """
    steps: list[list[BeamNode]] = []
    parents: list[int | None] = [None]  # ranks of the live hypotheses of the previous position
    last = None
    for last in states:
        before = steps[-1] if steps else []
        nodes: list[BeamNode] = []
        for rank, candidate in enumerate(last.candidates):
            parent = parents[candidate.parent]
            token_ids = (*(before[parent].token_ids if parent is not None else ()), candidate.token_id)
            nodes.append(
                BeamNode(
                    position=last.position,
                    rank=rank,
                    parent=parent,
                    token=_last_piece(tokenizer, token_ids, options.eos_id),
                    token_log_prob=candidate.token_log_prob,
                    log_prob=candidate.log_prob,
                    score=options.score(candidate.log_prob, last.position),
                    token_ids=token_ids,
                    text=tokenizer.decode(token_ids[:-1] if candidate.token_id == options.eos_id else token_ids),
                    fate=candidate.fate,
                    alive_until=last.position - (candidate.fate == "pruned"),
                )
            )
        steps.append(nodes)
        parents = [node.rank for node in nodes if node.fate == "live"]
    if last is None or last.stop is None:
        raise ValueError(
            f"a beam tree needs the states of a whole search: found {len(steps)} states, the last without a reason to "
            f"stop; pass all states"
        )
    best = best_hypotheses(last, options)[0].token_ids
    return BeamTree(
        steps=_with_characters(_with_lifetimes(steps), best),
        stop=last.stop,
        options=options,
        best=best,
        finished=last.finished,
        num_forced=num_forced,
        start=PlacedPiece(tokenizer.piece(options.bos_id), "start"),
    )


def _last_piece(tokenizer: Tokenizer, token_ids: Sequence[int], eos_id: int) -> str:
    """The last token of a target as a piece."""
    piece = tokenizer.pieces(token_ids[-2:])[-1]
    return PlacedPiece(piece, "end") if token_ids[-1] == eos_id else piece


def _with_lifetimes(steps: list[list[BeamNode]]) -> tuple[tuple[BeamNode, ...], ...]:
    """Set `alive_until`: the maximum over descendants; the end if one finished."""
    done: list[tuple[BeamNode, ...]] = []
    inherited: dict[int, int] = {}  # by rank at the current position: longest lifetime of a child
    for nodes in reversed(steps):
        ends = [
            len(steps) if node.fate == "finished" else max(node.alive_until, inherited.get(node.rank, 0))
            for node in nodes
        ]
        inherited = {}
        for node, end in zip(nodes, ends, strict=True):
            if node.parent is not None:
                inherited[node.parent] = max(inherited.get(node.parent, 0), end)
        done.append(tuple(replace(node, alive_until=end) for node, end in zip(nodes, ends, strict=True)))
    return tuple(reversed(done))


def _path(steps: Sequence[Sequence[BeamNode]], node: BeamNode) -> list[BeamNode]:
    nodes = [node]
    while nodes[-1].parent is not None:
        nodes.append(steps[nodes[-1].position - 2][nodes[-1].parent])
    return nodes[::-1]


def _with_characters(
    steps: tuple[tuple[BeamNode, ...], ...], best: tuple[int, ...]
) -> tuple[tuple[BeamNode, ...], ...]:
    """Name byte tokens after the characters they spell, see `BeamNode.token`."""
    if not any(bytes_of(node.token) is not None for nodes in steps for node in nodes):
        return steps
    continued = {(node.position - 1, node.parent) for nodes in steps for node in nodes}
    ends = [node for nodes in steps for node in nodes if (node.position, node.rank) not in continued]
    ends.sort(key=lambda node: (node.token_ids != best, -node.alive_until, -node.position, node.rank))
    names: dict[tuple[int, int], str] = {}
    for end in ends:
        path = _path(steps, end)
        for node, token in zip(path, resolve_bytes([each.token for each in path]), strict=True):
            place = node.position, node.rank
            names[place] = _merged_byte(names.get(place, token), token)
    return tuple(tuple(replace(node, token=names[node.position, node.rank]) for node in nodes) for nodes in steps)


def _merged_byte(first: str, other: str) -> str:
    """Merge the names that two continuations give to one token.

    It is the second if only that names a character, the first with an ellipsis if both do and differ, else the first.
    """
    if (
        not isinstance(first, BytePiece)
        or not isinstance(other, BytePiece)
        or not other.spells
        or first.spells.removesuffix(ELLIPSIS) == other.spells
    ):
        return first
    if not first.spells:
        return other
    return BytePiece(first, first.spells.removesuffix(ELLIPSIS) + ELLIPSIS, first.number, first.num_bytes)
