"""Import of checkpoints of other projects, whose format is recognised by content."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from core.formats import (
    bart,
    ctranslate2_model,
    fairseq,
    fsmt,
    joeynmt,
    m2m100,
    marian_cpp,
    marian_huggingface,
    opennmt,
    t5,
    torch_transformer,
)
from core.formats.checkpoint import Checkpoint, CheckpointError
from core.formats.description_draft import refuse_parameters
from core.formats.refused_formats import refuse_by_name
from core.formats.source_files import SourceFiles, open_source


class ImportFormat(Protocol):
    """The module of a format of checkpoints."""

    @property
    def NAME(self) -> str:  # noqa: N802
        """For display."""
        ...

    def recognises(self, files: SourceFiles, /) -> bool:
        """Whether files are of this format, from their contents."""
        ...

    def load(self, files: SourceFiles, /) -> Checkpoint:
        """Read a model.

        Raises:
            CheckpointError: a file is missing, damaged or does not fit the others, or an option is unknown.
        """
        ...


FORMATS: tuple[ImportFormat, ...] = (  # the first that recognises the files reads them
    *(ctranslate2_model, marian_huggingface, fsmt, m2m100, bart, t5),
    *(fairseq, marian_cpp, torch_transformer, joeynmt, opennmt),
)


def import_checkpoint(paths: str | Path | Sequence[str | Path], tokenized: bool = False) -> Checkpoint:
    """Read a checkpoint of another project, a folder, a zip archive or files, as untrusted as an upload.

    Nothing in it is executed, and sizes and shapes are checked before memory is allocated. The model is in float32.
    `training["imported"]` records the format, the types of the stored parameters and the settings of the search. For
    `tokenized` see `SourceFiles`; files of some projects may not include those that split the text.

    Raises:
        CheckpointError: no format recognises the files, or they are damaged, incomplete or of an unknown architecture.
        FileNotFoundError: there is no such file.
    """
    with open_source([paths] if isinstance(paths, str | Path) else paths) as files:
        files.tokenized = tokenized
        return import_files(files)


def import_files(files: SourceFiles) -> Checkpoint:
    """As `import_checkpoint`, from files that are open."""
    for each in FORMATS:
        if each.recognises(files):
            return each.load(files)
    refuse_by_name(files)
    refuse_parameters(files)
    names = ", ".join(f"{name!r:.60}" for name in sorted(files.names)[:8])
    raise CheckpointError(
        f"{files.label}: its files ({names or 'none'}) are of no known format: give the folder, a zip archive of "
        f"it, or all its files. For a model of your own, `python -m core inspect FILE --draft config.json` writes a "
        f"description to fill in. Headlight imports {', '.join(each.NAME for each in FORMATS)}"
    )
