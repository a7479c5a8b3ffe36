"""The compiled encoder and steps of decoding compute what the model computes."""

import math
import random
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from core.capture import capture_attention
from core.decoding import NonFiniteError, SearchOptions, beam_search
from core.decoding.cache import cached_decoder, chain_decoder
from core.inference.compiled_model import CompiledDecoder
from core.inference.cpu_inference import FEW_ROWS, LONGEST, MANY_ROWS, MOST_FEW_ROWS, PackedTransformer
from core.inference.cpu_products import choose
from core.model import AttentionWeights, Transformer
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from core.native import library
from tests.core.compiled_variants import build

SOURCE = torch.tensor([[5, 9, 23, 2, 0], [7, 7, 31, 40, 2]])
TINY = PRESETS["tiny"]
OPUS_MT = {"activation": "swish", "position_order": "halves", "output_bias": True, "pad_id": 63, "bos_id": 63}
OPUS_MT |= {"eos_id": 0, "forced_first_id": 5, "never_ids": (63, 7), "penalty_formula": "length"}
CONFIGS = {
    "tiny": TINY,
    "other widths": replace(TINY, d_k=6, d_v=10, num_decoder_heads=3),
    "restricted": replace(TINY, neighbourhood=3),
    "one head": replace(TINY, num_heads=1),
    "learned positions": replace(TINY, positions="learned"),
    "OPUS-MT": replace(TINY, **OPUS_MT, early_stopping=False),
    "NLLB": replace(
        TINY, norm="pre", final_norm=True, position_order="halves", position_exponent="i/(n-1)", position_offset=2
    ),
    "two vocabularies": replace(TINY, target_vocab_size=45, tied="none", activation="gelu", output_bias=True),
    "no biases": replace(TINY, attention_bias=False, feed_forward_bias=False, embedding_norm=True, decoder_d_ff=40),
}
# Values of the fields that change what is computed, for random configurations.
FIELDS: dict[str, tuple[Any, ...]] = {
    "norm": ("post", "pre"),
    "final_norm": (False, True),
    "norm_eps": (1e-5, 1e-6),
    "activation": ("relu", "gelu", "swish"),
    "attention_bias": (True, False),
    "feed_forward_bias": (True, False),
    "output_bias": (True, False),
    "embedding_norm": (False, True),
    "decoder_d_ff": (None, 40),
    "tied": ("all", "target", "inputs", "none"),
    "positions": ("sinusoidal", "learned"),
    "position_order": ("interleaved", "halves"),
    "position_exponent": ("i/n", "i/(n-1)"),
    "scale_embedding": (True, False),
    "num_decoder_heads": (None, 3),
    "d_k": (6, 16),
    "d_v": (10, 8),
    "num_encoder_layers": (1, 3),
    "neighbourhood": (None, None, 3),
    "bos_id": (0, 1, 2),
    "never_ids": ((), (7, 9)),
}

pytestmark = pytest.mark.skipif(library.library() is None, reason="decoder_step.cpp is not compiled for this processor")


def random_model(config: TransformerConfig = TINY, half: bool = False) -> Transformer:
    """With biases and norms other than zeros and ones, so that omitting one is detected."""
    torch.manual_seed(4)
    model = Transformer(config)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.data += 0.2 * torch.randn_like(parameter)
    return (model.half().float() if half else model).eval().requires_grad_(False)


@cache
def model_of(name: str, half: bool = False) -> Transformer:
    """A random model with one of `CONFIGS`. Do not modify it."""
    return random_model(CONFIGS[name], half)


def random_config(seed: int) -> TransformerConfig:
    choose = random.Random(seed).choice
    fields = {name: choose(values) for name, values in FIELDS.items()}
    if fields["tied"] in ("target", "none"):
        fields["target_vocab_size"] = choose((None, 45, 90))
    if fields["positions"] == "sinusoidal":
        fields["position_offset"] = choose((0, 2))
    return replace(TINY, **fields)


def steps(model: Transformer, sources: Tensor, rows: list[list[list[int]]]) -> list[Tensor]:
    """Logits of a search that feeds these tokens, [B, W] at each position, all of the first parent."""
    next_logits = cached_decoder(model, sources)
    with torch.inference_mode():
        return [
            next_logits(torch.tensor(ids), torch.zeros(len(ids), len(ids[0]), dtype=torch.long), None) for ids in rows
        ]


def options_of(config: TransformerConfig, **changes: Any) -> SearchOptions:
    """Those of `SearchSetup.options`."""
    return SearchOptions(
        bos_id=config.bos_id,
        eos_id=config.eos_id,
        never=(config.pad_id, *config.never_ids),
        penalty_formula=config.penalty_formula,
        early_stopping=config.early_stopping,
        **{"beam_size": 4, "num_hypotheses": 4, **changes},
    )


def sources_of(config: TransformerConfig, number: int) -> Tensor:
    """[number, 9] random sources of 4 to 9 tokens, padded on the right."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(10, 45, (number, 9), generator=generator)
    lengths = torch.randint(4, 10, (number, 1), generator=generator)
    return tokens.where(torch.arange(9) < lengths, config.pad_id)


def search(model: Transformer, sources: Tensor, limit: int = 12, **changes: Any) -> list[list[tuple[int, ...]]]:
    """Translations of every source, with the forced first token of the configuration."""
    config = model.config
    first = [] if config.forced_first_id is None else [config.forced_first_id]
    found = beam_search(
        cached_decoder(model, sources),
        [limit] * len(sources),
        options_of(config, **changes),
        prefixes=[first] * len(sources),
    )
    return [[hypothesis.token_ids for hypothesis in row] for row in found]


@cache
def random_case(seed: int) -> tuple[Transformer, Tensor, Tensor, Tensor, list[list[tuple[int, ...]]]]:
    """A plain model, three sources, three targets, the model's logits for them, and its translations."""
    config = random_config(seed)
    model, sources = random_model(config, half=seed % 2 == 0), sources_of(config, 3)
    target = torch.cat((torch.full((3, 1), config.bos_id), sources[:, :5]), 1)
    target[target == config.pad_id] = 11
    target[:, 0] = config.bos_id
    return model, sources, target, model(sources, target), search(model, sources)


@pytest.mark.parametrize("kind", [*library.VARIANTS, "PyTorch"])
@pytest.mark.parametrize("seed", range(12))
def test_a_random_architecture(seed: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logits and translations of the plain model, for every build and without any, with and without copied weights."""
    model, sources, target, expected, translations = random_case(seed)
    monkeypatch.setattr("core.model.half_precision.LARGE", 2**28 if seed % 3 else 0)
    compiled = None if kind == "PyTorch" else build(kind)
    monkeypatch.setattr(library, "library", lambda: compiled)
    packed = PackedTransformer(model)
    assert bool(packed.steps) == bool(compiled)
    with torch.inference_mode():
        torch.testing.assert_close(packed(sources, target), expected, atol=3e-5, rtol=1e-5)
    found = steps(packed, sources, [[[int(token_id)] for token_id in column] for column in target.T])
    torch.testing.assert_close(torch.cat(found, 1), expected, atol=3e-5, rtol=1e-5)
    assert search(packed, sources) == translations


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_the_logits_of_the_whole_model(name: str, half: bool) -> None:
    model = model_of(name, half)
    packed = PackedTransformer(model)
    assert [steps.name for steps in packed.steps.values()] == [f"float{16 if half else 32} weights"] * 2
    start = packed.config.bos_id
    target = [[start, 6, 30, 12, 9, 4], [start, 8, 3, 5, 7, 11]]
    found = steps(packed, SOURCE, [[[row[position]] for row in target] for position in range(6)])
    expected = model(SOURCE, torch.tensor(target))
    torch.testing.assert_close(torch.cat(found, 1), expected, atol=2e-5, rtol=1e-5)


def is_token(model: Transformer, source: Tensor) -> Tensor:
    """[B, S, 1]: 1 for a token, 0 for padding."""
    return (source != model.config.pad_id)[..., None]


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_the_memory_of_the_model(name: str, half: bool) -> None:
    """Zeros for padding, which PyTorch computes like anything else."""
    model = model_of(name, half)
    packed, expected = PackedTransformer(model), model.encode(SOURCE)
    expected = expected * is_token(model, SOURCE) if packed.compiled_encoder else expected
    torch.testing.assert_close(packed.encode(SOURCE), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("copied", [0, 2**28])
@pytest.mark.parametrize("name", ["tiny", "OPUS-MT", "NLLB"])
def test_a_row_has_the_same_bits_whatever_is_beside_it(name: str, copied: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.model.half_precision.LARGE", copied)
    packed = PackedTransformer(model_of(name))
    alone = steps(packed, SOURCE[1:], [[[1]], [[6]], [[30]]])
    for width in (2, 3, 7, MOST_FEW_ROWS, MOST_FEW_ROWS + 1, 40):
        beside = steps(packed, SOURCE[1:], [[[1]], [[6] * width], [[30] + [9] * (width - 1)]])
        assert torch.equal(beside[2][:, :1], alone[2])


@pytest.mark.parametrize("name", CONFIGS)
def test_a_search_finds_what_the_plain_model_finds(name: str) -> None:
    model = model_of(name)
    sources = sources_of(model.config, 2)
    # more keys than there is room for at first
    assert search(PackedTransformer(model), sources, limit=40) == search(model, sources, limit=40)


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_search_for_many_sentences_finds_the_same(name: str, beam_size: int) -> None:
    """Also where PyTorch is faster for many rows: then only attention is compiled, until few sentences are left."""
    model = model_of(name)
    sources, options = sources_of(model.config, MOST_FEW_ROWS + 1), {"beam_size": beam_size, "num_hypotheses": 1}
    packed, expected = PackedTransformer(model), search(model, sources, **options)
    assert search(packed, sources, **options) == expected
    packed.steps.pop(MANY_ROWS, None)
    assert search(packed, sources, **options) == expected


@pytest.mark.parametrize("name", CONFIGS)
def test_eight_bits_are_close(name: str) -> None:
    model, compiled = model_of(name), library.library()
    packed, start = PackedTransformer(model), model.config.bos_id
    assert compiled
    packed.steps = {FEW_ROWS: CompiledDecoder(compiled, model, torch.int8, torch.float32)}
    rows = [[[start], [start]], [[6], [8]], [[30], [3]]]
    exact, rounded = (torch.cat(steps(each, SOURCE, rows), 1) for each in (model, packed))
    error = (rounded - exact).abs().max() / exact.abs().max()
    assert 0 < error < 0.02


@pytest.mark.parametrize("multiplies", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_fast_rounds_to_bfloat16_only_where_the_processor_multiplies_in_it(
    name: str, multiplies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The encoder, and in steps with 8 bits the second products of the feed-forward networks."""
    model, compiled = model_of(name), library.library()
    assert compiled
    monkeypatch.setattr(compiled, "multiplies_bfloat16", lambda: int(multiplies))
    packed = PackedTransformer(model, "fast")
    if len(packed.products) == 1:
        pytest.skip("no reduced precision in this PyTorch")
    if not packed.compiled_encoder:
        pytest.skip("its encoder is not compiled")
    exact = model.encode(SOURCE) * is_token(model, SOURCE)
    error = (packed.encode(SOURCE) - exact).abs().max() / exact.abs().max()
    assert 1e-4 < error < 0.02 if multiplies else error < 1e-5


def test_a_sentence_has_the_same_memory_beside_longer_ones() -> None:
    packed = PackedTransformer(random_model())
    generator = torch.Generator().manual_seed(0)
    beside = torch.randint(4, TINY.vocab_size, (40, LONGEST), generator=generator)
    places = {length: range(row, 40, 13) for row, length in enumerate((1, 5, 120))}
    alone = {length: torch.randint(4, TINY.vocab_size, (1, length), generator=generator) for length in places}
    for length, rows in places.items():
        beside[rows] = F.pad(alone[length], (0, LONGEST - length))
    found = packed.encode(beside)
    for length, rows in places.items():
        expected = packed.encode(alone[length])[0]
        for row in rows:
            assert torch.equal(found[row, :length], expected)
            assert (found[row, length:] == 0).all()


@pytest.mark.parametrize(
    ("multiplies", "encoder", "reduced"),
    [(False, "float16 weights", "int8 weights"), (True, "bfloat16 weights", "bfloat16 and int8 weights")],
)
def test_fast_measures_both_kinds_of_weights(
    multiplies: bool, encoder: str, reduced: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library.library(), "multiplies_bfloat16", lambda: int(multiplies))
    packed = PackedTransformer(random_model(half=True), "fast")
    if len(packed.products) == 1:
        pytest.skip("no reduced precision in this PyTorch")
    assert packed.compiled_encoder
    assert packed.compiled_encoder.name == encoder
    assert {rows: list(seconds) for rows, seconds in packed.step_seconds.items()} == {
        FEW_ROWS: ["float16 weights", reduced],
        MANY_ROWS: ["float16 weights", reduced, "PyTorch"],
    }
    for rows, seconds in packed.step_seconds.items():
        assert (packed.steps[rows].name if rows in packed.steps else "PyTorch") == choose(seconds)


@pytest.mark.parametrize("name", ["tiny", "OPUS-MT", "NLLB"])
def test_a_sentence_has_the_same_bits_with_any_number_of_threads(name: str) -> None:
    packed = PackedTransformer(model_of(name))
    sources = torch.randint(3, TINY.vocab_size, (7, 9), generator=torch.Generator().manual_seed(0))
    rows = [[[token_id] * 4 for token_id in range(first, first + 7)] for first in (1, 5, 9)]
    before, found = torch.get_num_threads(), list[list[Tensor]]()
    try:
        for threads in (1, 2, 3, 9):
            torch.set_num_threads(threads)
            found.append([packed.encode(sources), *steps(packed, sources, rows)])
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(map(torch.equal, found[0], other))


def test_hooks_on_the_weights_act_on_steps() -> None:
    model = random_model()
    packed = PackedTransformer(model)
    with capture_attention(model) as maps:
        next_logits = cached_decoder(packed, SOURCE)
        next_logits(torch.ones(2, 1, dtype=torch.long), torch.zeros(2, 1, dtype=torch.long), None)
    assert {name for name in maps if name.startswith("decoder")} == {
        f"decoder.layers.{layer}.{kind}" for layer in range(2) for kind in ("self_attention", "cross_attention")
    }


def test_keys_that_move_while_a_hook_takes_over_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's steps make more room, so the pointers of the compiled steps before are out of date."""
    model = random_model()
    packed = PackedTransformer(model)
    weights = next(module for module in packed.decoder.modules() if isinstance(module, AttentionWeights))
    monkeypatch.setattr("core.decoding.cache.FIRST_KEYS", 3)
    mixed, plain = (chain_decoder(each, SOURCE[1:]) for each in (packed, model))
    seen: list[Tensor] = []
    for token_ids, start, is_hooked in (([5], 0, False), ([6, 7, 8, 9], 1, True), ([7, 7], 1, False)):
        hook = weights.register_forward_hook(lambda *given: seen.append(given[2])) if is_hooked else None
        found = mixed(token_ids, start)
        if hook:
            hook.remove()
        torch.testing.assert_close(found, plain(token_ids, start), atol=1e-5, rtol=1e-5)
    assert len(seen) == 1


def test_dropout_is_not_lost_in_training_mode() -> None:
    packed = PackedTransformer(random_model(replace(TINY, dropout=0.5)))
    packed.decoder.train()
    one, other = (steps(packed, SOURCE, [[[1], [1]]])[0] for _ in range(2))
    assert not torch.equal(one, other)


def test_logits_that_are_not_finite_are_an_error() -> None:
    model = random_model()
    model.decoder.layers[1].feed_forward.outer.bias[0] = math.nan
    with pytest.raises(NonFiniteError, match="at position 1"):
        search(PackedTransformer(model), SOURCE)
