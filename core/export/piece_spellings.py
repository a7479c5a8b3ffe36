"""Pieces of other tokenizers, spelled as in this project, where `SPACE_MARK` begins a word.

Each tokenizer marks the beginnings of words in its own way, and some spell the bytes of UTF-8 by printable letters.
"""

import codecs
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from core.text.byte_level_encoding import BYTE_LETTERS, bytes_of_letters, piece_of_bytes
from core.text.byte_pieces import LANGUAGE, MASK, UNKNOWN, resolve_bytes, with_roles
from core.text.tokenizer import SPACE_MARK, Role

Spelling = Literal["sentencepiece", "byte-level", "wordpiece", "subword-nmt", "word-ends", "words"]
SPELLINGS: tuple[Spelling, ...] = get_args(Spelling)
"""Where words begin:

- `sentencepiece`: at `SPACE_MARK`, of SentencePiece; `<0xC3>` is a byte.
- `byte-level`: at a space. Each byte is a letter, a space `\u0120`; of GPT-2 (Radford et al. 2019).
- `wordpiece`: where a piece does not begin with `##`; of BERT (Devlin et al. 2019).
- `subword-nmt`: after a piece that does not end with `@@`; of subword-nmt and fastBPE (Sennrich et al. 2016).
- `word-ends`: after a piece that ends with `</w>`; of GPT and XLM. Each byte may be a letter, as of CLIP.
- `words`: at every piece.
"""
# Tokens that are not of a text, at its ends; elsewhere they are of the text.
SPECIAL = re.compile(
    r"</?s>|<(pad|bos|eos|sos|cls|sep|start|end|blank)>|<\|[^<>|\s]+\|>|\[(CLS|SEP|PAD|BOS|EOS)\]", re.IGNORECASE
)
IN_PLACE_OF_WORDS = {"[UNK]": UNKNOWN, "[MASK]": MASK}
CODE = re.compile(rf"{LANGUAGE.pattern}|[a-z]{{2}}_[A-Z]{{2}}")  # also those of mBART
CONTINUED, WORD_END, CONTINUES = "@@", "</w>", "##"
GPT2_SPACE = "\u0120"


def spelling_of(tokens: Sequence[str]) -> Spelling | None:
    """Return the spelling of a sentence's tokens; None if nothing in them shows it.

    Letters that spell bytes are also of languages, such as the Maltese `Ġ`: tokens spell bytes if all spell text.
    """
    tokens = [token for token in tokens if not _is_edge(token)]
    if any(SPACE_MARK in token for token in tokens):
        return "sentencepiece"
    if any(token.endswith(WORD_END) and token != WORD_END for token in tokens):
        return "word-ends"
    if any(token.endswith(CONTINUED) and token[-3:-2].isalnum() for token in tokens):
        return "subword-nmt"
    if any(token.startswith(CONTINUES) and token[2:3].isalnum() for token in tokens):
        return "wordpiece"
    text = _text_of_letters("".join(tokens))
    is_shown = text is not None and (any(token.startswith(GPT2_SPACE) for token in tokens) or not text.isascii())
    return "byte-level" if is_shown else None


def common_pieces(tokens: Sequence[str], spelling: Spelling) -> tuple[str, ...]:
    """Tokens of a sentence, spelled as in this project; special ones are known by their places at its ends."""
    text = [place for place, token in enumerate(tokens) if not _is_edge(token)]
    first, last = (text[0], text[-1] + 1) if text else (0, 0)
    pieces = _SPELLED[spelling]([IN_PLACE_OF_WORDS.get(token, token) for token in tokens[first:last]])
    leading: list[Role] = ["language" if CODE.fullmatch(token) else "start" for token in tokens[:first]]
    inner: list[Role] = ["text"] * len(pieces)
    ending: list[Role] = ["language" if CODE.fullmatch(token) else _end_role(token) for token in tokens[last:]]
    spelled = (*tokens[:first], *pieces, *tokens[last:])
    return resolve_bytes(with_roles(spelled, [*leading, *inner, *ending]))


def _is_edge(token: str) -> bool:
    return bool(SPECIAL.fullmatch(token) or CODE.fullmatch(token))


def _end_role(token: str) -> Role:
    return "start" if token == "<s>" else "end"


def _sentencepiece(tokens: Sequence[str]) -> list[str]:
    return list(tokens)


def _byte_level(tokens: Sequence[str]) -> list[str]:
    """The first piece begins a word, with a space or without."""
    pieces = [piece_of_bytes(bytes_of_letters(token)) for token in tokens]
    return _with_marks(
        pieces, [number == 0 and not piece.startswith(SPACE_MARK) for number, piece in enumerate(pieces)]
    )


def _wordpiece(tokens: Sequence[str]) -> list[str]:
    continues = [token.startswith(CONTINUES) and len(token) > len(CONTINUES) for token in tokens]
    pieces = [token[len(CONTINUES) :] if inner else token for token, inner in zip(tokens, continues, strict=True)]
    return _with_marks(pieces, [not inner for inner in continues])


def _subword_nmt(tokens: Sequence[str]) -> list[str]:
    continued = [token.endswith(CONTINUED) and len(token) > len(CONTINUED) for token in tokens[:-1]]
    pieces = [token[: -len(CONTINUED)] if inner else token for token, inner in zip(tokens, continued, strict=False)]
    return _with_marks([*pieces, *tokens[-1:]], [True, *(not inner for inner in continued)])


def _word_ends(tokens: Sequence[str]) -> list[str]:
    ends = [token.endswith(WORD_END) for token in tokens]
    pieces = [token.removesuffix(WORD_END) for token in tokens]
    if not (_text_of_letters("".join(pieces)) or "").isascii():
        pieces = [piece_of_bytes(bytes_of_letters(piece)) for piece in pieces]
    return _with_marks(pieces, [True, *ends[:-1]])


def _words(tokens: Sequence[str]) -> list[str]:
    """Every token or, if tokens have spaces of their own, every one that begins after a space."""
    if any(" " in token for token in tokens):
        return [token.replace(" ", SPACE_MARK) for token in tokens]
    return _with_marks(tokens, [True] * len(tokens))


_SPELLED: dict[Spelling, Callable[[Sequence[str]], list[str]]] = {
    "sentencepiece": _sentencepiece,
    "byte-level": _byte_level,
    "wordpiece": _wordpiece,
    "subword-nmt": _subword_nmt,
    "word-ends": _word_ends,
    "words": _words,
}


def _with_marks(pieces: Sequence[str], begins: Sequence[bool]) -> list[str]:
    """Pieces with `SPACE_MARK` before those that begin a word, unless they stand for an unknown word."""
    return [
        SPACE_MARK + piece if begin and piece not in (UNKNOWN, MASK) else piece
        for piece, begin in zip(pieces, begins, strict=False)
    ]


def _text_of_letters(letters: str) -> str | None:
    """The text whose bytes are spelled by letters, whose last character may be cut off; None if they spell none."""
    if not all(letter in BYTE_LETTERS for letter in letters):
        return None
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(bytes_of_letters(letters))
    except UnicodeDecodeError:
        return None
    return None if any(unicodedata.category(each) == "Cc" and each not in "\n\r\t" for each in text) else text
