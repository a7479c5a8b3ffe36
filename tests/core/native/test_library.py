"""The compiled functions compute what PyTorch computes, with each instruction set."""

import ctypes
import itertools
import math
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from core.native import library

CAPABILITIES = list(library.VARIANTS)


@pytest.fixture(params=CAPABILITIES)
def compiled(request: pytest.FixtureRequest) -> ctypes.CDLL:
    """Each variant that was compiled and that this processor can run."""
    own = torch._C._get_cpu_capability()
    if own not in CAPABILITIES or CAPABILITIES.index(own) > CAPABILITIES.index(request.param):
        pytest.skip(f"this processor has no {request.param}")
    path = library.compiled_file(request.param)
    if not path.exists():
        pytest.skip("not compiled: there was no C++ compiler when the project was installed")
    found = library.load(path)
    assert found
    return found


def test_a_library_of_another_version_is_not_used(compiled: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "INTERFACE_VERSION", compiled.interface_version() + 1)
    assert library.load(Path(compiled._name)) is None
    assert library.library.__wrapped__() is None


@pytest.mark.parametrize(("d_k", "d_v"), [(32, 32), (6, 10), (1, 3), (64, 16)])
def test_attention_is_pytorchs(compiled: ctypes.CDLL, d_k: int, d_v: int) -> None:
    for (num_heads, width), num_keys in itertools.product([(5, 4), (5, 1), (1, 4), (1, 1)], [1, 7, 33]):
        generator = torch.Generator().manual_seed(num_keys)
        projected = torch.randn(3, width, num_heads * (d_k + 2), generator=generator)
        queries = projected[..., : num_heads * d_k].unflatten(-1, (num_heads, d_k)).transpose(1, 2)
        keys, values = (
            torch.randn(3, num_heads, 40, size, generator=generator)[:, :, :num_keys] for size in (d_k, d_v)
        )
        memory = [
            torch.randn(3, num_keys, num_heads * size, generator=generator).unflatten(-1, (num_heads, size))
            for size in (d_k, d_v)
        ]
        of_memory = [heads.transpose(1, 2).contiguous() for heads in memory]
        for rows, (k, v) in ((width, (keys, values)), (1, of_memory)):
            mask = torch.rand(3, 1, rows, num_keys, generator=generator) > 0.5
            mask[..., 0] = True
            expected = F.scaled_dot_product_attention(queries, k, v, attn_mask=mask).transpose(1, 2).flatten(2)
            found = library.attention(compiled, queries, k, v, mask)
            case = f"{num_heads} heads, {width} rows, {num_keys} keys: "
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5, msg=lambda text, case=case: case + text)


def test_attention_of_very_different_scores_sums_to_one(compiled: ctypes.CDLL) -> None:
    queries = torch.full((1, 1, 1, 1), 1.0)
    keys = torch.tensor([300.0, -300.0, 299.0, 0.0]).view(1, 1, 4, 1)
    found = library.attention(compiled, queries, keys, torch.ones(1, 1, 4, 1), torch.ones(1, 1, 1, 4, dtype=torch.bool))
    assert found.item() == pytest.approx(1, abs=1e-6)


def test_attention_passes_nan_on(compiled: ctypes.CDLL) -> None:
    keys = torch.tensor([0.0, math.nan, 1.0]).view(1, 1, 3, 1)
    mask = torch.ones(1, 1, 1, 3, dtype=torch.bool)
    assert library.attention(compiled, torch.ones(1, 1, 1, 1), keys, torch.ones(1, 1, 3, 1), mask).isnan().all()


@pytest.mark.parametrize("vocab_size", [5, 16, 1003, 37_000])
def test_best_tokens_are_those_of_log_softmax(compiled: ctypes.CDLL, vocab_size: int) -> None:
    logits = 5 * torch.randn(2, 3, vocab_size, generator=torch.Generator().manual_seed(vocab_size))
    log_probs = logits.log_softmax(-1)
    log_probs[..., [1, 3]] = -torch.inf
    for count in sorted({min(count, vocab_size - 2) for count in (1, 4, 8)}):
        expected = log_probs.topk(count)
        token_ids, found = library.best_tokens(compiled, logits, count, (1, 3))
        assert torch.equal(token_ids, expected.indices), count
        torch.testing.assert_close(found, expected.values, atol=2e-5, rtol=1e-6)


def test_equal_tokens_come_in_the_order_of_their_ids(compiled: ctypes.CDLL) -> None:
    token_ids, log_probs = library.best_tokens(compiled, torch.zeros(1, 50), 4, (0, 2))
    assert token_ids.tolist() == [[1, 3, 4, 5]]
    torch.testing.assert_close(log_probs, torch.full((1, 4), -math.log(50)))


def test_a_row_that_is_not_finite_has_no_best_token(compiled: ctypes.CDLL) -> None:
    logits = torch.zeros(4, 20)
    logits[0, 3], logits[1, 19], logits[2] = math.nan, math.inf, -math.inf
    _, log_probs = library.best_tokens(compiled, logits, 2, ())
    assert (log_probs[:3] == -math.inf).all()
    assert log_probs[3].isfinite().all()


def test_too_few_tokens_leave_minus_infinity(compiled: ctypes.CDLL) -> None:
    _, log_probs = library.best_tokens(compiled, torch.zeros(1, 4), 4, (0, 1, 2))
    assert log_probs.isfinite().tolist() == [[True, False, False, False]]


def in_pytorch(
    logits: Tensor, log_probs: Tensor, count: int, excluded: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The best continuations, as of `library.best_continuations`."""
    of_tokens = logits.log_softmax(-1)
    of_tokens[..., list(excluded)] = -math.inf
    totals = (log_probs[:, :, None] + of_tokens).flatten(1)
    best = totals.sort(descending=True, stable=True)
    places = best.indices[:, :count]
    vocab_size = logits.size(-1)
    return places // vocab_size, places % vocab_size, of_tokens.flatten(1).gather(1, places), best.values[:, :count]


@pytest.mark.parametrize(("batch", "width", "vocab_size", "count"), [(1, 1, 5, 8), (1, 4, 50, 8), (30, 3, 9, 6)])
def test_continuations_are_the_best_of_all(compiled: ctypes.CDLL, batch: int, width: int, vocab_size: int, count: int):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(batch, width, vocab_size, generator=generator)
    log_probs = -torch.rand(batch, width, generator=generator)
    log_probs[:, 1:2] = -math.inf  # an impossible hypothesis
    found = library.best_continuations(compiled, logits, log_probs, count, (1, 3))
    expected = in_pytorch(logits, log_probs, count, (1, 3))
    possible = expected[3] > -math.inf
    assert possible.any()
    assert torch.equal(found[3] > -math.inf, possible)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one[possible], other[possible])


def test_equal_continuations_come_in_the_order_of_their_hypotheses(compiled: ctypes.CDLL) -> None:
    parents, token_ids, *_ = library.best_continuations(compiled, torch.zeros(1, 3, 4), torch.zeros(1, 3), 6, (0,))
    assert (parents.tolist(), token_ids.tolist()) == ([[0, 0, 0, 1, 1, 1]], [[1, 2, 3, 1, 2, 3]])


def test_a_hypothesis_whose_logits_are_not_finite_has_no_continuation(compiled: ctypes.CDLL) -> None:
    logits = torch.zeros(1, 2, 4)
    logits[0, 0, 2] = math.nan
    parents, _, _, log_probs = library.best_continuations(compiled, logits, torch.zeros(1, 2), 4, ())
    assert parents[log_probs > -math.inf].tolist() == [1, 1, 1, 1]
    logits[0, 1, 0] = math.inf
    assert (library.best_continuations(compiled, logits, torch.zeros(1, 2), 4, ())[3] == -math.inf).all()


def test_ancestors_are_those_of_the_parents(compiled: ctypes.CDLL) -> None:
    ancestry = torch.rand(3, 4, 7, generator=torch.Generator().manual_seed(0)) > 0.5
    parents = torch.tensor([[0, 3], [2, 2], [1, 0]])
    found = library.extended_ancestry(compiled, ancestry, parents)
    for b, row in itertools.product(range(3), range(2)):
        assert found[b, row].tolist() == [*ancestry[b, parents[b, row]].tolist(), row == 0, row == 1]
    assert library.extended_ancestry(compiled, torch.ones(2, 1, 0, dtype=torch.bool), parents[:2] * 0).shape == (
        2,
        2,
        2,
    )


@pytest.mark.parametrize("dtype", library.KINDS)
def test_panels_hold_the_weights(dtype: torch.dtype) -> None:
    weight = torch.randn(37, 5, generator=torch.Generator().manual_seed(0))
    panels, scales = library.panelled(weight, 32, dtype)
    if dtype == torch.bfloat16:
        assert panels.shape == (2, 3, 32, 2)
        rows = panels.transpose(1, 2).reshape(64, 6)
        assert torch.equal(rows[:37, :5], weight.bfloat16())
        assert (rows[37:] == 0).all()
        assert (rows[:, 5:] == 0).all()
    elif scales is None:
        assert panels.shape == (2, 5, 32)
        assert torch.equal(panels.transpose(1, 2).reshape(64, 5)[:37].float(), weight.to(dtype).float())
    else:
        assert panels.shape == (2, 2, 32, 4)
        rounded = panels.transpose(1, 2).reshape(64, 8).float() - 128
        assert (rounded[37:] == 0).all()
        assert (rounded[:, 5:] == 0).all()
        errors = (rounded[:37, :5] * scales[:37, None] - weight).abs()
        assert (errors <= scales[:37, None] / 2 * (1 + 1e-5)).all()  # half of a step at most


def product(
    compiled: ctypes.CDLL, x: Tensor, weight: Tensor, bias: Tensor, dtype: torch.dtype | None, threads: int
) -> Tensor:
    """x W^T + b for x [B, L, inputs]."""
    matrix, y = library.Matrix(compiled, weight, bias, dtype), x.new_empty(*x.shape[:2], len(weight))
    compiled.product(ctypes.addressof(matrix.struct), x.data_ptr(), x.shape[:2].numel(), threads, y.data_ptr())
    return y


@pytest.mark.parametrize(
    ("stored", "dtype"),
    [*((torch.float32, dtype) for dtype in library.KINDS), *((each, None) for each in library.ROW_MAJOR)],
)
def test_products(compiled: ctypes.CDLL, stored: torch.dtype, dtype: torch.dtype | None) -> None:
    shapes = [(1, 1), (1, 7), (3, 5), (2, 16), (5, 11)]
    for inputs, (batch, length) in itertools.product([1, 6, 37, 256], shapes):
        case = f"{batch} x {length} rows of {inputs}"
        generator = torch.Generator().manual_seed(inputs)
        x = torch.randn(batch, length, inputs, generator=generator)
        kept, bias = (
            torch.randn(45, inputs, generator=generator).half().to(stored),
            torch.randn(45, generator=generator),
        )
        found, weight = product(compiled, x, kept, bias, dtype, 1), kept.float()
        assert torch.equal(product(compiled, x, kept, bias, dtype, 2), found), case
        error = (found - F.linear(x.double(), weight.double(), bias.double())).abs()
        if dtype == torch.int8:  # each factor is off by half a step at most
            steps, of_weights = x.abs().amax(-1, keepdim=True) / 63 / 2, weight.abs().amax(-1) / library.MAX_INT8 / 2
            bound = x.abs().sum(-1, keepdim=True) * of_weights + steps * (weight.abs().sum(-1) + inputs * of_weights)
            assert (error <= bound * (1 + 1e-5) + 1e-6).all(), case
            assert error.max() > 0, case
        elif dtype == torch.bfloat16:  # both factors are rounded, the sums are not
            expected = F.linear(x.bfloat16().float(), weight.bfloat16().float(), bias)
            torch.testing.assert_close(found, expected, atol=inputs * 2e-6, rtol=1e-5, msg=case)
            assert error.max() > 1e-3, case
        else:
            assert (error <= inputs * 2**-23 * (x.abs() @ weight.abs().T + bias.abs())).all(), case


@pytest.mark.parametrize("dtype", library.KINDS)
def test_products_pass_on_what_is_not_finite(compiled: ctypes.CDLL, dtype: torch.dtype) -> None:
    for strange, column, inputs in itertools.product([math.nan, math.inf, -math.inf], [3, 40], [41, 64]):
        x = torch.ones(1, 20, inputs)
        x[0, 4, column] = strange
        found = product(compiled, x, torch.ones(3, inputs), torch.zeros(3), dtype, 1)
        assert found.isfinite().all(-1)[0].tolist() == [row != 4 for row in range(20)], (strange, column, inputs)


@pytest.mark.parametrize("dtype", library.KINDS)
@pytest.mark.parametrize("inputs", [60, 128])  # 128: in tiles, on processors that have them
def test_a_row_of_a_product_does_not_depend_on_the_other_rows(compiled: ctypes.CDLL, inputs: int, dtype: torch.dtype):
    generator = torch.Generator().manual_seed(0)
    x, weight = torch.randn(1, 75, inputs, generator=generator), torch.randn(45, inputs, generator=generator)
    whole = product(compiled, x, weight, torch.zeros(45), dtype, 1)
    for count in (1, 4, 9, 16, 17, 40):
        parts = [product(compiled, part, weight, torch.zeros(45), dtype, 1) for part in x.split(count, 1)]
        assert torch.equal(torch.cat(parts, 1), whole), count


def test_tiles_are_used_where_the_processor_has_them(compiled: ctypes.CDLL) -> None:
    cpus = Path("/proc/cpuinfo")
    if not cpus.exists():
        pytest.skip("the system does not list the processor's features")
    flags = next((line.split() for line in cpus.read_text().splitlines() if line.startswith("flags")), [])
    is_wide = library.VARIANTS["AVX512"] in compiled._name
    assert bool(compiled.multiplies_tiles()) == (is_wide and {"amx_tile", "amx_int8", "amx_bf16"} <= set(flags))


def test_pytorchs_products_are_the_same_afterwards(compiled: ctypes.CDLL) -> None:
    """Both use the processor's tiles, for bfloat16."""
    generator = torch.Generator().manual_seed(0)
    rows, matrix = (torch.randn(64, 64, generator=generator).bfloat16() for _ in range(2))
    before = rows @ matrix
    product(compiled, rows[None].float(), matrix.float(), torch.zeros(64), torch.bfloat16, 1)
    assert torch.equal(rows @ matrix, before)


def test_bytes_do_not_saturate(compiled: ctypes.CDLL) -> None:
    """The largest products, all of one sign."""
    x = torch.tensor([[[1.0] * 64, [-1.0] * 64]])
    weight = torch.stack((torch.ones(64), -torch.ones(64)))
    found = product(compiled, x, weight, torch.zeros(2), torch.int8, 1)
    torch.testing.assert_close(found, torch.tensor([[[64.0, -64.0], [-64.0, 64.0]]]))


def test_zeros_stay_zeros_in_bytes(compiled: ctypes.CDLL) -> None:
    assert (product(compiled, torch.zeros(1, 3, 8), torch.ones(4, 8), torch.zeros(4), torch.int8, 1) == 0).all()


@pytest.mark.parametrize(("capability", "built", "expected"), [
    ("AVX512", CAPABILITIES, "AVX512"),
    ("AVX512", ["AVX2"], "AVX2"),
    ("AVX2", CAPABILITIES, "AVX2"),
    ("AVX2", ["AVX512"], None),
    ("DEFAULT", CAPABILITIES, None),
])  # fmt: skip
def test_the_best_variant_that_the_processor_has(
    monkeypatch: pytest.MonkeyPatch, capability: str, built: list[str], expected: str | None
) -> None:
    names = {library.compiled_file(name).name: name for name in built}
    monkeypatch.delenv("HEADLIGHT_NATIVE", raising=False)
    monkeypatch.setattr(library, "capability", lambda: capability)
    monkeypatch.setattr(Path, "exists", lambda path: path.name in names)
    monkeypatch.setattr(library, "load", lambda path: names[path.name])
    assert library.library.__wrapped__() == expected


def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADLIGHT_NATIVE", "0")
    assert library.library.__wrapped__() is None
