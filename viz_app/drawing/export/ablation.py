"""The head switches, and the change of each token, as SVG, PDF or PNG."""

from collections.abc import Mapping, Sequence

import pandas as pd

from core.analysis.heads.head import Head
from core.analysis.pictures import effect_limit
from core.analysis.tokens.words import readable
from core.capture import KINDS
from viz_app.drawing.ablation import effect_color
from viz_app.drawing.display_text import decimal
from viz_app.drawing.export.canvas import Format
from viz_app.drawing.export.token_boxes import Box, export_boards, export_tokens
from viz_app.drawing.head_names import KIND_NAMES
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.language import localized, tr


def export_switches(
    heads: Sequence[Head],
    gates: Mapping[Head, float],
    effects: Mapping[Head, float],
    file_format: Format,
    theme: Theme = LIGHT,
) -> bytes:
    """Draw every head by kind and layer with the effect of turning it off alone, changed heads in a frame.

    Args:
        heads: All heads of the model, layer by layer.
        gates: Factors of the heads whose output is scaled.
        effects: On the log-probability, where known.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    limit = effect_limit(list(effects.values()))

    def box(head: Head) -> Box:
        gate, effect = gates.get(head, 1.0), effects.get(head)
        text = "" if effect is None else decimal(effect, 1, sign=True) if round(effect, 1) else "0"
        if gate != 1:
            text = tr("off") if gate == 0 else localized(gate, ".1f")
        return Box(text, effect_color(effect or 0.0, limit, theme), marked=gate != 1)

    boards: list[tuple[str, list[tuple[str, list[Box]]]]] = []
    for kind in KINDS:
        layers = dict.fromkeys(head.layer for head in heads if head.kind == kind)
        rows = [
            (f"L{layer + 1}", [box(head) for head in heads if (head.kind, head.layer) == (kind, layer)])
            for layer in layers
        ]
        boards.append((tr(KIND_NAMES[kind]), rows))
    title = tr(
        "change of the log-probability in nats with this head alone off; colours: {low} (blue) to {high} (orange), "
        "logarithmic",
        low=decimal(-limit, 2),
        high=decimal(limit, 2, sign=True),
    )
    return export_boards(boards, file_format, theme, title=title)


def switches_table(heads: Sequence[Head], gates: Mapping[Head, float], effects: Mapping[Head, float]) -> pd.DataFrame:
    """Return a row for each head, counted from 0: its gate (1: unchanged), and its effect where known."""
    return pd.DataFrame(
        {
            "kind": [head.kind for head in heads],
            "layer": [head.layer for head in heads],
            "head": [head.head for head in heads],
            "gate": [gates.get(head, 1.0) for head in heads],
            "change_when_off": [effects.get(head) for head in heads],
        }
    )


def export_changes(tokens: Sequence[str], changes: Sequence[float], file_format: Format, theme: Theme = LIGHT) -> bytes:
    """Draw tokens with the change of their log-probability, as colour and number.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    limit = effect_limit(changes)
    boxes = [
        Box(readable(token), effect_color(change, limit, theme), decimal(change, 2, sign=True))
        for token, change in zip(tokens, changes, strict=True)
    ]
    return export_tokens(boxes, file_format, theme, title=tr("change of the log-probability, in nats"))
