"""The model with its matrices laid out for inference on a CPU, in two precisions.

`exact` computes in float32, with the product of `core.inference.cpu_products` that suits these weights. `fast` uses the
fastest way in a short measurement on this machine: compiled steps of decoding, exact or in 8-bit integers, or
PyTorch's, which takes for each shape of matrix 8-bit integers, bfloat16 or the exact product. Where they are close, the
choice may differ from one start to the next.
"""

import copy
import ctypes
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import is_

import torch
from torch import Tensor, nn

from core.decoding import NonFiniteError
from core.decoding.cache import DecoderCache
from core.inference.compiled_model import CompiledDecoder, CompiledEncoder, joined
from core.inference.cpu_products import (
    BFloat16Linear,
    CompiledLinear,
    HalfPackedLinear,
    Int8Linear,
    PackedLinear,
    choose,
    has_bfloat16,
    has_half,
    has_int8,
    has_packed,
    measure,
)
from core.inference.device import Precision
from core.inference.packed_layers import (
    MOST_FEW_ROWS,
    LazyProduct,
    LinearWeights,
    PackedAttention,
    PackedSelfAttention,
    RowsLinear,
)
from core.model import (
    AttentionWeights,
    DecodedPositions,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Transformer,
    is_hooked,
)
from core.model.half_precision import kept_types, stored_weight
from core.native import library as native
from core.text.phrases import Phrase, listed

FEW_ROWS, MANY_ROWS = 4, 64  # measured: a beam of 4 for one sentence, and a batch
HALF_COLUMNS = 16  # of a matrix, the fewest that FBGEMM packs; it pads them to 512
LONGEST = 128  # tokens of a sentence, up to which the compiled encoder is fast


@dataclass(frozen=True)
class Choice:
    """Product chosen by `fast` for one shape of matrix, with its measurement."""

    inputs: int  # of the matrix, as `outputs`
    outputs: int
    rows: int  # that it was multiplied by
    seconds: dict[str, float]  # the best call of each product, by its name; the first is the exact one
    product: str  # the name of the chosen one


class PackedTransformer(Transformer):
    """A Transformer with packed matrix products and compiled steps.

    The matrices are in float16 where that is lossless. Everything else is shared with the original model, so hooks on
    its attention weights act on both. After a change of the weights it is out of date: see `packs`.

    The second product of each feed-forward network is never in 8 bits: rounding its inputs, which are not negative and
    occasionally large, costs half a BLEU point (docs/command_line.md). `fast` computes it, and the encoder, in bfloat16
    where the processor has instructions for that, without measuring.

    Attributes:
        products: available products; the first is exact for these weights.
        choices: products chosen by `fast`, by shape and number of rows; empty if `exact`.
        compiled_encoder: if any.
        steps: compiled steps by the number of rows, `FEW_ROWS` for `MOST_FEW_ROWS` at most, `MANY_ROWS` for more; those
            of PyTorch are left out.
        step_seconds: by the same keys, seconds of a step of each kind, the exact one first; empty if `exact`.
    """

    def __init__(self, model: Transformer, precision: Precision = "exact") -> None:
        nn.Module.__init__(self)
        self.choices: dict[tuple[int, int, int], Choice] = {}
        self.products = [exact_product(model)]
        if precision == "fast":
            self.products += [*([Int8Linear] if has_int8() else []), *([BFloat16Linear] if has_bfloat16() else [])]
        packed = self._fastest if len(self.products) > 1 else self._exact
        layers = nn.ModuleList(map(self._copied, (model.encoder, model.decoder)))
        for layer in list(layers.modules()):
            if isinstance(layer, EncoderLayer | DecoderLayer):
                layer.self_attention = PackedSelfAttention(layer.self_attention, packed)
            if isinstance(layer, DecoderLayer):
                layer.cross_attention = PackedAttention(layer.cross_attention)
        for module in list(layers.modules()):
            for name, child in module.named_children():
                if isinstance(child, nn.Linear):
                    linear = self._exact if isinstance(module, FeedForward) and name == "outer" else packed
                    setattr(module, name, linear(partial(joined, child)))
        self.config = model.config
        self.embedding, self.target_embedding = model.embedding, model.target_embedding
        self.patch_embedding = model.patch_embedding
        self.output_projection, self.output_bias = model.output_projection, model.output_bias
        self.length_projection = model.length_projection
        self.encoder, self.decoder = layers
        self.projection = packed(lambda: (stored_weight(model.output_layer), model.output_bias))
        self._state = _State(model)
        self.step_seconds: dict[int, dict[str, float]] = {}
        self.compiled_encoder: CompiledEncoder | None = None
        self.steps: dict[int, CompiledDecoder] = {}
        if compiled := native.library():
            self._compile(compiled, model)
        self._hookable = [module for module in layers.modules() if isinstance(module, AttentionWeights)]

    def step(self, token_ids: Tensor, cache: DecodedPositions, mask: Tensor) -> Tensor:
        steps = self.steps.get(_kind_of(token_ids.numel()))
        if not isinstance(cache, DecoderCache) or not steps or not self.is_plain:
            return super().step(token_ids, cache, mask)
        embedded = self.fed_embedding.without_dropout(token_ids, cache.length)
        logits = steps.step(embedded, cache, mask)
        cache.length += 1
        return logits

    def extend(self, token_ids: Tensor, cache: DecodedPositions, mask: Tensor) -> Tensor:
        steps = self.steps.get(_kind_of(token_ids.numel()))
        if not isinstance(cache, DecoderCache) or not steps or not self.is_plain:
            return super().extend(token_ids, cache, mask)
        logits = steps.step(self.fed_embedding.chain(token_ids, cache.length), cache, mask)
        cache.length += token_ids.size(1)
        return logits

    @property
    def is_plain(self) -> bool:
        """Whether compiled functions may take over: the model has no dropout, and attention no hooks."""
        return not self.decoder.training and not any(map(is_hooked, self._hookable))

    def compiles_encoder(self, source_ids: Tensor) -> bool:
        """Whether the encoder is compiled for a source [B, S]."""
        is_fastest = source_ids.numel() <= MANY_ROWS or (MANY_ROWS in self.steps and source_ids.size(1) <= LONGEST)
        return self.compiled_encoder is not None and is_fastest and self.is_plain

    def encode(self, source: Tensor) -> Tensor:
        """As `Transformer.encode`.

        Raises:
            NonFiniteError: the output is not finite, of which reduced products would make finite numbers.
        """
        if self.compiled_encoder and self.compiles_encoder(source):
            memory = self.compiled_encoder(self.embedding(source), self.source_mask(source))
        else:
            memory = super().encode(source)
        if len(self.products) > 1 and not memory.isfinite().all():
            raise NonFiniteError("for this source")
        return memory

    def project(self, states: Tensor) -> Tensor:
        if len(self.products) > 1 and not states.isfinite().all():
            return super().project(states)  # 8-bit integers cannot represent NaN
        return self.projection(states)

    def packs(self, model: Transformer) -> bool:
        """Whether this was made from the model in its current state."""
        return self._state.is_of(model)

    def _compile(self, compiled: ctypes.CDLL, model: Transformer) -> None:
        """Set the compiled encoder and the compiled steps, which in `fast` are in 8 bits if that proves faster."""
        exact = encoder = torch.float16 if self.products[0] is HalfPackedLinear else torch.float32
        decoders = [CompiledDecoder(compiled, model, exact)]
        self.steps = dict.fromkeys((FEW_ROWS, MANY_ROWS), decoders[0])
        if len(self.products) > 1:
            encoder = torch.bfloat16 if compiled.multiplies_bfloat16() else exact
            decoders.append(CompiledDecoder(compiled, model, torch.int8, outer=encoder))
            for rows in self.steps:
                trials = {decoder.name: self._trial(rows, decoder) for decoder in decoders}
                trials |= {"PyTorch": self._trial(rows, None)} if rows > MOST_FEW_ROWS else {}
                self.step_seconds[rows] = measure(trials, torch.ones(rows // FEW_ROWS, FEW_ROWS, dtype=torch.long))
            chosen = {rows: choose(seconds) for rows, seconds in self.step_seconds.items()}
            self.steps = {rows: each for rows, name in chosen.items() for each in decoders if each.name == name}
        if not model.config.neighbourhood:
            self.compiled_encoder = CompiledEncoder(compiled, model, encoder)

    def _trial(self, rows: int, decoder: CompiledDecoder | None) -> Callable[[Tensor], Tensor]:
        """A search for tokens [B, W], compiled or with PyTorch, which goes one position further with each call."""
        batch, length = rows // FEW_ROWS, 16
        memory, memory_mask = torch.zeros(batch, length, self.config.d_model), torch.ones(batch, 1, 1, length).bool()
        cache = DecoderCache(memory, memory_mask, self.config.num_decoder_layers)
        parents = torch.zeros(batch, FEW_ROWS, dtype=torch.long)

        def step(token_ids: Tensor) -> Tensor:
            mask, cache.length = cache.extend(parents), 0  # positions may have an end
            if not decoder:
                return Transformer.step(self, token_ids, cache, mask)
            return decoder.step(self.fed_embedding(token_ids, 0), cache, mask)

        return step

    @staticmethod
    def _copied(module: nn.Module) -> nn.Module:
        """Copy a module and those in it, without temporary hooks, sharing parameters and attention weights."""
        if isinstance(module, AttentionWeights):
            return module
        copied = copy.copy(module)
        copied._parameters = dict(module._parameters)
        copied._forward_hooks, copied._forward_pre_hooks = OrderedDict(), OrderedDict()
        copied._modules = {
            name: None if child is None else PackedTransformer._copied(child) for name, child in module._modules.items()
        }
        return copied

    def _exact(self, weights: LinearWeights) -> nn.Module:
        product = self.products[0]
        return LazyProduct(lambda: product(*weights()))

    def _fastest(self, weights: LinearWeights) -> nn.Module:
        """Fastest product for this matrix, by number of rows, measured once per shape."""
        weight, bias = weights()
        outputs, inputs = weight.shape
        packed: dict[str, nn.Module] = {}
        if (inputs, outputs, FEW_ROWS) not in self.choices:
            packed = {product.name: product(weight, bias) for product in self.products}
            for rows in (FEW_ROWS, MANY_ROWS):
                seconds = measure(packed, torch.randn(rows, inputs, generator=torch.Generator().manual_seed(0)))
                self.choices[inputs, outputs, rows] = Choice(inputs, outputs, rows, seconds, choose(seconds))
        few, many = (self.choices[inputs, outputs, rows].product for rows in (FEW_ROWS, MANY_ROWS))
        wanted = [product for product in self.products if product.name in (few, many)]
        chosen = packed or {product.name: product(weight, bias) for product in wanted}
        return chosen[few] if few == many else RowsLinear(chosen[few], chosen[many])


def packing_obstacle(model: Transformer) -> Phrase | None:
    """Reason why a model has to compute with its own matrices, in PyTorch; None if it can be packed."""
    weight, kept, config = stored_weight(model.embedding.tokens), kept_types(model), model.config
    if config.patch_size:
        return Phrase("its source is an image")
    variants = {
        Phrase("relative positions"): config.relative,
        "RMSNorm": config.norm_kind == "rms",
        Phrase("gated networks"): config.gated_feed_forward,
        Phrase("the activation {name}", name=config.activation): config.activation not in native.ACTIVATIONS,
    }
    if used := [name for name, is_used in variants.items() if is_used]:
        return Phrase("it has {variants}", variants=listed(used))
    if weight.device.type != "cpu":
        return Phrase("it is on {device}", device=str(weight.device))
    if weight.dtype != torch.float32 and not kept:
        return Phrase("its weights are in {type}", type=str(weight.dtype).removeprefix("torch."))
    has_product = native.library() or (has_packed() and not kept) or halves(model)
    return None if has_product else Phrase("this PyTorch has no packed product for its weights")


def packable(model: Transformer) -> bool:
    """Whether a model can be packed."""
    return packing_obstacle(model) is None


def computation(model: Transformer) -> Phrase:
    """Describe how the search computes on this machine."""
    if obstacle := packing_obstacle(model):
        return Phrase("PyTorch, as {obstacle}", obstacle=obstacle)
    if not native.library():
        return Phrase("packed matrices, PyTorch's layers: the steps are not compiled for this processor")
    kept = ", ".join(sorted(str(each).removeprefix("torch.") for each in kept_types(model)))
    compiled = Phrase("compiled layers, {instructions}", instructions=native.capability())
    return Phrase("{layers}, on the matrices in {types}, not copied", layers=compiled, types=kept) if kept else compiled


def exact_product(model: Transformer) -> type[HalfPackedLinear | CompiledLinear | PackedLinear]:
    """The product in float32 for the weights of a model that can be packed."""
    if kept_types(model) and native.library():
        return CompiledLinear  # the one without a copy
    if halves(model):
        return HalfPackedLinear
    return CompiledLinear if native.library() else PackedLinear


def halves(model: Transformer) -> bool:
    """Whether float16 holds every matrix exactly, and there is a product for it.

    Matrices of few columns are excluded, as they take many times their size in FBGEMM's layout.
    """
    matrices = [parameter for parameter in model.parameters() if parameter.dim() == 2]
    if min(matrix.size(1) for matrix in matrices) < HALF_COLUMNS:
        return False
    parts = (rows for matrix in matrices for rows in matrix.split(MANY_ROWS))  # little memory, and an early end
    return has_half() and all(torch.equal(rows, rows.half().to(rows.dtype)) for rows in parts)


def _kind_of(rows: int) -> int:
    """The measured number of rows whose result applies to this number."""
    return FEW_ROWS if rows <= MOST_FEW_ROWS else MANY_ROWS


def all_modules(model: nn.Module) -> list[nn.Module]:
    """As `model.modules()`, ten times as fast, in another order and with repeats of shared modules."""
    modules = [model]
    for module in modules:  # which grows meanwhile
        modules += filter(None, module._modules.values())  # pyright: ignore[reportPrivateUsage]
    return modules


class _State:
    """The modules and parameters of a model, and the versions of the parameters."""

    def __init__(self, model: Transformer) -> None:
        modules = all_modules(model)
        contents = [module._modules for module in modules] + [module._parameters for module in modules]  # pyright: ignore[reportPrivateUsage]
        self._contents = [(each, [*each.values()]) for each in contents if each]
        parameters = [each for module in modules for each in module._parameters.values() if each is not None]  # pyright: ignore[reportPrivateUsage]
        self._parameters = [each for each in parameters if not each.is_inference()]  # those have no version
        self._versions = [each._version for each in self._parameters]
        self._weight = stored_weight(model.embedding.tokens)
        self._kind = self._weight.dtype, self._weight.device

    def is_of(self, model: Transformer) -> bool:
        """Whether a model is still in this state; called before each search, so it does not walk through modules."""
        return (
            bool(self._contents)
            and self._contents[0][0] is model._modules  # pyright: ignore[reportPrivateUsage]
            and (self._weight.dtype, self._weight.device) == self._kind
            and [each._version for each in self._parameters] == self._versions
            and all(len(now) == len(then) and all(map(is_, now.values(), then)) for now, then in self._contents)
        )
