"""Single files of other programs that are recognised only to be refused by name."""

import re
from pathlib import Path

from core.files.budget import MAX_HEADER_BYTES
from core.files.file_writing import reading
from core.formats.untrusted_parameters import CheckpointError

START_BYTES = 64
IN_PYTORCH = "Headlight reads parameters of PyTorch: give model.safetensors or pytorch_model.bin of the same model"
# Beginnings of files, what they are, and what to do.
BEGINNINGS: tuple[tuple[re.Pattern[bytes], str, str], ...] = (
    (
        re.compile(rb"version https://git-lfs\.github\.com/spec/v1\s"),
        "a Git LFS pointer, a few lines in place of the file",
        "run `git lfs pull` in the repository that it is from, or download the file itself",
    ),
    (re.compile(rb"!ModelConfig"), "of a model of Sockeye", "Headlight imports none"),
    (re.compile(rb"GGUF"), "a model for llama.cpp (GGUF)", IN_PYTORCH),
    (re.compile(rb"\x89HDF\r\n\x1a\n"), "a file of Keras or TensorFlow (HDF5)", IN_PYTORCH),
    (re.compile(rb".{4}TFL3", re.DOTALL), "a model of TensorFlow Lite", IN_PYTORCH),
    (re.compile(rb"\x08\x01[\x12\x1a](?!.{5}\{)", re.DOTALL), "a SavedModel of TensorFlow", IN_PYTORCH),
    (
        re.compile(rb"\x08[\x02-\x14](\x12|\x1a|\x22|\x28|\x32|\x3a|\x42)(?!.{5}\{)", re.DOTALL),
        "a model in ONNX, a graph of operations without the names of the parts",
        IN_PYTORCH,
    ),
    (re.compile(rb"[\x81-\x8f][\xa1-\xbf]\w+[\x80-\x8f\xde]"), "a file of Flax (msgpack)", IN_PYTORCH),
)
ADAPTER = (  # what it is, and what to do
    "a LoRA adapter, which only changes the parameters of another model",
    "merge the two, model.merge_and_unload().save_pretrained(FOLDER) in PEFT, and give that folder with the "
    "tokenizer's files",
)
ADAPTED = re.compile(rb'[."](lora_[AB]|lora_embedding_[AB]|lora_magnitude_vector)[."]')


def refuse_file(path: Path, name: str) -> None:
    """Refuse a pointer of Git LFS, or a file of a program whose models Headlight does not read, by its beginning."""
    with reading(path), open(path, "rb") as file:
        start = file.read(START_BYTES)
    for beginning, what, advice in BEGINNINGS:
        if beginning.match(start):
            raise CheckpointError(f"{name} is {what}: {advice}")


def refuse_adapter(path: Path, name: str) -> None:
    """Refuse a safetensors file whose tensors have the names of a LoRA adapter."""
    with open(path, "rb") as file:
        start = file.read(9)
        if start[8:] == b"{" and ADAPTED.search(file.read(min(int.from_bytes(start[:8], "little"), MAX_HEADER_BYTES))):
            raise CheckpointError(f"{name} is {ADAPTER[0]}: {ADAPTER[1]}")
