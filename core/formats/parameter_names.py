"""Parameters under the names of other projects, and checks of names and shapes."""

import re
from collections.abc import Collection, Mapping, Sequence

from torch import Tensor

from core.formats.checkpoint import CheckpointError
from core.formats.weights import Weights
from core.model import Transformer

# Names of BART, such as `encoder.layers.0.self_attn.q_proj.weight`, which Marian, FSMT, M2M100 and fairseq share.
_BART = {
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
_PACKED = re.compile(r"(.*\.)in_proj_(weight|bias)")
LISTED = 4  # names or shapes in a message


def renamed(name: str, parts: Mapping[str, str]) -> str:
    """Name of a parameter with parts of one or more components replaced by others."""
    for part, theirs in parts.items():
        name = name.replace(f".{part}.", f".{theirs}.")
    return name


def stack_names(
    model: Transformer, prefix: str, encoder: Mapping[str, str] = _BART, decoder: Mapping[str, str] = _BART
) -> dict[str, str]:
    """The other project's names of the parameters of both stacks, with a prefix and parts as of `renamed`, by ours."""
    return {
        name: prefix + renamed(name, parts)
        for name, _ in model.named_parameters()
        for stack, parts in (("encoder.", encoder), ("decoder.", decoder))
        if name.startswith(stack)
    }


def matrix_names(tied: str, source: str, target: str, output: str) -> dict[str, str]:
    """The other project's names of those embeddings and output projections that are different matrices, by ours."""
    names = {"embedding.tokens.weight": source}
    if tied in ("target", "none"):
        names["target_embedding.tokens.weight"] = target
    if tied in ("inputs", "none"):
        names["output_projection.weight"] = output
    return names


def read_parameters(
    weights: Weights,
    model: Transformer,
    sources: Mapping[str, str],
    copies: Collection[str] = (),
    ignored: Collection[str] = (),
) -> dict[str, Tensor]:
    """Parameters of a model by name, see `as_parameter`, from the name in the file of each.

    The file also has `copies`, equal to another matrix, of [pieces of the target, D], and maybe `ignored` names.

    Raises:
        CheckpointError: names or shapes differ.
    """
    expected = dict.fromkeys(copies, (model.config.target_size, model.config.d_model))
    expected |= {theirs: tuple(model.get_parameter(ours).shape) for ours, theirs in sources.items()}
    check_names(weights, expected, ignored)
    return weights.read_all(model, sources)


def unpacked(file_name: str, name: str, tensor: Tensor) -> dict[str, Tensor]:
    """Split a tensor `in_proj_*` into its three parts for queries, keys and values; other tensors stay as they are."""
    match = _PACKED.fullmatch(name)
    if not match:
        return {name: tensor}
    if not tensor.dim() or len(tensor) % 3:
        raise CheckpointError(
            f"{file_name}: {name!r:.80} has shape {list(tensor.shape)}, expected queries, keys and values, one after "
            f"the other"
        )
    return {f"{match[1]}{part}_proj.{match[2]}": piece for part, piece in zip("qkv", tensor.chunk(3), strict=True)}


def check_names(weights: Weights, expected: Mapping[str, tuple[int, ...]], ignored: Collection[str] = ()) -> None:
    """Compare a file's names and shapes with those expected; it may have others that are ignored.

    Raises:
        CheckpointError: listing missing and unexpected names, and shapes side by side.
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
    """Check that tensors which options of the configuration tie are equal."""
    for name in names[1:]:
        if not weights.equal(names[0], name):
            raise CheckpointError(
                f"{weights.file_name}: {names[0]} and {name} differ, but config.json says that they are one: set "
                f"{options} to false if they are not"
            )


def tied_by_content(weights: Weights, source: str, target: str, output: str) -> str:
    """`TransformerConfig.tied` of a file: which of three matrices are equal."""
    if weights.equal(target, output):
        return "all" if weights.equal(source, target) else "target"
    return "inputs" if weights.equal(source, target) else "none"
