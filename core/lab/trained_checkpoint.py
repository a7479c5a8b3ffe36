"""A checkpoint of a small model, which everything else opens."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import torch

from core.formats.checkpoint import Checkpoint
from core.lab.training import Training
from core.model import Transformer
from core.model.config import TransformerConfig
from core.text import text_normalization


def checkpoint_of(training: Training) -> Checkpoint:
    """Return a copy of the weights as a checkpoint, for `save_checkpoint` or a `Translator`, with facts for its card.

    Raises:
        ValueError: a variant has changed the model, and no configuration describes it.
    """
    changed = [variant.title for variant in training.variants if not variant.is_paper_model]
    if changed:
        raise ValueError(f"{', '.join(changed)}: this model is not the paper's, and only opens here; train it whole")
    task, size = training.task, training.settings
    sizes = {name: getattr(size, name) for name in ("d_model", "d_ff", "num_heads", "dropout")}
    layers: dict[str, Any] = {f"num_{stack}_layers": size.num_layers for stack in ("encoder", "decoder")}
    config = TransformerConfig(vocab_size=task.vocab_size, **sizes, **layers)
    model = Transformer(config).eval()
    model.load_state_dict(training.model.state_dict())
    names = [variant.name for variant in training.variants]
    smoothing = 0.0 if "no_smoothing" in names else 0.1
    exact = round(100 * training.exact(), 1)
    facts = {
        "preset": " ".join(["lab", task.name, *names]),
        "config": asdict(config),
        "seed": size.seed,
        "steps": training.done,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "torch": torch.__version__,
        "recipe": {"steps": training.done, "warmup": size.warmup, "rate_scale": 1.0, "label_smoothing": smoothing},
        "manifest": {"text_normalization": text_normalization.VERSION},
        "scores": [
            {"test_set": f"unseen {task.name}", "sentences": len(task.unseen), "exact_texts": exact, "beam_size": 1}
        ],
    }
    return Checkpoint(model, task.tokenizer, facts)
