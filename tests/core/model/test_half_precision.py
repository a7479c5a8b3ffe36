"""A large model keeps its matrices in half precision, and computes what the widened model computes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from core.analysis.attribution.logit_attribution import attribute_logit
from core.analysis.attribution.logit_trace import trace_logits
from core.analysis.attribution.methods import METHODS
from core.analysis.score_decomposition import score_parts
from core.analysis.token_path.steps import OutputSteps
from core.analysis.token_path.token_walk import follow_token
from core.capture import capture_attention
from core.formats.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from core.formats.opening import content_digest
from core.formats.output_folder import storage_type
from core.inference.cpu_inference import PackedTransformer, computation, packable
from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.half_precision import HalfEmbedding, HalfLinear
from core.model.preset_configs import PRESETS
from core.native import library
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.checkpoints import contents
from tests.core.compiled_variants import build

CONFIG = replace(PRESETS["tiny"], vocab_size=400)
CONFIGS: dict[str, dict[str, Any]] = {
    "paper": {},
    "NLLB": {"norm": "pre", "final_norm": True, "position_order": "halves", "position_exponent": "i/(n-1)"},
    "three matrices": {"tied": "none", "output_bias": True, "positions": "learned", "max_positions": 64},
}
HALVES = (torch.float16, torch.bfloat16)
SOURCE, TARGET = torch.tensor([[5, 9, 23, 2, 0], [7, 7, 31, 40, 2]]), torch.tensor([[1, 6, 30], [1, 8, 3]])
TEXT = "A dog runs."
pytestmark = pytest.mark.usefixtures("short_translations")


class Both(NamedTuple):
    """One file in half precision: as a small model, widened, and as a large one."""

    widened: Checkpoint
    kept: Checkpoint
    dtype: torch.dtype


@pytest.fixture(scope="module")
def both(
    request: pytest.FixtureRequest, tokenizer: SentencePieceTokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    changes, dtype = request.param
    path = tmp_path_factory.mktemp("half") / "model.safetensors"
    save_checkpoint(path, random_model(replace(CONFIG, **changes)), tokenizer, dtype=dtype)
    widened = load_checkpoint(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.model.half_precision.LARGE", 0)
        patch.setattr("core.model.half_precision.BLOCK", 1000)  # several blocks of each matrix
        yield Both(widened, load_checkpoint(path), dtype)


def random_model(config: TransformerConfig) -> Transformer:
    torch.manual_seed(0)
    model = Transformer(config).eval().requires_grad_(False)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter += 0.2 * torch.randn_like(parameter)
    return model


def cases(names: list[str], dtypes: tuple[torch.dtype, ...] = HALVES) -> Any:
    return pytest.mark.parametrize(
        "both",
        [pytest.param((CONFIGS[name], dtype), id=f"{name} {dtype}") for name in names for dtype in dtypes],
        indirect=True,
    )


@cases(list(CONFIGS))
def test_the_same_logits_attention_and_gradients(both: Both) -> None:
    found: list[tuple[torch.Tensor, ...]] = []
    for each in both[:2]:
        model = each.model
        with capture_attention(model) as maps:
            logits = model(SOURCE, TARGET)
        memory = model.encode(SOURCE).detach().requires_grad_()
        scores = model.project(model.decode(TARGET, memory, model.source_mask(SOURCE)))
        (gradient,) = torch.autograd.grad(scores.square().sum(), memory)
        found.append((logits, gradient, *maps.values()))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=2e-5)


@cases(["paper"])
def test_matrices_are_kept_as_stored_and_nothing_else(both: Both) -> None:
    widened, kept = (dict(each.model.named_parameters()) for each in both[:2])
    assert widened.keys() == kept.keys()
    for name, parameter in kept.items():
        assert parameter.dtype == (both.dtype if parameter.dim() == 2 else torch.float32), name
        assert torch.equal(parameter.float(), widened[name])
        *path, last = name.split(".")
        weight = getattr(both.kept.model.get_submodule(".".join(path)), last)
        assert weight.dtype == torch.float32, "analyses read matrices in float32"
        assert torch.equal(weight, widened[name])
    layers = {type(module) for module in both.kept.model.modules()}
    assert {HalfLinear, HalfEmbedding} <= layers
    assert not {torch.nn.Linear, torch.nn.Embedding} & layers


@cases(["paper"])
def test_it_is_saved_as_it_was(both: Both, tmp_path: Path) -> None:
    assert storage_type(both.kept.model) == storage_type(both.widened.model)
    for number, each in enumerate(both[:2]):
        save_checkpoint(tmp_path / f"{number}.safetensors", each.model, each.tokenizer, dtype=both.dtype)
    (widened, facts), (kept, same_facts) = (contents(tmp_path / f"{number}.safetensors") for number in range(2))
    assert facts == same_facts
    assert widened.keys() == kept.keys()
    assert all(kept[name].dtype == widened[name].dtype and torch.equal(kept[name], widened[name]) for name in kept)
    assert content_digest(both.kept) != content_digest(both.widened), "in another type"


@pytest.mark.parametrize("kind", [*library.VARIANTS, "PyTorch"])
@cases(["NLLB", "three matrices"])
def test_the_same_translations(both: Both, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Translations and log-probabilities of the search, and of a replay."""
    compiled = None if kind == "PyTorch" else build(kind)
    monkeypatch.setattr(library, "library", lambda: compiled)
    widened, kept = (Translator(each.model, each.tokenizer) for each in both[:2])
    expected, found = (each.translate(TEXT, beam_size=3) for each in (widened, kept))
    assert [each.token_ids for each in found.hypotheses] == [each.token_ids for each in expected.hypotheses]
    assert found.hypotheses[0].log_prob == pytest.approx(expected.hypotheses[0].log_prob, abs=1e-4)
    scored = kept.score(TEXT, found.hypotheses[0].token_ids)
    assert scored.log_prob == pytest.approx(expected.hypotheses[0].log_prob, abs=1e-4)
    if compiled:
        assert "not copied" in computation(kept.model)
        packed = PackedTransformer(kept.model)
        assert {f"torch.{steps.name}" for steps in packed.steps.values()} == {f"{both.dtype} weights"}


@cases(["paper"], (torch.bfloat16,))
def test_reduced_precision_is_close(both: Both) -> None:
    expected, found = (PackedTransformer(each.model, "fast")(SOURCE, TARGET) for each in both[:2])
    assert (found - expected).abs().max() < 0.05 * expected.abs().max()


@cases(["paper", "NLLB"], (torch.bfloat16,))
def test_the_same_analyses(both: Both) -> None:
    widened, kept = (Translator(each.model, each.tokenizer) for each in both[:2])
    target = widened.translate(TEXT).hypotheses[0].token_ids
    for method in METHODS.values():
        expected, found = (method(each, TEXT, target) for each in (widened, kept))
        for kind, maps in expected.items():
            for one, other in zip(maps, found[kind], strict=True):
                torch.testing.assert_close(other.weights, one.weights, atol=1e-4, rtol=1e-3)
    one, other = (attribute_logit(trace_logits(each, TEXT, target), 1) for each in (widened, kept))
    torch.testing.assert_close(other.cross, one.cross, atol=1e-4, rtol=1e-3)
    one, other = (score_parts(each, TEXT, target, "encoder_self") for each in (widened, kept))
    torch.testing.assert_close(other.total, one.total, atol=1e-4, rtol=1e-3)
    one, other = (follow_token(each, TEXT, target, "decoder", 1, 0, 0).parts["output"] for each in (widened, kept))
    assert isinstance(one, OutputSteps)
    assert isinstance(other, OutputSteps)
    torch.testing.assert_close(other.logits, one.logits, atol=1e-4, rtol=1e-3)


def test_a_matrix_that_half_precision_holds_is_narrowed(
    tokenizer: SentencePieceTokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others of a file in float32 stay as they are, and are not copied."""
    path, model = tmp_path / "model.safetensors", random_model(CONFIG)
    for parameter in model.encoder.parameters():
        parameter.copy_(parameter.half())
    save_checkpoint(path, model, tokenizer)
    expected = load_checkpoint(path).model(SOURCE, TARGET)
    monkeypatch.setattr("core.model.half_precision.LARGE", 0)
    found = load_checkpoint(path).model
    for name, parameter in found.named_parameters():
        is_half = name.startswith("encoder") and parameter.dim() == 2
        assert parameter.dtype == (torch.float16 if is_half else torch.float32), name
    for each in [found, *([PackedTransformer(found)] if packable(found) else [])]:
        torch.testing.assert_close(each(SOURCE, TARGET), expected, atol=2e-5, rtol=2e-5)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the memory of a process is listed on Linux only")
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_the_matrices_are_mapped_from_the_file(
    dtype: torch.dtype, tokenizer: SentencePieceTokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which may be deleted or replaced."""
    path = tmp_path / "model.safetensors"
    save_checkpoint(path, random_model(CONFIG), tokenizer, dtype=dtype)
    monkeypatch.setattr("core.model.half_precision.LARGE", 0)
    model = load_checkpoint(path).model
    expected = model(SOURCE, TARGET)
    path.unlink()
    areas = [
        [int(end, 16) for end in line.split()[0].split("-")]
        for line in Path("/proc/self/maps").read_text().splitlines()
        if f"{path}" in line
    ]
    for name, parameter in model.named_parameters():
        is_mapped = any(start <= parameter.data_ptr() < end for start, end in areas)
        assert is_mapped == (parameter.dim() == 2), name
    assert torch.equal(model(SOURCE, TARGET), expected)
