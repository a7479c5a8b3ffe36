"""Tokenizers of OpenNMT-py: vocabularies in its files, files of subwords beside them."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, cast

from core.files.budget import shown
from core.formats.checkpoint import CheckpointError
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.subword_files import KINDS, subword_files
from core.formats.untrusted_parameters import errors_of
from core.formats.weight_files import Inert
from core.text.dictionary_tokenizer import PAD, START, DictionaryTokenizer, dictionary_tokenizer, with_usual_names
from core.text.piece_splitting import WORDS

BLANK = "<blank>"
# Kinds of files that split words by the names of transforms; see `_split`.
SUBWORDS = {"sentencepiece": "sentencepiece", "bpe": "merges", "onmt_tokenize": "sentencepiece"}


def read_tokenizer(
    files: SourceFiles, options: Settings, vocabulary: Mapping[Any, Any] | list[Any]
) -> tuple[DictionaryTokenizer, int]:
    """Return the tokenizer and the id of the decoder's start."""
    name = options.file_name
    vocabularies = vocabulary if isinstance(vocabulary, Mapping) else _by_name(name, vocabulary)
    sides = [_pieces(name, side, vocabularies.get(side)) for side in ("src", "tgt")]
    start = vocabularies.get("decoder_start_token") or START
    with errors_of(name):
        source, target = (with_usual_names(pieces, {PAD: BLANK}) for pieces in sides)
        if not isinstance(start, str) or start not in target:
            raise CheckpointError(f"{name}: the decoder starts with {shown(start)}, which its vocabulary does not have")
        settings = {"source_end": False, "moses": False, **_split(files, options)}
        split = {} if "split" in settings else _subwords(files, options)
        return dictionary_tokenizer(settings, source, target.index(start), split, target), target.index(start)


def _by_name(name: str, fields: Sequence[object]) -> dict[str, object]:
    """Vocabularies of old files: pairs of a name and a vocabulary."""
    vocabularies: dict[str, object] = {}
    for each in fields:
        match each:
            case (str(side), vocabulary):
                vocabularies[side] = vocabulary
            case _:
                raise CheckpointError(f"{name}: its vocab is {shown(fields)}, expected vocabularies by name")
    return vocabularies


def _pieces(name: str, side: str, vocabulary: object) -> list[str]:
    """Pieces of a vocabulary: a list, or the field of torchtext that contains one."""
    for _ in range(5):  # a field of fields, a field, its vocabulary, the list
        if isinstance(vocabulary, Inert):
            state = vocabulary.state
            vocabulary = state.get("fields") or state.get("vocab") or state.get("itos")
        elif isinstance(vocabulary, list) and vocabulary and isinstance(vocabulary[0], tuple):
            fields = cast("list[tuple[Any, ...]]", vocabulary)
            if len(fields) > 1:
                raise CheckpointError(f"{name}: {side} has features beside its words, which Headlight does not know")
            vocabulary = fields[0][-1] if fields[0] else None
    pieces = cast("list[Any]", vocabulary if isinstance(vocabulary, list) else [])
    if not pieces or not all(isinstance(piece, str) for piece in pieces):
        raise CheckpointError(f"{name}: its vocab has no list of pieces for {side!r}")
    return pieces


def transforms(options: Settings) -> list[str]:
    """Names of the transforms used in training, from all corpora."""
    corpora = options.values.get("data")
    sections = [options.values, *(corpora.values() if isinstance(corpora, Mapping) else ())]
    lists = [section.get("transforms") for section in sections if isinstance(section, Mapping)]
    names = [name for listed in lists if isinstance(listed, list) for name in cast("list[Any]", listed)]
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _split(files: SourceFiles, options: Settings) -> dict[str, str]:
    """Settings of the tokenizer about how a text is split, empty with files of subwords."""
    if files.tokenized:
        return {"split": WORDS}
    if "onmt_tokenize" not in transforms(options):
        return {}
    for side in ("src", "tgt"):
        rules = options.values.get(f"{side}_onmttok_kwargs", {"mode": "none"})
        kind = options.values.get(f"{side}_subword_type", "none")
        mode = cast("Mapping[Any, Any]", rules).get("mode", "conservative") if isinstance(rules, Mapping) else rules
        if (kind, mode) != ("sentencepiece", "none"):
            raise CheckpointError(
                f"{options.file_name}: transforms has 'onmt_tokenize', with {side}_subword_type {shown(kind):.20} and "
                f"mode {shown(mode):.40}, and Headlight knows only 'sentencepiece' with 'none': convert with "
                f"--tokenized, and give it texts that the tokenizer of OpenNMT has split"
            )
    return {}


def _subwords(files: SourceFiles, options: Settings) -> dict[str, bytes]:
    """Files of the tokenizer that split words into pieces."""
    kinds = [SUBWORDS[name] for name in transforms(options) if name in SUBWORDS]
    models = [options.values.get(f"{side}_subword_model") for side in ("src", "tgt")]
    wanted = [PurePath(model).name if isinstance(model, str) else "" for model in models]
    return subword_files(files, kinds or KINDS, (wanted[0], wanted[1] or wanted[0]))
