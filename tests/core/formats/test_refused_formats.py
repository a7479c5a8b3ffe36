"""Models of programs that Headlight does not import are refused by name, with the options that set them apart."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from core.cli import commands as cli
from core.formats.checkpoint import CheckpointError
from core.formats.importing import import_checkpoint
from core.formats.opening import own_file
from core.formats.source_files import open_source
from tests.core.checkpoints import assert_not_loaded
from tests.core.formats.small_models import assert_refused

CONFIGURATION = """\
!ModelConfig
config_data: !DataConfig
  max_seq_len_source: 96
config_decoder: !TransformerConfig
  act_type: relu
  decoder_type: {decoder}
  use_glu: {glu}
  use_lhuc: {lhuc}
lhuc: {lhuc}
"""
TEXT = "is a model of Sockeye{}: Headlight imports no models of Sockeye. For pictures of its attention, see `python -m"
MEANINGS = {
    "lhuc": " with LHUC, learned scales of hidden units",
    "decoder": " with SSRU, recurrent cells in place of the decoder's self-attention",
    "glu": " with GLU, gated feed-forward layers",
}


def sockeye(folder: Path, with_lhuc: bool = False, **options: str) -> Path:
    """A folder with Sockeye's files."""
    values = {"decoder": "transformer", "glu": "false", "lhuc": "false"} | options
    (folder / "config").write_text(CONFIGURATION.format(**values))
    (folder / "version").write_text("3.1.34")
    for side in ("src", "trg"):
        (folder / f"vocab.{side}.0.json").write_text('{"<pad>": 0, "<unk>": 1, "<s>": 2, "</s>": 3}')
    names = ["encoder.layers.0.ff.ff1.weight"] + ["encoder.layers.0.lhuc.weight"] * with_lhuc
    torch.save({name: torch.ones(4) for name in names}, folder / "params.best")
    return folder


@pytest.mark.parametrize(
    ("options", "meaning"),
    [
        ({}, ""),
        ({"lhuc": "true"}, MEANINGS["lhuc"]),
        ({"decoder": "ssru_transformer"}, MEANINGS["decoder"]),
        ({"glu": "true"}, MEANINGS["glu"]),
        ({"with_lhuc": True}, MEANINGS["lhuc"]),
    ],
)
def test_a_model_of_sockeye(options: dict[str, Any], meaning: str, tmp_path: Path) -> None:
    folder = sockeye(tmp_path, **options)
    with pytest.raises(CheckpointError) as error:
        import_checkpoint(folder)
    assert TEXT.format(meaning) in str(error.value)


@pytest.mark.parametrize("with_lhuc", [False, True])
def test_parameters_of_sockeye_alone(with_lhuc: bool, tmp_path: Path) -> None:
    file = sockeye(tmp_path, with_lhuc) / "params.best"
    with pytest.raises(CheckpointError) as error:
        import_checkpoint(file)
    assert str(error.value).startswith("params.best " + TEXT.format(MEANINGS["lhuc"] if with_lhuc else ""))


@pytest.mark.parametrize(("name", "has_lhuc"), [("decoder_l0_lhuc_weight", True), ("decoder_l0_lhucid", False)])
def test_parameters_of_older_versions(name: str, has_lhuc: bool, tmp_path: Path) -> None:
    # MXNet's files end with the lengths and the names of the arrays.
    names = [f"arg:{name}".encode()]
    data = struct.pack("<QQ", 0x112, 0) + bytes(64) + b"".join(struct.pack("<Q", len(each)) + each for each in names)
    (tmp_path / "params.00012").write_bytes(data)
    with pytest.raises(CheckpointError, match="model of Sockeye") as error:
        import_checkpoint(tmp_path)
    assert ("LHUC" in str(error.value)) == has_lhuc


def test_an_empty_file_of_parameters(tmp_path: Path) -> None:
    (tmp_path / "params.best").touch()
    assert_refused(tmp_path, "model of Sockeye: Headlight")


def test_all_options_are_named(tmp_path: Path) -> None:
    folder = sockeye(tmp_path, decoder="ssru_transformer", glu="true", lhuc="true")
    assert_refused(folder, r"with LHUC, .*; SSRU, .*; GLU, .*: Headlight")


def test_a_configuration_that_is_too_long(tmp_path: Path) -> None:
    sockeye(tmp_path)
    with open(tmp_path / "config", "a") as file:
        file.write("#" * 2**20)
    assert_refused(tmp_path, r"config has \d+ bytes, at most 1048576 are read")


def test_a_file_of_ctranslate2s_name_is_not_its_model(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"\x06\0\0\0 something else")
    assert_refused(tmp_path, "are of no known format")


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:e316b82de11d0f951f370943b3c4383116\nsize 17331176\n"
PULL = (
    "is a Git LFS pointer, a few lines in place of the file: run `git lfs pull` in the repository that it is from, or"
)
PYTORCH = "Headlight reads parameters of PyTorch: give model.safetensors or pytorch_model.bin of the same model"
TINY = {"model_type": "marian", "vocab_size": 10, "pad_token_id": 9, "decoder_start_token_id": 9}
# The first bytes of real files.
FOREIGN = {
    "GGUF": (b"GGUF\3\0\0\0", "is a model for llama.cpp (GGUF): "),
    "HDF5": (b"\x89HDF\r\n\x1a\n\0\0", "is a file of Keras or TensorFlow (HDF5): "),
    "TensorFlow Lite": (b"\x1c\0\0\0TFL3", "is a model of TensorFlow Lite: "),
    "SavedModel": (b"\x08\x01\x12\xa6\x9a\x02\n", "is a SavedModel of TensorFlow: "),
    "ONNX of PyTorch": (
        b"\x08\x08\x12\x07pytorch\x1a\x052.1.0",
        "is a model in ONNX, a graph of operations without the",
    ),
    "ONNX": (b"\x08\x07:\xc4\x9e\x01\n", "is a model in ONNX, a graph of operations without the names of the parts: "),
    "Flax": (b"\x82\xa5model\x83\xa7decoder", "is a file of Flax (msgpack): "),
}


def refusal(path: Path) -> str:
    with pytest.raises(CheckpointError) as error:
        import_checkpoint(path)
    return str(error.value)


@pytest.mark.parametrize(
    ("names", "refused"),
    [
        (("config.json", "pytorch_model.bin"), "pytorch_model.bin"),
        (("config.json", "model.safetensors", "vocab.json"), "model.safetensors"),
        (("model.npz", "vocab.spm"), "model.npz"),
        (("model.pt",), "model.pt"),
        (("best.ckpt", "config.yaml"), "best.ckpt"),
        (("something",), "something"),
    ],
)
def test_a_pointer_of_git_lfs(names: tuple[str, ...], refused: str, tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).write_bytes(POINTER)
    if "config.json" in names:
        (tmp_path / "config.json").write_text(json.dumps(TINY))
    if "config.yaml" in names:
        (tmp_path / "config.yaml").write_text("model: {}")
    assert refusal(tmp_path).startswith(f"{refused} {PULL}")


def test_a_pointer_in_place_of_a_safetensors_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(POINTER)
    with open_source([path]) as files, pytest.raises(CheckpointError, match=f"^model.safetensors {PULL}"):
        own_file(files)
    assert_not_loaded(path, f"^model.safetensors {PULL}")


def test_a_pointer_that_nothing_reads_is_no_hindrance(tiny_checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "tf_model.h5").write_bytes(POINTER)
    (tmp_path / "own.safetensors").write_bytes(tiny_checkpoint.read_bytes())
    with open_source([tmp_path]) as files:
        assert own_file(files) == tmp_path / "own.safetensors"


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("with_configuration", [False, True])
def test_a_file_of_another_program(kind: str, with_configuration: bool, tmp_path: Path) -> None:
    start, text = FOREIGN[kind]
    (tmp_path / "weights").write_bytes(start + bytes(200))
    if with_configuration:
        (tmp_path / "config.json").write_text(json.dumps(TINY))
    message = refusal(tmp_path)
    assert message.startswith(f"weights {text}")
    assert message.endswith(PYTORCH)


def test_a_checkpoint_of_tensorflow(tmp_path: Path) -> None:
    (tmp_path / "model.ckpt-5.index").write_bytes(bytes(100) + bytes.fromhex("57fb808b247547db"))
    assert refusal(tmp_path) == f"model.ckpt-5.index is of a checkpoint of TensorFlow: {PYTORCH}"


def test_an_adapter(tmp_path: Path) -> None:
    path = tmp_path / "adapter_model.safetensors"
    save_file({"base_model.model.decoder.layers.0.fc1.lora_A.weight": torch.ones(2, 2)}, path)
    advice = "which only changes the parameters of another model: merge the two, model.merge_and_unload().save_pretrain"
    (tmp_path / "tokenizer.json").write_text("{}")
    assert refusal(tmp_path).startswith(f"adapter_model.safetensors is a LoRA adapter, {advice}")
    assert_not_loaded(path, r"^adapter_model.safetensors is a LoRA adapter, which only changes")
    settings = {"peft_type": "LORA", "base_model_name_or_path": "google/t5"}
    (tmp_path / "adapter_config.json").write_text(json.dumps(settings))
    assert refusal(tmp_path).startswith(f"{tmp_path.name} is a LoRA adapter of 'google/t5', {advice}")
    (tmp_path / "adapter_config.json").write_text("{")
    assert "adapter_config.json is not JSON" in refusal(tmp_path)


ALONE = (
    "config.json describes {}, {} alone, without {} and the attention between the two: Headlight shows encoder-decoder "
    "models: give one of those in docs/formats.md"
)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model_type": "gpt2"}, ALONE.format("'gpt2'", "a decoder", "an encoder")),
        ({"model_type": "llama", "architectures": None}, ALONE.format("'llama'", "a decoder", "an encoder")),
        ({"model_type": "new", "architectures": ["NewForCausalLM"]}, ALONE.format("'new'", "a decoder", "an encoder")),
        ({"model_type": "x", "architectures": ["XForMaskedLM"]}, ALONE.format("'x'", "an encoder", "a decoder")),
        ({"model_type": "bert", "architectures": [5]}, ALONE.format("'bert'", "an encoder", "a decoder")),
        (
            {"model_type": "led", "is_encoder_decoder": True, "architectures": ["LEDForCausalLM"]},
            "config.json: model_type is 'led', which Headlight does not import. For pictures of its attention, see "
            "`python -m core explain-arrays` in docs/formats.md",
        ),
    ],
)
def test_other_types_of_transformers(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(settings))
    save_file({"wte.weight": torch.ones(2, 2)}, tmp_path / "model.safetensors")
    assert refusal(tmp_path) == message


STATE = {"encoder.layers.0.self_attn.in_proj_weight": torch.ones(6, 2)}


@pytest.mark.parametrize(
    ("name", "content", "by", "key"),
    [
        ("model.pt", {"model_state_dict": STATE, "epoch": 3}, "", "model_state_dict"),
        ("a.pth", {"state_dict": STATE, "args": {"lr": 1}}, "", "state_dict"),
        ("b.ckpt", {"state_dict": STATE, "pytorch-lightning_version": "2"}, " by PyTorch Lightning", "state_dict"),
        ("model.pt", {"model": STATE, "optimizer": {}}, "", "model"),
    ],
)
def test_the_file_of_a_training(name: str, content: dict[str, Any], by: str, key: str, tmp_path: Path) -> None:
    torch.save(content, tmp_path / name)
    assert refusal(tmp_path) == (
        f"{name} is a checkpoint of a training{by}, which has the parameters under {key!r}: `python -m "
        f"core inspect FILE --draft config.json` writes a description to fill in, with which it opens"
    )


def test_a_model_and_a_vocabulary_are_not_two_models(tmp_path: Path) -> None:
    torch.save(STATE, tmp_path / "model.pt")
    torch.save({"a": 0}, tmp_path / "vocab.pt")
    assert (
        "has 2 files of PyTorch (model.pt, vocab.pt), none of them a model of OpenNMT-py: give the state "
        in refusal(tmp_path)
    )
    torch.save({"model_state_dict": STATE}, tmp_path / "model.pt")
    assert refusal(tmp_path).startswith(
        "model.pt is a checkpoint of a training, which has the parameters under 'model_st"
    )


@pytest.mark.parametrize("command", ["inspect {}", "convert {} out.safetensors"])
def test_a_command_says_it_in_one_line(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(100))
    assert cli.main(command.format(tmp_path).split()) != 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"model.gguf is a model for llama.cpp (GGUF): {PYTORCH}")
