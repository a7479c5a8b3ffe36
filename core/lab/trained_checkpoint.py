"""A checkpoint of a small model, which everything else opens."""

from dataclasses import asdict
from datetime import UTC, datetime

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
    config = TransformerConfig(
        vocab_size=task.vocab_size,
        d_model=size.d_model,
        d_ff=size.d_ff,
        num_heads=size.num_heads,
        num_encoder_layers=size.num_layers,
        num_decoder_layers=size.num_layers,
        dropout=size.dropout,
    )
    model = Transformer(config).eval()
    model.load_state_dict(training.model.state_dict())
    names = [variant.name for variant in training.variants]
    facts = {
        "preset": " ".join(["lab", task.name, *names]),
        "config": asdict(config),
        "seed": size.seed,
        "steps": training.done,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "torch": torch.__version__,
        "recipe": {
            "steps": training.done,
            "warmup": size.warmup,
            "rate_scale": 1.0,
            "label_smoothing": 0.0 if "no_smoothing" in names else 0.1,
            "batch_pairs": size.batch_size,
        },
        "manifest": {"text_normalization": text_normalization.VERSION},
        "scores": [
            {
                "test_set": f"unseen pairs of {task.name}",
                "sentences": len(task.unseen),
                "exact_texts": round(100 * training.exact(), 1),
                "beam_size": 1,
            }
        ],
    }
    return Checkpoint(model, task.tokenizer, facts)
