"""The Transformer of "Attention Is All You Need": model, inference and analysis."""

from core.app_server import AppServer, serve
from core.capture import AttentionMap, capture_attention
from core.formats.checkpoint import Checkpoint, CheckpointError, load_checkpoint, save_checkpoint
from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from core.results import Explanation, ScoredText, TextTranslation, Translation
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
