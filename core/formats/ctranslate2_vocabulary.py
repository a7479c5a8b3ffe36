"""Vocabularies and tokenizers of CTranslate2's models and of Argos packages."""

import re
from typing import Any, cast

from core.files.strict_json import json_object
from core.formats.bart_tokenizers import MBART50_LANGUAGES, MBART_LANGUAGES
from core.formats.checkpoint import CheckpointError
from core.formats.ctranslate2_binary import BinaryModel
from core.formats.m2m100 import language_settings
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.subword_files import subword_files
from core.formats.untrusted_parameters import errors_of
from core.text.byte_pieces import END, PAD, START, UNKNOWN
from core.text.dictionary_settings import LANGUAGE
from core.text.dictionary_tokenizer import SPECIAL, DictionaryTokenizer, dictionary_tokenizer, with_usual_names
from core.text.marian_tokenizer import SOURCE_MODEL, TARGET_MODEL
from core.text.piece_splitting import CHARACTERS, OF_TARGET, SENTENCEPIECE, WORDS
from core.text.text_files import split_lines

# Tokens of languages, of M2M100 with the code inside, of NLLB and of mBART
LANGUAGE_TOKEN = re.compile(r"__([a-z]{2,3}(?:_[A-Za-z]+)?)__|[a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2}")
BLANK = "<blank>"  # padding of OpenNMT, whose sources have no `</s>`


class Vocabulary:
    """Pieces of both sides with special tokens under Headlight's names, and rows that are added for them.

    A row of padding is added where a vocabulary has none, and where the decoder starts from zeros, as in OPUS-MT.

    Attributes:
        add_end: whether `</s>` ends every source.
        sizes: of both vocabularies with the added rows.
        start, source_start: id of the decoder's start, and ids before a source.
        epsilon: of the norms.
    """

    def __init__(self, files: SourceFiles, binary: BinaryModel, rows: tuple[int, int]) -> None:
        self.options = Settings.read(files, "config.json")
        self.options.refuse({"quantization_type": None, "multi_query_attention": False})
        argos = Settings.read(files, "metadata.json") if "metadata.json" in files.names else None
        from_zeros = bool(binary.option("decoder", "start_from_zero_embedding", 0))
        usual = {"unk_token": UNKNOWN, "eos_token": END, "bos_token": START}
        unknown, end, bos = (self.options.text(name, token) for name, token in usual.items())
        pieces = [_pieces(files, side, unknown, count) for side, count in zip(("source", "target"), rows, strict=True)]
        languages = _languages(files, pieces)
        is_opennmt = BLANK in pieces[1]
        self.add_end = self._switch(binary, "add_source_eos", "with_source_eos") or not (is_opennmt or argos)
        self.source_start: tuple[int, ...] = ()
        padding = None
        if not from_zeros:
            padding = next((name for name in (PAD, BLANK) if all(name in side for side in pieces)), None)
            if padding and pieces[0].index(padding) != pieces[1].index(padding):
                padding = None
        self.has_added_rows = padding is None
        if padding is None:
            size = max(map(len, pieces))
            pieces = [[*side, *(f"<added {n}>" for n in range(size - len(side))), "<added>"] for side in pieces]
            padding = "<added>"
        start = padding if from_zeros else self._start(binary, bos, end)
        before = bos if self._switch(binary, "add_source_bos", "with_source_bos") else None
        with errors_of(files.label):
            for name, side in ((before, pieces[0]), (start, pieces[1])):
                if name is not None and name not in side:
                    raise ValueError(f"the vocabulary has no {name!r:.60}, which begins a text")
            self.start = pieces[1].index(start)
            self.source_start = () if before is None else (pieces[0].index(before),)
            names = {PAD: padding, UNKNOWN: unknown, END: end}
            needed = names if self.add_end else {PAD: padding, UNKNOWN: unknown}
            source, target = with_usual_names(pieces[0], needed), with_usual_names(pieces[1], names)
            known = {**languages, "source_end": self.add_end}
            self.tokenizer = _tokenizer(files, source, target, self.start, known, argos)
        self.sizes = len(source), len(target)
        self.epsilon = self.options.number("layer_norm_epsilon", 1e-5)

    def _switch(self, binary: BinaryModel, name: str, variable: str) -> bool:
        """An option of config.json, in older models a variable."""
        return self.options.switch(name, bool(binary.number(variable, 0)))

    def _start(self, binary: BinaryModel, bos: str, end: str) -> str:
        """The token that the decoder starts with."""
        if "decoder_start_token" in self.options.values:
            if self.options.values["decoder_start_token"] is None:
                raise CheckpointError(
                    "config.json: decoder_start_token is null, so each translation begins with tokens that the caller "
                    "gives: Headlight imports only models with a start of their own"
                )
            return self.options.text("decoder_start_token")
        return bos if binary.number("with_target_bos", 1) else end


def _pieces(files: SourceFiles, side: str, unknown: str, rows: int) -> list[str]:
    """Pieces of a side in the order of their ids, in JSON or one a line."""
    names = [f"{which}_vocabulary.{suffix}" for which in (side, "shared") for suffix in ("json", "txt")]
    name = next((name for name in names if name in files.names), None)
    if name is None:
        raise CheckpointError(f"{files.label} has no {' or '.join(names)}: expected the pieces of the {side}")
    if name.endswith(".json"):
        with errors_of(name):
            pieces = json_object(f'{{"pieces": {files.text(name)}}}')["pieces"]
        if not isinstance(pieces, list) or not all(isinstance(each, str) for each in cast("list[Any]", pieces)):
            raise CheckpointError(f"{name} is not a list of texts: expected the pieces of the {side}")
        pieces = cast("list[str]", pieces)
    else:
        pieces = split_lines(files.text(name))
    if unknown not in pieces:
        pieces = [*pieces, unknown]
    if len(pieces) != rows:
        raise CheckpointError(
            f"{name} has {len(pieces)} pieces with {unknown!r:.40}, the embedding of the {side} {rows} rows: they must "
            f"be equal"
        )
    return pieces


def _languages(files: SourceFiles, pieces: list[list[str]]) -> dict[str, Any]:
    """Settings of a tokenizer about languages: a text of M2M100, NLLB and mBART-50 begins with its own.

    Their vocabularies have fairseq's special tokens first, and all languages of mBART-50 or none of mBART.
    """
    found = {
        match[1] or piece: piece for side in pieces for piece in side if (match := LANGUAGE_TOKEN.fullmatch(piece))
    }
    if not found:
        return {}
    is_mbart = MBART_LANGUAGES[0] in found and MBART50_LANGUAGES[-1] not in found
    if is_mbart or pieces[0] != pieces[1] or tuple(pieces[0][: len(SPECIAL)]) != SPECIAL:
        raise CheckpointError(
            f"{files.label} has tokens of languages such as {next(iter(found.values()))!r:.40}, and its files do not "
            f"say which belong before a text: give the model that it was converted from"
        )
    return language_settings(files, found)


def _tokenizer(
    files: SourceFiles, source: list[str], target: list[str], start: int, known: dict[str, Any], argos: Settings | None
) -> DictionaryTokenizer:
    settings = {"moses": False, **known}
    if argos is not None:
        if argos.values.get("target_prefix"):
            raise CheckpointError("metadata.json: target_prefix is set, and Headlight imports only models without")
        for setting, key in (("source_language", "from_code"), ("target_language", "to_code")):
            if LANGUAGE.fullmatch(argos.text(key, "")):
                settings[setting] = argos.text(key)
    subwords: dict[str, bytes] = {}
    if files.tokenized:
        settings["split"] = WORDS
    elif {SOURCE_MODEL, TARGET_MODEL} <= files.names:
        subwords = {SENTENCEPIECE: files.read(SOURCE_MODEL), OF_TARGET + SENTENCEPIECE: files.read(TARGET_MODEL)}
    elif not any(name.endswith(".model") for name in files.names) and all(map(_is_character, source)):
        settings["split"] = CHARACTERS
    else:
        subwords = subword_files(files)
    return dictionary_tokenizer(settings, source, start, subwords, target)


def _is_character(piece: str) -> bool:
    """Whether a piece is one character or a special token."""
    return len(piece) == 1 or (piece[:1], piece[-1:]) == ("<", ">")
