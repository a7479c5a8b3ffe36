import base64
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from core.analysis.joint_map import JointMap
from core.capture import AttentionMap
from core.drawing.drawing_data import NO_WEIGHT, STEPS
from viz_app.components.attention_map import NOT_VISIBLE, joint_payload, map_payload
from viz_app.drawing.theme import DARK, LIGHT


@pytest.fixture
def joint() -> JointMap:
    """One source token, two of the target; the last weight of each row is the rest of 1."""
    weights = torch.tensor([[1.0, torch.nan, torch.nan], [1.0, 1.0, 0.0], [1.0, 0.25, 0.75]])
    tokens = ("\u2581dog", "<s>", "\u2581Hund")
    return JointMap(weights, tokens, tokens, ("\u2581Hund", "</s>"), 1, 1)


def sent_weights(payload: dict[str, Any]) -> Any:
    return np.frombuffer(base64.b64decode(payload["heads"][0]["weights"]), dtype="<i2")


def test_the_cells_are_the_weights_of_the_head(make_map: Any) -> None:
    attention = make_map(7, 4)
    sent = sent_weights(map_payload(attention, 1, LIGHT)).reshape(7, 4) / STEPS
    np.testing.assert_allclose(sent, attention.weights[1].numpy(), rtol=0, atol=0.5 / STEPS + 1e-6)


def test_the_scale_is_fixed_and_two_sided_for_differences(make_map: Any) -> None:
    plain, signed = (map_payload(make_map(), 0, DARK, diverging=diverging) for diverging in (False, True))
    assert (plain["low"], plain["scale"]) == (0, DARK.sequential)
    assert (signed["low"], signed["scale"]) == (-1, DARK.diverging)
    scores = map_payload(make_map(), 0, DARK, diverging=True, most=2.5)
    assert (scores["low"], scores["most"]) == (-1, 2.5)
    difference = AttentionMap("cross", 0, torch.tensor([[[-0.25, 1.0]]]), ("<s>",), ("a", "b"), ("c",))
    assert sent_weights(map_payload(difference, 0, LIGHT, diverging=True)).tolist() == [-STEPS // 4, STEPS]


def test_decoder_rows_are_named_by_what_was_fed_and_what_is_predicted() -> None:
    attention = AttentionMap(
        "cross", 4, torch.ones(3, 2, 1), ("<s>", "\u2581Hund"), ("\u2581dog",), ("\u2581Hund", "</s>")
    )
    payload = map_payload(attention, 2, LIGHT)
    assert payload["query"] == [[("<s>", "special")], [("Hund", "")]]
    assert payload["predicted"] == [[("Hund", "")], [("</s>", "special")]]
    assert payload["heads"][0]["name"] == "L5 H3"


def test_encoder_rows_have_one_name(make_map: Any) -> None:
    assert map_payload(make_map(5, 5, kind="encoder_self"), 0, LIGHT)["predicted"] is None


@pytest.mark.parametrize("token", ["\u2581<b>x</b>", "\u2581</script><script>alert(1)</script>"])
def test_tokens_travel_as_they_are_and_survive_json(make_map: Any, token: str) -> None:
    payload = json.loads(json.dumps(map_payload(make_map(token=token), 0, LIGHT, place={"query": [0, 2], "key": []})))
    assert payload["key"][0] == [[token.removeprefix("\u2581"), ""]]
    assert payload["lit"] == {"query": [0, 2], "key": []}


def test_two_hundred_tokens_are_little_to_send(make_map: Any) -> None:
    assert len(json.dumps(map_payload(make_map(200, 200), 0, LIGHT))) < 150_000


def test_the_joint_matrix_is_empty_where_no_query_can_attend_and_divided_where_source_and_target_meet(
    joint: JointMap,
) -> None:
    payload = joint_payload(joint, "L1 mean", LIGHT)
    sent = sent_weights(payload).reshape(3, 3)
    assert (sent == NO_WEIGHT).tolist() == joint.weights.isnan().tolist()
    np.testing.assert_allclose(sent[1:] / STEPS, joint.weights[1:].numpy(), rtol=0, atol=1 / STEPS)
    assert payload["blanks"] == [{"query": 0, "key": 1, "reason": NOT_VISIBLE}]
    for axis in ("query", "key"):
        assert [(part["name"], part["start"], part["stop"]) for part in payload["parts"][axis]] == [
            ("source", 0, 1),
            ("target", 1, 3),
        ]
    assert payload["predicted"] == [None, [("Hund", "")], [("</s>", "special")]]


def test_blocks_that_the_model_lacks_say_so(joint: JointMap) -> None:
    lacking = joint_payload(replace(joint, missing=("decoder_self", "cross")), "L1 mean", LIGHT)["blanks"]
    assert {(blank["query"], blank["key"]) for blank in lacking} == {(0, 1), (1, 0), (1, 1)}
    assert len({blank["reason"] for blank in lacking}) == 2


def test_a_hundred_tokens_of_each_language_are_little_to_send() -> None:
    tokens = ("\u2581the",) * 100
    joint = JointMap(torch.rand(200, 200), tokens * 2, tokens * 2, tokens, 100, 100)
    assert len(json.dumps(joint_payload(joint, "L1 mean", LIGHT))) < 150_000
