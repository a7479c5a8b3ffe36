"""Parameters of a hand-written Transformer under the names of `torch.nn.Transformer`, by a map of names.

The map has names of modules, such as `"encoder.layers.*.self_attn.linears.0": "encoder.layers.*.self_attn.q_proj"`,
where `*` is the number of a layer. `weight` and `bias` follow from the module.
"""

import math
import re
from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor

from core.files.budget import shown
from core.formats.checkpoint import CheckpointError
from core.formats.parameter_names import unpacked
from core.formats.settings import Settings
from core.formats.weights import Weights, in_memory

# Names of the parameters of a module: of torch's, of the Annotated Transformer and OpenNMT, and of others.
PARAMETERS = {
    "weight": "weight",
    "bias": "bias",
    "a_2": "weight",
    "b_2": "bias",
    "gamma": "weight",
    "beta": "bias",
    "alpha": "weight",
}
TARGETS = re.compile(
    r"(encoder|decoder)\.(norm|input_norm|layers\.\*\.("
    r"(self_attn|multihead_attn)\.(in_proj|[qkv]_proj|out_proj)|linear[12]|norm[123]))"
)
STANDARD, SAMPLE_STD = "standard", "sample_std"  # values of the option layer_norm
MAX_NAME = 300  # characters of a name that a map may be for
MAX_NAMES = 1000  # of a map
_NORM = re.compile(r".*\.(norm[123]?|input_norm)\.weight")
_STACKS = re.compile(r"(encoder|decoder)\.(.*\.)?(?P<part>[^.]+)\.weight")
# Modules that have a bias together or not at all, and the group that needs one if another of its modules has it.
_BIASES = {
    "attention": (("q_proj", "k_proj", "v_proj"), ("out_proj",)),
    "feed forward": (("linear1",), ("linear2",)),
    "norms": (("norm", "norm1", "norm2", "norm3", "input_norm"),),
}


def read_map(options: Settings) -> dict[str, str]:
    """The map of names among the options of a description, checked.

    Raises:
        CheckpointError: it is no map of names, or maps to what `torch.nn.Transformer` does not have.
    """
    names = options.section("names").values
    if len(names) > MAX_NAMES:
        raise CheckpointError(f"{options.file_name}: names has {len(names)} names, at most {MAX_NAMES} are read")
    for theirs, ours in names.items():
        if not isinstance(ours, str) or not TARGETS.fullmatch(ours):
            raise CheckpointError(
                f"{options.file_name}: names has {shown(ours)} for {shown(theirs)}, expected a part of "
                f"torch.nn.Transformer such as 'encoder.layers.*.self_attn.q_proj', 'decoder.layers.*.multihead_attn."
                f"out_proj', 'encoder.layers.*.linear1', 'decoder.layers.*.norm3' or 'encoder.norm'"
            )
        if theirs.count("*") != ours.count("*"):
            raise CheckpointError(
                f"{options.file_name}: names has {shown(ours)} for {shown(theirs)}, expected one '*', the number of "
                f"the layer, in both or in neither"
            )
    return cast("dict[str, str]", names)


def renamed_parameters(weights: Weights, names: Mapping[str, str]) -> Weights:
    """All tensors, those of the map under torch's names, with queries, keys and values apart.

    Raises:
        CheckpointError: two tensors get the same name, or a tensor cannot be split into queries, keys and values.
    """
    found: dict[str, Tensor] = {}
    for name in weights.shapes:
        for part, tensor in unpacked(weights.file_name, name, weights.get(name)).items():
            new = new_name(part, names) or part
            packed = re.sub(r"\.in_proj\.(weight|bias)$", r".in_proj_\1", new)
            for each, piece in unpacked(weights.file_name, packed, tensor).items():
                if each in found:
                    raise CheckpointError(
                        f"{weights.file_name}: {shown(name)} and another tensor would both be {shown(each)}: name each "
                        f"module once in the map of names"
                    )
                found[each] = piece
    return in_memory(weights.file_name, found)


def new_name(name: str, names: Mapping[str, str]) -> str | None:
    """Torch's name of a parameter, None if the map does not have its module."""
    module, _, parameter = name.rpartition(".")
    if parameter not in PARAMETERS or len(name) > MAX_NAME:
        return None
    parts = module.split(".")
    numbers = [index for index, part in enumerate(parts) if part.isdecimal() and part.isascii()]
    patterns = [(module, "*")] + [
        (".".join([*parts[:index], "*", *parts[index + 1 :]]), parts[index]) for index in numbers
    ]
    for pattern, number in patterns:
        target = names.get(pattern, pattern if TARGETS.fullmatch(pattern) else None)
        if target is not None:
            return f"{target.replace('*', number)}.{PARAMETERS[parameter]}"
    return None


def with_zero_biases(weights: Weights, prefix: str) -> Weights:
    """Parameters of both stacks with zeros for biases that no module of a kind has, where Headlight's model has one."""
    tensors = {name: weights.get(name) for name in weights.shapes}
    parts = {
        name: match["part"]
        for name in weights.shapes
        if name.startswith(prefix) and (match := _STACKS.fullmatch(name, len(prefix)))
    }
    biased = {part for name, part in parts.items() if name.removesuffix("weight") + "bias" in tensors}
    for kind, groups in _BIASES.items():
        is_wanted = kind == "norms" or any(biased.intersection(group) for group in groups)
        for group in groups:
            if is_wanted and not biased.intersection(group):
                for name in (name for name, part in parts.items() if part in group and tensors[name].dim()):
                    zeros = torch.zeros(len(tensors[name]), dtype=tensors[name].dtype)
                    tensors[name.removesuffix("weight") + "bias"] = zeros
    return in_memory(weights.file_name, tensors)


def has_bias(weights: Weights, prefix: str, kind: str) -> bool:
    """Whether modules of a kind of `_BIASES` have biases."""
    parts = tuple(f".{part}.bias" for group in _BIASES[kind] for part in group)
    return any(name.startswith(prefix) and name.endswith(parts) for name in weights.shapes)


def with_standard_norms(weights: Weights, prefix: str, width: int, sample_std: bool) -> Weights:
    """Parameters whose norms, the Annotated Transformer's if `sample_std`, are LayerNorm's of `width` n.

    The Annotated Transformer divides by the standard deviation of a sample, of n - 1 in place of n, plus epsilon: that
    is LayerNorm with a gain times sqrt((n - 1) / n) and with `standard_eps`. One gain for all n columns is repeated.
    """
    factor = math.sqrt((width - 1) / width) if sample_std else 1.0
    tensors: dict[str, Tensor] = {}
    for name in weights.shapes:
        tensor = weights.get(name)
        module = name.rpartition(".")[0] + ".weight"
        if name.startswith(prefix) and _NORM.fullmatch(module):
            tensor = tensor.expand(width) if tensor.shape == (1,) else tensor
            tensor = tensor.float() * factor if name == module and sample_std else tensor
        tensors[name] = tensor
    return in_memory(weights.file_name, tensors)


def standard_eps(eps: float, width: int) -> float:
    """Epsilon of LayerNorm, added to a variance, for one that is added to a standard deviation of n - 1.

    (s + e)^2 is s^2 + 2 s e + e^2; with s near 1, as states are, the epsilon of the variance is 2 e.
    """
    return 2 * eps * math.sqrt((width - 1) / width)
