"""Files of corpus indexes: compressed NPZ, without pickle, treated as untrusted.

    header            JSON: format, version, facts, shape of the model, names of the cards' columns and of the places
    sources           UTF-8 texts of N sentences, one per line
    lines             [N] uint32     source_lengths  [N] uint16
    target_lengths    [N] uint16     target_ids      [their sum] int32
    cards             [heads, columns] float64
    head_strengths    [heads, places, k] float32;    head_sentences, head_queries, head_keys  likewise uint16
    head_quantiles    [heads, quantiles] float32
    STACK_activations [layers, neurons, k] float32;  STACK_sentences, STACK_positions  likewise uint16
    STACK_quantiles   [layers, neurons, quantiles] float32;  STACK_active  [layers, neurons] float32

STACK is `encoder` and `decoder`. Version 2 has the arrays of `distribution_arrays`, too. Attributes of
`core.analysis.corpus.index` describe the arrays.
"""

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.analysis.corpus.distributions import NAMES, distribution_arrays, read_distributions
from core.analysis.corpus.index import (
    PLACES,
    QUANTILES,
    CorpusFacts,
    CorpusIndex,
    HeadTable,
    IndexedSentence,
    NeuronTable,
)
from core.analysis.corpus.index_arrays import Arrays, CorpusIndexError, array_of, check_places, text_of
from core.analysis.heads.scorecards import ScoreCard
from core.files.argument_types import path_of
from core.files.budget import MAX_INDEX_BYTES, MAX_INDEX_TOKENS
from core.files.damaged_archives import DAMAGE
from core.files.file_writing import reading, write_bytes
from core.files.npz_arrays import npz_arrays
from core.files.strict_json import json_object, json_text
from core.trace import KINDS, STACKS, Head, Stack

SUFFIX = ".corpus.npz"
FORMAT, VERSION = "headlight-corpus-index", 2
WITHOUT_DISTRIBUTIONS = 1  # a former version that is read, too
MAX_HEADER = 2**16
MAX_TEXT = 4_096  # characters of a source
MAX_FACT = 1_000  # characters of a fact
MAX_HEADS, MAX_NEURONS, MAX_EXAMPLES = 2**14, 2**22, 100
MAX_LENGTH = 1_024  # tokens of a sentence
COLUMNS = tuple(field.name for field in dataclasses.fields(ScoreCard) if field.name not in ("head", "chances"))
LATER = ("distance",)  # columns that older files may lack; then the cards have NaN
BEFORE = tuple(name for name in COLUMNS if name not in LATER)
COUNTS = ("num_tokens", "offset")  # columns that are whole numbers
_Shape = dict[str, tuple[int, int]]  # layers, and heads or neurons of each, by kind or stack


def index_beside(checkpoint: Path) -> Path:
    """Path where the index of a checkpoint is looked for."""
    return checkpoint.parent / (checkpoint.name.removesuffix(".safetensors") + SUFFIX)  # "." has no name


def save_index(path: str | Path, index: CorpusIndex) -> None:
    """Write an index atomically.

    Raises:
        OSError: the file cannot be written.
    """
    write_bytes(Path(path), index_bytes(index))


def index_bytes(index: CorpusIndex) -> bytes:
    """An index as the content of a file."""
    sentences, heads = index.sentences, index.heads
    header = {
        "format": FORMAT,
        "version": WITHOUT_DISTRIBUTIONS if index.distributions is None else VERSION,
        "facts": dataclasses.asdict(index.facts),
        "heads": {kind: _head_shape(index, kind) for kind in KINDS},
        "neurons": {stack: index.neurons[stack].active.shape for stack in STACKS},
        "columns": COLUMNS,
        "places": PLACES,
        "quantiles": QUANTILES,
    }
    arrays: Arrays = {
        "header": _text_array(json_text(header)),
        "sources": _text_array("\n".join(sentence.source for sentence in sentences)),
        "lines": np.array([sentence.line for sentence in sentences], np.uint32),
        "source_lengths": np.array([sentence.source_length for sentence in sentences], np.uint16),
        "target_lengths": np.array([len(sentence.target) for sentence in sentences], np.uint16),
        "target_ids": np.array([token_id for sentence in sentences for token_id in sentence.target], np.int32),
        "cards": np.array([[getattr(card, name) for name in COLUMNS] for card in index.cards], np.float64),
        **{f"head_{field.name}": getattr(heads, field.name) for field in dataclasses.fields(HeadTable)},
    }
    for stack in STACKS:
        table = index.neurons[stack]
        arrays |= {f"{stack}_{field.name}": getattr(table, field.name) for field in dataclasses.fields(NeuronTable)}
    if index.distributions is not None:
        arrays |= distribution_arrays(index.distributions)
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def load_index(path: str | Path) -> CorpusIndex:
    """Read an untrusted index, without unpickling, and checking sizes before anything is unpacked.

    Raises:
        CorpusIndexError: it is not an index, is damaged, or of a later version.
        OSError: it cannot be read.
    """
    path = path_of(path)
    with reading(path):
        content = path.read_bytes() if path.stat().st_size <= MAX_INDEX_BYTES else b""
    return parse_index(content, path.name)


def parse_index(content: bytes, name: str) -> CorpusIndex:
    """As `load_index`, from the content of a file of this name."""
    try:
        return _index(npz_arrays(io.BytesIO(content), MAX_INDEX_BYTES))
    except CorpusIndexError as error:
        raise CorpusIndexError(f"{name} is not a corpus index, or is damaged: {error}") from error
    except DAMAGE as error:
        raise CorpusIndexError(
            f"{name} is not a corpus index, or is damaged: expected a file that python -m core corpus has written "
            f"({error})"
        ) from error


# --- reading --------------------------------------------------------------------------------------------------------


def _index(arrays: Arrays) -> CorpusIndex:
    header = json_object(text_of(arrays, "header", MAX_HEADER))
    if header.get("format") != FORMAT:
        raise CorpusIndexError(f"its format is {header.get('format')!r:.60}, expected {FORMAT!r}")
    version = header.get("version")
    if version not in (VERSION, WITHOUT_DISTRIBUTIONS) or isinstance(version, bool):
        raise CorpusIndexError(
            f"its version is {version!r:.20}, this Headlight reads {WITHOUT_DISTRIBUTIONS} and {VERSION}: build it "
            "again"
        )
    columns = COLUMNS if header.get("columns") == list(COLUMNS) else BEFORE
    for name, expected in (("columns", columns), ("places", PLACES), ("quantiles", QUANTILES)):
        if header.get(name) != list(expected):
            raise CorpusIndexError(f"its {name} are not those of this Headlight: build it again")
    heads, neurons = _shape(header, "heads", KINDS, MAX_HEADS), _shape(header, "neurons", STACKS, MAX_NEURONS)
    sentences = _sentences(arrays)
    examples = _examples(arrays)
    table = HeadTable(
        **_fields(arrays, "head", HeadTable, (sum(layers * count for layers, count in heads.values()),), examples)
    )
    lengths = np.array([[each.source_length, len(each.target) + 1] for each in sentences], np.int64).reshape(-1, 2)
    check_places(table.strengths, table.sentences, lengths, _sides(heads), (table.queries, table.keys))
    tables: dict[Stack, NeuronTable] = {
        stack: NeuronTable(**_fields(arrays, stack, NeuronTable, neurons[stack], examples)) for stack in STACKS
    }
    for side, (stack, each) in enumerate(tables.items()):
        sides = np.full((*neurons[stack], 1, 1), side)
        check_places(each.activations, each.sentences, lengths, sides, (each.positions,))
    known = {"header", "sources", "lines", "source_lengths", "target_lengths", "target_ids", "cards"}
    known |= {f"head_{field.name}" for field in dataclasses.fields(HeadTable)}
    known |= {f"{stack}_{field.name}" for stack in STACKS for field in dataclasses.fields(NeuronTable)}
    distributions = None
    if version != WITHOUT_DISTRIBUTIONS:
        known |= NAMES
        distributions = read_distributions(arrays, lengths, _sides(heads)[:, 0])
    if unknown := sorted(arrays.keys() - known):
        raise CorpusIndexError(f"the array {unknown[0]!r:.60} is unknown")
    return CorpusIndex(_facts(header), sentences, _cards(arrays, heads, columns), table, tables, distributions)


def _shape(header: dict[str, Any], name: str, keys: tuple[str, ...], most: int) -> _Shape:
    sizes: Any = header.get(name)
    is_shape = isinstance(sizes, dict) and tuple(sizes) == keys and all(map(_is_pair, sizes.values()))
    if not is_shape or sum(layers * count for layers, count in sizes.values()) > most:
        raise CorpusIndexError(f"its {name} are {sizes!r:.80}, expected layers and their sizes, at most {most} in all")
    return {key: (sizes[key][0], sizes[key][1]) for key in keys}


def _is_pair(value: object) -> bool:
    """Whether a value from JSON is two positive integers."""
    match value:
        case [int(first), int(second)]:
            return not isinstance(first, bool) and not isinstance(second, bool) and first > 0 and second > 0
        case _:
            return False


def _facts(header: dict[str, Any]) -> CorpusFacts:
    facts: Any = header.get("facts")
    fields = {field.name: field.type for field in dataclasses.fields(CorpusFacts)}
    if not isinstance(facts, dict) or facts.keys() != fields.keys():
        raise CorpusIndexError(f"its facts are {facts!r:.80}, expected {', '.join(fields)}")
    for name, kind in fields.items():
        value = facts[name]
        if not (isinstance(value, str) and len(value) <= MAX_FACT if kind is str else _is_count(value)):
            raise CorpusIndexError(f"its {name} is {value!r:.80}, expected {'a text' if kind is str else 'a number'}")
    return CorpusFacts(**facts)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _sentences(arrays: Arrays) -> tuple[IndexedSentence, ...]:
    lines = array_of(arrays, "lines", np.uint32, None)
    lengths = [array_of(arrays, name, np.uint16, lines.shape) for name in ("source_lengths", "target_lengths")]
    if (tokens := int(lengths[1].sum(dtype=np.int64))) > MAX_INDEX_TOKENS:
        raise CorpusIndexError(f"its translations have {tokens} tokens, at most {MAX_INDEX_TOKENS} are read")
    ids = array_of(arrays, "target_ids", np.int32, (tokens,))
    sources = text_of(arrays, "sources", MAX_INDEX_BYTES).split("\n")
    if len(sources) != len(lines) or len(lines) > 2**16 or max(map(len, sources)) > MAX_TEXT:
        raise CorpusIndexError(
            f"it has {len(sources)} texts for {len(lines)} sentences, expected as many, at most {2**16}, of at most "
            f"{MAX_TEXT} characters"
        )
    if not all(source.strip() for source in sources) or any((each >= MAX_LENGTH).any() for each in lengths):
        raise CorpusIndexError(f"it has a blank sentence, or one of more than {MAX_LENGTH} tokens")
    if ids.size and ids.min() < 0:
        raise CorpusIndexError(f"it has the token id {ids.min()}, expected 0 or more")
    stops = lengths[1].cumsum(dtype=np.int64).tolist()
    targets = [tuple(ids[start:stop].tolist()) for start, stop in zip([0, *stops], stops, strict=False)]
    columns = lines.tolist(), sources, lengths[0].tolist(), targets
    return tuple(IndexedSentence(*each) for each in zip(*columns, strict=True))


def _examples(arrays: Arrays) -> int:
    """Number of examples of each head and neuron, k."""
    strengths = arrays.get("head_strengths")
    count = strengths.shape[-1] if strengths is not None and strengths.ndim else 0
    if not 1 <= count <= MAX_EXAMPLES:
        raise CorpusIndexError(f"it has {count} examples of a head, expected 1 to {MAX_EXAMPLES}")
    return count


def _fields(
    arrays: Arrays, prefix: str, table: type[HeadTable] | type[NeuronTable], shape: tuple[int, ...], examples: int
) -> dict[str, Any]:
    """Check the arrays of a table; the first one has values in decreasing order."""
    places = (len(PLACES),) if table is HeadTable else ()
    checked: dict[str, NDArray[Any]] = {}
    for number, field in enumerate(dataclasses.fields(table)):
        axes = {"quantiles": (len(QUANTILES),), "active": ()}.get(field.name, (*places, examples))
        dtype = np.float32 if number == 0 or field.name in ("quantiles", "active") else np.uint16
        checked[field.name] = array = array_of(arrays, f"{prefix}_{field.name}", dtype, (*shape, *axes))
        if dtype is np.float32 and not (np.isfinite(array) & (array >= 0)).all():
            raise CorpusIndexError(f"{prefix}_{field.name} has values that are negative or not finite")
    values = next(iter(checked.values()))
    if (values[..., 1:] > values[..., :-1]).any():
        raise CorpusIndexError(f"the examples of {prefix} are not in order, expected the strongest first")
    return checked


def _sides(heads: _Shape) -> NDArray[Any]:
    """Side of query and key of each head, 0 for the source and 1 for the translation: [heads, 1, 1, 2]."""
    sides = {"encoder_self": (0, 0), "decoder_self": (1, 1), "cross": (1, 0)}
    rows = [sides[kind] for kind, (layers, count) in heads.items() for _ in range(layers * count)]
    return np.array(rows)[:, None, None, :]


def _cards(arrays: Arrays, heads: _Shape, columns: tuple[str, ...]) -> tuple[ScoreCard, ...]:
    names = [
        Head(kind, layer, head) for kind in KINDS for layer in range(heads[kind][0]) for head in range(heads[kind][1])
    ]
    values = array_of(arrays, "cards", np.float64, (len(names), len(columns)))
    counts = values[:, [columns.index(name) for name in COUNTS]]
    if np.isinf(values).any() or not (np.abs(counts) < 2**53).all():
        raise CorpusIndexError("its cards have values that are infinite, or counts that are not numbers")

    def card(head: Head, row: Sequence[float]) -> ScoreCard:
        read: dict[str, Any] = dict(zip(columns, row, strict=True))
        read |= {name: int(read[name]) for name in COUNTS}
        return ScoreCard(head, **read)

    return tuple(map(card, names, values.tolist()))


# --- writing --------------------------------------------------------------------------------------------------------


def _text_array(text: str) -> NDArray[Any]:
    return np.frombuffer(text.encode(), np.uint8)


def _head_shape(index: CorpusIndex, kind: str) -> tuple[int, int]:
    heads = [card.head for card in index.cards if card.head.kind == kind]
    return 1 + max(head.layer for head in heads), 1 + max(head.head for head in heads)
