"""An explanation as one self-contained HTML file that works offline."""

import base64
import hashlib
import html
import json
import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.analysis.heads.head import Head
from core.analysis.heads.scoring import score_cards
from core.analysis.tokens.words import is_special, readable
from core.capture import Kind
from core.export.record import ExplanationRecord, weights_of
from core.results import Explanation

STEPS = 2**16 - 1  # weights are stored as multiples of 1/65535, in two bytes
NEGLIGIBLE = math.log(0.005)  # displayed as 0.00
NAMES: dict[Kind, tuple[str, str]] = {
    "encoder_self": ("Encoder", "each source token attends to the source"),
    "decoder_self": ("Decoder", "each target token attends to the target before it"),
    "cross": ("Cross", "each target token attends to the source"),
}
PageView = Literal["Lines", "Map", "Table"]
TokenLabel = tuple[str, str]  # text, "special" or ""

_HERE = Path(__file__).parent
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This page needs JavaScript, which is turned off in this browser.
It makes no network requests.</noscript>
<main id="page"></main>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def page(record: ExplanationRecord, first: Head | None = None, view: PageView = "Lines") -> str:
    """Render the whole file.

    Args:
        first: head shown large initially; by default `default_head`.
        view: view of that head initially.
    """
    style, script = ((_HERE / f"html_page.{suffix}").read_text("utf-8") for suffix in ("css", "js"))
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        f"base-uri 'none'; form-action 'none'"
    )
    # Escape `<` in JSON, so that no token can close the script element.
    data = json.dumps(payload(record, first, view), separators=(",", ":")).replace("<", "\\u003c")
    title = html.escape(f"{record.explanation.source} \u2192 {record.explanation.target}"[:200])
    return _PAGE.format(policy=policy, title=title, style=style, data=data, script=script)


def payload(record: ExplanationRecord, first: Head | None = None, view: PageView = "Lines") -> dict[str, Any]:
    """Data for the script of the page. Texts are plain, and inserted as text.

    Raises:
        ValueError: the record has no attention maps.
    """
    explanation = record.explanation
    if not explanation.maps:
        raise ValueError("there is no attention to draw: the explanation has no maps")
    return {
        "source": explanation.source,
        "target": explanation.target,
        "sourceTokens": _labels(explanation.source_tokens),
        "predicted": [
            {
                "label": label,
                "logProb": round(log_prob, 4),
                "others": [[readable(piece), round(value, 3)] for piece, value in alternatives if value > NEGLIGIBLE],
            }
            for label, log_prob, alternatives in zip(
                _labels(explanation.predicted_tokens), explanation.log_probs, explanation.alternatives, strict=True
            )
        ],
        "kinds": [
            {
                "kind": kind,
                "name": NAMES[kind][0],
                "text": NAMES[kind][1],
                "shape": list(weights.shape),
                "queries": _labels(explanation.maps[kind][0].query_tokens),
                "keys": _labels(explanation.maps[kind][0].key_tokens),
                "predicted": None
                if kind == "encoder_self"
                else _labels(explanation.maps[kind][0].predicted_tokens or ()),
                "weights": quantised(weights),
            }
            for kind, weights in weights_of(explanation).items()
        ],
        "first": list(first or default_head(explanation)),
        "view": view,
        "facts": _facts(record),
    }


def quantised(weights: NDArray[np.float32]) -> str:
    """Encode weights from 0 to 1 as little-endian 16-bit integers in base64.

    In steps of 1/65535, so the error of each is below 0.00001.
    """
    steps = np.rint(np.clip(weights.astype(np.float64), 0, 1) * STEPS).astype("<u2")
    return base64.b64encode(steps.tobytes()).decode()


def default_head(explanation: Explanation) -> Head:
    """Most confident head of the upper cross-attention layers, less its sink share."""
    kind: Kind = "cross" if "cross" in explanation.maps else next(iter(explanation.maps))
    layers = explanation.maps[kind]
    cards = score_cards([{kind: layers[len(layers) // 2 :]}])
    return max(cards, key=lambda card: card.confidence * (1 - card.sink_share) if card.num_tokens else 0.0).head


def _labels(tokens: tuple[str, ...]) -> list[TokenLabel]:
    return [(readable(token), "special" if is_special(token) else "") for token in tokens]


def _facts(record: ExplanationRecord) -> list[tuple[str, str]]:
    """Names and values for display, in order."""
    model = record.model
    config: dict[str, Any] = model.get("config", {})
    shown = (
        "num_encoder_layers",
        "num_decoder_layers",
        "num_heads",
        "num_decoder_heads",
        "d_model",
        "d_ff",
        "vocab_size",
    )
    shape = {name: config.get(name) for name in shown}
    listed = {
        "checkpoint": model.get("name"),
        "SHA-256": model.get("sha256"),
        "parameters": model.get("parameters"),
        **shape,
    }
    listed |= record.settings | record.versions
    return [
        (name, f"{value:,}" if type(value) is int else str(value))
        for name, value in listed.items()
        if value is not None
    ]


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
