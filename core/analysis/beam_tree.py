"""A beam search as the tree it grew: every candidate it looked at, what each continued, and what became of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from core.byte_pieces import BYTE, BytePiece, with_characters
from core.decoding import BeamState, Fate, Hypothesis, SearchOptions, Stop, best_hypotheses
from core.results import ScoredText
from core.tokenizer import Tokenizer
from core.translator import Translator

ELLIPSIS = "\u2026"


@dataclass(frozen=True)
class BeamNode:
    """A candidate: a hypothesis by its last token.

    Attributes:
        position: of the token in the target, from 1.
        rank: among the candidates of its position, 0 the best.
        parent: the rank of what it continues among the candidates of the position before; None where it begins.
        token: its last token as a piece; a byte is named by what the best that continues it spells, with an ellipsis if
            others spell otherwise.
        token_log_prob: of that token given those before it, in nats.
        log_prob: of the whole, in nats.
        score: `log_prob` over the length penalty.
        token_ids: the whole, without `<s>`.
        text: the same as text.
        fate: `live` went on, `finished` ended with `</s>`, `pruned` ranked below the beam.
        alive_until: the last position after which it, or a descendant, was still live or had finished; the one before
            its own if it was pruned at once.
    """

    position: int
    rank: int
    parent: int | None
    token: str
    token_log_prob: float
    log_prob: float
    score: float
    token_ids: tuple[int, ...]
    text: str
    fate: Fate
    alive_until: int


@dataclass(frozen=True)
class BeamTree:
    """A whole search.

    Attributes:
        steps: the candidates of each position, best first: at most 2 x beam_size.
        stop: why the search ended, see `core.decoding.BeamState`.
        options: how it searched.
        best: token ids of the hypothesis that won.
        finished: all that ended, best first.
        num_forced: how many tokens it was forced to begin with. Each is the only candidate of its position.
    """

    steps: tuple[tuple[BeamNode, ...], ...]
    stop: Stop
    options: SearchOptions
    best: tuple[int, ...]
    finished: tuple[Hypothesis, ...]
    num_forced: int = 0

    def path(self, node: BeamNode) -> list[BeamNode]:
        """A node and all that it continues, from the first token on."""
        return _path(self.steps, node)

    def hypothesis(self, node: BeamNode) -> ScoredText:
        """A node as what a translator hands out; not finished where it lacks `</s>`."""
        path = self.path(node)
        return ScoredText(
            text=node.text,
            token_ids=node.token_ids,
            tokens=tuple(each.token for each in path),
            token_log_probs=tuple(each.token_log_prob for each in path),
            score=node.score,
            finished=node.token_ids[-1] == self.options.eos_id,
        )


def beam_tree(
    translator: Translator,
    text: str,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    num_hypotheses: int | None = None,
    prefix: Sequence[int] = (),
) -> BeamTree:
    """The tree of the search that `Translator.translate` makes with the same settings. Others may use the model in
    between.

    Raises:
        ValueError: as `Translator.translate`.
    """
    options = translator.search_options(beam_size, length_penalty, num_hypotheses)
    states = translator.search(text, beam_size, length_penalty, num_hypotheses, prefix)
    return grown(states, options, translator.tokenizer, len(prefix))


def grown(states: Iterable[BeamState], options: SearchOptions, tokenizer: Tokenizer, num_forced: int = 0) -> BeamTree:
    """The tree of a search for one sentence.

    Args:
        states: all of them, in order.
        options: those of the search.
        num_forced: how many tokens it was forced to begin with.

    Raises:
        ValueError: there are no states, or the search has not come to its end.
    """
    steps: list[list[BeamNode]] = []
    parents: list[int | None] = [None]  # ranks of the live hypotheses of the position before
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
                    token=tokenizer.piece(candidate.token_id),
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
            f"a tree is grown from a whole search: found {len(steps)} states, the last without a reason to stop; pass "
            f"all of them"
        )
    best = best_hypotheses(last, options)[0].token_ids
    return BeamTree(
        steps=_with_characters(_with_lifetimes(steps), best),
        stop=last.stop,
        options=options,
        best=best,
        finished=last.finished,
        num_forced=num_forced,
    )


def _with_lifetimes(steps: list[list[BeamNode]]) -> tuple[tuple[BeamNode, ...], ...]:
    """Nodes live as long as their longest-lived child, and what has finished lives to the end."""
    done: list[tuple[BeamNode, ...]] = []
    inherited: dict[int, int] = {}  # of the position in hand: what its nodes' children hand up
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
    """Bytes know the characters that they become, see `BeamNode.token`."""
    if not any(BYTE.fullmatch(node.token) for nodes in steps for node in nodes):
        return steps
    continued = {(node.position - 1, node.parent) for nodes in steps for node in nodes}
    ends = [node for nodes in steps for node in nodes if (node.position, node.rank) not in continued]
    ends.sort(key=lambda node: (node.token_ids != best, -node.alive_until, -node.position, node.rank))
    found: dict[tuple[int, int], str] = {}
    for end in ends:
        path = _path(steps, end)
        for node, token in zip(path, with_characters([each.token for each in path]), strict=True):
            place = node.position, node.rank
            found[place] = _either(found.get(place, token), token)
    return tuple(tuple(replace(node, token=found[node.position, node.rank]) for node in nodes) for nodes in steps)


def _either(first: str, other: str) -> str:
    """A byte by what the first spells, or else the other; an ellipsis where both spell something, and not the same."""
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
