"""The drawings by keyboard: Tab reaches each, arrow keys move, Enter selects, and drawing again keeps the focus."""

from types import ModuleType
from typing import Any

import torch
from playwright.sync_api import Page

from core.analysis.pictures_data import picture_data
from core.capture import AttentionMap
from core.parsing.trees import read_trees
from core.translator import Explanation
from tests.core.analysis.test_pictures import GRID
from tests.e2e.test_components import LINKS, mount
from tests.viz_app.views.corpus.figures.test_corpus import DRAWING, EXAMPLE
from tests.viz_app.views.steps.test_step_walk import view
from viz_app.components import attention_lines, attention_map, head_grid, picture, sentence_bar
from viz_app.drawing.theme import LIGHT
from viz_app.views.corpus import corpus_examples, parallel_coordinates
from viz_app.views.experiments.head_paths import path_graph
from viz_app.views.heads.alignment import alignment_ribbons
from viz_app.views.models.parsing import constituency_tree
from viz_app.views.steps import step_walk
from viz_app.views.translate import fan
from viz_app.views.translate.translation import token_steps

FRESH = (
    "() => { window.host?.remove(); delete window.host; delete window.draw; window.sent = []; window.clicked = []; }"
)
FOCUSED = """() => {
  const node = window.host.shadowRoot.activeElement;
  return node && { ...node.dataset };
}"""
ATTENTION = AttentionMap(
    "cross",
    0,
    torch.tensor([[[0.9, 0.1], [0.0, 1.0], [0.5, 0.5]]] * 2),
    ("<s>", "\u2581Ein", "\u2581Hund"),
    ("\u2581dog", "\u2581runs"),
    ("\u2581Ein", "\u2581Hund", "</s>"),
)
EXPLANATION = Explanation("", "", ("\u2581A", "\u2581dog"), ("<s>",), ("</s>",), (0.0,), ((),), {})
TRANSLATION = Explanation(
    source="A",
    target="Ein",
    source_tokens=("\u2581A", "</s>"),
    fed_tokens=("<s>", "\u2581Ein"),
    predicted_tokens=("\u2581Ein", "</s>"),
    log_probs=(-0.5, -0.25),
    alternatives=((("\u2581Ein", -0.5), ("\u2581Der", -1.5)), (("</s>", -0.25), ("\u2581Hund", -2.0))),
    maps={},
)
SAMPLE: dict[str, Any] = {"rank": 1, "samples": 2, "value": -1.5, "share": 1, "shared": "", "own": "a dog"}
SAMPLE |= {"text": "a dog", "note": "", "parent": None, "shown": False}
WORD: dict[str, Any] = {"spans": [["word", ""]], "covered": 1.0, "share": None}
TREE = next(read_trees("(S (NP (DT The) (NN dog)) (VP (VBZ runs)))"))
GRAPH = {
    "size": [200, 200],
    "radius": 10,
    "nodes": [{"at": [50, y], "label": str(y), "name": str(y), "used": True, "selected": False} for y in (50, 150)],
    "edges": [
        {
            "curve": [[50, 150], [50, 120], [50, 80], [50, 50]],
            "width": 2,
            "color": "#000000",
            "dash": "solid",
            "letter": "V",
            "letterAt": [60, 100],
            "name": "edge",
            "selected": False,
        }
    ],
    "names": [],
    "titles": [],
    "legend": {"title": "effect", "ends": []},
}
DRAWINGS: dict[str, tuple[ModuleType, Any]] = {
    "heads": (head_grid, head_grid.grid_payload([ATTENTION], LIGHT)),
    "lines": (attention_lines, attention_lines.lines_payload(ATTENTION, [0], LIGHT, links=LINKS)),
    "map": (attention_map, attention_map.map_payload(ATTENTION, 0, LIGHT, links=LINKS)),
    "cells": (picture, {**picture_data(GRID), "clickable": True}),
    "tree": (constituency_tree, constituency_tree.tree_payload(TREE, 0, [0.5, 0.25, 0.25])),
    "ribbons": (
        alignment_ribbons,
        {"source": [WORD, WORD], "target": [WORD, WORD], "ribbons": [[0, 0, 1.0, True]], "gold": [], "height": 200},
    ),
    "examples": (corpus_examples, corpus_examples.examples_payload([EXAMPLE] * 2, "Open")),
    "paths": (path_graph, [GRAPH, GRAPH]),
    "tokens": (token_steps, token_steps.steps_payload(TRANSLATION, step=0)),
    "samples": (fan, {"rows": [SAMPLE, SAMPLE | {"parent": 0, "own": "cat"}], "title": "score", "direction": "ltr"}),
    "sentence": (sentence_bar, sentence_bar.sentence_payload(EXPLANATION)),
}


def test_each_drawing_is_used_without_a_pointer(page: Page) -> None:
    for name, (module, payload) in DRAWINGS.items():
        page.evaluate(FRESH)
        mount(page, module, payload)
        page.keyboard.press("Tab")
        first = page.evaluate(FOCUSED)
        assert first, f"{name}: Tab reaches nothing"
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        second = page.evaluate(FOCUSED)
        assert second != first, f"{name}: arrow keys do not move"
        page.keyboard.press("Enter")
        if name == "ribbons":  # a link has two ends
            page.keyboard.press("ArrowLeft")
            page.keyboard.press("Enter")
            second = page.evaluate(FOCUSED)
        assert page.evaluate("[...sent, ...clicked]"), f"{name}: Enter selects nothing"
        mount(page, module, payload, since=2)
        assert page.evaluate(FOCUSED) == second, f"{name}: the focus is lost when it is drawn again"
        assert page.evaluate("host.shadowRoot.activeElement.tabIndex") == 0, f"{name}: Tab will not come back to it"


def test_a_range_of_an_axis_is_set_without_a_pointer(page: Page) -> None:
    page.evaluate(FRESH)
    mount(page, parallel_coordinates, DRAWING)
    focused_until(page, "handle", "a lowest")
    page.keyboard.press("PageUp")
    [[name, sent]] = page.evaluate("sent")
    assert (name, sent["axis"], sent["high"]) == ("range", "a", 1)
    assert 0 < sent["low"] < 1
    page.keyboard.press("Escape")
    assert page.evaluate("sent.at(-1)") == ["range", {"axis": "a", "low": 0, "high": 1}]


def test_steps_are_walked_without_a_pointer(page: Page) -> None:
    page.evaluate(FRESH)
    mount(page, step_walk, step_walk.walk_payload([view("a"), view("b", 2)], "steps", "about", ("a", None), 1, LIGHT))
    page.keyboard.press("ArrowRight")  # without Tab: there is nothing else on the page that arrow keys are for
    page.wait_for_function("() => sent.length")
    assert page.evaluate("sent") == [["place", {"step": "b", "pick": None}]]
    focused_until(page, "role", "row")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => sent.length > 1")
    assert page.evaluate("sent.at(-1)") == ["place", {"step": "b", "pick": 1}]
    assert page.evaluate("host.shadowRoot.activeElement.ariaPressed") == "true", "the focus is lost with the pick"


def focused_until(page: Page, name: str, value: str) -> None:
    """Press Tab until an element with this datum is focused."""
    for _ in range(20):
        page.keyboard.press("Tab")
        if (page.evaluate(FOCUSED) or {}).get(name) == value:
            return
    raise AssertionError(f"Tab reaches nothing with data-{name} {value!r}")
