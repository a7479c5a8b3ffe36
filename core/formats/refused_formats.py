"""Formats of other programs that are recognised only to be refused by name."""

import mmap
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from core.formats.refused_files import IN_PYTORCH, adapter_refusal, refuse_adapter, refuse_file
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.untrusted_parameters import CheckpointError

ENCODER_DECODER = "Headlight shows encoder-decoder models: give one of those in docs/formats.md"
TABLE_END = bytes.fromhex("57fb808b247547db")  # of the index of a checkpoint of TensorFlow
ADAPTER_SETTINGS = "adapter_config.json"
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


def refuse_by_name(files: SourceFiles) -> None:
    """Refuse the files of programs that Headlight knows but does not import.

    Raises:
        CheckpointError: they are a model of Sockeye, a LoRA adapter, of a type of transformers that no
            format reads, or a file is one of `refuse_file`.
    """
    _refuse_sockeye(files)
    _refuse_other_types(files)
    refuse_foreign_weights(files)


def refuse_foreign_weights(files: SourceFiles) -> None:
    """Refuse files whose parameters, if there are any, are of another program; see `refuse_by_name`."""
    base = Settings.read(files, ADAPTER_SETTINGS).values
    if "peft_type" in base:
        raise CheckpointError(adapter_refusal(files.label, base.get("base_model_name_or_path")))
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


def _refuse_other_types(files: SourceFiles) -> None:
    """Refuse a model of transformers, by its config.json."""
    settings = Settings.read(files, "config.json").values
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


def _refuse_sockeye(files: SourceFiles) -> None:
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
