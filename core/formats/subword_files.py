"""Files that split words into pieces, for one side or both: SentencePiece models, and merges of byte-pair encoding."""

import re
from collections.abc import Sequence

from core.formats.checkpoint import CheckpointError
from core.formats.source_files import SourceFiles
from core.text.piece_splitting import MERGES, OF_TARGET, SENTENCEPIECE

KINDS = ("sentencepiece", "merges")
WORDS = {"sentencepiece": "SentencePiece model (*.model)", "merges": "file of merges such as 'bpecodes' or 'codes'"}
_MERGES = re.compile(r"code|bpe", re.IGNORECASE)  # in the names of files
_NO_MERGES = (".model", ".vocab", ".pt", ".ckpt", ".safetensors", ".json", ".yaml")
_SIDES = (re.compile(r"src|source", re.IGNORECASE), re.compile(r"tgt|trg|target", re.IGNORECASE))


def subword_files(
    files: SourceFiles, kinds: Sequence[str] = KINDS, wanted: tuple[str, str] = ("", "")
) -> dict[str, bytes]:
    """Files of a `DictionaryTokenizer` that split words.

    Args:
        kinds: of `KINDS`, the first of which there are files is taken.
        wanted: names of the files of source and target, if known. Otherwise a side has the only file, or the only one
            with its name in the name.

    Raises:
        CheckpointError: there is none, or it is not clear which.
    """
    names = {kind: _names(files, kind) for kind in kinds}
    kind = next((kind for kind in kinds if names[kind]), kinds[0])
    chosen = [_choose(names[kind], name, side) for name, side in zip(wanted, _SIDES, strict=True)]
    if not all(chosen):
        expected = " or ".join(filter(None, dict.fromkeys(wanted))) or " or ".join(WORDS[each] for each in kinds)
        raise CheckpointError(
            f"{files.label} has {len(names[kind]) or 'no'} files that split words into pieces: expected one "
            f"{expected:.80}, or one each with 'source' and 'target' in their names. If there is none, convert with "
            f"--tokenized, and give texts as the model was trained with"
        )
    name = SENTENCEPIECE if kind == "sentencepiece" else MERGES
    read = {name: files.read(chosen[0])}
    if chosen[1] != chosen[0]:
        read[OF_TARGET + name] = files.read(chosen[1])
    return read


def _names(files: SourceFiles, kind: str) -> list[str]:
    if kind == "sentencepiece":
        return sorted(name for name in files.names if name.endswith(".model"))
    return sorted(name for name in files.names if _MERGES.search(name) and not name.endswith(_NO_MERGES))


def _choose(names: Sequence[str], wanted: str, side: re.Pattern[str]) -> str:
    """The file of a side, or "" if it is not clear which."""
    if wanted in names:
        return wanted
    matching = [name for name in names if side.search(name)]
    return names[0] if len(names) == 1 else matching[0] if len(matching) == 1 else ""
