"""State dicts inside what a training saves: under keys such as `model_state_dict`, or prefixes such as `module.`.

Frameworks and tutorials save more than the parameters: the optimizer, the epoch, settings. All of that is read as
tensors and plain containers only; nothing else of it is used but numbers and texts beside the parameters.
"""

import argparse
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from torch import Tensor

from core.files.budget import shown
from core.formats.checkpoint import CheckpointError
from core.formats.opening import is_safetensors
from core.formats.source_files import SourceFiles
from core.formats.weight_files import Inert, load_pytorch, open_weights, weights_of
from core.formats.weights import Weights, in_memory

SUFFIXES = (".safetensors", ".pt", ".pth", ".ckpt", ".bin", ".tar", ".zip")
# Keys under which trainings keep the parameters, in order of preference.
WRAPPERS = ("model_state_dict", "state_dict", "model_state", "model", "module", "net", "network", "weights", "params")
SETTINGS = ("hyper_parameters", "hparams", "config", "settings", "args", "opt")  # keys of settings beside them
INERT = (f"{argparse.Namespace.__module__}.{argparse.Namespace.__name__}",)  # of settings
COMPILED = "_orig_mod."  # of torch.compile, anywhere in a name
MAX_DEPTH = 4  # of keys


@dataclass(frozen=True)
class StateDict:
    """Parameters of a file under the names that the model itself gives them."""

    weights: Weights  # the tensors, without those of integers and truth values, which are no parameters
    keys: tuple[str, ...]  # under which they are in the file
    prefix: str  # that all of their names have in the file, beginning of `model.encoder...`
    settings: Mapping[str, Any]  # numbers, texts, switches and lists of pieces beside the parameters, by name

    def bare(self, name: str) -> str:
        """A name as the file has it, or without the prefix already, as `weights` has it."""
        return name.replace(COMPILED, "").removeprefix(self.prefix)


def weights_file(files: SourceFiles) -> str:
    """Name of the only file of parameters.

    Raises:
        CheckpointError: there are none, or several.
    """
    names = sorted(name for name in files.names if name.endswith(SUFFIXES))
    if len(names) != 1:
        raise CheckpointError(
            f"{files.label} has {len(names)} files of parameters ({', '.join(SUFFIXES)}): expected one state dict"
        )
    return names[0]


@contextmanager
def open_only_state_dict(files: SourceFiles) -> Generator[StateDict]:
    """Open the only file of parameters, see `open_state_dict`; or those of a model in memory.

    Raises:
        CheckpointError: there are none, or several; or see `open_state_dict`.
    """
    if files.tensors is not None:
        yield _without_prefix(in_memory(files.label, files.tensors), (), {})
        return
    name = weights_file(files)
    with open_state_dict(files.path(name), name) as state:
        yield state


@contextmanager
def open_state_dict(path: Path, file_name: str) -> Generator[StateDict]:
    """Open a state dict, or a file of a training that has one.

    Raises:
        CheckpointError: see `open_weights`; or two tensors have the same name without the prefixes.
    """
    if is_safetensors(path):
        with open_weights(path, file_name) as weights:
            yield _without_prefix(weights, (), {})
        return
    content = load_pytorch(path, file_name, INERT)
    state, keys, settings = _unwrapped(content)
    if isinstance(state, Mapping):
        state = {name: each for name, each in cast("Mapping[Any, Any]", state).items() if not _is_no_parameter(each)}
    yield _without_prefix(weights_of(path, file_name, state), keys, settings)


def _is_no_parameter(value: object) -> bool:
    """Whether a value is a tensor of integers or truth values, such as a mask."""
    return isinstance(value, Tensor) and not value.dtype.is_floating_point and not value.dtype.is_complex


def _unwrapped(content: object) -> tuple[object, tuple[str, ...], dict[str, Any]]:
    """Contents of a file, without what is around the parameters."""
    keys: list[str] = []
    settings: dict[str, Any] = {}
    for _ in range(MAX_DEPTH):
        if not isinstance(content, Mapping):
            break
        fields = cast("Mapping[Any, Any]", content)
        key = next((key for key in WRAPPERS if isinstance(fields.get(key), Mapping)), None)
        if key is None:
            break
        for name in SETTINGS:
            settings |= _plain(fields.get(name))
        settings |= {str(name): pieces for name, each in fields.items() if (pieces := _pieces(each))}
        keys.append(key)
        content = fields[key]
    return content, tuple(keys), settings


def _pieces(value: object) -> list[str]:
    """Pieces by their ids: of a list, of ids by piece or pieces by id, also under `itos` or `stoi`; [] of others."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[Any, Any]", value)
        if inner := _pieces(fields.get("itos")) or _pieces(fields.get("stoi")):
            return inner
        by_id = {
            number: piece for each in fields.items() for number, piece in (each, each[::-1]) if type(number) is int
        }
        value = [by_id.get(number) for number in range(len(fields))]
    pieces = cast("list[Any]", value) if isinstance(value, list) else []
    return pieces if all(isinstance(piece, str) for piece in pieces) else []


def _plain(value: object) -> dict[str, Any]:
    """Numbers, texts and switches of settings, one level deep."""
    fields = value.state if isinstance(value, Inert) else value
    if not isinstance(fields, Mapping):
        return {}
    return {
        name: each
        for name, each in cast("Mapping[Any, Any]", fields).items()
        if isinstance(name, str) and isinstance(each, int | float | str)
    }


def _without_prefix(weights: Weights, keys: tuple[str, ...], settings: Mapping[str, Any]) -> StateDict:
    names = {name: name.replace(COMPILED, "") for name in weights.shapes}
    prefix = _common_prefix(list(names.values()))
    old = {new.removeprefix(prefix): name for name, new in names.items()}
    if len(old) < len(names):
        twice = next(name for name, new in names.items() if old[new.removeprefix(prefix)] != name)
        raise CheckpointError(f"{weights.file_name}: {shown(twice)} is there twice, with and without {COMPILED!r}")
    bare = Weights(
        weights.file_name,
        {new: weights.shapes[name] for new, name in old.items()},
        {new: weights.dtypes[name] for new, name in old.items()},
        lambda name: weights.get(old[name]),
    )
    return StateDict(bare, keys, prefix, settings)


def _common_prefix(names: list[str]) -> str:
    """First components of names that all of them have, up to what is a name for itself."""
    prefix = ""
    while names:
        first, point, _ = names[0][len(prefix) :].partition(".")
        longer = f"{prefix}{first}{point}"
        if not point or len(names) == 1 or not all(name.startswith(longer) for name in names):
            break
        prefix = longer
    return prefix
