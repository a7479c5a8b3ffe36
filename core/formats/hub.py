"""Models by their names on the Hugging Face Hub: from the cache on this machine, or downloaded if that is requested.

The cache is read by its layout, without a package: `models--OWNER--NAME/refs/REVISION` has the commit of a branch or a
tag, `snapshots/COMMIT` the files. Nothing here reaches another machine but `download`, which needs the extra `hub`.
"""

import os
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from core.files.extras import needs
from core.formats.checkpoint import CheckpointError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
COMMIT = re.compile(r"[0-9a-f]{40}")
REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")  # a branch, a tag or a commit
MAIN = "main"
MAX_REF = 100  # bytes of a file with a commit
SETTINGS = (
    *("config.json", "generation_config.json", "tokenizer_config.json", "special_tokens_map.json"),
    *("vocab.json", "target_vocab.json", "vocab-src.json", "vocab-tgt.json", "merges.txt"),
    *("source.spm", "target.spm", "sentencepiece.bpe.model", "spiece.model"),
)
TOKENIZERS = ("vocab.json", "vocab-src.json", "sentencepiece.bpe.model", "spiece.model")  # with them, nothing else is
ALONE = "tokenizer.json"  # a tokenizer in one file, if there is none of the others
# Files of parameters, the first kind of which that a model has is read; a pickle only where there is nothing else.
WEIGHTS = (
    re.compile(r"model\.safetensors"),
    re.compile(r"model\.safetensors\.index\.json|model-\d+-of-\d+\.safetensors"),
    re.compile(r"pytorch_model\.bin"),
    re.compile(r"pytorch_model\.bin\.index\.json|pytorch_model-\d+-of-\d+\.bin"),
)
CTRANSLATE2 = re.compile(r"model\.bin|(shared|source|target)_vocabulary\.(json|txt)|.*\.model")


@dataclass(frozen=True)
class HubModel:
    """A model `OWNER/NAME` in the cache: its commit, 40 hexadecimal digits, and the folder of its files."""

    name: str
    revision: str
    folder: Path


def is_hub_name(text: str) -> bool:
    """Whether a text is a name `OWNER/NAME`, and no file or folder here."""
    return bool(NAME.fullmatch(text)) and ".." not in text and not os.path.lexists(text)


def cache_folder() -> Path:
    """Folder of the cache, by the environment variables of huggingface_hub."""
    if folder := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(folder).expanduser()
    home = os.environ.get("HF_HOME")
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "huggingface"
    return (Path(home).expanduser() if home else base) / "hub"


def cached(name: str, revision: str = MAIN) -> HubModel:
    """A model that has been downloaded before, by any program, at a branch, a tag or a commit.

    Raises:
        CheckpointError: it is not in the cache.
        ValueError: the name or the revision is none.
    """
    commit = _cached_commit(name, revision)
    if commit is None:
        raise CheckpointError(
            f"there is neither a file or folder {name} here, nor a model of this name at revision {revision} in "
            f"Hugging Face's cache ({cache_folder()}): give another path, or `python -m core convert {name} "
            f"OUT.safetensors --download`, which fetches it from the Hub"
        )
    return HubModel(name, commit, _folder(name) / "snapshots" / commit)


def is_cached(name: str, revision: str = MAIN) -> bool:
    """Whether `cached` has a model."""
    return _cached_commit(name, revision) is not None


def _cached_commit(name: str, revision: str) -> str | None:
    _check(name, revision)
    commit, ref = revision, _folder(name) / "refs" / revision
    if not COMMIT.fullmatch(revision):
        try:
            with ref.open("rb") as file:
                commit = file.read(MAX_REF).decode("ascii", "replace").strip()
        except OSError:
            return None
    is_there = COMMIT.fullmatch(commit) and (_folder(name) / "snapshots" / commit).is_dir()
    return commit if is_there else None


def _folder(name: str) -> Path:
    return cache_folder() / f"models--{name.replace('/', '--')}"


def _check(name: str, revision: str) -> None:
    if not NAME.fullmatch(name) or ".." in name:
        raise ValueError(f"{name!r:.60} is no name of a model, expected OWNER/NAME such as Helsinki-NLP/opus-mt-en-de")
    if not REVISION.fullmatch(revision) or ".." in revision:
        raise ValueError(f"revision is {revision!r:.60}, expected a branch, a tag or a commit of 40 digits")


def download(name: str, revision: str = MAIN, report: Callable[[str], None] = lambda _: None) -> HubModel:
    """Fetch the files of a model that are needed from the Hub, or from `HF_ENDPOINT`, into the cache.

    All files are of the commit that the revision is now; `report` is called with the name of each before it is fetched.

    Raises:
        CheckpointError: there is no such model or revision, it has no files that Headlight imports, or the Hub cannot
            be reached.
        MissingPackageError: the extra `hub` is not installed.
        ValueError: the name or the revision is none.
    """
    _check(name, revision)
    with needs("hub", "a download from the Hub"):
        import huggingface_hub
        from huggingface_hub import constants
    hub, switches = cast("Any", huggingface_hub), cast("Any", constants)
    options = {"endpoint": os.environ.get("HF_ENDPOINT"), "cache_dir": cache_folder()}
    # Without it, the library asks the Hub for a list of programs, to name this one in its requests.
    telemetry, switches.HF_HUB_DISABLE_TELEMETRY = switches.HF_HUB_DISABLE_TELEMETRY, True
    try:
        found = hub.HfApi(endpoint=options["endpoint"]).model_info(name, revision=revision)
        commit = str(found.sha)
        if not COMMIT.fullmatch(commit):
            raise CheckpointError(f"{name}: the Hub gives the commit {commit!r:.60}, expected 40 digits")
        wanted = needed_files([str(each.rfilename) for each in found.siblings or []], name)
        for file in wanted:
            report(file)
            hub.hf_hub_download(name, file, revision=commit, **options)
        # Once more by the name of the revision, so that the cache knows its commit.
        known = Path(hub.hf_hub_download(name, wanted[0], revision=revision, **options))
        if known.parent.name != commit:
            raise CheckpointError(f"{name} has changed while it was downloaded: download it again")
    except CheckpointError:
        raise
    except Exception as error:  # of its own and of its HTTP library
        if not isinstance(error, OSError | ValueError | RuntimeError) and "httpx" not in type(error).__module__:
            raise
        first = (str(error).strip().splitlines() or [""])[0]
        raise CheckpointError(f"{name} cannot be downloaded ({type(error).__name__}: {first:.200})") from error
    finally:
        switches.HF_HUB_DISABLE_TELEMETRY = telemetry
    return HubModel(name, commit, known.parent)


def needed_files(files: Collection[str], name: str) -> list[str]:
    """The files of a model that the import reads, of all that it has.

    Parameters are taken in safetensors where there are such files, and only otherwise as PyTorch's.

    Raises:
        CheckpointError: there are no parameters, or no config.json.
    """
    weights = next((chosen for kind in WEIGHTS if (chosen := [each for each in files if kind.fullmatch(each)])), [])
    if not weights and "model.bin" in files:
        weights = [each for each in files if CTRANSLATE2.fullmatch(each)]
    if not weights or "config.json" not in files:
        listed = ", ".join(f"{each!r:.40}" for each in sorted(files)[:8]) or "none"
        raise CheckpointError(
            f"{name} has no {'parameters' if 'config.json' in files else 'config.json'} that Headlight imports: its "
            f"files are {listed}. For another format, download them and give the folder"
        )
    needed = [each for each in SETTINGS if each in files]
    if ALONE in files and not any(each in TOKENIZERS for each in needed):
        needed.append(ALONE)
    return [*needed, *sorted(each for each in weights if each not in needed)]
