"""The drawings by keyboard: Tab reaches each, arrow keys move, Enter selects, and drawing again keeps the focus."""

from types import ModuleType
from typing import Any

import torch
from playwright.sync_api import Page

from core.analysis.heads.head import Head
from core.capture import AttentionMap
from core.parsing.trees import read_trees
from core.translator import Explanation
from tests.e2e.test_components import LINKS, mount
from tests.viz_app.components.test_cell_grid import GRID
from viz_app.components import (
    alignment_ribbons,
    attention_lines,
    attention_map,
    cell_grid,
    constituency_tree,
    head_grid,
    head_switches,
    sentence_bar,
)
from viz_app.figures.theme import LIGHT

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
HEADS = [Head("cross", layer, head) for layer in range(2) for head in range(2)]
EXPLANATION = Explanation("", "", ("\u2581A", "\u2581dog"), ("<s>",), ("</s>",), (0.0,), ((),), {})
WORD: dict[str, Any] = {"spans": [["word", ""]], "covered": 1.0, "share": None}
TREE = next(read_trees("(S (NP (DT The) (NN dog)) (VP (VBZ runs)))"))
DRAWINGS: dict[str, tuple[ModuleType, Any]] = {
    "heads": (head_grid, head_grid.grid_payload([ATTENTION], LIGHT)),
    "lines": (attention_lines, attention_lines.lines_payload(ATTENTION, [0], LIGHT, links=LINKS)),
    "map": (attention_map, attention_map.map_payload(ATTENTION, 0, LIGHT, links=LINKS)),
    "cells": (cell_grid, cell_grid.grid_payload(GRID)),
    "switches": (head_switches, head_switches.switchboard_payload(HEADS, {}, {}, LIGHT)),
    "tree": (constituency_tree, constituency_tree.tree_payload(TREE, 0, [0.5, 0.25, 0.25])),
    "ribbons": (
        alignment_ribbons,
        {"source": [WORD, WORD], "target": [WORD, WORD], "ribbons": [[0, 0, 1.0, True]], "gold": [], "height": 200},
    ),
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
