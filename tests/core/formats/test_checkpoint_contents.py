"""Valid safetensors files whose metadata and tensors are inconsistent."""

import json
import math
import re
import resource
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from core.files.budget import MAX_SIZES
from core.formats import checkpoint
from core.formats.checkpoint import TOKENIZER_KEY, CheckpointError, load_checkpoint, save_checkpoint
from core.formats.untrusted_parameters import MAX_WEIGHT
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.text.text_normalization import VERSION
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.checkpoints import EMBEDDING, Metadata, Tensors, assert_not_loaded, contents

Change = Callable[[Tensors, Metadata], None]
Remake = Callable[[Change], Path]


@pytest.fixture
def remake(tiny_checkpoint: Path, tmp_path: Path) -> Remake:
    """The valid checkpoint with one change."""

    def make(change: Change) -> Path:
        tensors, metadata = contents(tiny_checkpoint)
        change(tensors, metadata)
        path = tmp_path / "changed.safetensors"
        save_file(tensors, path, metadata)
        return path

    return make


def reconfigure(**changes: Any) -> Change:
    def change(_: Tensors, metadata: Metadata) -> None:
        metadata["config"] = json.dumps({**json.loads(metadata["config"]), **changes})

    return change


def drop(items: dict[str, Any], name: str) -> None:
    del items[name]


def test_a_safetensors_file_of_somebody_else(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    save_file({"weight": torch.zeros(3)}, path)
    assert_not_loaded(
        path,
        r"^other\.safetensors is a safetensors file but not a Headlight checkpoint: its metadata has no "
        r"format_version. Give one",
    )


@pytest.mark.parametrize("version", ["2", "0", "1.0", "", "x" * 10_000])
def test_other_versions(version: str, remake: Remake) -> None:
    path = remake(lambda _, metadata: metadata.update(format_version=version))
    assert_not_loaded(path, rf"^changed\.safetensors has format_version '{version[:100]}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"config in its metadata is not JSON"),
        ("", r"config in its metadata is not JSON"),
        ("[" * 100_000, r"config in its metadata is not JSON"),
        ("1" * 5_000, r"config in its metadata is not JSON"),
        ("[1]", r"config in its metadata is a list, expected a JSON object$"),
        ("null", r"config in its metadata is a NoneType, expected a JSON object$"),
        ("{}", r"its config cannot be used: .*missing 1 required .* 'vocab_size'"),
    ],
)
def test_a_config_that_is_no_config(text: str, message: str, remake: Remake) -> None:
    assert_not_loaded(remake(lambda _, metadata: metadata.update(config=text)), rf"^changed\.safetensors: {message}")
    assert_not_loaded(remake(lambda _, metadata: drop(metadata, "config")), r"^changed.*: its metadata has no config$")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": 400.0}, r"its config cannot be used: vocab_size \(400\.0\) must be a positive integer$"),
        ({"vocab_size": True}, r"its config cannot be used: vocab_size \(True\) must be a positive integer$"),
        ({"vocab_size": float("nan")}, r"its config cannot be used: vocab_size \(nan\) must be a positive integer$"),
        ({"vocab_size": None}, r"its config cannot be used: vocab_size \(None\) must be a positive integer$"),
        ({"dropout": float("nan")}, r"its config cannot be used: dropout \(nan\) must be a number"),
        ({"positions": "x" * 10_000}, r"its config cannot be used: positions \('x+ \.\.\.\) must be 'sinusoidal'"),
        (
            {"num_decoder_heads": 3},
            r"its config cannot be used: d_model \(32\) must be divisible by num_decoder_heads \(3\), or give both",
        ),
        (
            {"num_decoder_heads": 3, "d_k": 8, "d_v": 8},
            r"decoder\.layers\.0\.self_attention\.q_proj\.weight has shape \[32, 32\], expected \[24, 32\]",
        ),
        (
            {"rope": 1, "alibi": 2},
            r"its config names 'alibi', 'rope', which this Headlight does not know: try a newer version of Headlight$",
        ),
        (
            {"num_encoder_layers": 10**9},
            r"its config cannot be used: num_encoder_layers \(1000000000\) must be at most 64$",
        ),
        ({"neighbourhood": 2**64}, rf"its config cannot be used: neighbourhood \({2**64}\) must be at most 4096$"),
        (
            {"vocab_size": 10**6},
            rf"^changed\.safetensors: {EMBEDDING} has shape \[400, 32\], expected \[1000000, 32\] from the config:",
        ),
        ({"vocab_size": 10**18}, r"its config cannot be used: vocab_size \(10{18}\) must be at most 1048576$"),
        ({"d_model": 4 * 10**400}, r"its config cannot be used: d_model \(40+ \.\.\.\) must be at most 8192$"),
        (
            {"max_positions": 10**4, "positions": "learned"},
            r"lacks 1 tensors that its config calls for: 'embedding\.positions\.table\.weight'$",
        ),
    ],
)
def test_a_config_that_does_not_hold(changes: dict[str, Any], message: str, remake: Remake) -> None:
    assert_not_loaded(remake(reconfigure(**changes)), message)


@pytest.mark.parametrize(("text", "message"), [("{", "is not JSON"), ("[]", "is a list, expected a JSON object")])
def test_training_facts_that_are_none(text: str, message: str, remake: Remake) -> None:
    path = remake(lambda _, metadata: metadata.update(training=text))
    assert_not_loaded(path, rf"^changed\.safetensors: training in its metadata {message}")


@pytest.mark.parametrize("version", [VERSION + 1, -1, "1", None, []])
def test_text_of_an_unknown_normalization(version: Any, remake: Remake) -> None:
    training = {"manifest": {"text_normalization": version}}
    assert_not_loaded(
        remake(lambda _, metadata: metadata.update(training=json.dumps(training))),
        r"of text_normalization .*, this Headlight knows up to \d+: try a newer",
    )


@pytest.mark.parametrize("manifest", [{"text_normalization": VERSION}, {"text_normalization": 0}, {}, [], None])
def test_text_of_a_known_normalization(manifest: Any, remake: Remake) -> None:
    training = {"manifest": manifest}
    path = remake(lambda _, metadata: metadata.update(training=json.dumps(training)))
    assert load_checkpoint(path).training == training


def test_training_facts_are_optional(remake: Remake) -> None:
    assert load_checkpoint(remake(lambda _, metadata: drop(metadata, "training"))).training == {}


def without(name: str) -> Change:
    return lambda tensors, _: drop(tensors, name)


LOST = "decoder.layers.1.cross_attention.v_proj.bias"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without(LOST), rf"lacks 1 tensors that its config calls for: '{LOST}'$"),
        (without(TOKENIZER_KEY), rf"lacks 1 tensors .*: '{TOKENIZER_KEY}'$"),
        (lambda tensors, _: tensors.update(extra=torch.zeros(1)), r"has 1 tensors that its .* call for: 'extra'$"),
        (
            reconfigure(num_encoder_layers=3),
            r"lacks 16 tensors that its config calls for: 'encoder\.layers\.2\..*, \.\.\.$",
        ),
        (
            reconfigure(num_encoder_layers=1),
            r"has 16 tensors that its config does not call for: 'encoder\.layers\.1\..*, \.\.\.$",
        ),
    ],
)
def test_missing_and_surplus_tensors(change: Change, message: str, remake: Remake) -> None:
    assert_not_loaded(remake(change), message)


def test_names_are_shown_harmlessly(remake: Remake) -> None:
    """Names from the file cannot flood the screen or reach the terminal as escape sequences."""
    path = remake(lambda tensors, _: tensors.update({"\x1b[31m" + "x" * 10_000: torch.zeros(1)}))
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path)
    assert "'\\x1b[31mxxx" in str(caught.value)
    assert len(str(caught.value)) < 200


NORM = "encoder.layers.0.self_attention_norm.weight"
INFINITE = rf"{NORM} has 2 values that are not finite \(NaN or infinite\)$"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (torch.ones(31), rf"{NORM} has shape \[31\], expected \[32\] from the config: save the model again"),
        (torch.ones(32, 1), rf"{NORM} has shape \[32, 1\], expected \[32\]"),
        (torch.ones(32).double(), rf"{NORM} has type F64, expected one of F32, F16, BF16$"),
        (torch.ones(32).int(), rf"{NORM} has type I32, expected one of"),
        *((torch.tensor([1.0] * 30 + [float(bad)] * 2), INFINITE) for bad in ("nan", "inf", "-inf")),
        *((torch.tensor([1.0] * 30 + [float(bad)] * 2).half(), INFINITE) for bad in ("nan", "inf", "-inf")),
    ],
)
def test_shapes_types_and_values(values: Tensor, message: str, remake: Remake) -> None:
    assert_not_loaded(remake(lambda tensors, _: tensors.update({NORM: values})), message)


@pytest.mark.parametrize("value", [3e38, -1e30, 65505.0])
def test_finite_weights_that_overflow_when_they_are_used(value: float, remake: Remake) -> None:
    name = "decoder.layers.1.cross_attention.q_proj.weight"

    def change(tensors: Tensors, _: Metadata) -> None:
        tensors[name][3, 4] = value

    message = (
        rf"^changed\.safetensors: {name} holds the weight {re.escape(f'{abs(value):.3g}')}, at most 65504 is "
        rf"read: the file is damaged \("
    )
    assert_not_loaded(remake(change), message)


@pytest.mark.parametrize(
    "tensor",
    [EMBEDDING, "encoder.layers.0.feed_forward.inner.weight", "decoder.layers.1.cross_attention.k_proj.weight"],
)
def test_a_model_that_computes_nothing_finite(tensor: str, remake: Remake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the limit on weights, the trial pass detects a single damaged row of the embedding."""

    def change(tensors: Tensors, _: Metadata) -> None:
        tensors[tensor][-1] = 3e38

    monkeypatch.setattr("core.formats.untrusted_parameters.MAX_WEIGHT", math.inf)
    assert_not_loaded(
        remake(change),
        r"^changed\.safetensors: the outputs of this model are not finite \(NaN or infinite\): the file is damaged",
    )


@pytest.mark.parametrize(
    "changes", [{}, {"neighbourhood": 2}, {"positions": "learned", "max_positions": 3, "num_decoder_heads": 2}]
)
def test_the_largest_weights_that_are_read_compute_something_finite(
    changes: dict[str, Any], tokenizer: SentencePieceTokenizer, tmp_path: Path
) -> None:
    """Worst case: every weight at the limit with a random sign. Search and explanation still work."""
    model = Transformer(replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, **changes))
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.data = MAX_WEIGHT * torch.randn(parameter.shape, generator=generator).sign()
    save_checkpoint(tmp_path / "large.safetensors", model, tokenizer)
    translator = Translator.from_checkpoint(tmp_path / "large.safetensors")
    found = translator.translate("a", num_hypotheses=4)
    assert found.hypotheses
    assert all(math.isfinite(hypothesis.score) for hypothesis in found.hypotheses)
    maps = translator.explain("a", found.hypotheses[0].token_ids).maps
    assert all(layer.weights.isfinite().all() for layers in maps.values() for layer in layers)


def as_tensor(data: bytes) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


UNREAD = r"its tokenizer cannot be read: not a SentencePiece model"
TYPE = rf"{TOKENIZER_KEY} has type"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (as_tensor(b"not a model"), rf"{UNREAD} \(11 bytes\)"),
        (torch.zeros(0, dtype=torch.uint8), rf"{UNREAD} \(0 bytes\)"),
        (torch.zeros(5), rf"{TYPE} F32 and shape \[5\], expected one row of at most \d+ U8$"),
        (torch.zeros(2, 5, dtype=torch.uint8), rf"{TYPE} U8 and shape \[2, 5\], expected one row"),
    ],
)
def test_a_tokenizer_that_is_none(data: Tensor, message: str, remake: Remake) -> None:
    assert_not_loaded(remake(lambda tensors, _: tensors.update({TOKENIZER_KEY: data})), message)


def test_a_tokenizer_that_does_not_fit(
    tokenizer: SentencePieceTokenizer,
    parallel_text: list[tuple[str, str]],
    remake: Remake,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = SentencePieceTokenizer.train([english for english, _ in parallel_text], vocab_size=390, num_threads=1)
    for data, message in (
        (other.to_bytes(), "its tokenizer has vocab_size 390, its"),
        (tokenizer.to_bytes()[:-1], UNREAD),
    ):
        assert_not_loaded(
            remake(lambda tensors, _, data=data: tensors.update({TOKENIZER_KEY: as_tensor(data)})), message
        )
    for changes, message in (
        ({"bos_id": 2, "eos_id": 1}, r"bos_id 1, its model 2"),
        ({"pad_id": 9}, r"pad_id 0, its model 9"),
    ):
        assert_not_loaded(remake(reconfigure(**changes)), rf"its tokenizer has {message}: save it again with the")
    monkeypatch.setattr(checkpoint, "MAX_TOKENIZER_BYTES", 100)
    assert_not_loaded(remake(lambda *_: None), rf"{TYPE} U8 and shape \[\d+\], expected one row of at most 100 U8$")


@pytest.mark.parametrize("name", MAX_SIZES)
def test_the_largest_configuration_of_a_small_file_takes_no_memory(name: str, remake: Remake) -> None:
    """Each integer at its bound: the file has no tensors of these shapes."""
    related = {
        "num_encoder_layers": {"num_heads": 32},
        "num_decoder_layers": {"num_heads": 32},
        "target_vocab_size": {"tied": "none"},
        "num_heads": {"d_k": 8, "d_v": 8},
        "num_decoder_heads": {"d_k": 8, "d_v": 8},
        "max_positions": {"positions": "learned"},
        "relative_buckets": {"positions": "relative", "relative_max_distance": 129},
        "relative_max_distance": {"positions": "relative"},
        "patch_size": {"patch_rows": 16},
        "patch_rows": {"patch_size": 16},
    }
    path = remake(reconfigure(**{name: MAX_SIZES[name], **related.get(name, {})}))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if name == "neighbourhood":  # changes no shape
        assert load_checkpoint(path).config.neighbourhood == MAX_SIZES[name]
    else:
        assert_not_loaded(
            path, r"its config (does not )?calls? for|expected \[.*\] from the config: save the model aga"
        )
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**16  # KiB
