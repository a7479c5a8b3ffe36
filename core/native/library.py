"""Bindings to the compiled `decoder_step.cpp`, through ctypes.

`pip install` compiles it for two instruction sets if there is a C++ compiler and the processor is an x86-64, and skips
it otherwise. Without it PyTorch computes the same, to rounding. `HEADLIGHT_NATIVE=0` turns it off.
"""

import ctypes
import os
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

VARIANTS = {"AVX512": "_decoder_step_avx512", "AVX2": "_decoder_step_avx2"}  # by CPU capability, best first
KINDS = {torch.float32: 0, torch.float16: 1, torch.int8: 2, torch.bfloat16: 6}
ROW_MAJOR = {torch.float32: 3, torch.float16: 4, torch.bfloat16: 5}  # kinds of weights that are not copied
ACTIVATIONS: dict[str, int] = {"relu": 1, "gelu": 2, "swish": 3}
INTERFACE_VERSION = 10  # of decoder_step.cpp: a library compiled from another version is not used
MAX_INT8 = 127
REDUCED = {torch.int8: 4, torch.bfloat16: 2}  # and how many neighbouring inputs' products one instruction adds
ROWS_OF_ONE_THREAD = 16
MULTIPLICATIONS_OF_ONE_THREAD = 2**24


class LinearStruct(ctypes.Structure):
    """`Linear` of decoder_step.cpp."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("weights", "bias", "scales")),
        *((name, ctypes.c_int64) for name in ("kind", "inputs", "outputs")),
    )


class NormStruct(ctypes.Structure):
    """`Norm` of decoder_step.cpp."""

    _fields_ = (("weight", ctypes.c_void_p), ("bias", ctypes.c_void_p))


class EncoderLayerStruct(ctypes.Structure):
    """`EncoderLayer` of decoder_step.cpp."""

    _fields_ = (
        *((name, LinearStruct) for name in ("qkv", "out", "inner", "outer")),
        *((name, NormStruct) for name in ("attention_norm", "feed_forward_norm")),
    )


class DecoderLayerStruct(ctypes.Structure):
    """`DecoderLayer` of decoder_step.cpp."""

    _fields_ = (
        *((name, LinearStruct) for name in ("qkv", "self_out", "query", "cross_out", "inner", "outer")),
        *((name, NormStruct) for name in ("self_norm", "cross_norm", "feed_forward_norm")),
    )


class LayerCacheStruct(ctypes.Structure):
    """`LayerCache` of decoder_step.cpp."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("keys", "values", "memory_keys", "memory_values"))


class StackStruct(ctypes.Structure):
    """`Stack` of decoder_step.cpp."""

    _fields_ = (
        ("layers", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("num_layers", "d_model", "heads", "d_k", "d_v", "pre_norm")),
        ("activation", ctypes.c_int64),
        *((name, NormStruct) for name in ("input_norm", "output_norm")),
        ("epsilon", ctypes.c_float),
    )


class EncodingStruct(ctypes.Structure):
    """`Encoding` of decoder_step.cpp."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("batch", "length")),
        ("mask", ctypes.c_void_p),
        ("threads", ctypes.c_int64),
        ("x", ctypes.c_void_p),
    )


class StepStruct(ctypes.Structure):
    """`Step` of decoder_step.cpp."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("batch", "width", "num_keys", "room", "source_length")),
        *((name, ctypes.c_void_p) for name in ("ancestry", "memory_mask", "x", "logits")),
        *((name, ctypes.c_int64) for name in ("threads", "projection_threads")),
    )


class AttentionStruct(ctypes.Structure):
    """`Attention` of decoder_step.cpp."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("batch", "width", "heads", "d_k", "d_v", "num_keys", "room")),
        ("queries", ctypes.c_void_p),
        ("query_stride", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("keys", "values", "mask")),
        ("mask_stride", ctypes.c_int64),
        ("joined", ctypes.c_void_p),
    )


def capability() -> str:
    """The instruction set to use: AVX512, AVX2 or another name, which `ATEN_CPU_CAPABILITY` may limit."""
    return torch.backends.cpu.get_cpu_capability()


@cache
def library() -> ctypes.CDLL | None:
    """The best compiled variant for this processor; None if there is none."""
    capabilities = list(VARIANTS)
    if capability() not in capabilities or os.environ.get("HEADLIGHT_NATIVE") == "0":
        return None
    for name in capabilities[capabilities.index(capability()) :]:
        if (path := compiled_file(name)).exists() and (variant := load(path)):
            return variant
    return None


def compiled_file(name: str) -> Path:
    """Path of a variant, whether or not it was compiled: setup.py names it for no version of Python."""
    return Path(__file__).with_name(f"{VARIANTS[name]}.so")


def load(path: Path) -> ctypes.CDLL | None:
    """Open a compiled variant; None if it was compiled from another version of the source."""
    variant = ctypes.CDLL(str(path))
    if not hasattr(variant, "interface_version") or variant.interface_version() != INTERFACE_VERSION:
        return None
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    signatures = {
        "encode": [pointer] * 2,
        "keys_values": [pointer, pointer, *[integer] * 6, pointer, pointer],
        "decoder_step": [pointer] * 4,
        "attention": [pointer],
        "product": [pointer, pointer, integer, integer, pointer],
        "best_tokens": [pointer, integer, integer, integer, pointer, integer, integer, pointer, pointer],
        "best_continuations": [pointer, pointer, *[integer] * 5, pointer, integer, integer, pointer, pointer],
        "extend_ancestry": [pointer, pointer, *[integer] * 4, pointer],
    }
    for name, arguments in signatures.items():
        function = getattr(variant, name)
        function.argtypes, function.restype = arguments, None
    for function in (variant.panel_width, variant.multiplies_bfloat16, variant.multiplies_tiles):
        function.restype = integer
    return variant


def panelled(weight: Tensor, width: int, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    """The weights of `nn.Linear` in panels of outputs, as the library reads them.

    Args:
        weight: [outputs, inputs] in float32.
        dtype: float32, float16 (exact for weights that half precision holds), bfloat16, or int8, scaled by output.

    Returns:
        [outputs / width, inputs, width], filled up with zeros, and None. For bfloat16 [outputs / width, inputs / 2,
        width, 2], likewise. For int8 [outputs / width, inputs / 4, width, 4], 128 more than the rounded weights, and
        the scale of each output: [outputs], filled up with the smallest one.
    """
    weight, (outputs, inputs) = weight.detach(), weight.shape
    if dtype not in REDUCED:
        panels = torch.zeros(-(-outputs // width), inputs, width, dtype=dtype)
        whole = outputs - outputs % width
        panels[: whole // width] = weight[:whole].unflatten(0, (whole // width, width)).transpose(1, 2)
        panels[whole // width :, :, : outputs - whole] = weight[whole:].T
        return panels, None
    padded = F.pad(weight, (0, -inputs % REDUCED[dtype], 0, -outputs % width))
    if dtype == torch.bfloat16:
        return _interleaved(padded.bfloat16(), width, REDUCED[dtype]), None
    scales = (padded.abs().amax(1) / MAX_INT8).clamp_min(torch.finfo(torch.float32).tiny)
    rounded = ((padded / scales[:, None]).round() + MAX_INT8 + 1).to(torch.uint8)
    return _interleaved(rounded, width, REDUCED[dtype]), scales


def _interleaved(weight: Tensor, width: int, added: int) -> Tensor:
    """[outputs, inputs] -> [outputs / width, inputs / added, width, added]."""
    return weight.view(-1, width, weight.size(1) // added, added).transpose(1, 2).contiguous()


def threads_for(rows: int) -> int:
    """Number of threads for a call with this many rows; few rows are not worth the start of a thread."""
    return torch.get_num_threads() if rows > ROWS_OF_ONE_THREAD else 1


def threads_of_product(rows: int, product: LinearStruct) -> int:
    """Number of threads for one product with this many rows."""
    is_large = rows * product.inputs * product.outputs > MULTIPLICATIONS_OF_ONE_THREAD
    return torch.get_num_threads() if is_large else 1


class Matrix:
    """Weights of a product as the library reads them, by the pointers of `struct`, as long as this object exists.

    Args:
        weight: [outputs, inputs] in a type of `ROW_MAJOR`.
        bias: [outputs] or None.
        dtype: of a copy in panels, see `panelled`; None: the weights themselves, for a third less speed with many rows.
    """

    def __init__(
        self, compiled: ctypes.CDLL, weight: Tensor, bias: Tensor | None, dtype: torch.dtype | None = None
    ) -> None:
        width, (outputs, inputs) = compiled.panel_width(), weight.shape
        panels, scales = panelled(weight.float(), width, dtype) if dtype else (weight.detach().contiguous(), None)
        padded = None if bias is None else F.pad(bias.detach(), (0, -outputs % width))
        self._tensors = panels, padded, scales
        pointers = (None if tensor is None else tensor.data_ptr() for tensor in self._tensors)
        self.struct = LinearStruct(*pointers, KINDS[dtype] if dtype else ROW_MAJOR[weight.dtype], inputs, outputs)


def product(compiled: ctypes.CDLL, x: Tensor, matrix: Matrix) -> Tensor:
    """[..., inputs] -> [..., outputs]; a row's result does not depend on the other rows."""
    x, rows = x.contiguous(), x.numel() // x.size(-1)
    y = x.new_empty(*x.shape[:-1], matrix.struct.outputs)
    threads = threads_of_product(rows, matrix.struct)
    compiled.product(ctypes.addressof(matrix.struct), x.data_ptr(), rows, threads, y.data_ptr())
    return y


def attention(compiled: ctypes.CDLL, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V (3.2.1), for the few queries of a step of decoding.

    Args:
        queries: [B, H, W, d_k], a view of [B, W, H, d_k] whose last two dimensions are contiguous.
        keys: [B, H, K, d_k], contiguous but for room behind the last key of each head.
        values: [B, H, K, d_v], likewise.
        mask: [B, 1, W, K] or [B, 1, 1, K]; True may be attended to.

    Returns:
        [B, W, H * d_v]
    """
    batch, num_heads, width, d_k = queries.shape
    num_keys, d_v, mask = keys.size(2), values.size(3), mask.contiguous()
    # PyTorch leaves the stride of a dimension of size 1 undefined
    query_stride = queries.stride(2) if width > 1 else queries.stride(0)
    room = (keys.stride(1) if num_heads > 1 else keys.stride(0)) // d_k
    joined = values.new_empty(batch, width, num_heads * d_v)
    struct = AttentionStruct(
        *(batch, width, num_heads, d_k, d_v, num_keys, room),
        *(queries.data_ptr(), query_stride, keys.data_ptr(), values.data_ptr()),
        *(mask.data_ptr(), num_keys if mask.size(2) > 1 or width == 1 else 0, joined.data_ptr()),
    )
    compiled.attention(ctypes.addressof(struct))
    return joined


def best_tokens(compiled: ctypes.CDLL, logits: Tensor, count: int, excluded: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Most probable tokens of each row, most probable first and, of equal ones, the smaller id first.

    Args:
        logits: [..., V] in float32. If one is NaN or plus infinity, the row's log-probabilities are minus infinity.
        excluded: ids that are left out. If fewer than `count` are left, minus infinity fills the row.

    Returns:
        Ids and log-probabilities, [..., count] each.
    """
    logits = logits.contiguous()
    token_ids = torch.empty(*logits.shape[:-1], count, dtype=torch.long)
    log_probs = logits.new_empty(token_ids.shape)
    rows, ids = token_ids.numel() // count, _integers(tuple(excluded))
    pointers = token_ids.data_ptr(), log_probs.data_ptr()
    compiled.best_tokens(logits.data_ptr(), rows, logits.size(-1), count, ids, len(ids), threads_for(rows), *pointers)
    return token_ids, log_probs


def best_continuations(
    compiled: ctypes.CDLL, logits: Tensor, log_probs: Tensor, count: int, excluded: Sequence[int]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Most probable continuations of a sentence's W hypotheses, most probable first.

    Of equal ones those of the earlier hypothesis come first.

    Args:
        logits: [B, W, V] in float32.
        log_probs: [B, W] of the hypotheses, in float32.
        count: how many of each hypothesis are considered, and how many remain of a sentence's.
        excluded: ids that are left out.

    Returns:
        Parents, token ids, log-probabilities of the tokens and of the whole continuations, [B, count] each.
    """
    logits, log_probs = logits.contiguous(), log_probs.contiguous()
    batch, width, vocab_size = logits.shape
    candidates = min(count, vocab_size)
    count = min(count, width * candidates)
    places, scores = torch.empty(2, batch, count, dtype=torch.long), log_probs.new_empty(2, batch, count)
    compiled.best_continuations(
        *(logits.data_ptr(), log_probs.data_ptr(), batch, width, vocab_size, candidates, count),
        *(_integers(tuple(excluded)), len(excluded), threads_for(batch * width), places.data_ptr(), scores.data_ptr()),
    )
    return places[0], places[1], scores[0], scores[1]


@lru_cache(maxsize=64)
def _integers(values: tuple[int, ...]) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * len(values))(*values)


def extended_ancestry(compiled: ctypes.CDLL, ancestry: Tensor, parents: Tensor) -> Tensor:
    """Keys that each hypothesis of the next position descends from, its own included.

    Args:
        ancestry: [B, W, K] bool, of the position before.
        parents: [B, W'] indices of hypotheses of that position.

    Returns:
        [B, W', K + W'] bool
    """
    ancestry, parents = ancestry.contiguous(), parents.contiguous()
    (batch, before, num_keys), width = ancestry.shape, parents.size(1)
    extended = ancestry.new_empty(batch, width, num_keys + width)
    pointers = ancestry.data_ptr(), parents.data_ptr()
    compiled.extend_ancestry(*pointers, batch, before, width, num_keys, extended.data_ptr())
    return extended
