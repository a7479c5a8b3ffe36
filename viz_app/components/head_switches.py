"""Every head of the model as a switch; the colour says what turning it off alone does."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.analysis.heads.head import Head
from core.capture import KINDS, Kind
from viz_app.components.component import component_beside, draw
from viz_app.figures.ablation import effect_color, scale_limit, text_color, titled
from viz_app.figures.head_names import KIND_NAMES
from viz_app.figures.theme import Theme

_component = component_beside(__file__)


def switchboard_payload(
    heads: Sequence[Head], gates: Mapping[Head, float], effects: Mapping[Head, float], theme: Theme
) -> dict[str, Any]:
    """What the browser needs to draw the switches.

    Args:
        heads: of the model, layer by layer.
        gates: of heads that are not as they were.
        effects: what turning a head off alone does to the log-probability, where that is known.

    Returns:
        `boards`: for each kind of attention its name and rows, each with its name, its layer and its cells: head, name,
        gate, effect, colour and the colour of the text on it; `limit`: where the scale ends, None without effects.
    """
    limit = scale_limit(list(effects.values()))

    def cell(head: Head) -> dict[str, Any]:
        effect = effects.get(head)
        return {
            "head": head.head,
            "name": titled(head),
            "gate": gates.get(head, 1.0),
            "effect": effect if effect is None else round(effect, 3),
            "color": effect_color(effect or 0.0, limit, theme),
            "text": text_color(effect or 0.0, limit, theme),
        }

    def rows(kind: Kind) -> list[dict[str, Any]]:
        layers = dict.fromkeys(head.layer for head in heads if head.kind == kind)
        return [
            {
                "name": f"L{layer + 1}",
                "layer": layer,
                "cells": [cell(head) for head in heads if (head.kind, head.layer) == (kind, layer)],
            }
            for layer in layers
        ]

    return {
        "boards": [{"kind": kind, "name": KIND_NAMES[kind], "rows": rows(kind)} for kind in KINDS],
        "limit": round(limit, 2) if effects else None,
        "scale": [theme.diverging[0], theme.background, theme.diverging[-1]],
    }


def switchboard(
    heads: Sequence[Head],
    gates: Mapping[Head, float],
    effects: Mapping[Head, float],
    theme: Theme,
    on_click: Callable[[list[Head]], None],
    key: str = "switchboard",
) -> None:
    """Draw the switches on the page.

    Args:
        on_click: told which head was clicked, or which heads of a layer, before the page runs again.
        heads, gates, effects: those of `switchboard_payload`.
        key: of the component, as for any widget.
    """
    data = switchboard_payload(heads, gates, effects, theme)
    draw(_component, data, key, "switch", lambda value: clicked_heads(value, heads) or None, on_click)


def clicked_heads(value: object, heads: Sequence[Head]) -> list[Head]:
    """What the browser sent: one head, or, where it named none, all of a layer; nothing where there are no such
    heads.
    """
    match value:
        case {"kind": str(kind), "layer": int(layer), "head": int(number)}:
            return [head for head in heads if head == (kind, layer, number)]
        case {"kind": str(kind), "layer": int(layer), "head": None}:
            return [head for head in heads if (head.kind, head.layer) == (kind, layer)]
        case _:
            return []
