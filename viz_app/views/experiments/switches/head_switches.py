"""A switch for every head, coloured by the effect of turning that head off alone."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.analysis.heads.head import Head
from core.analysis.pictures import effect_limit
from core.capture import KINDS, Kind
from viz_app.components.component import component_beside, draw
from viz_app.drawing.ablation import effect_color, scale_ticks, text_color
from viz_app.drawing.head_names import KIND_NAMES, head_title
from viz_app.drawing.theme import Theme
from viz_app.language import tr

_component = component_beside(__file__)


def switchboard_payload(
    heads: Sequence[Head], gates: Mapping[Head, float], effects: Mapping[Head, float], theme: Theme
) -> dict[str, Any]:
    """Return the data of the switches, see `Data` in head_switches.js.

    Args:
        heads: All heads of the model, layer by layer.
        gates: Factors of the heads whose output is scaled.
        effects: Change of the log-probability in nats when a head is turned off alone, where known.

    Returns:
        `boards`: for each kind of attention its rows of cells; `limit`: the end of the colour scale, None without
        effects; `scale`: its colours from end to end; `ticks`: names and places of values on it, from -1 to 1.
    """
    limit = effect_limit(list(effects.values()))

    def cell(head: Head) -> dict[str, Any]:
        effect = effects.get(head)
        return {
            "head": head.head,
            "name": head_title(head),
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
        "boards": [{"kind": kind, "name": tr(KIND_NAMES[kind]), "rows": rows(kind)} for kind in KINDS],
        "limit": round(limit, 2) if effects else None,
        "scale": list(theme.diverging),
        "ticks": scale_ticks(limit),
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
        on_click: Called with the clicked head, or with all heads of the clicked layer, before the page runs again.
        heads, gates, effects: See `switchboard_payload`.
        key: Key of the component, as for any widget.
    """
    data = switchboard_payload(heads, gates, effects, theme)
    draw(_component, data, key, "switch", lambda value: clicked_heads(value, heads) or None, on_click)


def clicked_heads(value: object, heads: Sequence[Head]) -> list[Head]:
    """Return the heads that the browser sent, one or all of a layer; empty if there are no such heads."""
    match value:
        case {"kind": str(kind), "layer": int(layer), "head": int(number)}:
            return [head for head in heads if head == (kind, layer, number)]
        case {"kind": str(kind), "layer": int(layer), "head": None}:
            return [head for head in heads if (head.kind, head.layer) == (kind, layer)]
        case _:
            return []
