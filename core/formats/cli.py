"""`python -m core convert`: checkpoints from and to other projects."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from core.files.console import printable, show
from core.files.strict_json import json_text
from core.formats.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from core.formats.ctranslate2_folder import write_ctranslate2
from core.formats.description_draft import UNKNOWN, draft
from core.formats.hub import MAIN, HubModel, cached, is_hub_name
from core.formats.hub import download as fetch
from core.formats.importing import import_files
from core.formats.marian_folder import write_marian
from core.formats.model_facts import model_facts
from core.formats.model_in_memory import checked_files
from core.formats.opening import SUFFIX, own_file
from core.formats.output_folder import storage_type
from core.formats.source_files import open_source

WRITERS: dict[str, Callable[[Checkpoint, Path], None]] = {"marian": write_marian, "ctranslate2": write_ctranslate2}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the options of `convert`."""
    parser.add_argument(
        "sources",
        type=Path,
        nargs="+",
        metavar="SOURCE",
        help="a folder, a zip archive, or the files; or OWNER/NAME of a model of the Hugging Face Hub, from its cache "
        "on this machine; with --to also a checkpoint of Headlight",
    )
    parser.add_argument(
        "output", type=Path, metavar="OUT", help="the .safetensors file to write; with --to the folder, a new one"
    )
    parser.add_argument(
        "--to",
        choices=tuple(WRITERS),
        help="write the layout of another project: marian, Hugging Face's layout of Marian, for transformers; or "
        "ctranslate2",
    )
    parser.add_argument(
        "--tokenized",
        action="store_true",
        help="texts will be given as pieces with spaces between; for models whose file of subwords is lost",
    )
    parser.add_argument(
        "--download",
        action="store_true",
        help="fetch OWNER/NAME from the Hugging Face Hub, only the files needed; otherwise nothing is fetched",
    )
    add_options(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Define the options of commands that open a model."""
    parser.add_argument(
        "--check",
        default="",
        metavar="MODULE:FUNCTION",
        help="compare a model of your own with its code: a function of a file in this folder, such as "
        "my_model:make, that returns the torch.nn.Module, which gets the parameters of the file",
    )
    parser.add_argument(
        "--revision", default=MAIN, metavar="REVISION", help="of a model OWNER/NAME: a branch, a tag or a commit"
    )


def run(options: argparse.Namespace) -> None:
    """Convert a checkpoint, half precision included, and print a report.

    Raises:
        CheckpointError: see `import_checkpoint` and `load_checkpoint`.
        ValueError: the output has another suffix than `.safetensors`, or is a folder with files; or the other
            project's layout does not support the model.
    """
    if not options.to and options.output.suffix.lower() != SUFFIX:
        raise ValueError(f"{options.output} must end in {SUFFIX}: give the sources first, then the output")
    checkpoint = read_checkpoint(options.sources, options.tokenized, options.revision, options.download, options.check)
    if options.to:
        WRITERS[options.to](checkpoint, options.output)
        size = sum(file.stat().st_size for file in options.output.iterdir())
    else:
        save_checkpoint(
            options.output, checkpoint.model, checkpoint.tokenizer, checkpoint.training, storage_type(checkpoint.model)
        )
        size = options.output.stat().st_size
    print("\n".join(map(printable, report(checkpoint))))
    show(f"{options.output}: {size / 1e6:.1f} MB")


def read_checkpoint(
    sources: Sequence[Path], tokenized: bool = False, revision: str = MAIN, download: bool = False, check: str = ""
) -> Checkpoint:
    """Read a checkpoint of Headlight or of another project; see `hub_model`, and for check `checked_files`.

    Raises:
        CheckpointError, FileNotFoundError: see `import_checkpoint`, `load_checkpoint` and `hub_model`.
    """
    model = hub_model(sources, revision, download)
    with open_source([model.folder] if model else sources) as files:
        files.tokenized = tokenized
        files.label = model.name if model else files.label
        own = own_file(files)
        read = load_checkpoint(own) if own and not check else None
        checkpoint = read or (checked_files(files, check) if check else import_files(files))
    if model and "imported" in checkpoint.training:
        checkpoint.training["imported"]["revision"] = model.revision
    return checkpoint


def hub_model(sources: Sequence[Path], revision: str = MAIN, download: bool = False) -> HubModel | None:
    """The model that the only source names as `OWNER/NAME`, from this machine's cache or downloaded; None for files.

    Raises:
        CheckpointError, MissingPackageError, ValueError: see `cached` and `download` of `core.formats.hub`.
        ValueError: a download or a revision is requested of files.
    """
    name = sources[0].as_posix()
    if len(sources) > 1 or not is_hub_name(name):
        if download or revision != MAIN:
            raise ValueError(
                f"{', '.join(map(str, sources))}: --download and --revision are for one model OWNER/NAME, such as "
                f"Helsinki-NLP/opus-mt-en-de, and not for files"
            )
        return None
    return (
        fetch(name, revision, lambda file: show(f"fetching {file} of {name}")) if download else cached(name, revision)
    )


def write_draft(sources: Sequence[Path], output: Path) -> list[str]:
    """Write a draft of the description of a hand-written model, and return lines about it.

    Raises:
        CheckpointError, FileExistsError: see `core.formats.description_draft.draft`, or there is such a file.
    """
    with open_source(sources) as files:
        described = draft(files)
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(json_text(described, indent=1, ensure_ascii=True) + "\n")
    except FileExistsError as error:
        raise FileExistsError(f"there is a file {output} already: give a new one, or remove it") from error
    return [*described["notes"], f"{output}: fill in every {UNKNOWN!r}, and put it beside the parameters"]


def report(checkpoint: Checkpoint) -> list[str]:
    """Lines about a model."""
    lines = model_facts(checkpoint.model, checkpoint.tokenizer, checkpoint.training)
    width = max(map(len, lines))
    return [f"{name:<{width}}  {value}" for name, value in lines.items()]
