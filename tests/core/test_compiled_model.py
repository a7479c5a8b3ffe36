"""The compiled encoder and steps of decoding compute what the model computes."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from core.cache import cached_decoder
from core.capture import capture_attention
from core.compiled_model import CompiledDecoder
from core.config import PRESETS, TransformerConfig
from core.cpu_inference import FEW_ROWS, MANY_ROWS, MOST_FEW_ROWS, PackedTransformer, choose
from core.decoding import NonFiniteError, SearchOptions, beam_search
from core.model import Transformer
from core.native import library

SOURCE = torch.tensor([[5, 9, 23, 2, 0], [7, 7, 31, 40, 2]])
TINY = PRESETS["tiny"]
OPTIONS = SearchOptions(bos_id=1, eos_id=2, never=(0,), beam_size=3, num_hypotheses=3)
CONFIGS = {
    "tiny": TINY,
    "other widths": replace(TINY, d_k=6, d_v=10, num_decoder_heads=3),
    "restricted": replace(TINY, neighbourhood=3),
    "one head": replace(TINY, num_heads=1),
    "learned positions": replace(TINY, positions="learned"),
}

pytestmark = pytest.mark.skipif(library.library() is None, reason="decoder_step.cpp is not compiled for this processor")


def random_model(config: TransformerConfig = TINY, half: bool = False) -> Transformer:
    torch.manual_seed(4)
    model = Transformer(config)
    return (model.half().float() if half else model).eval().requires_grad_(False)


@pytest.fixture
def without_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch computes everything."""
    monkeypatch.setattr(library, "library", lambda: None)
    return


def steps(model: Transformer, sources: Tensor, rows: list[list[list[int]]]) -> list[Tensor]:
    """Logits of a search that feeds these tokens, [B, W] at each position, all of the first parent."""
    next_logits = cached_decoder(model, sources)
    with torch.inference_mode():
        return [
            next_logits(torch.tensor(ids), torch.zeros(len(ids), len(ids[0]), dtype=torch.long), None) for ids in rows
        ]


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_the_logits_of_the_whole_model(name: str, half: bool) -> None:
    model = random_model(CONFIGS[name], half)
    packed = PackedTransformer(model)
    assert [steps.name for steps in packed.steps.values()] == [f"float{16 if half else 32} weights"] * 2
    target = [[1, 6, 30, 12, 9, 4], [1, 8, 3, 5, 7, 11]]
    found = steps(packed, SOURCE, [[[row[position]] for row in target] for position in range(6)])
    expected = model(SOURCE, torch.tensor(target))
    torch.testing.assert_close(torch.cat(found, 1), expected, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_the_memory_of_the_model(name: str, half: bool) -> None:
    model = random_model(CONFIGS[name], half)
    torch.testing.assert_close(PackedTransformer(model).encode(SOURCE), model.encode(SOURCE), atol=1e-5, rtol=1e-5)


def test_a_row_has_the_same_bits_whatever_is_beside_it() -> None:
    packed = PackedTransformer(random_model())
    alone = steps(packed, SOURCE[1:], [[[1]], [[6]], [[30]]])
    for width in (2, 3, 7, MOST_FEW_ROWS, MOST_FEW_ROWS + 1, 40):
        beside = steps(packed, SOURCE[1:], [[[1]], [[6] * width], [[30] + [9] * (width - 1)]])
        assert torch.equal(beside[2][:, :1], alone[2])


@pytest.mark.parametrize("name", CONFIGS)
def test_a_search_finds_the_same(name: str, request: pytest.FixtureRequest) -> None:
    model, limits = random_model(CONFIGS[name]), [40, 40]  # more keys than there is room for at first

    def found() -> list[list[tuple[int, ...]]]:
        hypotheses = beam_search(cached_decoder(PackedTransformer(model), SOURCE), limits, OPTIONS)
        return [[hypothesis.token_ids for hypothesis in row] for row in hypotheses]

    compiled = found()
    request.getfixturevalue("without_compiled")
    assert found() == compiled


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_search_for_many_sentences_finds_the_same(name: str, beam_size: int, request: pytest.FixtureRequest) -> None:
    model = random_model(CONFIGS[name])
    sources = torch.randint(3, TINY.vocab_size, (MOST_FEW_ROWS + 1, 9), generator=torch.Generator().manual_seed(0))
    options = replace(OPTIONS, beam_size=beam_size, num_hypotheses=1)

    def found() -> list[tuple[int, ...]]:
        hypotheses = beam_search(cached_decoder(PackedTransformer(model), sources), [12] * len(sources), options)
        return [best.token_ids for (best,) in hypotheses]

    compiled = found()
    request.getfixturevalue("without_compiled")
    assert found() == compiled


def test_eight_bits_are_close() -> None:
    model, compiled = random_model(), library.library()
    packed = PackedTransformer(model)
    assert compiled
    packed.steps = {FEW_ROWS: CompiledDecoder(compiled, model, torch.int8, torch.float32)}
    rows = [[[1], [1]], [[6], [8]], [[30], [3]]]
    exact, rounded = (torch.cat(steps(each, SOURCE, rows), 1) for each in (model, packed))
    error = (rounded - exact).abs().max() / exact.abs().max()
    assert 0 < error < 0.02


def test_fast_measures_both_kinds_of_weights() -> None:
    packed = PackedTransformer(random_model(half=True), "fast")
    if len(packed.products) == 1:
        pytest.skip("no reduced precision in this PyTorch")
    assert {rows: list(seconds) for rows, seconds in packed.step_seconds.items()} == {
        FEW_ROWS: ["float16 weights", "int8 weights"],
        MANY_ROWS: ["float16 weights", "int8 weights", "PyTorch"],
    }
    for rows, seconds in packed.step_seconds.items():
        assert (packed.steps[rows].name if rows in packed.steps else "PyTorch") == choose(seconds)


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_search_where_pytorch_is_faster_for_many_rows(
    name: str, beam_size: int, request: pytest.FixtureRequest
) -> None:
    """Only attention is compiled, until few sentences are left."""
    model, options = random_model(CONFIGS[name]), replace(OPTIONS, beam_size=beam_size, num_hypotheses=1)
    sources = torch.randint(3, TINY.vocab_size, (20, 9), generator=torch.Generator().manual_seed(0))

    def found() -> list[tuple[int, ...]]:
        packed = PackedTransformer(model)
        packed.steps.pop(MANY_ROWS, None)
        hypotheses = beam_search(cached_decoder(packed, sources), [*range(2, 22)], options)
        return [best.token_ids for (best,) in hypotheses]

    compiled = found()
    request.getfixturevalue("without_compiled")
    assert found() == compiled


def test_a_sentence_has_the_same_bits_with_any_number_of_threads() -> None:
    packed = PackedTransformer(random_model())
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


def test_dropout_is_not_lost_in_training_mode() -> None:
    packed = PackedTransformer(random_model(replace(TINY, dropout=0.5)))
    packed.decoder.train()
    one, other = (steps(packed, SOURCE, [[[1], [1]]])[0] for _ in range(2))
    assert not torch.equal(one, other)


def test_logits_that_are_not_finite_are_an_error() -> None:
    model = random_model()
    model.decoder.layers[1].feed_forward.outer.bias[0] = math.nan
    with pytest.raises(NonFiniteError, match="at position 1"):
        beam_search(cached_decoder(PackedTransformer(model), SOURCE), [5, 5], OPTIONS)
