"""An explanation as one self-contained HTML file that works offline."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.analysis.tokens.words import readable
from core.drawing.drawing_data import label_spans
from core.drawing.figure1 import figure1_data
from core.drawing.head_explorer import View, default_head, kinds_data
from core.export.record import ExplanationRecord
from core.files.web_page import framed, web_page
from core.model.config import TransformerConfig
from core.results import Explanation
from core.trace import Head

NEGLIGIBLE = math.log(0.005)  # displayed as 0.00
FRAME_HEIGHT = 720  # pixels; a larger page scrolls


@dataclass(frozen=True)
class Note:
    """Texts for the readers of a page, plain but for *emphasised* words and [links](addresses)."""

    title: str  # what the page is about
    text: str  # what to look at, and why
    questions: tuple[str, ...] = ()  # listed below the heads
    back: tuple[str, str] | None = None  # label and address of a link above the title


def page(
    record: ExplanationRecord,
    first: Head | None = None,
    view: View = "Lines",
    rows: Sequence[int] = (),
    note: Note | None = None,
) -> str:
    """Render the whole file.

    Args:
        first, view, rows: head shown large initially, by default `first_head` of cross-attention; its view, and its
            selected rows.
        note: texts about the explanation.
    """
    content = payload(record, first, view, rows) | {"note": note and asdict(note)}
    title = f"{record.explanation.source} \u2192 {record.explanation.target}"
    return web_page(title, Path(__file__).with_suffix(".js"), content)


def framed_page(
    explanation: Explanation, config: TransformerConfig | None = None, first: Head | None = None, view: View = "Lines"
) -> str:
    """Render the page in a frame, for a notebook; `config` is that of the model, for Figure 1."""
    record = ExplanationRecord(explanation, {"config": asdict(config)} if config else {})
    return framed(page(record, first, view), f"{explanation.source} \u2192 {explanation.target}", FRAME_HEIGHT)


def payload(
    record: ExplanationRecord, first: Head | None = None, view: View = "Lines", rows: Sequence[int] = ()
) -> dict[str, Any]:
    """Data for the script of the page; texts are plain, and inserted as text.

    Raises:
        ValueError: the record has no attention maps.
    """
    explanation = record.explanation
    kinds = kinds_data(explanation)
    return {
        "source": explanation.source,
        "target": explanation.target,
        "predicted": [
            {
                "spans": label_spans(token),
                "logProb": round(log_prob, 4),
                "others": [[readable(piece), round(value, 3)] for piece, value in alternatives if value > NEGLIGIBLE],
            }
            for token, log_prob, alternatives in zip(
                explanation.predicted_tokens if explanation.log_probs else (),
                explanation.log_probs,
                explanation.alternatives,
                strict=True,
            )
        ],
        "kinds": kinds,
        "figure1": _figure1(record),
        "first": list(first or default_head(explanation)),
        "view": view,
        "rows": list(rows),
        "facts": _facts(record),
    }


def _figure1(record: ExplanationRecord) -> dict[str, Any] | None:
    """Data of Figure 1; None if the record has no such model, as that of an attention file."""
    try:
        return figure1_data(record.explanation, TransformerConfig(**record.model["config"]))
    except (KeyError, TypeError, ValueError):  # the last two: a file of a newer version, which load_explanation reads
        return None


def _facts(record: ExplanationRecord) -> list[tuple[str, str]]:
    """Names and values for display, in order."""
    model = record.model
    config: dict[str, Any] = model.get("config", {})
    sizes = ("num_heads", "num_decoder_heads", "d_model", "d_ff", "vocab_size")
    listed = {"checkpoint": model.get("name"), "SHA-256": model.get("sha256"), "parameters": model.get("parameters")}
    listed |= {name: config.get(name) for name in ("num_encoder_layers", "num_decoder_layers", *sizes)}
    listed |= record.settings | record.versions
    return [
        (name, f"{value:,}" if type(value) is int else str(value))
        for name, value in listed.items()
        if value is not None
    ]
