import json

import pytest

from core.analysis.heads.head import Head
from viz_app.drawing.theme import LIGHT
from viz_app.views.experiments.switches.head_switches import clicked_heads, switchboard_payload

HEADS = [
    *(Head("encoder_self", 0, head) for head in range(3)),
    Head("decoder_self", 0, 0),
    *(Head("cross", layer, head) for layer in range(2) for head in range(2)),
]


def test_payload() -> None:
    payload = json.loads(
        json.dumps(switchboard_payload(HEADS, {HEADS[1]: 0.5}, {HEADS[0]: -2.0, HEADS[1]: 1.0}, LIGHT))
    )
    encoder, decoder, cross = payload["boards"]
    assert [board["name"] for board in payload["boards"]] == ["Encoder", "Decoder", "Cross"]
    assert [len(row["cells"]) for row in encoder["rows"] + decoder["rows"] + cross["rows"]] == [3, 1, 2, 2]
    first, second, third = encoder["rows"][0]["cells"]
    assert (first["gate"], first["effect"], first["color"]) == (1.0, -2.0, LIGHT.diverging[0])
    assert (second["gate"], second["effect"], second["name"]) == (0.5, 1.0, "Encoder L1 H2")
    assert (third["effect"], third["color"]) == (None, LIGHT.background)
    assert payload["limit"] == 2.0
    assert switchboard_payload(HEADS, {}, {}, LIGHT)["limit"] is None


def test_a_click_names_a_head_or_all_of_a_layer() -> None:
    assert clicked_heads({"kind": "cross", "layer": 1, "head": 0}, HEADS) == [Head("cross", 1, 0)]
    assert clicked_heads({"kind": "cross", "layer": 1, "head": None}, HEADS) == [
        Head("cross", 1, 0),
        Head("cross", 1, 1),
    ]


@pytest.mark.parametrize(
    "value",
    [None, "cross", {"kind": "cross", "layer": 7, "head": 0}, {"kind": "none", "layer": 0, "head": None}, {"layer": 0}],
)
def test_what_is_no_head_is_nothing(value: object) -> None:
    assert clicked_heads(value, HEADS) == []
