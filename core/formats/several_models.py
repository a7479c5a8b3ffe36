"""Models in a folder or a zip archive that holds several: their names, and one of them."""

import zipfile
from pathlib import Path, PurePosixPath

from core.files.budget import MAX_ENTRIES
from core.formats.opening import begins_own, is_own
from core.formats.source_files import DICTIONARIES, INNER_FILE, INNER_FOLDER, archive_errors, is_archive

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".npz")  # ends of names of files that have a model's weights
DEEPEST = 2  # folders below the given one that are looked into


def model_names(source: Path) -> list[str]:
    """Return the paths, within a folder or a zip archive, of the models that it holds; none if it is one model.

    A model is a checkpoint of Headlight or, of another project, a folder with weights.

    Raises:
        CheckpointError: the archive is damaged.
    """
    if source.is_dir():
        weights = {name: is_own(source / name) for name in _files_below(source, DEEPEST)}
    elif is_archive(source):
        with archive_errors(source.name), zipfile.ZipFile(source) as archive:
            weights = dict[str, bool]()
            for entry in archive.infolist()[:MAX_ENTRIES]:
                if not entry.is_dir() and _has_weights(entry.filename):
                    with archive.open(entry) as file:
                        weights[entry.filename] = begins_own(file)
    else:
        return []
    found = _models(weights)
    return found if len(found) > 1 else []


def _models(weights: dict[str, bool]) -> list[str]:
    """Return the models among files with weights, by whether each is a checkpoint of Headlight.

    Folders below another project's model belong to it; beside Headlight's checkpoints, root files are no model.
    """
    own = {name for name, is_own in weights.items() if is_own}
    others = [PurePosixPath(name) for name in weights.keys() - own]
    folders = {_folder_of(each) for each in others if DICTIONARIES not in each.parts}  # has sentences of fairseq
    if own:
        folders.discard(PurePosixPath("."))
    outermost = {str(each) for each in folders if not any(other in each.parents for other in folders)}
    return sorted(own | outermost)


def _folder_of(file: PurePosixPath) -> PurePosixPath:
    """Return the folder of the model that a file belongs to; an Argos package has it in a folder of its own."""
    is_inner = file.name == INNER_FILE and file.parent.name == INNER_FOLDER
    return file.parent.parent if is_inner else file.parent


def _files_below(folder: Path, depth: int) -> list[str]:
    """Return the files with weights in a folder and the folders in it, without links."""
    found: list[str] = []
    for path in sorted(folder.iterdir())[:MAX_ENTRIES]:
        if path.is_file() and _has_weights(path.name):
            found.append(path.name)
        elif path.is_dir() and not path.is_symlink() and depth > 0:
            found += [f"{path.name}/{name}" for name in _files_below(path, depth - 1)]
    return found


def _has_weights(name: str) -> bool:
    return name.lower().endswith(WEIGHTS)
