"""Loading returns what was saved."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from core.formats import checkpoint
from core.formats.checkpoint import TOKENIZER_KEY, load_checkpoint, save_checkpoint
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.text.tokenizer import SentencePieceTokenizer
from tests.core.checkpoints import contents

FIRST_FIELDS = (
    *("vocab_size", "d_model", "d_ff", "num_heads", "d_k", "d_v", "num_encoder_layers", "num_decoder_layers"),
    *("dropout", "positions", "neighbourhood", "max_positions", "pad_id", "bos_id", "eos_id"),
)
ROOT = Path(checkpoint.__file__).parents[2]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"positions": "learned", "max_positions": 16},
        {"d_k": 5, "d_v": 7},
        {"num_decoder_layers": 1, "num_decoder_heads": 2},
        {"norm": "pre", "final_norm": True, "embedding_norm": True, "norm_eps": 1e-6, "activation": "gelu"},
        {"attention_bias": False, "feed_forward_bias": False, "output_bias": True, "tied": "none", "decoder_d_ff": 40},
        {"position_order": "halves", "position_exponent": "i/(n-1)", "position_offset": 2, "never_ids": (7, 9)},
    ],
)
def test_everything_comes_back(changes: dict[str, Any], tokenizer: SentencePieceTokenizer, tmp_path: Path) -> None:
    model = Transformer(replace(PRESETS["tiny"], vocab_size=400, **changes))
    facts = {"preset": "tiny", "scores": {"BLEU": 1.5}, "data": ["Prüfsätze"], "note": "half a pair \udcff"}
    path = tmp_path / "model.safetensors"
    save_checkpoint(path, model, tokenizer, facts)
    loaded = load_checkpoint(path)
    assert loaded.config == loaded.model.config == model.config
    assert loaded.training == facts
    assert loaded.tokenizer.to_bytes() == tokenizer.to_bytes()
    expected = dict(model.named_parameters())
    found = dict(loaded.model.named_parameters())
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert not loaded.model.training
    assert not any(parameter.requires_grad for parameter in found.values())
    source, target = torch.tensor([[5, 6, 7]]), torch.tensor([[1, 8]])
    with torch.no_grad():
        assert torch.equal(loaded.model(source, target), model.eval()(source, target))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype: torch.dtype, tiny_model: Transformer, tokenizer: SentencePieceTokenizer, tmp_path: Path):
    path = tmp_path / "half.safetensors"
    save_checkpoint(path, tiny_model, tokenizer, dtype=dtype)
    assert {tensor.dtype for name, tensor in contents(path)[0].items() if name != TOKENIZER_KEY} == {dtype}
    for name, parameter in load_checkpoint(path).model.named_parameters():
        assert torch.equal(parameter, tiny_model.get_parameter(name).to(dtype).float())


def test_the_file_holds_parameters_once_and_explains_itself(tiny_checkpoint: Path, tiny_model: Transformer) -> None:
    tensors, metadata = contents(tiny_checkpoint)
    assert tensors.keys() == {name for name, _ in tiny_model.named_parameters()} | {TOKENIZER_KEY}
    assert metadata["format_version"] == "1"
    # fields that came later are stored only where they differ from their defaults: other files are as before
    assert json.loads(metadata["config"]) == {name: getattr(tiny_model.config, name) for name in FIRST_FIELDS}
    assert json.loads(metadata["training"]) == {"preset": "tiny", "steps": 0}


def test_a_loaded_model_does_not_depend_on_its_file(tiny_checkpoint: Path, tiny_model: Transformer, tmp_path: Path):
    path = tmp_path / "overwritten.safetensors"
    path.write_bytes(tiny_checkpoint.read_bytes())
    model = load_checkpoint(path).model
    with path.open("r+b") as file:
        file.write(b"\xff" * path.stat().st_size)
        file.truncate(10)
    assert all(torch.equal(parameter, tiny_model.get_parameter(name)) for name, parameter in model.named_parameters())


def test_loading_draws_no_random_numbers(tiny_checkpoint: Path) -> None:
    before = torch.get_rng_state()
    load_checkpoint(tiny_checkpoint)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_header_of_any_length_is_read(tiny_model: Transformer, tokenizer: SentencePieceTokenizer, tmp_path: Path):
    """The first bytes are the length of the header: 0x80 begins a pickle and "PK" a zip, but not here."""
    path, starts = tmp_path / "model.safetensors", set[bytes]()
    save_checkpoint(path, tiny_model, tokenizer, {"": ""})
    shortest = int.from_bytes(path.read_bytes()[:8], "little")
    pickle_like, zip_like = (0x80 - shortest) % 256, int.from_bytes(b"PK", "little") - shortest
    for length in [0, 8, pickle_like, zip_like]:
        save_checkpoint(path, tiny_model, tokenizer, {"": "x" * length})
        starts.add(path.read_bytes()[:2])
        assert len(load_checkpoint(path).training[""]) == length
    assert b"PK" in starts
    assert 0x80 in {start[0] for start in starts}


def test_invalid_models_are_not_saved(
    tiny_model: Transformer, tokenizer: SentencePieceTokenizer, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(tiny_checkpoint.read_bytes())
    other = Transformer(replace(PRESETS["tiny"], vocab_size=401))
    with pytest.raises(ValueError, match=r"^the tokenizer has 400 tokens but the model's vocab_size is 401$"):
        save_checkpoint(path, other, tokenizer)
    with pytest.raises(ValueError, match=r"^parameters are stored as one of torch\.float32, .*, not as torch\.int8$"):
        save_checkpoint(path, tiny_model, tokenizer, dtype=torch.int8)
    diverged = copy.deepcopy(tiny_model)
    diverged.embedding.tokens.weight[3, 4] = float("nan")
    with pytest.raises(
        ValueError, match=r"^embedding\.tokens\.weight is not finite in torch\.float32, so nothing was saved"
    ):
        save_checkpoint(path, diverged, tokenizer)
    diverged.embedding.tokens.weight[3, 4] = 70_000.0
    with pytest.raises(
        ValueError, match=r"^embedding\.tokens\.weight is not finite in torch\.float16, so nothing was saved"
    ):
        save_checkpoint(path, diverged, tokenizer, dtype=torch.float16)
    with pytest.raises(TypeError, match="not JSON serializable"):
        save_checkpoint(path, tiny_model, tokenizer, {"data": Path("data")})
    assert path.read_bytes() == tiny_checkpoint.read_bytes()
    assert list(tmp_path.iterdir()) == [path]
