"""Tokenizer with a dictionary per side, for models of fairseq and others.

A text is split by byte-pair encoding or a SentencePiece model, or into words or characters, which a dictionary numbers.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from core.files.strict_json import json_object, json_text
from core.text.byte_pair_encoding import CONTINUED
from core.text.byte_pieces import END, MASK, PAD, START, UNKNOWN
from core.text.dictionary_settings import language_ids, language_of, no_end_of, prefixes_of
from core.text.piece_splitting import MERGES, WORDS, piece_functions, word_functions
from core.text.tokenizer import SPACE_MARK, Role
from core.text.tokenizer_files import check_piece, naming, pack_files
from core.text.traced_text import Span, Text, TracedText, changed, surface_spans

SETTINGS, SOURCE_DICTIONARY, TARGET_DICTIONARY = "settings.json", "source.json", "target.json"
PREPARATIONS = ("moses", "unicode_normalise", "lower_case", "lower_case_words")  # settings that change a text
PIECES = "pieces"  # key of the list of pieces in a dictionary
SPECIAL: tuple[str, ...] = (START, PAD, END, UNKNOWN)
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
    - `target_before_source`: true if the piece of the target's language begins the source, and nothing the target.
    - `prefixes`, texts that are put before a source, by codes of targets; by default that of `target_language`. A text
      may begin with another code, `>>fr<<`, or with one of the prefixes itself.
    - `split`: "words" at spaces, or "characters".
    - `moses`: words are split by Moses' rules; true by default with merges. `split_dashes`: also at hyphens, true by
      default. `normalise`: punctuation is normalised before.
    - `unicode_normalise`: compatibility characters are replaced (NFKC), as are quotes, surplus spaces and, with Moses'
      rules, punctuation.
    - `lower_case`, `lower_case_words`: the text is lower-cased, before or after Moses' rules.
    - `only_known`: pieces of merges that the dictionary lacks are taken apart.
    - `byte_level`: the merges are of bytes, as of GPT-2, and words are not split before.
    - `mask`: `<mask>` in a text is the token of this name, in place of what the model is to fill in.
    - `target_start`: `<s>` begins every target, and is no text.
    - `silent`: pieces that are no text, such as languages that begin neither side.
    - `aliases`: pieces that are special ones, too, by the usual names of these, such as of padding that is the start.
    - `no_unknown`: true if there is no piece for what the vocabulary lacks, which is refused then.
    - `target_tokens`: number of tokens of every target, of a model without an end.
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
            self.target_tokens, aliases = no_end_of(settings)
        name = TARGET_DICTIONARY if is_target and TARGET_DICTIONARY in files else SOURCE_DICTIONARY
        needs_end = is_target or settings.get("source_end") is not False
        unneeded = {*aliases, *([UNKNOWN] * (settings.get("no_unknown") is True)), *([END] * (not needs_end))}
        with naming(name):
            self._pieces = _read_dictionary(files[name], [each for each in (PAD, UNKNOWN, END) if each not in unneeded])
            self._ids = {piece: token_id for token_id, piece in enumerate(self._pieces)}
            if missing := [piece for piece in aliases.values() if piece not in self._ids]:
                raise ValueError(f"it has no {missing[0]!r:.60}, which the settings give another name")
            self._ids |= {alias: self._ids[piece] for alias, piece in aliases.items()}
        self.target: DictionaryTokenizer = self if is_target else DictionaryTokenizer(files, bos_id, True)
        self.vocab_size = len(self._pieces)
        self.bos_id = bos_id
        self.pad_id, self._unknown_id = self._ids[PAD], self._ids.get(UNKNOWN)
        self.eos_id: int = self._ids[END] if needs_end else self.target.eos_id
        with naming(SETTINGS):
            self._target_before_source = settings.get("target_before_source") is True
            self._language_ids = language_ids(settings, self._ids, self.languages)
            self.prefixes = {} if is_target else prefixes_of(settings, self.languages[1])
        codes = () if is_target else (*self._language_ids, *self.prefixes)
        self.language_codes = tuple(f">>{code}<<" for code in codes)
        self._silent = {self.pad_id, self._ids.get(END, self.pad_id), *self._language_ids.values()}
        silent = settings.get("silent")
        for piece in cast("list[object]", silent) if isinstance(silent, list) else []:
            self._silent |= {self._ids[piece]} if isinstance(piece, str) and piece in self._ids else set()
        of_words = MERGES in files and settings.get("byte_level") is not True
        self._marks_end = of_words or settings.get("split") == WORDS
        self._start: list[int] = []
        if settings.get("target_start") is True:
            if START not in self._ids:
                raise ValueError(f"{name}: it has no {START}, with which every target begins")
            self._silent.add(self._ids[START])
            self._start = [self._ids[START]] if is_target else []
        self._steps, restore = word_functions(settings, self.languages[is_target], of_words)
        self._split, join, self._surface = piece_functions(files, settings, is_target, self._ids)
        self._join: Callable[[list[str]], str] = lambda pieces: restore(join(pieces))
        prefixes = (
            [piece for piece, _ in self._split(self._prepared(text.strip()))] for text in self.prefixes.values()
        )
        self._prefix_ids = [self._numbers(pieces) for pieces in prefixes]

    def encode(self, text: str) -> list[int]:
        """Token ids of a text; a piece without a number is `<unk>`.

        Raises:
            ValueError: the text has a lone surrogate, or begins with a code of a language that the model does not have.
        """
        text.encode()
        code, start, prefix = self._beginning(text)
        pieces = self._split(self._prepared(prefix + text[start:]))
        return self._start + code + self._numbers(piece for piece, _ in pieces)

    def spans(self, text: str) -> list[Span | None]:
        """Characters that each token comes from, None for a language code and a prefix, even if the text has them.

        Raises:
            ValueError: as `encode`.
        """
        text.encode()
        code, start, prefix = self._beginning(text)
        prepared = self._prepared(TracedText.of(text).from_character(start).behind(prefix))
        return [*(None for _ in code), *surface_spans(prepared, [surface for _, surface in self._split(prepared.text)])]

    def leading_roles(self, token_ids: Sequence[int]) -> list[Role]:
        """Role of the language code or of `<s>`, or roles of the pieces of a prefix."""
        if self._start and list(token_ids[:1]) == self._start:
            return ["start"]
        if self._language_ids:
            return ["language"] if token_ids and token_ids[0] in self._language_ids.values() else []
        fitting = (ids for ids in self._prefix_ids if list(token_ids[: len(ids)]) == ids)
        return ["prefix"] * max(map(len, fitting), default=0)

    def _numbers(self, pieces: Iterable[str]) -> list[int]:
        ids = [(piece, self._ids.get(piece, self._unknown_id)) for piece in pieces]
        if lacking := dict.fromkeys(piece for piece, token_id in ids if token_id is None):
            raise ValueError(f"this model has no token for {', '.join(map(repr, lacking)):.80}: leave that out")
        return [token_id for _, token_id in ids if token_id is not None]

    def _prepared(self, text: Text) -> Text:
        """The text as it is split; the punctuation and the words of a long one are left as they are."""
        for steps, most in self._steps:
            text = changed(text, steps) if len(text) <= most else text
        return text

    def _beginning(self, text: str) -> tuple[list[int], int, str]:
        """Language token of a source if there is one, where the text itself begins, and the prefix before it."""
        if self._language_ids and self.language_codes:
            (source, target), start = self._codes(text)
            return [self._language_ids[target if self._target_before_source else source]], start, ""
        start, prefix = self._prefix(text) if self.prefixes else (0, "")
        return [], start, prefix

    def first_target_id(self, source: str) -> int | None:
        """Token of the language that the target of a source begins with, None if it begins with its text.

        Raises:
            ValueError: as `encode`.
        """
        if not self._language_ids or not self.language_codes or self._target_before_source:
            return None
        return self._language_ids[self._codes(source)[0][1]]

    def _codes(self, text: str) -> tuple[tuple[str, str], int]:
        """Codes of a text's source and target languages, and the end of the codes."""
        codes: list[str] = []
        start = 0
        while len(codes) < 2 and (match := CODE.match(text, start)):
            codes.append(self._known(match[1]))
            start = match.end()
        source, target = self.languages
        return (codes[0] if codes[1:] else source, codes[-1] if codes else target), start

    def _prefix(self, text: str) -> tuple[int, str]:
        """Start of a source behind code and prefix, and the prefix of its target."""
        match = CODE.match(text)
        code, start = (self._known(match[1]), match.end()) if match else (self.languages[1], 0)
        own = max(
            (prefix for prefix in self.prefixes.values() if text.startswith(prefix, start)), key=len, default=None
        )
        return (start, self.prefixes[code]) if own is None else (start + len(own), own)

    def _known(self, code: str) -> str:
        """The code of a language of this model."""
        if f">>{code}<<" not in self.language_codes:
            raise ValueError(
                f">>{code:.60}<< is not a language of this model: begin with one of {', '.join(self.language_codes)}"
            )
        return code

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of a translation, without padding, `</s>` and languages."""
        return self._join([self._pieces[token_id] for token_id in token_ids if token_id not in self._silent])

    def surface(self, token_id: int) -> bytes:
        """Bytes that a token adds to a text of words with spaces between; none if it is no text."""
        piece = self._pieces[token_id]
        return b"" if token_id in self._silent or piece in (*SPECIAL, MASK) else self._surface(piece)

    def piece(self, token_id: int) -> str:
        """Piece of a token as it stands in the dictionary."""
        return self._pieces[token_id]

    def pieces(self, token_ids: Sequence[int]) -> list[str]:
        """Pieces of consecutive tokens: `SPACE_MARK` begins a word.

        The `@@` of byte-pair encoding stays at the end only, where nothing continues the piece.
        """
        pieces = [self._pieces[token_id] for token_id in token_ids]
        if not self._marks_end:
            return pieces
        begins = [True, *(not piece.endswith(CONTINUED) or piece in SPECIAL for piece in pieces)]
        return [
            piece
            if piece in SPECIAL
            else SPACE_MARK * begins[index] + (piece if ends or index + 1 == len(pieces) else piece[: -len(CONTINUED)])
            for index, (piece, ends) in enumerate(zip(pieces, begins[1:], strict=True))
        ]

    def token_id(self, piece: str) -> int:
        """Token id of a piece of `piece` or of the last of `pieces`, also with a space after it.

        Raises:
            ValueError: there is no such piece.
        """
        for name in (piece, piece.removeprefix(SPACE_MARK), piece.strip(SPACE_MARK)):
            if name in self._ids:
                return self._ids[name]
        raise ValueError(f"{piece!r} is not one of the {self.vocab_size} pieces of this tokenizer")

    def to_bytes(self) -> bytes:
        """All files as one, see `core.text.tokenizer_files`."""
        return pack_files(self._files)


def dictionary_file(pieces: Iterable[str]) -> bytes:
    """A dictionary from its pieces in the order of their ids, which are checked when it is read."""
    return json_text({PIECES: list(pieces)}, ensure_ascii=False).encode(errors="surrogatepass")


def dictionary_tokenizer(
    settings: Mapping[str, Any],
    source: Sequence[str],
    bos_id: int,
    files: Mapping[str, bytes],
    target: Sequence[str] | None = None,
) -> DictionaryTokenizer:
    """A tokenizer from the pieces of both sides, the target's only if they are others, and files that split texts.

    Raises:
        ValueError: see `DictionaryTokenizer`.
    """
    dictionaries = {SOURCE_DICTIONARY: dictionary_file(source)}
    if target is not None and target != source:
        dictionaries[TARGET_DICTIONARY] = dictionary_file(target)
    return DictionaryTokenizer({SETTINGS: json_text(dict(settings)).encode(), **files, **dictionaries}, bos_id)


def with_usual_names(pieces: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Pieces with the special ones, whose present names are given by usual ones such as `PAD`, renamed.

    Another piece that has the usual name becomes an unused one. Of several names of one piece, it gets the first.

    Raises:
        ValueError: one of them is missing.
    """
    renamed = [f"<unused {number}>" if piece in names else piece for number, piece in enumerate(pieces)]
    for usual, name in reversed([*names.items()]):
        if name not in pieces:
            raise ValueError(f"the vocabulary has no {name!r:.60}")
        renamed[pieces.index(name)] = usual
    return renamed


def _read_dictionary(data: bytes, needed: Sequence[str]) -> list[str]:
    """Pieces in the order of their ids."""
    pieces = json_object(data).get(PIECES)
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in cast("list[Any]", pieces)):
        raise ValueError(f"{PIECES} is {pieces!r:.60}, expected a list of texts")
    texts = cast("list[str]", pieces)
    seen: set[str] = set()
    for piece in texts:
        check_piece(piece)
        if piece in seen:
            raise ValueError(f"the piece {piece!r:.60} occurs twice")
        seen.add(piece)
    if missing := [piece for piece in needed if piece not in seen]:
        raise ValueError(f"it has no {' and no '.join(missing)}, which every model needs")
    return texts
