"""Cost of a training in floating-point operations (FLOPs): as the paper estimates it for Table 2, and counted."""

from typing import Any, NamedTuple

from core.files.training_runs import steps_of_runs, training_runs
from core.model.config import HeadShape, TransformerConfig

P100_FLOPS = 9.5e12  # sustained by a P100 in single precision, a second (footnote 5)
BACKWARD = 2  # a product has two gradients, each of which costs as much as the product


class Result(NamedTuple):
    """A row of Table 2 of the paper (6.1): BLEU on newstest2014, and FLOPs of the training; None where it has none."""

    model: str
    bleu_de: float | None = None
    bleu_fr: float | None = None
    flops_de: float | None = None
    flops_fr: float | None = None


TABLE_2 = (
    Result("ByteNet", 23.75),
    Result("Deep-Att + PosUnk", None, 39.2, None, 1.0e20),
    Result("GNMT + RL", 24.6, 39.92, 2.3e19, 1.4e20),
    Result("ConvS2S", 25.16, 40.46, 9.6e18, 1.5e20),
    Result("MoE", 26.03, 40.56, 2.0e19, 1.2e20),
    Result("Deep-Att + PosUnk, ensemble", None, 40.4, None, 8.0e20),
    Result("GNMT + RL, ensemble", 26.30, 41.16, 1.8e20, 1.1e21),
    Result("ConvS2S, ensemble", 26.36, 41.29, 7.7e19, 1.2e21),
    Result("Transformer, base", 27.3, 38.1, 3.3e18, 3.3e18),
    Result("Transformer, big", 28.4, 41.8, 2.3e19, 2.3e19),
)
PAPER_HOURS = {"base": 12.0, "big": 3.5 * 24}  # on eight P100 (5.2)
PAPER_DEVICES = 8
PAPER_BATCH_TOKENS = 25_000  # of each side, about (5.1)
PAPER_PAIRS = 4_500_000  # English-German, about (5.1)


def estimated_flops(hours: float, devices: int = PAPER_DEVICES, sustained: float = P100_FLOPS) -> float:
    """Estimate the FLOPs of a training as Table 2 does: time x devices x what one sustains a second."""
    return hours * 3600 * devices * sustained


def counted_flops(config: TransformerConfig, source: int, target: int, length: float = 0.0) -> float:
    """Count the FLOPs of the matrix products of training steps: forward, and backward for inputs and parameters.

    A multiplication and its addition are two. Embeddings, norms, softmax and optimizer are no products, so left out.

    Args:
        source, target: tokens of all sources, and of all targets, padding included.
        length: tokens of one sentence, for products of queries with keys, weights with values; 0 for neither.
    """
    encoder, decoder, d_model = config.encoder_heads, config.decoder_heads, config.d_model
    of_source = config.num_encoder_layers * (
        2 * _two_projections(d_model, encoder) + _weighing(length, encoder) + _network(config, config.d_ff)
    ) + config.num_decoder_layers * _two_projections(d_model, decoder)
    of_target = (
        config.num_decoder_layers
        * (
            3 * _two_projections(d_model, decoder)
            + 2 * _weighing(length, decoder)
            + _network(config, config.decoder_d_ff or config.d_ff)
        )
        + d_model * config.target_size
    )
    return 2 * (1 + BACKWARD) * (source * of_source + target * of_target)


def _two_projections(d_model: int, heads: HeadShape) -> int:
    """Multiplications of a token for its keys and values; as many for its query and the output projection."""
    return d_model * heads.num_heads * (heads.d_k + heads.d_v)


def _weighing(length: float, heads: HeadShape) -> float:
    return length * heads.num_heads * (heads.d_k + heads.d_v)


def _network(config: TransformerConfig, d_ff: int) -> int:
    return (3 if config.gated_feed_forward else 2) * config.d_model * d_ff


class TrainingCost(NamedTuple):
    """Cost of the runs that made a checkpoint."""

    steps: int  # of all runs
    flops: float  # counted, as if every batch was full, and of the last run's size where none is recorded: at most
    hours: float | None  # of all runs; None where one is not recorded


def training_cost(config: TransformerConfig, training: dict[str, Any]) -> TrainingCost | None:
    """Return the cost of the runs behind a checkpoint, from its training facts; None where they are not recorded.

    Raises:
        TypeError: the facts, which are untrusted, are not as `train` writes them; or ValueError, LookupError.
    """
    steps = steps_of_runs(training)
    recipe, sizes = training.get("recipe", {}), training.get("manifest", {}).get("train")
    if "batch_tokens" not in recipe or not sizes or None in steps:
        return None
    length = max(sizes["source_tokens"], sizes["target_tokens"]) / sizes["pairs"]
    hours, tokens = [run.get("hours") for run in training_runs(training)], 0
    for count, batch in zip(steps, (run.get("recipe", recipe) for run in training_runs(training)), strict=True):
        tokens += (count or 0) * batch["batch_tokens"] * batch.get("accumulate", 1)
    return TrainingCost(
        sum(count or 0 for count in steps),
        counted_flops(config, tokens, tokens, length),
        None if None in hours else sum(float(each) for each in hours if each is not None),
    )
