"""Tokenizer with a dictionary per side, of models by fairseq and by its descendants.

A text is split into pieces by byte-pair encoding or by a SentencePiece model, and the dictionary numbers the pieces.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from core.byte_pair_encoding import CONTINUED, BytePairEncoding, moses_detokenizer, moses_tokenizer, read_merges
from core.strict_json import json_object
from core.tokenizer import SPACE_MARK, load_sentencepiece
from core.tokenizer_files import check_piece, naming, pack_files

SETTINGS, SOURCE_DICTIONARY, TARGET_DICTIONARY = "settings.json", "source.json", "target.json"
MERGES, SENTENCEPIECE = "merges.txt", "sentencepiece.model"
PIECES = "pieces"  # key of the list of pieces in a dictionary
PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"
SPECIAL: tuple[str, ...] = ("<s>", PAD, END, UNKNOWN)
LANGUAGE = re.compile(r"[A-Za-z][A-Za-z_-]{0,15}")
CODE = re.compile(r" ?>>([^<>\s]+)<< ?")  # at the start of a source


class DictionaryTokenizer:
    """Tokenizer of the sources; `target` is that of the targets.

    Args:
        files: `settings.json` with `source_language` and `target_language`, and optionally `moses`, `normalise`,
            `lower_case` and `languages`; `source.json`, and `target.json` if it is another, see `dictionary_file`;
            `merges.txt` or `sentencepiece.model`.
        bos_id: the decoder's start.

    With `languages`, the pieces of languages by their codes, one of them begins every source and every target: that of
    `source_language` and `target_language`. A text may begin with the code of another target, `>>fra_Latn<<`, or with
    those of a source and a target, `>>deu_Latn<< >>fra_Latn<<`.

    Raises:
        ValueError: a file is missing or unusable.
    """

    def __init__(self, files: Mapping[str, bytes], bos_id: int, is_target: bool = False) -> None:
        missing = [name for name in (SETTINGS, SOURCE_DICTIONARY) if name not in files]
        if missing or (MERGES in files) == (SENTENCEPIECE in files):
            raise ValueError(f"{', '.join(missing) or f'one of {MERGES} and {SENTENCEPIECE}'} is missing")
        self._files = dict(files)
        name = TARGET_DICTIONARY if is_target and TARGET_DICTIONARY in files else SOURCE_DICTIONARY
        with naming(name):
            self._pieces = _read_dictionary(files[name])
        self._ids = {piece: token_id for token_id, piece in enumerate(self._pieces)}
        self.vocab_size = len(self._pieces)
        self.bos_id = bos_id
        self.pad_id, self.eos_id, self._unknown_id = (self._ids[piece] for piece in (PAD, END, UNKNOWN))
        with naming(SETTINGS):
            settings = json_object(files[SETTINGS])
            self.languages = _language(settings, "source_language"), _language(settings, "target_language")
            self._language_ids = _language_ids(settings, self._ids, self.languages)
        language = self.languages[is_target]
        self.language_codes = () if is_target else tuple(f">>{code}<<" for code in self._language_ids)
        self._silent = {self.pad_id, self.eos_id, *self._language_ids.values()}
        self._lower_case = settings.get("lower_case") is True
        self._is_bpe = MERGES in files
        if self._is_bpe:
            with naming(MERGES):
                merges = BytePairEncoding(read_merges(files[MERGES]))
            self._split, self._join = _word_functions(merges, settings, language)
        else:
            with naming(SENTENCEPIECE):
                processor = load_sentencepiece(files[SENTENCEPIECE])
            self._split = cast("Callable[[str], list[str]]", lambda text: processor.encode(text, out_type=str))
            self._join = cast("Callable[[list[str]], str]", processor.decode_pieces)
        self.target: DictionaryTokenizer = self if is_target else DictionaryTokenizer(files, bos_id, True)

    def encode(self, text: str) -> list[int]:
        """Token ids of a text; a piece without a number is `<unk>`.

        Raises:
            ValueError: the text has a lone surrogate, or begins with a code of a language that the model does not have.
        """
        text.encode()
        begin: list[int] = []
        if self.language_codes:
            (source, _), text = self._codes(text)
            begin = [self._language_ids[source]]
        pieces = self._split(text.lower() if self._lower_case else text)
        return begin + [self._ids.get(piece, self._unknown_id) for piece in pieces]

    def first_target_id(self, source: str) -> int | None:
        """Token of the language that the target of a source begins with.

        Raises:
            ValueError: as `encode`.
        """
        return self._language_ids[self._codes(source)[0][1]] if self.language_codes else None

    def _codes(self, text: str) -> tuple[tuple[str, str], str]:
        """Codes of the source and target languages of a text, and the text without them."""
        codes: list[str] = []
        while len(codes) < 2 and (match := CODE.match(text)):
            if match[1] not in self._language_ids:
                raise ValueError(
                    f">>{match[1]:.60}<< is not a language of this model: begin with one of "
                    f"{', '.join(self.language_codes)}"
                )
            codes.append(match[1])
            text = text[match.end() :]
        source, target = self.languages
        return (codes[0] if codes[1:] else source, codes[-1] if codes else target), text

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of a translation, without padding, `</s>` and languages."""
        return self._join([self._pieces[token_id] for token_id in token_ids if token_id not in self._silent])

    def piece(self, token_id: int) -> str:
        """Piece of a token as the dictionary has it."""
        return self._pieces[token_id]

    def pieces(self, token_ids: Sequence[int]) -> list[str]:
        """Pieces of consecutive tokens: `SPACE_MARK` begins a word.

        The `@@` of byte-pair encoding stays at the end only, where nothing continues the piece.
        """
        found = [self._pieces[token_id] for token_id in token_ids]
        if not self._is_bpe:
            return found
        begins = [True, *(not piece.endswith(CONTINUED) or piece in SPECIAL for piece in found)]
        return [
            piece
            if piece in SPECIAL
            else SPACE_MARK * begins[index] + (piece if ends or index + 1 == len(found) else piece[: -len(CONTINUED)])
            for index, (piece, ends) in enumerate(zip(found, begins[1:], strict=True))
        ]

    def token_id(self, piece: str) -> int:
        """Token id of a piece of `piece`, or of the last of `pieces`, also with a space after it.

        Raises:
            ValueError: there is no such piece.
        """
        for name in (piece, piece.removeprefix(SPACE_MARK), piece.strip(SPACE_MARK)):
            if name in self._ids:
                return self._ids[name]
        raise ValueError(f"{piece!r} is not one of the {self.vocab_size} pieces of this tokenizer")

    def to_bytes(self) -> bytes:
        """All files as one, see `core.tokenizer_files`."""
        return pack_files(self._files)


def dictionary_file(pieces: Iterable[str]) -> bytes:
    """A dictionary from its pieces in the order of their ids."""
    return json.dumps({PIECES: list(pieces)}, ensure_ascii=False).encode()


def _read_dictionary(data: bytes) -> list[str]:
    """Pieces in the order of their ids.

    Raises:
        ValueError: it is not an object with a list of different texts, or lacks a special piece.
    """
    pieces = json_object(data).get(PIECES)
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in cast("list[Any]", pieces)):
        raise ValueError(f"{PIECES} is {pieces!r:.60}, expected a list of texts")
    found = cast("list[str]", pieces)
    seen: set[str] = set()
    for piece in found:
        check_piece(piece)
        if piece in seen:
            raise ValueError(f"the piece {piece!r:.60} occurs twice")
        seen.add(piece)
    if missing := [piece for piece in (PAD, END, UNKNOWN) if piece not in seen]:
        raise ValueError(f"it has no {' and no '.join(missing)}, which every model needs")
    return found


def _language(settings: Mapping[str, Any], name: str) -> str:
    code = settings.get(name)
    if not isinstance(code, str) or not LANGUAGE.fullmatch(code):
        raise ValueError(f"{name} is {code!r:.60}, expected the code of a language such as 'en'")
    return code


def _language_ids(settings: Mapping[str, Any], ids: Mapping[str, int], used: Sequence[str]) -> dict[str, int]:
    """Ids of the pieces of languages by code.

    Raises:
        ValueError: `languages` is not an object of pieces, or lacks a language that is used.
    """
    languages = settings.get("languages", {})
    if not isinstance(languages, dict):
        raise ValueError(f"languages is {languages!r:.60}, expected an object of pieces")
    found: dict[str, int] = {}
    for code, piece in cast("dict[str, Any]", languages).items():
        if not LANGUAGE.fullmatch(code) or not isinstance(piece, str) or piece not in ids:
            raise ValueError(f"the piece of the language {code!r:.60} is {piece!r:.60}, expected one of the dictionary")
        found[code] = ids[piece]
    if found and (missing := [code for code in used if code not in found]):
        raise ValueError(f"languages has no {missing[0]!r:.60}")
    return found


def _word_functions(
    merges: BytePairEncoding, settings: Mapping[str, Any], language: str
) -> tuple[Callable[[str], list[str]], Callable[[list[str]], str]]:
    """Functions from a text to the pieces of its words, and back."""
    moses = settings.get("moses", True) is True
    tokenize = moses_tokenizer(language, settings.get("normalise") is True) if moses else str.split
    detokenize = moses_detokenizer(language) if moses else " ".join

    def split(text: str) -> list[str]:
        return [piece for word in tokenize(text) for piece in merges.word_pieces(word)]

    def join(pieces: list[str]) -> str:
        words = "".join(
            piece[: -len(CONTINUED)] if piece.endswith(CONTINUED) else f"{piece} " for piece in pieces
        ).split()
        return detokenize(words)

    return split, join
