"""Beam trees against a search by hand and against a translator."""

import math

import pytest
import torch
from torch import Tensor

from core.analysis.beam_tree import beam_tree, build_tree
from core.analysis.tokens.words import readable
from core.decoding import BeamState, Candidate, Fate, Hypothesis, SearchOptions, beam_steps
from core.translator import Translator

pytestmark = pytest.mark.usefixtures("short_translations")

BOS, EOS, A, B = range(4)
LETTERS = ("<s>", "</s>", "a", "b")
SOURCE = "Where is the nearest station?"
# What may follow: probabilities of </s>, a and b after each beginning.
AFTER = {
    "": (0.1, 0.5, 0.4),
    "a": (0.2, 0.4, 0.4),
    "b": (0.8, 0.1, 0.1),
    "aa": (0.9, 0.05, 0.05),
    "ab": (0.9, 0.05, 0.05),
}


class Letters:
    """A tokenizer of two letters."""

    vocab_size, pad_id, bos_id, eos_id = 4, 0, BOS, EOS

    def encode(self, text: str) -> list[int]:
        return [LETTERS.index(letter) for letter in text]

    def decode(self, token_ids: tuple[int, ...]) -> str:
        return "".join(map(self.piece, token_ids))

    def piece(self, token_id: int) -> str:
        return LETTERS[token_id]

    def pieces(self, token_ids: tuple[int, ...]) -> list[str]:
        return [self.piece(token_id) for token_id in token_ids]

    def to_bytes(self) -> bytes:
        return b""


def searched(limit: int = 9) -> tuple[list[BeamState], SearchOptions]:
    """The search of `AFTER` with a beam of two."""
    options = SearchOptions(bos_id=BOS, eos_id=EOS, never=(), beam_size=2, length_penalty=0.0, num_hypotheses=2)
    beginnings = [""]

    def next_logits(token_ids: Tensor, parents: Tensor, _sentences: Tensor | None) -> Tensor:
        nonlocal beginnings
        letters = [LETTERS[token_id].removeprefix("<s>") for token_id in token_ids[0].tolist()]
        beginnings = [beginnings[parent] + letter for parent, letter in zip(parents[0].tolist(), letters, strict=True)]
        return torch.tensor([[[0.0, *AFTER[beginning]] for beginning in beginnings]]).log()

    return [state for (state,) in beam_steps(next_logits, [limit], options)], options


def test_a_tree_worked_out_by_hand_whose_nodes_live_as_long_as_what_continues_them() -> None:
    tree = build_tree(*searched(), Letters())  # type: ignore[arg-type]
    shape = [[(node.text, node.token, node.fate, node.parent) for node in nodes] for nodes in tree.steps]
    assert shape[0] == [("a", "a", "live", None), ("b", "b", "live", None), ("", "</s>", "pruned", None)]
    assert shape[1][0] == ("b", "</s>", "finished", 1)  # 0.32
    assert {shape[1][1][0], shape[1][2][0]} == {"aa", "ab"}  # 0.2 each
    assert shape[1][3] == ("a", "</s>", "pruned", 0)  # 0.1
    assert [node.fate for node in tree.steps[2]][:2] == ["finished", "finished"]  # 0.18 each: the beam is full
    assert tree.stop == "beam_finished"
    assert tree.steps[1][0].log_prob == pytest.approx(math.log(0.32))
    assert tree.steps[1][0].score == pytest.approx(math.log(0.32))  # without a length penalty
    assert tree.best == (B, EOS)
    assert [node.alive_until for node in tree.steps[0]] == [3, 3, 0]  # `b` went on only as `b </s>`, which stays
    assert [node.alive_until for node in tree.steps[1]] == [3, 3, 3, 1]


def test_the_best_hypothesis_through_a_node_and_the_path_from_the_first_token_to_it() -> None:
    tree = build_tree(*searched(), Letters())  # type: ignore[arg-type]
    (a, b, end), (b_end, first, second, a_end) = tree.steps[0], tree.steps[1]
    assert tree.best_through(a) in tree.steps[2][:2]  # `aa </s>` and `ab </s>` are as probable
    assert tree.best_through(b) is tree.best_through(b_end) is b_end
    assert {tree.best_through(first), tree.best_through(second)} == set(tree.steps[2][:2])
    assert tree.best_through(end) is tree.best_through(a_end) is None  # pruned
    assert all(tree.node(node.token_ids) is node for nodes in tree.steps for node in nodes)
    assert tree.node(()) is tree.node((A, A, A, A)) is tree.node((EOS, A)) is None
    found = tree.hypothesis(tree.steps[1][0])
    assert (found.text, found.tokens, found.token_ids, found.finished) == ("b", ("b", "</s>"), (B, EOS), True)
    assert found.token_log_probs == pytest.approx((math.log(0.4), math.log(0.8)))
    assert not tree.hypothesis(tree.steps[0][0]).finished


def test_at_the_limit_the_best_live_hypothesis_counts_as_complete() -> None:
    tree = build_tree(*searched(limit=1), Letters())  # type: ignore[arg-type]
    assert (tree.stop, [node.text for node in tree.steps[0]]) == ("limit", ["a", "b", ""])
    assert [tree.best_through(node) for node in tree.steps[0]] == [*tree.steps[0][:2], None]


def test_half_a_search_is_refused() -> None:
    states, options = searched()
    with pytest.raises(ValueError, match="found 1 states, the last without a reason to stop; pass all states"):
        build_tree(states[:1], options, Letters())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="found 0 states"):
        build_tree([], options, Letters())  # type: ignore[arg-type]


def test_the_tree_holds_what_the_translator_finds(translator: Translator) -> None:
    tree = beam_tree(translator, SOURCE, 3, 0.8)
    best = translator.translate(SOURCE, 3, 0.8).hypotheses[0]
    assert tree.best == best.token_ids
    node = next(node for nodes in tree.steps for node in nodes if node.token_ids == best.token_ids)
    found = tree.hypothesis(node)
    assert (found.text, found.tokens, found.finished) == (best.text, best.tokens, best.finished)
    assert found.token_log_probs == pytest.approx(best.token_log_probs, abs=1e-4)
    assert found.score == pytest.approx(best.score, abs=1e-4)


def test_a_forced_beginning_is_the_trunk_of_the_tree(translator: Translator) -> None:
    prefix = tuple(translator.setup.prefix_ids(SOURCE, "Das alte Haus"))
    tree = beam_tree(translator, SOURCE, 3, 0.8, prefix=prefix)
    assert tree.num_forced == len(prefix)
    assert [len(nodes) for nodes in tree.steps[: len(prefix)]] == [1] * len(prefix)
    assert len(tree.steps[len(prefix)]) == 6
    assert all(node.token_ids[: len(prefix)] == prefix for nodes in tree.steps[len(prefix) :] for node in nodes)
    assert tree.best == translator.translate(SOURCE, 3, 0.8, prefix=prefix).hypotheses[0].token_ids


def test_a_byte_is_named_by_the_best_that_it_becomes() -> None:
    options = SearchOptions(bos_id=BOS, eos_id=EOS, never=(), beam_size=2, length_penalty=0.0, num_hypotheses=2)
    levels: list[list[tuple[int, int, Fate]]] = [
        [(2, 0, "live")],
        [(3, 0, "live"), (4, 0, "live")],
        [(EOS, 0, "finished"), (EOS, 1, "finished")],
    ]

    class Bytes(Letters):
        def piece(self, token_id: int) -> str:
            return ("<s>", "</s>", "<0xC3>", "<0xA4>", "<0xB6>")[token_id]

    states: list[BeamState] = []
    for position, candidates in enumerate(levels, start=1):
        continuations = tuple(
            Candidate(parent, token_id, -0.1, -0.1 * position - 0.01 * rank, fate)
            for rank, (token_id, parent, fate) in enumerate(candidates)
        )
        finished = (
            tuple(Hypothesis((2, 3 + rank, EOS), (-0.1,) * 3, -0.3, -0.3 - rank, True) for rank in range(2))
            if position == 3
            else ()
        )
        states.append(
            BeamState(0, position, 3, continuations, (), (), finished, "beam_finished" if position == 3 else None)
        )
    tree = build_tree(states, options, Bytes())  # type: ignore[arg-type]
    assert [[readable(node.token) for node in nodes] for nodes in tree.steps[:2]] == [
        ["\u00e4\u2026 1/2"],
        ["\u00e4 2/2", "\u00f6 2/2"],
    ]
