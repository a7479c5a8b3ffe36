"""Text to token ids and back: one SentencePiece model for both languages (Kudo & Richardson 2018; sections 3.4 and
5.1).
"""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import sentencepiece

PAD_ID, BOS_ID, EOS_ID, UNK_ID = 0, 1, 2, 3
SPACE_MARK = "\u2581"  # SentencePiece writes the space before a word as this, at the head of the word's first piece


class Tokenizer(Protocol):
    """What the rest of Headlight asks of a tokenizer. Ids carry no `<s>` or `</s>`: the caller adds them."""

    vocab_size: int
    pad_id: int
    bos_id: int
    eos_id: int

    def encode(self, text: str) -> list[int]: ...

    def decode(self, token_ids: Sequence[int]) -> str: ...

    def piece(self, token_id: int) -> str: ...

    def token_id(self, piece: str) -> int: ...

    def to_bytes(self) -> bytes: ...


class SentencePieceTokenizer:
    """One joint SentencePiece model.

    What `train` makes knows every text, as bytes where it must, and gives it back as it was, character for character:
    white space, control characters and all. The one exception is U+2581, which comes back as a space, since that is
    how SentencePiece writes spaces.

    Raises:
        ValueError: the bytes are not a SentencePiece model.
    """

    def __init__(self, model: bytes) -> None:
        self._model = model
        try:
            if not model:
                raise RuntimeError("nothing is in it")
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            # now rather than later, should one not be UTF-8
            self._processor.id_to_piece(list(range(self._processor.vocab_size())))
        except (RuntimeError, UnicodeDecodeError) as error:
            raise ValueError(f"not a SentencePiece model ({len(model)} bytes): {error}") from error
        self.vocab_size: int = self._processor.vocab_size()
        self.pad_id: int = self._processor.pad_id()
        self.bos_id: int = self._processor.bos_id()
        self.eos_id: int = self._processor.eos_id()

    @classmethod
    def from_file(cls, path: str | Path) -> "SentencePieceTokenizer":
        return cls(Path(path).read_bytes())

    @classmethod
    def train(
        cls, lines: Iterable[str], vocab_size: int, num_threads: int = 2, symbols: Sequence[str] = ()
    ) -> "SentencePieceTokenizer":
        """Learn byte-pair encoding (Sennrich et al. 2016) with byte fallback from sentences of both languages.

        Args:
            symbols: strings that are one piece each wherever they stand; with `SPACE_MARK` for the space before them.

        Raises:
            ValueError: the text is too small for `vocab_size`, or `vocab_size` for the text's characters.
        """
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=model,
                model_type="bpe",
                vocab_size=vocab_size,
                character_coverage=0.9998,
                byte_fallback=True,
                # Nothing is normalised away: what goes in comes back.
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                split_digits=True,
                pad_id=PAD_ID,
                bos_id=BOS_ID,
                eos_id=EOS_ID,
                unk_id=UNK_ID,
                user_defined_symbols=list(symbols),
                num_threads=num_threads,
                minloglevel=2,
            )
        except RuntimeError as error:
            raise ValueError(f"no vocabulary of {vocab_size} pieces can be learned from this text: {error}") from error
        return cls(model.getvalue())

    def encode(self, text: str) -> list[int]:
        """Raises: ValueError, for a text that holds half a surrogate pair, which is no character."""
        return self._processor.encode(_whole(text))

    def encode_batch(self, texts: Sequence[str], num_threads: int = -1) -> list[list[int]]:
        """As `encode`, for many texts on all cores."""
        return self._processor.encode([_whole(text) for text in texts], num_threads=num_threads)

    def decode(self, token_ids: Sequence[int]) -> str:
        return self._processor.decode(list(token_ids))

    def piece(self, token_id: int) -> str:
        """The token as SentencePiece writes it: a word's first piece begins with `SPACE_MARK`, a byte is `<0x0A>`."""
        return self._processor.id_to_piece(token_id)

    def token_id(self, piece: str) -> int:
        """The other way round. Raises: ValueError, if there is no such piece."""
        token_id: int = self._processor.piece_to_id(piece)
        if self.piece(token_id) != piece:  # SentencePiece has `<unk>` for what it does not know
            raise ValueError(f"{piece!r} is none of the {self.vocab_size} pieces of this tokenizer")
        return token_id

    def to_bytes(self) -> bytes:
        return self._model


def _whole(text: str) -> str:
    """The text, if UTF-8 can hold it. Raises: UnicodeEncodeError, a ValueError, that names the character and its
    place.
    """
    text.encode()
    return text
