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
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from core.text.text_normalization import VERSION
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.checkpoints import EMBEDDING, Metadata, Tensors, assert_not_loaded, contents

Remake = Callable[[Callable[[Tensors, Metadata], None]], Path]


@pytest.fixture
def remake(tiny_checkpoint: Path, tmp_path: Path) -> Remake:
    """The valid checkpoint with one change."""

    def make(change: Callable[[Tensors, Metadata], None]) -> Path:
        tensors, metadata = contents(tiny_checkpoint)
        change(tensors, metadata)
        path = tmp_path / "changed.safetensors"
        save_file(tensors, path, metadata)
        return path

    return make


def reconfigure(**changes: Any) -> Callable[[Tensors, Metadata], None]:
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


def test_no_config(remake: Remake) -> None:
    assert_not_loaded(
        remake(lambda _, metadata: drop(metadata, "config")), r"^changed\.safetensors: its metadata has no config$"
    )


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


def test_missing_and_surplus_tensors(remake: Remake) -> None:
    lost = "decoder.layers.1.cross_attention.v_proj.bias"
    assert_not_loaded(
        remake(lambda tensors, _: drop(tensors, lost)), rf"lacks 1 tensors that its config calls for: '{lost}'$"
    )
    assert_not_loaded(
        remake(lambda tensors, _: drop(tensors, TOKENIZER_KEY)), rf"lacks 1 tensors .*: '{TOKENIZER_KEY}'$"
    )
    assert_not_loaded(
        remake(lambda tensors, _: tensors.update(extra=torch.zeros(1))),
        r"has 1 tensors that its config does not call for: 'extra'$",
    )
    assert_not_loaded(
        remake(reconfigure(num_encoder_layers=3)),
        r"lacks 16 tensors that its config calls for: 'encoder\.layers\.2\..*, \.\.\.$",
    )
    assert_not_loaded(
        remake(reconfigure(num_encoder_layers=1)),
        r"has 16 tensors that its config does not call for: 'encoder\.layers\.1\..*, \.\.\.$",
    )


def test_names_are_shown_harmlessly(remake: Remake) -> None:
    """Names from the file cannot flood the screen or reach the terminal as escape sequences."""
    path = remake(lambda tensors, _: tensors.update({"\x1b[31m" + "x" * 10_000: torch.zeros(1)}))
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path)
    assert "'\\x1b[31mxxx" in str(caught.value)
    assert len(str(caught.value)) < 200


def test_shapes_types_and_values(remake: Remake) -> None:
    norm = "encoder.layers.0.self_attention_norm.weight"
    assert_not_loaded(
        remake(lambda tensors, _: tensors.update({norm: torch.ones(31)})),
        rf"{norm} has shape \[31\], expected \[32\] from the config: save the model again",
    )
    assert_not_loaded(
        remake(lambda tensors, _: tensors.update({norm: torch.ones(32, 1)})),
        rf"{norm} has shape \[32, 1\], expected \[32\]",
    )
    assert_not_loaded(
        remake(lambda tensors, _: tensors.update({norm: torch.ones(32).double()})),
        rf"{norm} has type F64, expected one of F32, F16, BF16$",
    )
    assert_not_loaded(
        remake(lambda tensors, _: tensors.update({norm: torch.ones(32).int()})),
        rf"{norm} has type I32, expected one of",
    )
    for bad in ("nan", "inf", "-inf"):
        values = torch.ones(32)
        values[[3, 7]] = float(bad)
        message = rf"{norm} has 2 values that are not finite \(NaN or infinite\)$"
        assert_not_loaded(remake(lambda tensors, _, values=values: tensors.update({norm: values})), message)
        assert_not_loaded(remake(lambda tensors, _, values=values: tensors.update({norm: values.half()})), message)


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


def test_a_tokenizer_that_does_not_fit(
    tokenizer: SentencePieceTokenizer, parallel_text: list[tuple[str, str]], remake: Remake
) -> None:
    def with_tokenizer(data: Tensor) -> Path:
        return remake(lambda tensors, _: tensors.update({TOKENIZER_KEY: data}))

    def as_tensor(data: bytes) -> Tensor:
        return torch.frombuffer(bytearray(data), dtype=torch.uint8)

    other = SentencePieceTokenizer.train([english for english, _ in parallel_text], vocab_size=390, num_threads=1)
    assert_not_loaded(
        with_tokenizer(as_tensor(other.to_bytes())),
        r"its tokenizer has vocab_size 390, its model 400: save it again with the",
    )
    assert_not_loaded(
        remake(reconfigure(bos_id=2, eos_id=1)), r"its tokenizer has bos_id 1, its model 2: save it again with the"
    )
    assert_not_loaded(remake(reconfigure(pad_id=9)), r"its tokenizer has pad_id 0, its model 9: save it again with the")
    assert_not_loaded(
        with_tokenizer(as_tensor(b"not a model")),
        r"its tokenizer cannot be read: not a SentencePiece model \(11 bytes\)",
    )
    assert_not_loaded(
        with_tokenizer(as_tensor(tokenizer.to_bytes()[:-1])), r"its tokenizer cannot be read: not a SentencePiece model"
    )
    assert_not_loaded(
        with_tokenizer(torch.zeros(0, dtype=torch.uint8)),
        r"its tokenizer cannot be read: not a SentencePiece model \(0 bytes\)",
    )
    assert_not_loaded(
        with_tokenizer(torch.zeros(5)),
        rf"{TOKENIZER_KEY} has type F32 and shape \[5\], expected one row of at most \d+ U8$",
    )
    assert_not_loaded(
        with_tokenizer(torch.zeros(2, 5, dtype=torch.uint8)),
        rf"{TOKENIZER_KEY} has type U8 and shape \[2, 5\], expected one row",
    )


def test_a_tokenizer_too_large(remake: Remake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "MAX_TOKENIZER_BYTES", 100)
    assert_not_loaded(
        remake(lambda *_: None), rf"{TOKENIZER_KEY} has type U8 and shape \[\d+\], expected one row of at most 100 U8$"
    )


def test_the_error_is_a_value_error(tiny_checkpoint: Path) -> None:
    assert issubclass(CheckpointError, ValueError)
    assert isinstance(load_checkpoint(tiny_checkpoint).config, TransformerConfig)


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
            path, r"its config (does not )?calls? for|expected \[.*\] from the config: save the model again"
        )
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**16  # KiB
