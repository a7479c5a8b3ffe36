from typing import Any

import pytest

from core.analysis.composition.edges import Edge, Node
from core.analysis.heads.head import all_heads
from core.analysis.interventions.pair_runs import PairRuns, Patch
from core.analysis.interventions.patching import Into, patched_metric
from core.analysis.interventions.path_patching import INPUTS, Receiver, path_effects, possible_senders, unreachable
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import Head
from tests.core.analysis.conftest import random_translator
from tests.core.analysis.interventions.conftest import Record, in_two_passes
from tests.core.tiny_models import LIKE_UMT5
from tests.margins import assert_equal_to_rounding

PATHS = [  # encoder, encoder to cross, decoder to decoder, decoder to cross of the same and of a higher layer
    (Head("encoder_self", 0, 1), Receiver(Head("encoder_self", 1, 2), "query")),
    (Head("encoder_self", 0, 1), Receiver(Head("encoder_self", 1, 0), "value")),
    (Head("encoder_self", 0, 2), Receiver(Head("cross", 1, 3), "key")),
    (Head("encoder_self", 1, 0), Receiver(Head("cross", 0, 3), "value")),
    (Head("cross", 0, 1), Receiver(Head("decoder_self", 1, 2), "key")),
    (Head("cross", 0, 1), Receiver(Head("decoder_self", 2, 0), "value")),
    (Head("decoder_self", 1, 1), Receiver(Head("cross", 1, 2), "query")),
    (Head("cross", 0, 3), Receiver(Head("cross", 2, 0), "query")),
]


@pytest.mark.parametrize(("changes", "into", "base"), [({}, "corrupted", 1), (LIKE_UMT5, "clean", 0)])
def test_a_path_is_that_of_two_whole_passes(
    tokenizer: SentencePieceTokenizer, record: Record, changes: dict[str, Any], into: Into, base: int
):
    runs, moved = record(random_translator(tokenizer, **changes)), 0.0
    requests = [(*path, *options) for path in PATHS for options in ((None, False), (None, True), (4, False))]
    edges = [(Edge(Node(*sender), Node(*to.head), to.input), position, hold) for sender, to, position, hold in requests]
    for (sender, receiver, position, hold), value in zip(requests, in_two_passes(runs, edges, base), strict=True):
        found = path_effects(runs, [sender], [receiver], into, [position], hold)
        assert found.values.item() == pytest.approx(value, abs=2e-4), (sender, receiver)
        moved = max(moved, abs(found.moved(into).item()))
    assert moved > 1e-3


def test_many_senders_and_positions_are_those_of_one(runs: PairRuns):
    receiver = Receiver(Head("cross", 2, 0), "query")
    senders = possible_senders(runs.translator.model, receiver)
    positions = [None, 0, 3]
    found = path_effects(runs, senders, [receiver], positions=positions)
    assert found.values.shape == (len(senders), 3)
    for row in (0, 7, len(senders) - 1):
        for column, position in enumerate(positions):
            one = path_effects(runs, [senders[row]], [receiver], positions=[position])
            assert found.values[row, column].item() == pytest.approx(one.values.item(), abs=1e-4)


def test_all_paths_out_of_the_top_of_the_encoder_are_its_patch(runs: PairRuns):
    """A head of the encoder's last layer acts only through the keys and values of cross-attention."""
    everywhere = [
        Receiver(head, which)
        for head in all_heads(runs.translator.model)
        if head.kind == "cross"
        for which in INPUTS[1:]
    ]
    for number in range(3):
        found = path_effects(runs, [Head("encoder_self", 1, number)], everywhere)
        expected = patched_metric(runs, [[Patch("encoder_self", 1, None, number)]])
        assert found.values.item() == pytest.approx(expected.item(), abs=1e-4)


def test_a_sender_that_is_equal_in_both_runs_has_no_effect(runs: PairRuns):
    found = path_effects(runs, [Head("decoder_self", 0, 0)], [Receiver(Head("cross", 2, 1), "query")])
    assert_equal_to_rounding(found.values, [[runs.corrupted]], runs.translator.model)


@pytest.mark.parametrize(
    ("sender", "receiver", "reason"),
    [
        (Head("encoder_self", 1, 0), Receiver(Head("encoder_self", 1, 1), "key"), "does not come after the sender"),
        (Head("cross", 1, 0), Receiver(Head("decoder_self", 1, 1), "key"), "does not come after the sender"),
        (Head("encoder_self", 0, 0), Receiver(Head("cross", 1, 1), "query"), "its queries come from the decoder"),
        (Head("encoder_self", 0, 0), Receiver(Head("decoder_self", 1, 1), "key"), "only through cross-attention"),
        (Head("cross", 0, 0), Receiver(Head("cross", 1, 1), "value"), "keys and values of cross-attention come from"),
        (Head("decoder_self", 0, 0), Receiver(Head("encoder_self", 1, 1), "value"), "the encoder does not read the"),
    ],
)
def test_paths_that_do_not_exist_are_refused(runs: PairRuns, sender: Head, receiver: Receiver, reason: str):
    with pytest.raises(ValueError, match=f"no direct path leads from {sender} to {receiver}: .*{reason}"):
        path_effects(runs, [sender], [receiver])
    assert sender not in possible_senders(runs.translator.model, receiver)
    assert reason in unreachable(sender, receiver)


def test_heads_that_do_not_exist_are_refused(runs: PairRuns):
    with pytest.raises(ValueError, match="cross has no head 9: expected 0 to 3"):
        path_effects(runs, [Head("encoder_self", 0, 0)], [Receiver(Head("cross", 0, 9), "key")])
    with pytest.raises(ValueError, match="encoder_self has no head 3: expected 0 to 2"):
        path_effects(runs, [Head("encoder_self", 0, 3)], [Receiver(Head("cross", 0, 0), "key")])
