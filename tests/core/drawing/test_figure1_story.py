"""Play tells what the drawing has, in the order of its computation, with the numbers of the explanation."""

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from core import Translator
from core.drawing.drawing_data import MAX_CELL, label_spans
from core.drawing.figure1 import figure1_data
from core.drawing.paper_parts import PARTS
from core.model.config import TransformerConfig
from core.results import Explanation
from core.text.byte_pieces import is_special, token_role
from tests.core.drawing.test_figure1 import in_node
from tests.core.drawing.test_paper_parts import NEXT_TOKENS, drawn_links

RUNNER = """
import { readFileSync } from "node:fs";
import { playStops, told } from "./module.mjs";
const { data, chosen } = JSON.parse(readFileSync("given.json", "utf-8"));
const tell = ([step, source]) =>
  playStops(data).map((stop) => {
    const { text, words, ...others } = told(data, stop, step, source);
    const named = Object.fromEntries(words);
    return [stop.name, { ...stop, ...others, text: text.replace(/\\{(\\w+)\\}/g, (_, name) => `<${named[name]}>`) }];
  });
console.log(JSON.stringify(chosen.map(tell)));
"""


@pytest.fixture(scope="module")
def explanation(translator: Translator) -> Explanation:
    return translator.explain("Where is the dog?", "Wo ist der Hund?")


def tales(explanation: Explanation, config: TransformerConfig, *chosen: tuple[int, int]) -> list[dict[str, Any]]:
    """The stops with their sentences, words between angle brackets, for steps and tokens of the source."""
    given = {"data": figure1_data(explanation, config), "chosen": chosen}
    return [dict(tale) for tale in in_node("figure1_story.js", RUNNER, given)]


def said(text: str) -> list[float]:
    """The numbers of a sentence that have digits after a mark."""
    return [float(number) for number in re.findall(r"\d+\.\d+", text)]


def label(token: str) -> str:
    return f"<{''.join(text for text, _ in label_spans(token))}>"


def test_the_stops_are_the_parts_of_the_drawing_in_the_order_of_their_computation(
    explanation: Explanation, translator: Translator
) -> None:
    [stops] = tales(explanation, translator.config, (0, -1))
    parts = [part for stop in stops.values() for part in stop["parts"]]
    assert [*dict.fromkeys(parts)] == [part.name for part in PARTS]
    assert set(parts) == drawn_links() | NEXT_TOKENS
    steps = [step.replace("{kind}", "encoder_self") for part in PARTS for step in (part.step, *part.then)]
    assert [step for step in steps if step in stops] == list(stops)
    assert not any("{" in stop["text"] or "undefined" in stop["text"] for stop in stops.values())


@pytest.mark.parametrize(("step", "source"), [(0, 1), (1, -1), (-1, 0)])
def test_the_numbers_are_those_of_the_explanation(
    explanation: Explanation, translator: Translator, step: int, source: int
) -> None:
    steps = len(explanation.fed_tokens)
    step %= steps
    [stops] = tales(explanation, translator.config, (step, source))
    for name in ("encoder_self-scores", "encoder_self-softmax", "decoder_self-mask", "cross-keys"):
        stop = stops[name]
        text, kind, head = stop["text"], stop["shown"], stop["values"]["head"] - 1
        attention = explanation.maps[kind][stop["values"]["layer"] - 1]
        query = step if kind != "encoder_self" else [word["asks"] for word in stop["row"]].index(True)
        assert source < 0 or kind != "encoder_self" or query == source
        row, seen = attention.weights[head, query], attention.visible[query].tolist()
        best, *others = sorted((key for key in range(len(row)) if seen[key]), key=lambda key: -float(row[key]))
        one, two = float(row[best]), float(row[others[0]]) if others else 1.0
        expected = {"scores": [math.log(one / two)], "softmax": [one, two, 1 - one - two]}.get(name[13:], [one])
        assert said(text) == pytest.approx(expected, abs=0.051 if name.endswith("scores") else 0.0051)
        assert label(attention.key_tokens[best]) in text
        assert (
            label(attention.key_tokens[others[0]] if kind == "encoder_self" else explanation.fed_tokens[step]) in text
        )
        if not name.endswith("scores"):
            assert [word["weight"] for word in stop["row"]] == pytest.approx(row.tolist(), abs=2e-5)
            assert [word["hidden"] for word in stop["row"]] == [not each for each in seen]
        words = [key for key, token in enumerate(explanation.source_tokens) if not is_special(token)]
        if kind == "cross":
            assert int(attention.weights[:, query, words].amax(-1).argmax()) == head  # the clearest link
    assert f" {len(explanation.source_tokens)} tokens" in stops["embedding"]["text"]
    assert f"the {steps - step - 1} tokens" in stops["decoder_self-mask"]["text"]
    written = [value for token, value in explanation.alternatives[step] if token_role(token) in ("text", "end")]
    assert said(stops["output-logits"]["text"]) == pytest.approx([*map(math.exp, written[:2])], abs=0.0051)
    predicted = label(explanation.predicted_tokens[step])
    assert f"{predicted} is written, at step {step + 1} of {steps}" in stops["output-beam"]["text"]


def test_relative_positions_have_no_stop_and_reduced_maps_none_at_all(
    explanation: Explanation, translator: Translator
) -> None:
    relative = replace(translator.config, positions="relative")
    assert "position" not in tales(explanation, relative, (0, -1))[0]
    assert tales(translator.explain("dog " * MAX_CELL, "Hund"), translator.config, (0, -1)) == [{}]
