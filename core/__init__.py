"""The Transformer of "Attention Is All You Need": model, inference and analysis."""

from functools import partial
from typing import Any

from core.app_server import AppServer, serve
from core.capture import AttentionMap, capture_attention
from core.formats.checkpoint import Checkpoint, CheckpointError, load_checkpoint, save_checkpoint
from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from core.results import WIDGETS, Explanation, ScoredText, TextTranslation, Translation
from core.translator import Translator

__all__ = [
    "PRESETS",
    "AppServer",
    "AttentionMap",
    "Checkpoint",
    "CheckpointError",
    "Explanation",
    "ScoredText",
    "TextTranslation",
    "Transformer",
    "TransformerConfig",
    "Translation",
    "Translator",
    "capture_attention",
    "load_checkpoint",
    "save_checkpoint",
    "serve",
]


def _in_notebook(name: str, *arguments: Any) -> Any:
    """Draw with a widget, whose package is imported when it is first used."""
    import core.notebook

    return getattr(core.notebook, name)(*arguments)


def _explanation_html(explanation: Explanation) -> str:
    from core.export.html_page import framed_page

    return framed_page(explanation)


WIDGETS["explanation_html"] = _explanation_html
WIDGETS.update((name, partial(_in_notebook, name)) for name in ("HeadView", "HypothesisView", "TranslatorView"))
