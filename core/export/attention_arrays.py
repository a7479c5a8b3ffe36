"""Explanations from attention that another program has computed, without a model.

An array file is an NPZ file with the following arrays; layers, heads and positions are counted from 0:

    source_tokens       S texts
    target_tokens       T + 1 texts: the start, then the target. Each but the last is fed to the decoder, which predicts
                        the next one
    encoder_attentions  [layers, heads, S, S] floats
    decoder_attentions  [layers, heads, T, T]; no token attends to later ones
    cross_attentions    [layers, heads, T, S]
    log_probs           [T] log-probabilities of the predicted tokens, in nats; may be missing
    spelling            a name of `SPELLINGS`, or one for each side, where the tokens do not show it; may be missing

At least one of the three kinds of attention; each row sums to 1. They are named as in the outputs of transformers, of
which `arrays_of_outputs` makes them. How the tokens are spelled shows in them, or is given: words begin where
`core.export.piece_spellings` says.
"""

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from core.capture import AttentionMap
from core.export.piece_spellings import SPELLINGS, Spelling, common_pieces, spelling_of
from core.files.argument_types import path_of
from core.files.budget import MAX_HEADS, MAX_UNPACKED, NUMBER
from core.files.damaged_archives import DAMAGE
from core.files.file_writing import reading, write_bytes
from core.files.npz_arrays import check_characters, npz_arrays
from core.results import Explanation
from core.text.byte_pieces import MASK, UNKNOWN, PlacedPiece, decode_pieces, is_special
from core.text.phrases import Phrase, listed, marked
from core.text.tokenizer import SPACE_MARK
from core.trace import Kind

Arrays = Mapping[str, NDArray[Any]]
KINDS: dict[str, tuple[Kind, str, str]] = {  # the kind of attention, and the sides of its queries and keys
    "encoder_attentions": ("encoder_self", "source", "source"),
    "decoder_attentions": ("decoder_self", "target", "target"),
    "cross_attentions": ("cross", "target", "source"),
}
TOKENS, LOG_PROBS, SPELLING = ("source_tokens", "target_tokens"), "log_probs", "spelling"
MAX_TOKENS, MAX_TOKEN = 1024, 512  # of either side; characters of one
SUM_TOLERANCE = 2e-2  # of a row in half precision
LATER_TOLERANCE = 1e-6  # weight on later tokens


class ArrayError(ValueError):
    """The arrays are not usable attention; the message has the reason."""


def arrays_of_outputs(
    outputs: object, source_tokens: Sequence[str], target_tokens: Sequence[str], row: int = 0
) -> dict[str, NDArray[Any]]:
    """Make the arrays of one sentence from the outputs of an encoder-decoder model of transformers.

    Args:
        outputs: of one forward pass with `output_attentions=True`, whose `decoder_input_ids` are the target tokens.
        source_tokens, target_tokens: as in an array file, without padding.
        row: of the batch; padding on the right is cut off.

    Raises:
        ArrayError: the outputs have no attention, or they are those of `generate`, one for every step.
    """
    sizes = {"source": len(source_tokens), "target": len(target_tokens) - 1}
    arrays: dict[str, NDArray[Any]] = {
        "source_tokens": np.array(source_tokens),
        "target_tokens": np.array(target_tokens),
    }
    for name, (_, queries, keys) in KINDS.items():
        if (layers := getattr(outputs, name, None)) is None:
            continue
        if not all(isinstance(layer, torch.Tensor) for layer in layers):
            raise ArrayError(
                f"{name} has several tensors for a layer, as the outputs of generate(): give those of one forward pass "
                f"with decoder_input_ids and output_attentions=True"
            )
        weights = torch.stack(tuple(layers), dim=1)[row]  # [layers, heads, Q, K]
        arrays[name] = weights[:, :, : sizes[queries], : sizes[keys]].detach().float().cpu().numpy()
    if not arrays.keys() & KINDS.keys():
        raise ArrayError("these outputs have no attention: call the model with output_attentions=True")
    return arrays


def explanation_of_arrays(arrays: Arrays) -> Explanation:
    """Check untrusted arrays, and combine them into an explanation.

    Weights in float32 are not copied. Its `log_probs` and `alternatives` are empty if the arrays have no `log_probs`.

    Raises:
        ArrayError: an array is missing, unknown, of the wrong type or shape, not finite, or not attention.
    """
    known = (*TOKENS, *KINDS, LOG_PROBS, SPELLING)
    if unknown := sorted(arrays.keys() - {*known}):
        raise ArrayError(f"the array {unknown[0]!r:.60} is unknown: expected {', '.join(known)}")
    source, (start, *target) = (_tokens(arrays, name) for name in TOKENS)
    if not target:
        raise ArrayError("target_tokens has 1 tokens, expected the start and at least one more")
    of_source, of_target = _spellings(arrays.get(SPELLING), source, target)
    source, predicted = common_pieces(source, of_source), common_pieces(target, of_target)
    fed = (PlacedPiece(start, "start"), *predicted[:-1])
    sides = {"source": source, "target": fed}
    number, most = sum(arrays[name].size for name in KINDS if name in arrays), MAX_UNPACKED // NUMBER
    if number > most:  # before they are copied to float32
        raise ArrayError(f"there are {number} attention weights, at most {most} are read: give fewer layers or tokens")
    maps: dict[Kind, tuple[AttentionMap, ...]] = {}
    for name, (kind, queries, keys) in KINDS.items():
        if name in arrays:
            weights = _weights(name, arrays[name], len(sides[queries]), len(sides[keys]))
            names = (sides[queries], sides[keys], None if kind == "encoder_self" else predicted)
            maps[kind] = tuple(AttentionMap(kind, layer, each, *names) for layer, each in enumerate(weights))
    if not maps:
        raise ArrayError(f"there is no attention: expected at least one of {', '.join(KINDS)}")
    log_probs = _log_probs(arrays[LOG_PROBS], len(predicted)) if LOG_PROBS in arrays else ()
    alternatives = ((),) * len(log_probs)
    return Explanation(_text(source), _text(predicted), source, fed, predicted, log_probs, alternatives, maps)


def save_arrays(path: str | Path, arrays: Arrays) -> None:
    """Write an array file atomically.

    Raises:
        ArrayError: see `explanation_of_arrays`.
        OSError: the file cannot be written.
    """
    explanation_of_arrays(arrays)
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    write_bytes(Path(path), file.getvalue())


def holds_arrays(path: str | Path) -> bool:
    """Whether a file is an array file, by the names of its arrays; it may be damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except DAMAGE:
        return False
    return all(f"{name}.npy" in names for name in TOKENS)


def load_arrays(path: str | Path) -> dict[str, NDArray[Any]]:
    """Read an untrusted array file, without unpickling, and checking its size before unpacking.

    Raises:
        ArrayError: it is not an NPZ file, is damaged, or would unpack to more than 1 GiB.
        OSError: it cannot be read.
    """
    path = path_of(path)
    with reading(path), path.open("rb") as file:
        try:
            return npz_arrays(file)
        except ValueError as error:
            raise ArrayError(f"{path.name}: {error}") from error


_KIND_WORDS: dict[Kind, str] = {
    "encoder_self": marked("encoder"),
    "decoder_self": marked("decoder"),
    "cross": marked("cross"),
}


def attention_facts(explanation: Explanation) -> dict[str, str]:
    """Describe an explanation without a model by facts, in the order of display."""
    layers = [
        Phrase(
            "{kind} {layers} of {heads} heads",
            kind=Phrase(_KIND_WORDS[kind]),
            layers=str(len(maps)),
            heads=str(maps[0].num_heads),
        )
        for kind, maps in explanation.maps.items()
    ]
    return {
        marked("format"): Phrase("attention without a model"),
        marked("layers"): listed(layers),
        marked("tokens"): Phrase(
            "{source} source tokens, {target} target tokens",
            source=str(len(explanation.source_tokens)),
            target=str(len(explanation.predicted_tokens)),
        ),
        marked("probabilities"): Phrase("given" if explanation.log_probs else "not given"),
    }


def _spellings(stored: NDArray[Any] | None, source: Sequence[str], target: Sequence[str]) -> tuple[Spelling, Spelling]:
    """Spelling of the tokens of both sides: as given, else as the tokens show, else as those of the other side show."""
    if stored is None:
        of_source, of_target = spelling_of(source), spelling_of(target)
        return of_source or of_target or "words", of_target or of_source or "words"
    given: list[Any] = stored.reshape(-1).tolist() if stored.shape in ((), (1,), (2,)) else []
    names: list[Spelling] = [name for name in SPELLINGS for each in given if name == each]
    names.sort(key=given.index)
    if not names or len(names) < len(given):
        raise ArrayError(
            f"{SPELLING} is {stored.tolist()!r:.60}, expected one of {', '.join(SPELLINGS)}, or one for the source and "
            f"one for the target"
        )
    return names[0], names[-1]


def _tokens(arrays: Arrays, name: str) -> list[str]:
    array = arrays.get(name)
    if array is None or array.ndim != 1 or array.dtype.kind != "U":
        given = "missing" if array is None else f"{array.dtype} {list(array.shape)}"
        raise ArrayError(f"{name} is {given}, expected a row of texts")
    if not 1 <= len(array) <= MAX_TOKENS:
        raise ArrayError(f"{name} has {len(array)} tokens, expected 1 to {MAX_TOKENS}")
    if array.dtype.itemsize > 4 * MAX_TOKEN:
        raise ArrayError(f"{name} has a token of more than {MAX_TOKEN} characters")
    try:
        check_characters(name, array)
    except ValueError as error:
        raise ArrayError(str(error)) from error
    tokens: list[str] = array.tolist()
    for token in tokens:
        try:
            token.encode()
        except UnicodeEncodeError as error:
            raise ArrayError(f"{name} has the token {token!r:.60}, with a lone surrogate") from error
    return tokens


def _weights(name: str, array: NDArray[Any], queries: int, keys: int) -> torch.Tensor:
    """Check one kind of attention: [layers, heads, Q, K]."""
    if array.dtype.kind != "f" or array.ndim != 4 or array.shape[2:] != (queries, keys) or not array.size:
        raise ArrayError(
            f"{name} is {array.dtype} {list(array.shape)}, expected floats [layers, heads, {queries}, {keys}], as many "
            f"as the tokens"
        )
    if (heads := array.shape[0] * array.shape[1]) > MAX_HEADS:
        raise ArrayError(f"{name} has {heads} heads in {array.shape[0]} layers, at most {MAX_HEADS} are read")
    weights = torch.from_numpy(array.astype(np.float32, order="C", copy=False))
    for layer in weights:  # one after the other: the checks have copies
        _check_layer(name, layer)
    return weights


def _check_layer(name: str, weights: torch.Tensor) -> None:
    """Check the weights of one layer: [heads, Q, K]."""
    if not weights.isfinite().all() or float(weights.min()) < 0:
        raise ArrayError(f"{name} has weights that are negative or not finite, expected the softmax over keys")
    if (error := float((weights.sum(-1) - 1).abs().max())) > SUM_TOLERANCE:
        raise ArrayError(
            f"{name} has a row whose weights sum to 1 only within {error:.2g}, expected {SUM_TOLERANCE}: give the "
            f"softmax over keys, before dropout, of one sentence without its padding"
        )
    if name == "decoder_attentions" and float(weights.triu(1).max()) > LATER_TOLERANCE:
        raise ArrayError(f"{name} has weights on later tokens: expected a decoder that predicts them")


def _log_probs(array: NDArray[Any], count: int) -> tuple[float, ...]:
    if array.dtype.kind != "f" or array.shape != (count,):
        raise ArrayError(f"{LOG_PROBS} is {array.dtype} {list(array.shape)}, expected {count} floats")
    if not np.isfinite(array).all() or (array > 0).any():
        raise ArrayError(f"{LOG_PROBS} has values that are positive or not finite, expected log-probabilities")
    return tuple(array.astype(float).tolist())


def _text(tokens: Sequence[str]) -> str:
    """The text of pieces, without special tokens such as `</s>`."""
    shown = [SPACE_MARK + token if token in (UNKNOWN, MASK) else token for token in tokens if not is_special(token)]
    return decode_pieces(shown).replace(SPACE_MARK, " ").strip()
