"""Formats of other programs that are recognised only to be refused by name."""

import mmap
import re
from collections.abc import Sequence
from pathlib import Path

from core.formats import huggingface
from core.formats.checkpoint import CheckpointError
from core.formats.source_files import SourceFiles

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
CTRANSLATE2_MODEL = "model.bin"
CTRANSLATE2_START = re.compile(rb"[\1-\40]\0{3}.\0\w+Spec\0", re.DOTALL)  # version, length of a name, the name


def refuse_by_name(files: SourceFiles) -> None:
    """Refuse the files of programs that Headlight knows but does not import.

    Raises:
        CheckpointError: they are a model of Sockeye or CTranslate2, or of a type of transformers that no format reads.
    """
    _refuse_sockeye(files)
    _refuse_ctranslate2(files)
    huggingface.refuse_other_types(files)


def _refuse_sockeye(files: SourceFiles) -> None:
    configuration = files.read("config", MAX_CONFIGURATION) if "config" in files.names else b""
    parameters = [files.path(name) for name in files.names if SOCKEYE_PARAMETERS.fullmatch(name)]
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


def _refuse_ctranslate2(files: SourceFiles) -> None:
    if CTRANSLATE2_MODEL not in files.names:
        return
    with open(files.path(CTRANSLATE2_MODEL), "rb") as file:
        if CTRANSLATE2_START.match(file.read(64)):
            raise CheckpointError(
                f"{files.label} is a model of CTranslate2, which may have 8-bit weights and leaves out what only "
                f"training needs: Headlight imports none. Give the model that it was converted from"
            )


def _has(path: Path, pattern: re.Pattern[bytes]) -> bool:
    """Whether a pattern occurs in a file of any size."""
    if path.stat().st_size == 0:
        return False
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return pattern.search(content) is not None
