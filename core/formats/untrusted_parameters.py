"""Parameters of untrusted files, checks of their values, and a model without memory to compare names and shapes."""

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from core.model import Embedding, Transformer, positions
from core.model.config import TransformerConfig
from core.model.half_precision import blocks, keep_half_precision, stored_weight

# Largest float16; trained weights are far below it. Larger ones could overflow in a product of two hidden states.
# Below it, with LayerNorm after every sub-layer, nothing overflows up to the logits, whatever the sentence.
MAX_WEIGHT = 65504.0
TRIAL_TOKENS = 8  # source and target length of the trial pass of a loaded model
ADVICE = "copy or download it again"  # advice for damaged files
MAX_MESSAGE = 500  # characters; names in a malicious file may have any length


class CheckpointError(ValueError):
    """The file is not a usable checkpoint; the message has the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE - 4]} ...")


@contextmanager
def errors_of(name: str) -> Generator[None]:
    """Convert a `ValueError` inside the block to a `CheckpointError` that begins with the name of its source."""
    try:
        yield
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"{name}: {error}") from error


class _SkipInit(TorchFunctionMode):
    """Skip random initialisation, for which PyTorch imports many modules on `meta`."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func.__name__ in ("uniform_", "normal_", "kaiming_uniform_"):  # of Tensor and of torch.nn.init
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def meta_model(config: TransformerConfig) -> Transformer:
    """A model on the meta device: shapes without memory."""
    with torch.device("meta"), _SkipInit():
        return Transformer(config)


def num_parameters(config: TransformerConfig) -> int:
    """Number of parameters of a model with this configuration, tied ones counted once."""
    return sum(parameter.numel() for parameter in meta_model(config).parameters())


def as_parameter(stored: Tensor, of_large_model: bool) -> Tensor:
    """A tensor of a file as a parameter: a copy in float32 that does not depend on the file.

    Matrices of a large model (`is_large`) are kept in memory once, in the smallest type that holds them: as stored, and
    then still mapped from the file if `stored` is, or in float16 if that holds a matrix in float32 exactly.
    """
    if not of_large_model or stored.dim() != 2:
        return stored.to(torch.float32, copy=True, memory_format=torch.contiguous_format)
    if stored.dtype == torch.float32 and all(torch.equal(rows, rows.half().float()) for rows in blocks(stored)):
        stored = stored.half()
    return stored.contiguous()


def fill_model(file_name: str, model: Transformer, tensors: dict[str, Tensor]) -> Transformer:
    """Give a model of `meta_model` all its parameters, of `as_parameter`, which it keeps, and set it to evaluation.

    Raises:
        CheckpointError: a parameter is not finite or too large, or the model's outputs are not finite.
    """
    for name, tensor in tensors.items():
        least, greatest = map(float, tensor.aminmax())  # NaN if a value is; unlike other ways it copies nothing
        if not math.isfinite(least) or not math.isfinite(greatest):
            raise CheckpointError(
                f"{file_name}: {name} has {int((~tensor.isfinite()).sum())} values that are not finite (NaN or "
                f"infinite)"
            )
        if (largest := max(-least, greatest)) > MAX_WEIGHT:
            raise CheckpointError(
                f"{file_name}: {name} holds the weight {largest:.3g}, at most {MAX_WEIGHT:g} is read: the file is "
                f"damaged ({ADVICE}), or the training diverged"
            )
    model.load_state_dict(tensors, assign=True)
    keep_half_precision(model)
    if model.config.positions != "learned":
        for embedding in filter(None, (model.embedding, model.patch_embedding, model.target_embedding)):
            embedding.positions = positions(model.config)  # not stored, as it has no parameters
    model.eval().requires_grad_(False)
    _check_outputs(file_name, model)
    return model


@torch.no_grad()
def _check_outputs(file_name: str, model: Transformer) -> None:
    """Run one short forward pass, as finite weights may still give outputs that are not.

    Its tokens are those with the largest embeddings, so that a single damaged row is detected.
    """
    config = model.config
    positions = config.max_positions if config.positions == "learned" else TRIAL_TOKENS

    def tokens(embedding: Embedding) -> Tensor:
        weight = stored_weight(embedding.tokens)
        largest = torch.maximum(weight.amax(1), -weight.amin(1))
        special = {config.pad_id, config.bos_id, config.eos_id}
        largest[[token_id for token_id in special if token_id < len(largest)]] = -1
        return largest.topk(max(min(TRIAL_TOKENS, positions, len(largest) - 2) - 1, 0)).indices

    if config.patch_size:
        source = torch.ones(TRIAL_TOKENS if positions >= TRIAL_TOKENS else positions, config.patch_size**2)
    else:
        source = F.pad(tokens(model.embedding), (0, 1), value=config.eos_id)
    target = F.pad(tokens(model.fed_embedding), (1, 0), value=config.bos_id)
    if not model(source[None], target[None]).log_softmax(-1).isfinite().all():
        raise CheckpointError(
            f"{file_name}: the outputs of this model are not finite (NaN or infinite): the file is damaged ({ADVICE}), "
            f"or the training diverged"
        )
