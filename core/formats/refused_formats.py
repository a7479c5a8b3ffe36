"""Formats of other programs that are recognised only to be refused by name."""

import mmap
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from torch import Tensor

from core.files.budget import MAX_HEADER_BYTES
from core.files.file_writing import reading
from core.formats.untrusted_parameters import CheckpointError

if TYPE_CHECKING:  # it refuses single files itself
    from core.formats.source_files import SourceFiles

START_BYTES = 64
ENCODER_DECODER = "Headlight shows encoder-decoder models: give one of those in docs/formats.md"
IN_PYTORCH = "Headlight reads parameters of PyTorch: give model.safetensors or pytorch_model.bin of the same model"
# Beginnings of files, what they are, and what to do.
BEGINNINGS: tuple[tuple[re.Pattern[bytes], str, str], ...] = (
    (
        re.compile(rb"version https://git-lfs\.github\.com/spec/v1\s"),
        "a Git LFS pointer, a few lines in place of the file",
        "run `git lfs pull` in the repository that it is from, or download the file itself",
    ),
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
TABLE_END = bytes.fromhex("57fb808b247547db")  # of the index of a checkpoint of TensorFlow
ADAPTER_SETTINGS = "adapter_config.json"
ADAPTER = re.compile(rb'[."](lora_[AB]|lora_embedding_[AB]|lora_magnitude_vector)[."]')
# Types of transformers that have one stack; others show it by the names of their classes.
DECODERS = {
    *("gpt2", "gpt_neo", "gptj", "gpt_neox", "gpt_bigcode", "llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma"),
    *("gemma2", "gemma3", "phi", "phi3", "opt", "bloom", "falcon", "mpt", "codegen", "xglm", "stablelm", "openai-gpt"),
}
ENCODERS = {"bert", "roberta", "distilbert", "xlm-roberta", "electra", "albert", "deberta", "deberta-v2", "modernbert"}
DECODER_CLASS = re.compile(r".*(ForCausalLM|LMHeadModel)")
ENCODER_CLASS = re.compile(r".*For(MaskedLM|PreTraining|\w+Classification)")
# Descendants of T5 that Headlight does not import, and why.
T5 = {
    "umt5": "each of its layers has relative positions of its own",
    "longt5": "its encoder attends locally, in blocks",
    "switch_transformers": "it has several networks in a layer, of which a token takes one",
}
# Keys of the parameters in the files that trainings write.
WRAPPERS = ("model_state_dict", "state_dict", "model", "module", "net", "network", "ema")
PROGRAMS = {"opt", "args", "cfg"}  # keys beside "model" in files of OpenNMT-py and fairseq, which say more themselves
LIGHTNING = "pytorch-lightning_version"
SOCKEYE_CONFIGURATION = b"!ModelConfig"  # the first line of the file `config`
SOCKEYE_PARAMETERS = re.compile(r"params\.(best|\d{5})")
# Options of the architecture as Sockeye's configuration has them, with their names and meanings.
SOCKEYE_OPTIONS = {
    rb"(use_)?lhuc: true": "LHUC, learned scales of hidden units",
    rb"decoder_type: ssru_transformer": "SSRU, recurrent cells in place of the decoder's self-attention",
    rb"use_glu: true": "GLU, gated feed-forward layers",
}
LHUC, *_ = SOCKEYE_OPTIONS.values()
LHUC_PARAMETER = re.compile(rb"[a-z\d][._]lhuc(?![a-z])")  # in files of PyTorch and of MXNet
MAX_CONFIGURATION = 2**20  # bytes


def refuse_by_name(files: "SourceFiles") -> None:
    """Refuse the files of programs that Headlight knows but does not import.

    Raises:
        CheckpointError: they are a model of Sockeye, a LoRA adapter, of a type of transformers that no
            format reads, or a file is one of `refuse_file`.
    """
    _refuse_sockeye(files)
    _refuse_other_types(files)
    refuse_foreign_weights(files)


def refuse_foreign_weights(files: "SourceFiles") -> None:
    """Refuse files whose parameters, if there are any, are of another program; see `refuse_by_name`."""
    base = _settings(files, ADAPTER_SETTINGS)
    if "peft_type" in base:
        raise CheckpointError(_adapter(files.label, base.get("base_model_name_or_path")))
    for name in sorted(files.names):
        refuse_adapter(files.located(name), name)
    for name in sorted(files.names):
        refuse_file(files.located(name), name)
    for name in sorted(files.names):
        path = files.located(name)
        with open(path, "rb") as file:
            file.seek(-min(path.stat().st_size, len(TABLE_END)), 2)
            if file.read() == TABLE_END:
                raise CheckpointError(f"{name} is of a checkpoint of TensorFlow: {IN_PYTORCH}")


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
        if start[8:] == b"{" and ADAPTER.search(file.read(min(int.from_bytes(start[:8], "little"), MAX_HEADER_BYTES))):
            raise CheckpointError(_adapter(name, None))


def refuse_wrapper(content: object, name: str) -> None:
    """Refuse the contents of a PyTorch file of a training that has a dictionary of tensors under a usual key."""
    if not isinstance(content, Mapping):
        return
    values = cast("Mapping[Any, Any]", content)
    for key in WRAPPERS:
        inner = None if key == "model" and not PROGRAMS.isdisjoint(values) else values.get(key)
        if isinstance(inner, Mapping) and any(
            isinstance(value, Tensor) for value in cast("Mapping[Any, Any]", inner).values()
        ):
            by = " by PyTorch Lightning" if LIGHTNING in values else ""
            raise CheckpointError(
                f"{name} is a checkpoint of a training{by}, which has the parameters under {key!r}: `python -m "
                f"core inspect FILE --draft config.json` writes a description to fill in, with which it opens"
            )


def _adapter(label: str, base: object) -> str:
    of = f" of {base!r:.60}" if isinstance(base, str) else ""
    return (
        f"{label} is a LoRA adapter{of}, which only changes the parameters of another model: merge the two, "
        f"model.merge_and_unload().save_pretrained(FOLDER) in PEFT, and give that folder with the tokenizer's files"
    )


def _settings(files: "SourceFiles", name: str) -> dict[str, Any]:
    """An object in JSON, {} if there is none."""
    from core.formats.settings import Settings  # which reads files that may be refused here

    return Settings.read(files, name).values


def _refuse_other_types(files: "SourceFiles") -> None:
    """Refuse a model of transformers, by its config.json."""
    settings = _settings(files, "config.json")
    kind, classes = settings.get("model_type"), settings.get("architectures")
    if not isinstance(kind, str):
        return
    names = [name for name in cast("list[Any]", classes if isinstance(classes, list) else []) if isinstance(name, str)]
    if settings.get("is_encoder_decoder") is not True:
        for stack, other, kinds, pattern in (
            ("a decoder", "an encoder", DECODERS, DECODER_CLASS),
            ("an encoder", "a decoder", ENCODERS, ENCODER_CLASS),
        ):
            if kind in kinds or any(map(pattern.fullmatch, names)):
                raise CheckpointError(
                    f"config.json describes {kind!r:.60}, {stack} alone, without {other} and the attention between the "
                    f"two: {ENCODER_DECODER}"
                )
    reason = f": {T5[kind]}" if kind in T5 else ""
    raise CheckpointError(
        f"config.json: model_type is {kind!r:.60}, which Headlight does not import{reason}. For pictures of its "
        f"attention, see `python -m core explain-arrays` in docs/formats.md"
    )


def _refuse_sockeye(files: "SourceFiles") -> None:
    configuration = files.read("config", MAX_CONFIGURATION) if "config" in files.names else b""
    parameters = [files.located(name) for name in files.names if SOCKEYE_PARAMETERS.fullmatch(name)]
    if not configuration.startswith(SOCKEYE_CONFIGURATION) and not parameters:
        return
    options = _sockeye_options(configuration, parameters)
    raise CheckpointError(
        f"{files.label} is a model of Sockeye{' with ' if options else ''}{'; '.join(options)}: Headlight imports no "
        f"models of Sockeye. For pictures of its attention, see `python -m core explain-arrays` in docs/formats.md"
    )


def _sockeye_options(configuration: bytes, parameters: Sequence[Path]) -> list[str]:
    """Options that change the architecture."""
    meanings = [
        meaning
        for option, meaning in SOCKEYE_OPTIONS.items()
        if re.search(rb"^ *" + option + rb"\s*$", configuration, re.MULTILINE)
    ]
    if LHUC not in meanings and any(_has(path, LHUC_PARAMETER) for path in parameters):
        meanings.append(LHUC)  # without the configuration
    return meanings


def _has(path: Path, pattern: re.Pattern[bytes]) -> bool:
    """Whether a pattern occurs in a file of any size."""
    if path.stat().st_size == 0:
        return False
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return pattern.search(content) is not None
