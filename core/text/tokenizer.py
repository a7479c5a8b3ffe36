"""Tokenizer: one SentencePiece model (Kudo & Richardson 2018) for both languages (3.4, 5.1)."""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import sentencepiece

from core.files.budget import MAX_REPLACEMENT, MAX_SENTENCEPIECE_BYTES
from core.text.traced_text import Span, TracedText, surface_spans

PAD_ID, BOS_ID, EOS_ID, UNK_ID = 0, 1, 2, 3
SPACE_MARK = "\u2581"  # SentencePiece's space, at the start of a word's first piece
TRAINER, NORMALIZERS, UNKNOWN_SURFACE, CHARACTER_MAP = 2, (3, 5), 44, 2  # fields of sentencepiece_model.proto
MAX_LEARNED_BYTES = 4192  # of a line, from which SentencePiece learns; it would leave out longer ones without a word
BYTES = {f"<0x{value:02X}>": value for value in range(256)}  # values of the tokens of single bytes
Role = Literal["start", "end", "language", "prefix", "text"]  # of a token in its sentence


class Tokenizer(Protocol):
    """Interface of tokenizers, whose ids exclude `<s>` and `</s>`, which callers add."""

    vocab_size: int
    pad_id: int
    bos_id: int
    eos_id: int
    # texts such as `>>fra<<` that name a target language, with which a source may begin. Empty for one target language.
    language_codes: tuple[str, ...]
    target_tokens: int | None  # of every target, of a model without an end
    languages: tuple[str, str]  # codes of the source and of the target, by default, such as `en`; "" if unknown

    @property
    def target(self) -> "Tokenizer":
        """Tokenizer of targets, as this one is of sources."""
        ...

    def encode(self, text: str) -> list[int]: ...

    def spans(self, text: str) -> list[Span | None]:
        """Characters of a text that each token of `encode` comes from.

        None for a token that is not of the text, such as a language code, even if the text begins with it.
        """
        ...

    def leading_roles(self, token_ids: Sequence[int]) -> list[Role]:
        """Roles of the tokens that come before those of the text, if any.

        Args:
            token_ids: of `encode`, or of a target that begins with `first_target_id`.
        """
        ...

    def first_target_id(self, source: str) -> int | None:
        """Token that the target of a source begins with, None if it is free."""
        ...

    def decode(self, token_ids: Sequence[int]) -> str: ...

    def surface(self, token_id: int) -> bytes:
        """Bytes that a token adds to a text, with the space before or behind a word; none if it is no text."""
        ...

    def piece(self, token_id: int) -> str: ...

    def pieces(self, token_ids: Sequence[int]) -> list[str]:
        """Pieces of consecutive tokens: `SPACE_MARK` begins a word."""
        ...

    def token_id(self, piece: str) -> int: ...

    def to_bytes(self) -> bytes: ...


class SentencePieceTokenizer:
    """Tokenizer with a joint SentencePiece model.

    Models of `train` cover every text, with bytes for rare characters, and decode it unchanged, including white space
    and control characters. Only U+2581 is decoded as a space, as SentencePiece represents spaces by it.

    Raises:
        ValueError: the bytes are not a SentencePiece model.
    """

    target_tokens: int | None = None

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._processor = load_sentencepiece(model)
        self.language_codes = ()
        self.languages: tuple[str, str] = ("", "")
        self.vocab_size: int = self._processor.vocab_size()
        self.pad_id: int = self._processor.pad_id()
        self.bos_id: int = self._processor.bos_id()
        self.eos_id: int = self._processor.eos_id()

    @property
    def target(self) -> "SentencePieceTokenizer":
        return self

    @property
    def byte_ids(self) -> list[int]:
        """Ids of the tokens of single bytes."""
        return [*filter(self._processor.is_byte, range(self.vocab_size))]

    @classmethod
    def from_file(cls, path: str | Path) -> "SentencePieceTokenizer":
        return cls(Path(path).read_bytes())

    @classmethod
    def train(
        cls, lines: Iterable[str], vocab_size: int, num_threads: int = 2, symbols: Sequence[str] = ()
    ) -> "SentencePieceTokenizer":
        """Train byte-pair encoding (Sennrich et al. 2016) with byte fallback.

        Args:
            lines: sentences of both languages, of any length.
            symbols: strings that are always one piece; with `SPACE_MARK` for a space before them.

        Raises:
            ValueError: the text is too small for `vocab_size`, or `vocab_size` for the text's characters.
        """
        try:
            return cls._learned(
                (part for line in lines for part in _parts(line)),
                model_type="bpe",
                vocab_size=vocab_size,
                max_sentence_length=MAX_LEARNED_BYTES,
                character_coverage=0.9998,
                byte_fallback=True,
                split_digits=True,
                user_defined_symbols=list(symbols),
                num_threads=num_threads,
            )
        except RuntimeError as error:
            least = re.search(r"required_chars\. \d+ vs (\d+)", str(error))
            most = re.search(r"value <= (\d+)", str(error))
            advice = f"give at least {least[1]}" if least else f"give at most {most[1]}" if most else "give more text"
            raise ValueError(f"no vocabulary of {vocab_size} pieces can be learned from this text: {advice}") from error

    @classmethod
    def of_characters(cls, characters: str, symbols: Sequence[str] = ()) -> "SentencePieceTokenizer":
        """One piece for each character; all others are unknown.

        Args:
            characters: the space must be among them.
            symbols: strings that are always one piece; with `SPACE_MARK` for a space before them.

        Raises:
            ValueError: a character occurs twice, or there is no space.
        """
        if len(set(characters)) < len(characters) or " " not in characters:
            raise ValueError(f"the characters ({characters!r}) must be different, and one of them a space")
        size = len(characters) + len(symbols) + UNK_ID + 1
        return cls._learned(
            [characters], model_type="char", vocab_size=size, add_dummy_prefix=False, user_defined_symbols=list(symbols)
        )

    @classmethod
    def of_words(cls, words: Sequence[str]) -> "SentencePieceTokenizer":
        """One piece for each word, between spaces; all others, and names of special tokens, are unknown."""
        size = len(words) + UNK_ID + 1
        return cls._learned([" ".join(words)], model_type="word", vocab_size=size, hard_vocab_limit=False)

    @classmethod
    def _learned(cls, lines: Iterable[str], **chosen: Any) -> "SentencePieceTokenizer":
        """A tokenizer as SentencePiece learns it from lines, without normalisation, so that decoding is lossless."""
        model = io.BytesIO()
        options: dict[str, Any] = {"character_coverage": 1.0, "max_sentence_length": 2**20} | chosen
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            pad_id=PAD_ID,
            bos_id=BOS_ID,
            eos_id=EOS_ID,
            unk_id=UNK_ID,
            minloglevel=2,
            **options,
        )
        return cls(model.getvalue())

    def encode(self, text: str) -> list[int]:
        """Token ids of a text.

        Raises:
            ValueError: the text has a lone surrogate.
        """
        return self._processor.encode(_encodable(text))

    def spans(self, text: str) -> list[Span | None]:
        """Characters of the text that each token comes from.

        Raises:
            ValueError: the text has a lone surrogate.
        """
        return sentencepiece_spans(self._processor, TracedText.of(_encodable(text)))

    def leading_roles(self, token_ids: Sequence[int]) -> list[Role]:
        """None: all tokens are of the text."""
        return []

    def first_target_id(self, source: str) -> int | None:
        """None: the first token of every target is free."""
        return None

    def encode_batch(self, texts: Sequence[str], num_threads: int = -1) -> list[list[int]]:
        """`encode` for many texts, on all cores."""
        return self._processor.encode([_encodable(text) for text in texts], num_threads=num_threads)

    def sample_batch(self, texts: Sequence[str], bpe_dropout: float, seed: int) -> list[list[int]]:
        """Token ids of texts, merges of pieces left out with a probability: BPE-dropout (Provilkov et al. 2020).

        It gives other pieces of the same text, for training. The same texts and seed have the same pieces.

        Args:
            bpe_dropout: the probability, from 0 to below 1.
            seed: from 0 to 2**32 - 1.

        Raises:
            ValueError: these pieces are not made by merges, or a text has a lone surrogate.
        """
        scores = map(self._processor.get_score, range(self.vocab_size))
        message = "BPE-dropout needs a SentencePiece model of type bpe: these pieces are not made by merges"
        if not all(score.is_integer() for score in scores):  # of byte-pair encoding: the merges' numbers
            raise ValueError(message)
        texts = [_encodable(text) for text in texts]
        sentencepiece.set_random_generator_seed(seed)  # for threads that begin after it: `num_threads` makes one
        try:
            return self._processor.encode(texts, num_threads=1, enable_sampling=True, alpha=bpe_dropout, nbest_size=-1)
        except RuntimeError as error:  # of characters or words
            raise ValueError(message) from error

    def decode(self, token_ids: Sequence[int]) -> str:
        return self._processor.decode(list(token_ids))

    def surface(self, token_id: int) -> bytes:
        """Bytes that a token adds to a text, with the space before a word; none if it is no text."""
        processor = self._processor
        silent = processor.is_control(token_id) or processor.is_unknown(token_id) or processor.is_unused(token_id)
        return b"" if silent else sentencepiece_surfaces([self.piece(token_id)])[0]

    def piece(self, token_id: int) -> str:
        """Piece of a token: `SPACE_MARK` begins a word, `<0x0A>` is a byte."""
        return self._processor.id_to_piece(token_id)

    def pieces(self, token_ids: Sequence[int]) -> list[str]:
        """Pieces of consecutive tokens."""
        return self._processor.id_to_piece(list(token_ids))

    def token_id(self, piece: str) -> int:
        """Token id of a piece.

        Raises:
            ValueError: there is no such piece.
        """
        token_id: int = self._processor.piece_to_id(piece)
        if self.piece(token_id) != piece:  # SentencePiece returns `<unk>` for unknown pieces
            raise ValueError(f"{piece!r} is not one of the {self.vocab_size} pieces of this tokenizer")
        return token_id

    def to_bytes(self) -> bytes:
        return self._model


def load_sentencepiece(model: bytes) -> sentencepiece.SentencePieceProcessor:
    """Read a SentencePiece model.

    Raises:
        ValueError: the bytes are not a SentencePiece model, or too many; or it puts a long text for a character.
    """
    if len(model) > MAX_SENTENCEPIECE_BYTES:
        raise ValueError(f"a SentencePiece model of {len(model)} bytes, at most {MAX_SENTENCEPIECE_BYTES} are read")
    try:
        if not model:
            raise RuntimeError("it is empty")
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        # fail now if a piece is not UTF-8
        processor.id_to_piece(list(range(processor.vocab_size())))
    except (RuntimeError, UnicodeDecodeError) as error:
        raise ValueError(f"not a SentencePiece model ({len(model)} bytes): {error}") from error
    if (longest := max(map(len, _put_texts(model)))) > MAX_REPLACEMENT:
        raise ValueError(
            f"a SentencePiece model that puts a text of {longest} bytes for a character, at most {MAX_REPLACEMENT} are "
            f"read"
        )
    return processor


def _put_texts(model: bytes) -> Iterator[bytes]:
    """Texts of a valid model that replace other characters, or unknown pieces.

    The map of characters is the size of a tree, the tree, and texts that each end with a NUL.
    """
    yield b""
    for part, content in _fields(model, (TRAINER, *NORMALIZERS)):
        for _, value in _fields(content, (UNKNOWN_SURFACE if part == TRAINER else CHARACTER_MAP,)):
            if part == TRAINER:
                yield value
            else:
                yield from value[4 + int.from_bytes(value[:4], "little") :].split(b"\0")


def _fields(message: bytes, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """Some fields of a valid message of Protocol Buffers that are bytes, with their numbers."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        if key & 7 == 2:
            length, place = _varint(message, place)
            if key >> 3 in numbers:
                yield key >> 3, message[place : place + length]
            place += length
        elif key & 7 == 0:
            _, place = _varint(message, place)
        else:
            place += {1: 8, 5: 4}.get(key & 7, 0)  # the beginning and the end of a group have no more


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """An integer in groups of 7 bits, the lowest first, and the offset behind it."""
    value, shift = message[place] & 127, 7
    while message[place] > 127:
        place += 1
        value |= (message[place] & 127) << shift
        shift += 7
    return value, place + 1


def _parts(line: str) -> Iterator[str]:
    """Yield a line in parts of at most `MAX_LEARNED_BYTES`, which end at a space if they have one."""
    encoded = line.encode()
    start = 0
    while len(encoded) - start > MAX_LEARNED_BYTES:
        end = encoded.rfind(b" ", start + 1, start + MAX_LEARNED_BYTES + 1)
        is_space = end >= 0
        if not is_space:
            end = start + MAX_LEARNED_BYTES
            while 0x80 <= encoded[end] < 0xC0:  # not within a character
                end -= 1
        yield encoded[start:end].decode()
        start = end + is_space
    yield encoded[start:].decode()


def sentencepiece_spans(processor: sentencepiece.SentencePieceProcessor, text: TracedText) -> list[Span | None]:
    """Characters of the original of a text that each of its pieces comes from."""
    return surface_spans(text, sentencepiece_surfaces(cast("list[str]", processor.encode(text.text, out_type=str))))


def sentencepiece_surfaces(pieces: Sequence[str]) -> list[bytes]:
    """Bytes that the pieces of a SentencePiece model spell."""
    return [bytes([BYTES[piece]]) if piece in BYTES else piece.replace(SPACE_MARK, " ").encode() for piece in pieces]


def _encodable(text: str) -> str:
    """The text, if UTF-8 can encode it."""
    text.encode()
    return text
