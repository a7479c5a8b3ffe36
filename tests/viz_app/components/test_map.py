import base64
import json
from typing import Any

import numpy as np
import pytest
import torch

from core.capture import AttentionMap
from viz_app.components.map import STEPS, map_payload
from viz_app.figures.theme import DARK, LIGHT


def test_the_cells_are_the_weights_to_three_decimals(make_map: Any) -> None:
    attention = make_map(7, 4)
    sent = np.frombuffer(base64.b64decode(map_payload(attention, 1, LIGHT)["weights"]), dtype="<i2").reshape(7, 4)
    np.testing.assert_allclose(sent / STEPS, attention.weights[1].numpy(), rtol=0, atol=0.5 / STEPS + 1e-6)


def test_the_scale_is_fixed_and_two_sided_for_differences(make_map: Any) -> None:
    plain, signed = (map_payload(make_map(), 0, DARK, diverging=diverging) for diverging in (False, True))
    assert (plain["low"], plain["scale"]) == (0, DARK.sequential)
    assert (signed["low"], signed["scale"]) == (-1, DARK.diverging)
    difference = AttentionMap("cross", 0, torch.tensor([[[-0.25, 1.0]]]), ("<s>",), ("a", "b"), ("c",))
    sent = base64.b64decode(map_payload(difference, 0, LIGHT, diverging=True)["weights"])
    assert np.frombuffer(sent, dtype="<i2").tolist() == [-STEPS // 4, STEPS]


def test_decoder_rows_are_named_by_what_was_fed_and_what_is_predicted() -> None:
    attention = AttentionMap("cross", 4, torch.ones(3, 2, 1), ("<s>", "\u2581Hund"), ("\u2581dog",), ("\u2581Hund", "</s>"))
    payload = map_payload(attention, 2, LIGHT)
    assert payload["query"] == [[("<s>", "special")], [("Hund", "")]]
    assert payload["predicted"] == [[("Hund", "")], [("</s>", "special")]]
    assert payload["head"]["name"] == "L5 H3"


def test_encoder_rows_have_one_name(make_map: Any) -> None:
    assert map_payload(make_map(5, 5, kind="encoder_self"), 0, LIGHT)["predicted"] is None


def test_tokens_travel_as_they_are_and_survive_json(make_map: Any) -> None:
    payload = json.loads(json.dumps(map_payload(make_map(token="\u2581<b>x</b>"), 0, LIGHT, place=(2, None))))
    assert payload["key"][0] == [["<b>x</b>", ""]]
    assert payload["lit"] == {"query": 2, "key": None}


def test_two_hundred_tokens_are_little_to_send(make_map: Any) -> None:
    assert len(json.dumps(map_payload(make_map(200, 200), 0, LIGHT))) < 150_000


@pytest.mark.parametrize("head", [3, -1])
def test_a_head_that_is_not_there_is_refused(make_map: Any, head: int) -> None:
    with pytest.raises(ValueError, match=f"layer 1 has 3 heads, there is no head {head + 1}"):
        map_payload(make_map(), head, LIGHT)
