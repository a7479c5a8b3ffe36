"""Parameters under the names of BART, which Marian, FSMT and M2M100 in Hugging Face share, and fairseq's."""

from collections.abc import Collection, Mapping, Sequence

from core.checkpoint import CheckpointError
from core.formats.weights import Weights
from core.model import Transformer

_PARTS = {
    "self_attention_norm": "self_attn_layer_norm",
    "self_attention": "self_attn",
    "cross_attention_norm": "encoder_attn_layer_norm",
    "cross_attention": "encoder_attn",
    "feed_forward_norm": "final_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "output_norm": "layer_norm",
    "input_norm": "layernorm_embedding",
}
LISTED = 4  # names or shapes in a message


def bart_name(name: str) -> str:
    """Name in BART of a parameter of a stack: `encoder.layers.0.self_attn.q_proj.weight`."""
    for part, theirs in _PARTS.items():
        if f".{part}." in name:
            return name.replace(f".{part}.", f".{theirs}.")
    return name


def stack_names(model: Transformer, prefix: str) -> dict[str, str]:
    """Name in BART of every parameter of both stacks, by its name in the model."""
    return {
        name: prefix + bart_name(name)
        for name, _ in model.named_parameters()
        if name.startswith(("encoder.", "decoder."))
    }


def check_names(weights: Weights, expected: Mapping[str, tuple[int, ...]], ignored: Collection[str] = ()) -> None:
    """Compare the names and shapes of a file with those that its configuration calls for.

    Args:
        expected: shapes by name.
        ignored: names that a file may have besides.

    Raises:
        CheckpointError: listing what is missing and unexpected, and shapes side by side.
    """
    missing = sorted(expected.keys() - weights.shapes.keys())
    surplus = sorted(weights.shapes.keys() - expected.keys() - set(ignored))
    wrong = [
        f"{name}: {list(weights.shapes[name])}, expected {list(shape)}"
        for name, shape in sorted(expected.items())
        if name in weights.shapes and weights.shapes[name] != shape
    ]
    problems = [
        f"{title} ({len(lines)}): {'; '.join(lines[:LISTED])}{'; ...' if len(lines) > LISTED else ''}"
        for title, lines in (("missing", missing), ("unexpected", surplus), ("of another shape", wrong))
        if lines
    ]
    if problems:
        raise CheckpointError("\n".join([f"{weights.file_name} does not fit its configuration. Tensors", *problems]))


def check_copies(weights: Weights, names: Sequence[str], options: str) -> None:
    """Check that tensors which the configuration ties are equal.

    Args:
        options: that tie them, for the message.

    Raises:
        CheckpointError: they differ.
    """
    for name in names[1:]:
        if not weights.equal(names[0], name):
            raise CheckpointError(
                f"{weights.file_name}: {names[0]} and {name} differ, but config.json says that they are one: set "
                f"{options} to false if they are not"
            )


def tied_by_content(weights: Weights, source: str, target: str, output: str) -> str:
    """`TransformerConfig.tied` of a file with three matrices, from those that are equal."""
    if weights.equal(target, output):
        return "all" if weights.equal(source, target) else "target"
    return "inputs" if weights.equal(source, target) else "none"
