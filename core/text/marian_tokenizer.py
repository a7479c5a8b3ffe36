"""Tokenizer of OPUS-MT models: a SentencePiece model per side, and vocabularies that number the pieces.

A text is split by the SentencePiece model of its side; the ids come from a vocabulary file and have nothing to do with
SentencePiece's own. On request punctuation is normalised before by the rules of Moses (`normalize-punctuation.perl`;
Koehn et al. 2007), as `MarianTokenizer.normalize` of transformers does, which its tokenizer itself does not call.
"""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from core.files.strict_json import json_object
from core.text.byte_pair_encoding import MOST_NORMALISED, moses_normalisation
from core.text.byte_pieces import END, PAD, UNKNOWN
from core.text.tokenizer import SPACE_MARK, Role, load_sentencepiece, sentencepiece_spans, sentencepiece_surfaces
from core.text.tokenizer_files import check_piece, naming, pack_files
from core.text.traced_text import Span, Text, TracedText, changed

SOURCE_MODEL, TARGET_MODEL = "source.spm", "target.spm"
VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
SETTINGS = "tokenizer_config.json"
NORMALISES = "normalize_punctuation"  # in `SETTINGS`, of Headlight: true to normalise
REQUIRED = (SOURCE_MODEL, TARGET_MODEL, VOCABULARY)
OPTIONAL = (TARGET_VOCABULARY, SETTINGS)
LANGUAGE_CODE = re.compile(r">>[^<>\s]+<<")  # of the target language, at the start of a source


class MarianTokenizer:
    """Tokenizer of the sources; `target` is that of the targets.

    Args:
        files: the tokenizer's files by name: `REQUIRED`, and those of `OPTIONAL` that exist. Without
            `target_vocab.json`, one vocabulary numbers the pieces of both sides.
        vocab_size, target_vocab_size: of the model; a vocabulary may have fewer pieces.
        bos_id: the decoder's start, which has no piece of its own.

    Attributes:
        normalises: whether punctuation is normalised, as `tokenizer_config.json` says; by default it is not.
        language_codes: codes of target languages such as `>>fra<<`, one of which begins a source of a model with
            several.

    Raises:
        ValueError: a file is missing or unusable.
    """

    target_tokens: int | None = None

    def __init__(
        self, files: Mapping[str, bytes], vocab_size: int, target_vocab_size: int, bos_id: int, is_target: bool = False
    ) -> None:
        missing = [name for name in REQUIRED if name not in files]
        if missing:
            raise ValueError(f"{', '.join(missing)} is missing: give the tokenizer's files too")
        self._files = {name: files[name] for name in (*REQUIRED, *OPTIONAL) if name in files}
        vocabulary = TARGET_VOCABULARY if is_target and TARGET_VOCABULARY in files else VOCABULARY
        self.vocab_size = target_vocab_size if is_target else vocab_size
        self._ids = _read_vocabulary(vocabulary, files[vocabulary], self.vocab_size)
        self._pieces = [f"<unused {token_id}>" for token_id in range(self.vocab_size)]
        for piece, token_id in self._ids.items():
            self._pieces[token_id] = piece
        name = TARGET_MODEL if is_target else SOURCE_MODEL
        with naming(name):
            self._processor = load_sentencepiece(files[name])
        with naming(SETTINGS):
            settings = json_object(files.get(SETTINGS, b"{}"))
        named = (settings.get(f"{side}_lang") for side in ("source", "target"))
        source, target = (language if isinstance(language, str) else "" for language in named)
        self.languages: tuple[str, str] = source, target
        self.normalises = settings.get(NORMALISES) is True
        self._steps = moses_normalisation(self.languages[is_target]) if self.normalises else []
        self.bos_id = bos_id
        self.pad_id, self.eos_id, self._unknown_id = (self._ids[piece] for piece in (PAD, END, UNKNOWN))
        self.language_codes = () if is_target else tuple(filter(LANGUAGE_CODE.fullmatch, self._ids))
        self.target: MarianTokenizer = (
            self if is_target else MarianTokenizer(files, vocab_size, target_vocab_size, bos_id, True)
        )

    def encode(self, text: str) -> list[int]:
        """Token ids of a text; a piece without a number is `<unk>`.

        Raises:
            ValueError: the text has a lone surrogate, or begins with a language code that the model does not have.
        """
        code = self._code(text)
        pieces = cast("list[str]", self._processor.encode(self._normalised(text[len(code) :]), out_type=str))
        return [self._ids.get(piece, self._unknown_id) for piece in ([code] if code else []) + pieces]

    def spans(self, text: str) -> list[Span | None]:
        """Characters of the text that each token comes from; None for a language code.

        Raises:
            ValueError: as `encode`.
        """
        code = self._code(text)
        rest = self._normalised(TracedText.of(text).from_character(len(code)))
        return [*([None] if code else []), *sentencepiece_spans(self._processor, rest)]

    def leading_roles(self, token_ids: Sequence[int]) -> list[Role]:
        """Role of the language code, if the tokens begin with one."""
        return ["language"] if token_ids and self._pieces[token_ids[0]] in self.language_codes else []

    def _code(self, text: str) -> str:
        """The language code that a text begins with, "" if there is none."""
        text.encode()
        code = LANGUAGE_CODE.match(text) if self.language_codes else None
        if code and code[0] not in self._ids:
            raise ValueError(
                f"{code[0]} is not a target language of this model: begin with one of {', '.join(self.language_codes)}"
            )
        return code[0] if code else ""

    def _normalised(self, text: Text) -> Text:
        return changed(text, self._steps) if len(text) <= MOST_NORMALISED else text

    def first_target_id(self, source: str) -> int | None:
        """None: the first token of every target is free."""
        return None

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of a translation, without padding and `</s>`."""
        pieces = [self._pieces[token_id] for token_id in token_ids if token_id not in (self.pad_id, self.eos_id)]
        return self._processor.decode_pieces(pieces).replace(SPACE_MARK, " ").strip()

    def surface(self, token_id: int) -> bytes:
        """Bytes that a token adds to a text, with the space before a word; none if it is no text."""
        piece = self._pieces[token_id]
        is_text = piece in self._ids and piece not in (PAD, END, UNKNOWN, *self.language_codes)
        return sentencepiece_surfaces([piece])[0] if is_text else b""

    def piece(self, token_id: int) -> str:
        """Piece of a token: `SPACE_MARK` begins a word."""
        return self._pieces[token_id]

    def pieces(self, token_ids: Sequence[int]) -> list[str]:
        """Pieces of consecutive tokens."""
        return [self._pieces[token_id] for token_id in token_ids]

    def token_id(self, piece: str) -> int:
        """Token id of a piece.

        Raises:
            ValueError: there is no such piece.
        """
        if piece not in self._ids:
            raise ValueError(f"{piece!r} is not one of the {len(self._ids)} pieces of this tokenizer")
        return self._ids[piece]

    def to_bytes(self) -> bytes:
        """All files as one, see `core.text.tokenizer_files`."""
        return pack_files(self._files)


def _read_vocabulary(name: str, data: bytes, vocab_size: int) -> dict[str, int]:
    """Ids of the pieces."""
    with naming(name):
        ids = json_object(data)
        for piece, token_id in ids.items():
            if isinstance(token_id, bool) or not isinstance(token_id, int) or not 0 <= token_id < vocab_size:
                raise ValueError(
                    f"the id of {piece!r:.60} is {token_id!r:.60}, expected an integer from 0 to {vocab_size - 1}, as "
                    f"the model has {vocab_size} tokens"
                )
            check_piece(piece)
        if len(set(ids.values())) < len(ids):
            raise ValueError("two pieces have the same id")
        if missing := [piece for piece in (PAD, END, UNKNOWN) if piece not in ids]:
            raise ValueError(f"it has no {' and no '.join(missing)}, which every model needs")
    return ids
