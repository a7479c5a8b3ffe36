"""The HTML page runs only its own script, fetches nothing, and has every weight."""

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import torch

from core import Explanation, Translator
from core.drawing.drawing_data import NO_WEIGHT, STEPS, encoded_weights
from core.drawing.figure1 import figure1_data
from core.export import ExplanationRecord, as_bytes
from core.export.html_page import page
from viz_app.drawing.theme import DARK, LIGHT


class Elements(HTMLParser):
    """The elements of a page as a browser parses them, and the contents of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": [], "title": []}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if self.lasttag in self.texts and data.strip():
            self.texts[self.lasttag].append(data)


def test_hostile_text_ends_no_element(record: ExplanationRecord) -> None:
    found = Elements(page(record))
    assert {"img", "b"}.isdisjoint(found.tags)
    assert found.tags.count("script") == 2
    data = json.loads(found.texts["script"][0])
    assert data["source"] == record.explanation.source
    assert "onerror" in found.texts["title"][0]


def test_only_its_own_script_and_style_may_run_and_nothing_is_fetched(record: ExplanationRecord) -> None:
    text = page(record)
    found = Elements(text)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert "default-src 'none'" in policy[1]
    for content in (found.texts["script"][1], found.texts["style"][0]):
        assert f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'" in policy[1]
    assert "unsafe" not in policy[1]
    assert not re.search(
        r"(src|href)\s*=|https?://(?!www\.w3\.org/2000/svg)|@import|url\((?!\"#)",
        found.texts["script"][1] + found.texts["style"][0],
    )
    assert {"link", "img", "iframe"}.isdisjoint(found.tags)


def test_every_weight_is_there(record: ExplanationRecord) -> None:
    assert_every_weight(json.loads(Elements(page(record)).texts["script"][0]), record.explanation)


def assert_every_weight(data: dict[str, Any], explanation: Explanation) -> None:
    """The data of a page or a widget have all weights of an explanation, and only those."""
    for kind in data["kinds"]:
        for layer, heads in zip(explanation.maps[kind["kind"]], kind["weights"], strict=True):
            steps = np.stack([np.frombuffer(base64.b64decode(head), "<i2") for head in heads])
            visible = np.broadcast_to(layer.visible.flatten(), steps.shape)
            assert (steps[~visible] == NO_WEIGHT).all()
            np.testing.assert_allclose(steps[visible] / STEPS, layer.weights.flatten(1)[visible], atol=2e-5)


def test_figure_1_is_there_if_the_model_is_known(record: ExplanationRecord, translator: Translator) -> None:
    config = translator.config
    data = json.loads(Elements(page(record)).texts["script"][0])
    assert data["figure1"] == json.loads(json.dumps(figure1_data(record.explanation, config)))
    newer = {**record.model["config"], "of_a_newer_version": 1}
    deeper = {**record.model["config"], "num_decoder_layers": config.num_decoder_layers + 1}
    for model in ({}, {"config": newer}, {"config": deeper}):
        without = json.loads(Elements(page(replace(record, model=model))).texts["script"][0])
        assert without["figure1"] is None


def test_a_long_sentence_of_the_paper_s_depth_stays_small() -> None:
    """40 tokens per side, 6 + 6 layers: three kinds of 6 * 8 heads, each 40 * 40 two-byte weights in base64."""
    encoded = encoded_weights(torch.zeros(40, 40))
    assert len(encoded) == 4 * math.ceil(40 * 40 * 2 / 3)
    assert 3 * 6 * 8 * len(encoded) < 1_000_000


def test_its_colours_are_those_of_the_app(record: ExplanationRecord) -> None:
    ramps = re.findall(r"--ramp-\w+: ([^;]*);", page(record))
    assert [ramp.split(", ") for ramp in ramps] == [list(theme.sequential[::4]) for theme in (LIGHT, DARK)]


def test_it_is_what_a_file_s_suffix_asks_for(record: ExplanationRecord) -> None:
    assert as_bytes(record, ".html") == page(record).encode()
