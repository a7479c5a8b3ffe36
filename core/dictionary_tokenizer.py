"""Tokenizer with a dictionary per side, of fairseq's and other models.

A text is split into pieces by byte-pair encoding, by a SentencePiece model, or simply into words or characters, and the
dictionary numbers the pieces.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, cast

from core.byte_pair_encoding import (
    CONTINUED,
    BytePairEncoding,
    moses_detokenizer,
    moses_normaliser,
    moses_tokenizer,
    read_merges,
)
from core.dictionary_settings import language_ids, language_of, prefixes_of
from core.strict_json import json_object
from core.tokenizer import SPACE_MARK, load_sentencepiece
from core.tokenizer_files import check_piece, naming, pack_files

SETTINGS, SOURCE_DICTIONARY, TARGET_DICTIONARY = "settings.json", "source.json", "target.json"
MERGES, SENTENCEPIECE = "merges.txt", "sentencepiece.model"
OF_TARGET = "target-"  # begins the name of a file of merges or a SentencePiece model of the target alone
WORDS, CHARACTERS = "words", "characters"  # values of the setting `split`
PREPARATIONS = ("moses", "unicode_normalise", "lower_case", "lower_case_words")  # settings that change a text
PIECES = "pieces"  # key of the list of pieces in a dictionary
PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"
SPECIAL: tuple[str, ...] = ("<s>", PAD, END, UNKNOWN)
CODE = re.compile(r" ?>>([^<>\s]+)<< ?")  # at the start of a source


class DictionaryTokenizer:
    """Tokenizer of the sources; `target` is that of the targets.

    Args:
        files: `settings.json`, see below; `source.json`, and `target.json` if it is another, see `dictionary_file`; one
            of `merges.txt` and `sentencepiece.model` unless `split` is set, and the same with `OF_TARGET` if the
            target has one of its own.
        bos_id: the decoder's start.

    Settings, all optional:

    - `source_language`, `target_language`: codes such as "en".
    - `languages`, the pieces of languages by their codes, one of which begins every source and every target: that of
      `source_language` and `target_language`. A text may begin with the code of another target, `>>fra_Latn<<`, or with
      those of a source and a target, `>>deu_Latn<< >>fra_Latn<<`.
    - `prefixes`, texts that are put before a source, by codes of targets; by default that of `target_language`. A text
      may begin with another code, `>>fr<<`, or with one of the prefixes itself.
    - `split`: "words" at spaces, or "characters".
    - `moses`: words are split by Moses' rules; true by default with merges. `split_dashes`: also at hyphens, true by
      default. `normalise`: punctuation is normalised before.
    - `unicode_normalise`: compatibility characters are replaced (NFKC), as are quotes, surplus spaces and, with Moses'
      rules, punctuation.
    - `lower_case`, `lower_case_words`: the text is lower-cased, before or after Moses' rules.
    - `only_known`: pieces of merges that the dictionary lacks are taken apart.
    - `source_end`: false if sources do not end with `</s>`, whose dictionary may lack it then.

    Raises:
        ValueError: a file is missing or unusable.
    """

    def __init__(self, files: Mapping[str, bytes], bos_id: int, is_target: bool = False) -> None:
        missing = [name for name in (SETTINGS, SOURCE_DICTIONARY) if name not in files]
        if missing:
            raise ValueError(f"{', '.join(missing)} is missing")
        self._files = dict(files)
        with naming(SETTINGS):
            settings = json_object(files[SETTINGS])
            self.languages = language_of(settings, "source_language"), language_of(settings, "target_language")
        name = TARGET_DICTIONARY if is_target and TARGET_DICTIONARY in files else SOURCE_DICTIONARY
        needs_end = is_target or settings.get("source_end") is not False
        with naming(name):
            self._pieces = _read_dictionary(files[name], (PAD, UNKNOWN, *((END,) if needs_end else ())))
        self._ids = {piece: token_id for token_id, piece in enumerate(self._pieces)}
        self.target: DictionaryTokenizer = self if is_target else DictionaryTokenizer(files, bos_id, True)
        self.vocab_size = len(self._pieces)
        self.bos_id = bos_id
        self.pad_id, self._unknown_id = self._ids[PAD], self._ids[UNKNOWN]
        self.eos_id: int = self._ids[END] if needs_end else self.target.eos_id
        with naming(SETTINGS):
            self._language_ids = language_ids(settings, self._ids, self.languages)
            self.prefixes = {} if is_target else prefixes_of(settings, self.languages[1])
        codes = () if is_target else (*self._language_ids, *self.prefixes)
        self.language_codes = tuple(f">>{code}<<" for code in codes)
        self._silent = {self.pad_id, self._ids.get(END, self.pad_id), *self._language_ids.values()}
        self._marks_end = MERGES in files or settings.get("split") == WORDS
        prepare, restore = _word_functions(settings, self.languages[is_target], MERGES in files)
        split, join = _piece_functions(files, settings, is_target, self._ids)
        self._split: Callable[[str], list[str]] = lambda text: split(prepare(text))
        self._join: Callable[[list[str]], str] = lambda pieces: restore(join(pieces))

    def encode(self, text: str) -> list[int]:
        """Token ids of a text; a piece without a number is `<unk>`.

        Raises:
            ValueError: the text has a lone surrogate, or begins with a code of a language that the model does not have.
        """
        text.encode()
        begin: list[int] = []
        if self._language_ids and self.language_codes:
            (source, _), text = self._codes(text)
            begin = [self._language_ids[source]]
        elif self.prefixes:
            text = self._prefixed(text)
        return begin + [self._ids.get(piece, self._unknown_id) for piece in self._split(text)]

    def first_target_id(self, source: str) -> int | None:
        """Token of the language that the target of a source begins with.

        Raises:
            ValueError: as `encode`.
        """
        return self._language_ids[self._codes(source)[0][1]] if self._language_ids and self.language_codes else None

    def _codes(self, text: str) -> tuple[tuple[str, str], str]:
        """Codes of the source and target languages of a text, and the text without them."""
        codes: list[str] = []
        while len(codes) < 2 and (match := CODE.match(text)):
            codes.append(self._known(match[1]))
            text = text[match.end() :]
        source, target = self.languages
        return (codes[0] if codes[1:] else source, codes[-1] if codes else target), text

    def _prefixed(self, text: str) -> str:
        """A source after the prefix of its target; as it is if it begins with a prefix."""
        match = CODE.match(text)
        code = self._known(match[1]) if match else self.languages[1]
        text = text[match.end() :] if match else text
        return text if text.startswith(tuple(self.prefixes.values())) else self.prefixes[code] + text

    def _known(self, code: str) -> str:
        """The code of a language of this model.

        Raises:
            ValueError: the model does not have this language.
        """
        if f">>{code}<<" not in self.language_codes:
            raise ValueError(
                f">>{code:.60}<< is not a language of this model: begin with one of {', '.join(self.language_codes)}"
            )
        return code

    def num_given(self, text: str) -> int:
        """Number of tokens of the source's language or of the prefix."""
        if self._language_ids and self.language_codes:
            return 1
        if not self.prefixes:
            return 0
        text = self._prefixed(text)
        prefix = max((each for each in self.prefixes.values() if text.startswith(each)), key=len)
        pairs = zip(self._split(prefix), self._split(text), strict=False)
        return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))

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
        if not self._marks_end:
            return found
        begins = [True, *(not piece.endswith(CONTINUED) or piece in SPECIAL for piece in found)]
        return [
            piece
            if piece in SPECIAL
            else SPACE_MARK * begins[index] + (piece if ends or index + 1 == len(found) else piece[: -len(CONTINUED)])
            for index, (piece, ends) in enumerate(zip(found, begins[1:], strict=True))
        ]

    def token_id(self, piece: str) -> int:
        """Token id of a piece of `piece` or of the last of `pieces`.

        Also with a space after it.

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
    """A dictionary from its pieces in the order of their ids.

    They are checked when it is read.
    """
    return json.dumps({PIECES: list(pieces)}, ensure_ascii=False).encode(errors="surrogatepass")


def with_usual_names(pieces: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Pieces with the special ones renamed.

    Args:
        names: present name of a special piece by its usual one, such as `PAD`. Another piece that has the usual name
            becomes an unused one.

    Raises:
        ValueError: one of them is missing.
    """
    found = [f"<unused {number}>" if piece in names else piece for number, piece in enumerate(pieces)]
    for usual, name in names.items():
        if name not in pieces:
            raise ValueError(f"the vocabulary has no {name!r:.60}")
        found[pieces.index(name)] = usual
    return found


def _read_dictionary(data: bytes, needed: Sequence[str]) -> list[str]:
    """Pieces in the order of their ids.

    Args:
        needed: special pieces.

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
    if missing := [piece for piece in needed if piece not in seen]:
        raise ValueError(f"it has no {' and no '.join(missing)}, which every model needs")
    return found


def _word_functions(
    settings: Mapping[str, Any], language: str, moses_by_default: bool
) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """Functions from a text to its words with spaces between, and back."""
    moses = settings.get("moses", moses_by_default) is True
    normalise, unicode_normalise = settings.get("normalise") is True, settings.get("unicode_normalise") is True
    lower_case, lower_case_words = settings.get("lower_case") is True, settings.get("lower_case_words") is True
    tokenize = moses_tokenizer(language, normalise, settings.get("split_dashes") is not False) if moses else str.split
    detokenize = moses_detokenizer(language) if moses else " ".join
    punctuation = moses_normaliser() if moses and unicode_normalise else str

    def prepare(text: str) -> str:
        text = text.lower() if lower_case else text
        if unicode_normalise:
            text = punctuation(_without_surplus_spaces(unicodedata.normalize("NFKC", text).translate(_QUOTES)))
        text = " ".join(tokenize(text)) if moses else text
        return text.lower() if lower_case_words else text

    def restore(text: str) -> str:
        text = detokenize(text.split()) if moses else text
        return _without_surplus_spaces(text) if unicode_normalise else text

    return prepare, restore


_QUOTES = str.maketrans({"\u2019": "'", "\u201c": '"', "\u201d": '"'})


def _without_surplus_spaces(text: str) -> str:
    """The text without repeated spaces, and without those before punctuation."""
    text = re.sub("[ \u3000]+", " ", text.replace("\u200b", ""))
    return re.sub(r" ([?!,.:])", r"\1", text).strip()


def _piece_functions(
    files: Mapping[str, bytes], settings: Mapping[str, Any], is_target: bool, ids: Mapping[str, int]
) -> tuple[Callable[[str], list[str]], Callable[[list[str]], str]]:
    """Functions from words with spaces between to pieces, and back.

    Raises:
        ValueError: a file is unusable, or there is none, or more than one way to split words.
    """
    kind = settings.get("split")
    if sum((MERGES in files, SENTENCEPIECE in files, kind in (WORDS, CHARACTERS))) != 1:
        raise ValueError(f"one of {MERGES}, {SENTENCEPIECE} and a split into words or characters is missing")
    name = next((name for name in (MERGES, SENTENCEPIECE) if name in files), "")
    if is_target and OF_TARGET + name in files:
        name = OF_TARGET + name
    if kind == CHARACTERS:
        return lambda text: list(text.replace(" ", SPACE_MARK)), lambda pieces: "".join(pieces).replace(SPACE_MARK, " ")
    if kind == WORDS:
        return str.split, _joined
    with naming(name):
        if SENTENCEPIECE in files:
            processor = load_sentencepiece(files[name])
            return (
                cast("Callable[[str], list[str]]", lambda text: processor.encode(text, out_type=str)),
                cast("Callable[[list[str]], str]", processor.decode_pieces),
            )
        merges = BytePairEncoding(read_merges(files[name]), ids if settings.get("only_known") is True else None)
    return lambda text: [piece for word in text.split() for piece in merges.word_pieces(word)], _joined


def _joined(pieces: list[str]) -> str:
    """Words with spaces between, from pieces.

    `CONTINUED` at the end of a piece says that the next one continues its word.
    """
    text = "".join(piece[: -len(CONTINUED)] if piece.endswith(CONTINUED) else f"{piece} " for piece in pieces)
    return " ".join(text.split())
