"""Models of programs that Headlight does not import are refused by name, with the options that set them apart."""

import json
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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("params.best", b"", "is a model of Sockeye: Headlight"),
        ("config", b"!ModelConfig\n", "config is of a model of So"),
    ],
)
def test_a_model_of_sockeye(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert_refused(tmp_path, message)


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


def test_an_adapter(tmp_path: Path) -> None:
    path = tmp_path / "adapter_model.safetensors"
    save_file({"base_model.model.decoder.layers.0.fc1.lora_A.weight": torch.ones(2, 2)}, path)
    advice = "which only changes the parameters of another model: merge the two, model.merge_and_unload().save_pretrain"
    (tmp_path / "tokenizer.json").write_text("{}")
    assert refusal(tmp_path).startswith(f"{tmp_path.name} is a LoRA adapter, {advice}")
    assert_not_loaded(path, r"^adapter_model.safetensors is a LoRA adapter, which only changes")


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


SELF, CROSS = "encoder.layers.0.self_attn.in_proj_weight", "decoder.layers.0.multihead_attn.in_proj_weight"
DRAFT = "without a description ({}): `python -m core inspect FILE --draft config.json` writes a description to fill in"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.pt", [SELF, CROSS], DRAFT.format(f"{SELF}, {CROSS}")),
        ("a.zip", [SELF, CROSS], DRAFT.format(f"{SELF}, {CROSS}")),
        ("a.pth", {"state_dict": ["a", CROSS], "args": {"lr": 1}}, DRAFT.format(f"a, {CROSS}, under 'state_dict'")),
        ("b.ckpt", {"model_state_dict": [CROSS]}, DRAFT.format(f"{CROSS}, under 'model_state_dict'")),
        ("model.pt", [SELF], f"of an encoder alone, without decoder ({SELF}). For pictures of its attention, see `pyt"),
        ("model.bin", ["h.0.attn.c_attn.weight"], "of a decoder alone, without encoder (h.0.attn.c_attn.weight). For"),
        ("model.pt", ["encoder.rnn.weight_ih_l0", "decoder.a"], "has the parameters of a recurrent model (encoder.rnn"),
        ("model.pth", [], "model.pth has no tensors, it was saved empty: torch.save(model.state_dict(), FILE) saves"),
    ],
)
def test_parameters_alone_say_what_they_are(name: str, content: Any, message: str, tmp_path: Path) -> None:
    def tensors(value: Any) -> Any:
        return {each: torch.ones(2, 2) for each in value} if isinstance(value, list) else value

    whole = {key: tensors(each) for key, each in content.items()} if isinstance(content, dict) else tensors(content)
    torch.save(whole, tmp_path / name)
    torch.save({"a": 0}, tmp_path / "vocab.pt")
    assert message in refusal(tmp_path)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (
            "checkpoint-1000/model.safetensors",
            "is the folder of a training by transformers: give checkpoint-1000 in it",
        ),
        ("onnx/encoder_model.onnx", "is a model in ONNX, graphs of operations without the names of the parts: Headlig"),
        ("model.ckpt-5.index", f"is a checkpoint of TensorFlow: {PYTORCH}"),
        ("adapter_config.json", "is a LoRA adapter, which only changes the parameters of another model: merge the two"),
        ("zero_to_fp32.py", "is a training by DeepSpeed: run its own `python zero_to_fp32.py . OUT`, and give OUT"),
    ],
)
def test_folders_say_where_the_model_is(inside: str, message: str, tmp_path: Path) -> None:
    for each in (inside, inside.replace("1000", "500")):
        (tmp_path / each).parent.mkdir(exist_ok=True)
        (tmp_path / each).touch()
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    assert message in refusal(tmp_path)


def test_torchscript(tmp_path: Path) -> None:
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), tmp_path / "model.pt")
    assert refusal(tmp_path).startswith("model.pt is TorchScript, code with its parameters: save these alone, torch.sa")


@pytest.mark.parametrize("command", ["inspect {}", "convert {} out.safetensors"])
def test_a_command_says_it_in_one_line(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(100))
    assert cli.main(command.format(tmp_path).split()) != 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"model.gguf is a model for llama.cpp (GGUF): {PYTORCH}")
