"""The choice of a run's precision, by given times instead of measurements of this machine."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import train.loop
import train.precision
from core.formats.checkpoint import load_checkpoint
from core.formats.untrusted_parameters import meta_model
from core.model import Transformer
from core.model.preset_configs import PRESETS
from tests.train.conftest import Fit, parameters
from train.data.prepared_corpus import Corpus
from train.distributed import World
from train.precision import (
    MatrixProduct,
    ProductTimes,
    measure,
    measure_precisions,
    products,
    resolve_precision,
    seconds,
)
from train.recipe import Recipe
from train.runs.checkpointing import autocast
from train.runs.run_folder import RunFolder

CPU = torch.device("cpu")
FASTER, SLOWER = ProductTimes(0.25, 1.0, 200), ProductTimes(50.0, 1.0, 200)  # of bfloat16


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[[ProductTimes | None], None]:
    """`machine(times)`: set the result of measurements."""

    def becomes(times: ProductTimes | None) -> None:
        monkeypatch.setattr(train.loop, "measure_precisions", lambda *_: times)

    return becomes


@pytest.mark.parametrize(
    ("bfloat16", "choice", "said"),
    [
        (0.2, "bfloat16", "the matrix products of 4,096 tokens a side take 0.2 s in bfloat16, 1 s in float32"),
        (0.95, "float32", "take 0.95 s in bfloat16, 1 s in float32"),
        (1.5, "float32", "take at least 1.5 s in bfloat16, 1 s in float32"),
    ],
)
def test_bfloat16_is_chosen_where_it_saves_enough(bfloat16: float, choice: str, said: str) -> None:
    times = ProductTimes(bfloat16, 1.0, 4096)
    assert times.choice == choice
    assert said in str(times)


def test_a_new_run_takes_the_faster_precision_and_a_resumed_one_its_own(recipe: Recipe) -> None:
    for times, choice in ((FASTER, "bfloat16"), (SLOWER, "float32")):
        found, note = resolve_precision(recipe, None, times)
        assert found == replace(recipe, precision=choice)
        assert note == f"precision {choice}: {times}"
        assert resolve_precision(recipe, choice, times) == (found, "")
    found, note = resolve_precision(recipe, "bfloat16", SLOWER)
    assert found.precision == "bfloat16"
    assert note == f"precision bfloat16, as recorded for this run, although a new run here would use float32: {SLOWER}"
    assert resolve_precision(recipe, None, None) == (
        replace(recipe, precision="float32"),
        "precision float32: this device does not support bfloat16",
    )


def test_a_given_precision_is_kept(recipe: Recipe) -> None:
    for precision, times in (("bfloat16", SLOWER), ("float32", FASTER)):
        asked = replace(recipe, precision=precision)
        assert resolve_precision(asked, None, times) == (asked, "")


@pytest.mark.parametrize("preset", ["tiny", "C-N2", "A-h1"])
def test_the_products_of_a_batch_are_those_of_every_matrix_and_token(preset: str) -> None:
    model, batch_tokens = meta_model(replace(PRESETS[preset], vocab_size=3_000, d_ff=128)), 700
    matrices = [module.weight for module in model.modules() if isinstance(module, nn.Linear)] + [
        model.embedding.tokens.weight
    ]
    found = products(model, batch_tokens)
    total = sum(product.outputs * product.inputs * product.rows * product.count for product in found)
    assert total == pytest.approx(batch_tokens * sum(matrix.numel() for matrix in matrices))
    assert all(product.rows <= batch_tokens for product in found)
    sizes = [product.outputs * product.inputs for product in found]
    assert sizes == sorted(sizes)


def test_times_add_up_and_measuring_a_slow_bfloat16_stops_early() -> None:
    found, asked = [MatrixProduct(2, 2, 4, 10.0), MatrixProduct(4, 4, 4, 5.0), MatrixProduct(9, 9, 4, 1.0)], []

    def clock(factor: float) -> Callable[[MatrixProduct, torch.dtype], float]:
        asked.clear()
        return lambda product, dtype: (
            asked.append(dtype) or product.outputs * (factor if dtype == torch.bfloat16 else 1.0)
        )

    assert measure(found, 8, clock(0.5)) == ProductTimes(24.5, 49.0, 8)
    assert asked == [torch.float32] * 3 + [torch.bfloat16] * 3
    assert measure(found, 8, clock(50.0)) == ProductTimes(1000.0, 49.0, 8)
    assert asked == [torch.float32] * 3 + [torch.bfloat16]


def test_measuring_takes_time_but_no_random_numbers_and_leaves_no_gradients() -> None:
    model = Transformer(PRESETS["tiny"])
    random = torch.get_rng_state()
    assert seconds(MatrixProduct(8, 8, 4, 1.0), torch.bfloat16, CPU, budget=0.0) > 0
    times = measure_precisions(model, 100)
    assert times
    assert min(times.bfloat16, times.float32) > 0
    assert torch.equal(torch.get_rng_state(), random)
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(("times", "choice"), [(FASTER, "bfloat16"), (SLOWER, "float32")])
def test_the_choice_is_recorded_and_kept_on_other_machines(
    tmp_path: Path,
    run_fit: Fit,
    machine: Callable[[ProductTimes | None], None],
    times: ProductTimes,
    choice: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A run resumed on another machine ends with the same bits."""
    machine(times)
    run_fit(tmp_path / "run", precision="auto", steps=1)
    assert f"precision {choice}: {times}" in capsys.readouterr().err.splitlines()
    for facts in (
        json.loads((tmp_path / "run" / "recipe.json").read_text()),
        load_checkpoint(tmp_path / "run" / "best.safetensors").training,
    ):
        assert facts["recipe"]["precision"] == choice
        assert facts["precision_measured"] == {
            "bfloat16_seconds": times.bfloat16,
            "float32_seconds": times.float32,
            "batch_tokens": 200,
        }

    other = SLOWER if times is FASTER else FASTER
    machine(other)
    resumed = run_fit(tmp_path / "run", precision="auto", steps=2)
    said = capsys.readouterr().err
    assert (
        f"precision {choice}, as recorded for this run, although a new run here would use {other.choice}: {other}"
        in said
    )
    assert f"1 x cpu, {choice}\n" in said
    last = load_checkpoint(RunFolder(tmp_path / "run").snapshots()[-1]).training
    assert (last["recipe"]["precision"], last["precision_measured"]["float32_seconds"]) == (choice, times.float32)
    assert torch.equal(parameters(resumed), parameters(run_fit(tmp_path / "whole", precision=choice, steps=2)))


def test_a_precision_that_was_given_needs_no_measurement(tmp_path: Path, run_fit: Fit, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(train.loop, "measure_precisions", None)
    run_fit(tmp_path / "run", precision="float32", steps=1)
    facts = json.loads((tmp_path / "run" / "recipe.json").read_text())
    assert facts["recipe"]["precision"] == "float32"
    assert "precision_measured" not in facts


def test_a_run_keeps_its_precision(tmp_path: Path, run_fit: Fit, machine: Callable[[ProductTimes | None], None]):
    machine(FASTER)
    run_fit(tmp_path / "run", precision="float32", steps=1)
    with pytest.raises(ValueError, match=r"holds a run with another precision \(float32, not bfloat16\)"):
        run_fit(tmp_path / "run", precision="bfloat16")
    run_fit(tmp_path / "run", precision="auto", steps=2)
    assert RunFolder(tmp_path / "run").record.recipe()["precision"] == "float32"


@pytest.mark.parametrize("recorded", [True, False])
def test_an_older_run_without_a_measurement_resumes_in_bfloat16(
    begun: Path, run_fit: Fit, six_steps: Transformer, machine: Callable[[ProductTimes | None], None], recorded: bool
) -> None:
    machine(SLOWER)
    recipe = begun / "recipe.json"
    record: dict[str, Any] = json.loads(recipe.read_text())
    assert record["recipe"]["precision"] == "bfloat16"
    if not recorded:
        del record["recipe"]["precision"]
    recipe.write_text(json.dumps(record))
    resumed = run_fit(begun, precision="auto")
    assert torch.equal(parameters(resumed), parameters(six_steps))


@dataclass(frozen=True)
class Second(World):
    """The second of two processes, which receives the recipe of the first."""

    first: Recipe | None = None

    def gather(self, thing: Any) -> list[Any]:
        return [self.first, thing]


def test_every_process_takes_the_choice_of_the_first(
    tmp_path: Path, prepared: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train.loop, "measure_precisions", None)
    config = replace(PRESETS["tiny"], vocab_size=400)
    chosen = replace(recipe, precision="float32")
    world = Second(CPU, rank=1, size=2, first=chosen)
    record = train.loop._open_run(
        RunFolder(tmp_path), world, "tiny", Transformer(config), recipe, prepared, Corpus.open(prepared, config), None
    )
    with record as (found, _, _):
        assert found == chosen


def test_a_device_without_bfloat16_computes_in_float32(tmp_path: Path, run_fit: Fit, monkeypatch: pytest.MonkeyPatch):
    for module in (train.loop, train.precision):
        monkeypatch.setattr(module, "supports_bfloat16", lambda _: False)
    with pytest.raises(ValueError, match="cpu cannot compute in bfloat16 here: start a run with --precision float32"):
        run_fit(tmp_path / "run", precision="bfloat16")
    assert not (tmp_path / "run" / "recipe.json").exists()
    run_fit(tmp_path / "run", precision="auto", steps=1)
    assert RunFolder(tmp_path / "run").record.recipe()["precision"] == "float32"


def test_an_unresolved_precision_is_an_error(recipe: Recipe) -> None:
    assert recipe.precision == "auto"
    with pytest.raises(ValueError, match="precision 'auto' must be resolved"):
        autocast(recipe, CPU)
