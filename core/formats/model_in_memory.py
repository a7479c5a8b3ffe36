"""Models that are in memory: Headlight's own, of transformers, and other modules with a description.

Those of other projects are read by the readers of their files: the configuration as a config.json, the parameters as
the tensors of its weights. Nothing but a tokenizer of transformers writes a file, with its own `save_pretrained`, into
a temporary folder. transformers is not imported: its models are known by their methods.
"""

import copy
import pkgutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from torch import Tensor, nn

from core.files.strict_json import json_object, json_text
from core.formats.checkpoint import Checkpoint, CheckpointError, check_vocabularies
from core.formats.description_draft import UNKNOWN, vocabulary_options
from core.formats.importing import import_files
from core.formats.proof import Forward, proved
from core.formats.source_files import SourceFiles
from core.formats.state_dicts import open_only_state_dict
from core.formats.torch_transformer import OF_TARGET, TABLE, vocabulary_config
from core.formats.weights import FLOATS
from core.model import Transformer
from core.text.tokenizer import Tokenizer

CONFIG, GENERATION = "config.json", "generation_config.json"
SIDES = ("source", "target")
VOCABULARIES = (
    "a list of pieces in the order of their ids, a mapping of pieces to ids, a vocabulary with get_itos(), a "
    "SentencePieceProcessor, a folder with such files, or a pair of these, for source and target"
)


def checkpoint_of_model(
    model: nn.Module,
    tokenizer: object = None,
    description: Mapping[str, Any] | str | Path | None = None,
    forward: Forward | None = None,
) -> Checkpoint:
    """A copy of a model, in evaluation mode; see `Translator.from_model`.

    Raises:
        CheckpointError: no reader knows the model, or it does not fit its description or its tokenizer.
        TypeError: the tokenizer is of another kind than the model needs.
    """
    if isinstance(model, Transformer):
        return _own(model, tokenizer)
    if description is None and hasattr(getattr(model, "config", None), "to_dict"):
        return _of_transformers(model, tokenizer)
    if description is None and tokenizer is None:
        raise CheckpointError(
            f"{type(model).__name__} is neither a core.Transformer nor a model of transformers: give its vocabulary, "
            f"{VOCABULARIES}; or its numbers of tokens, as description={{'vocabulary': 'numbers', 'pad': 0, ...}}"
        )
    return _of_others(model, tokenizer, description or {}, forward)


def checked_files(files: SourceFiles, name: str) -> Checkpoint:
    """The checkpoint of a file, described or not, `proved` by the module that a function `MODULE:FUNCTION` returns.

    It is imported from the present folder, and its module gets the parameters of the file, or a `CheckpointError` says
    that there is no such function or that some are missing.
    """
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = cast("nn.Module", pkgutil.resolve_name(name)())
    except (ImportError, AttributeError, ValueError) as error:
        raise CheckpointError(f"--check {name:.80}: expected MODULE:FUNCTION that makes a model ({error})") from error
    finally:
        sys.path.pop(0)
    with open_only_state_dict(files) as state:
        names = {each: state.bare(each) for each, _ in module.named_parameters(remove_duplicate=False)}
        if missing := [each for each, bare in names.items() if bare not in state.weights.shapes]:
            raise CheckpointError(f"{state.weights.file_name} has no {missing[0]:.80}, a parameter of {name:.80}")
        module.load_state_dict({each: state.weights.get(bare) for each, bare in names.items()}, strict=False)
        lists = {SIDES[bool(OF_TARGET.search(key))]: each for key, each in state.settings.items() if type(each) is list}
    for side, pieces in lists.items():
        files = files.with_content(f"{side}_vocab.txt" if len(lists) > 1 else "vocab.txt", _vocabulary(pieces)[1])
    return _proved(module, files, json_object(files.read(CONFIG)) if CONFIG in files.names else {})


def _proved(
    module: nn.Module, files: SourceFiles, given: Mapping[str, Any], forward: Forward | None = None
) -> Checkpoint:
    """The checkpoint of what a module computes, with the vocabulary of the files and whatever is described."""

    def load(options: Mapping[str, Any], parameters: Mapping[str, Tensor] | None) -> Checkpoint:
        return import_files(files.with_content(CONFIG, _json(options), parameters))

    modules = sorted(module.named_modules(), key=lambda each: bool(OF_TARGET.search(each[0])))
    tokens = [each for name, each in modules if isinstance(each, nn.Embedding) and not TABLE.fullmatch(name)]
    listed = {option: value for option, value in vocabulary_options(files, []).items() if value != UNKNOWN}
    described = {**({"unknown": None} if listed else {}), **listed, **given}
    sizes = [each.num_embeddings for each in (*tokens[:1], *tokens[-1:])] or [0, 0]
    return proved(module, described, load, vocabulary_config(files, described, sizes), forward)


def _own(model: Transformer, tokenizer: object) -> Checkpoint:
    if not hasattr(tokenizer, "to_bytes"):
        raise TypeError(
            f"the tokenizer is a {type(tokenizer).__name__}, expected one of core.text, such as "
            f"SentencePieceTokenizer.from_file(FILE)"
        )
    tokenizer = cast("Tokenizer", tokenizer)
    check_vocabularies(tokenizer, model.config)
    return Checkpoint(copy.deepcopy(model).eval().requires_grad_(False), tokenizer)


def _of_transformers(model: nn.Module, tokenizer: object) -> Checkpoint:
    if not hasattr(tokenizer, "save_pretrained"):
        raise TypeError(
            f"the tokenizer is a {type(tokenizer).__name__}, expected the model's tokenizer of transformers: "
            f"AutoTokenizer.from_pretrained(NAME)"
        )
    settings = {CONFIG: _json(cast("Any", model.config).to_dict())}
    if (generation := getattr(model, "generation_config", None)) is not None:
        settings[GENERATION] = _json(generation.to_dict())
    with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
        cast("Any", tokenizer).save_pretrained(folder)
        paths = {path.name: path for path in Path(folder).iterdir() if path.is_file()}
        return import_files(SourceFiles(_label(model), paths, settings, _tensors(model, model.state_dict())))


def _of_others(
    model: nn.Module, tokenizer: object, description: Mapping[str, Any] | str | Path, forward: Forward | None
) -> Checkpoint:
    """The checkpoint of a module of another project, see `_proved`."""
    given = json_object(Path(description).read_bytes()) if isinstance(description, str | Path) else description
    contents: dict[str, bytes] = {}
    paths: dict[str, Path] = {}
    sides = cast("tuple[Any, ...]", tokenizer) if isinstance(tokenizer, tuple) else (tokenizer,)
    if len(sides) > len(SIDES):
        raise TypeError(f"the tokenizer is a tuple of {len(sides)}, expected one for the source and one for the target")
    for side, each in zip(SIDES if len(sides) > 1 else ("",), sides, strict=True):
        if isinstance(each, str | Path):
            folder = Path(each)
            inside = folder.iterdir() if folder.is_dir() else [folder]
            paths |= {path.name: path for path in inside if path.is_file()}
        elif each is not None:
            name, content = _vocabulary(each)
            contents[f"{side}_{name}" if side else name] = content
    tables = {name: each for name, each in model.named_buffers() if each.dim() > 1 and TABLE.fullmatch(name)}
    tensors = _tensors(model, {**dict(model.named_parameters(remove_duplicate=False)), **tables})
    return _proved(model, SourceFiles(_label(model), paths, contents, tensors), given, forward)


def _vocabulary(tokenizer: object) -> tuple[str, bytes]:
    """Name and contents of the file of one side's pieces."""
    known = cast("Any", tokenizer)
    if hasattr(tokenizer, "serialized_model_proto"):
        return "sentencepiece.model", known.serialized_model_proto()
    if hasattr(tokenizer, "get_itos"):
        tokenizer = known.get_itos()
    if isinstance(tokenizer, Mapping):
        ids = cast("Mapping[str, int]", tokenizer)
        tokenizer = sorted(ids, key=ids.__getitem__)
        if [ids[piece] for piece in tokenizer] != list(range(len(ids))):
            raise CheckpointError(f"the ids of the {len(ids)} pieces are not 0 to {len(ids) - 1}, each once")
    if isinstance(tokenizer, bytes | str) or not isinstance(tokenizer, Sequence):
        raise TypeError(f"the tokenizer is a {type(tokenizer).__name__}, expected {VOCABULARIES}")
    pieces = [str(piece) for piece in cast("Sequence[object]", tokenizer)]
    if broken := [piece for piece in pieces if "\n" in piece or "\r" in piece]:
        raise CheckpointError(
            f"the piece {broken[0]!r:.60} has a line break, which a list of one piece a line cannot have"
        )
    return "vocab.txt", "\n".join([*pieces, ""]).encode()


def _tensors(model: nn.Module, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies of the parameters and tables in a model's state on the CPU, one of each that has several names."""
    copies: dict[tuple[Any, ...], Tensor] = {}
    tensors: dict[str, Tensor] = {}
    for name, tensor in state.items():
        if not tensor.dtype.is_floating_point and not tensor.dtype.is_complex:
            continue  # a mask or a counter
        if tensor.dtype not in FLOATS or tensor.is_meta:
            raise CheckpointError(
                f"{_label(model)}: {name} is of {'the device meta' if tensor.is_meta else tensor.dtype}, expected "
                f"parameters in {', '.join(FLOATS.values())}: convert the model, such as with model.float()"
            )
        key = (tensor.data_ptr(), tensor.device, tensor.shape, tensor.stride())
        if key not in copies:
            copies[key] = tensor.detach().to("cpu", copy=True)
        tensors[name] = copies[key]
    return tensors


def _label(model: nn.Module) -> str:
    return f"{type(model).__name__} in memory"


def _json(settings: Mapping[str, Any]) -> bytes:
    """Settings as a file has them; what JSON does not have, such as a type of PyTorch, by its name."""
    return json_text(dict(settings), default=str).encode()
