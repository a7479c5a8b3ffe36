"""Short texts to draw: words, numbers and random characters."""

import zlib
from collections.abc import Iterable, Sequence

import numpy as np

from core.text.tokenizer import SPACE_MARK, Tokenizer

MAX_CHARACTERS = 20
HELD_OUT = 10  # one word of so many is kept for validation and test
MARKS = ".,:;!?"
PAIRS = ("()", '""', "''")


def words_of(tokenizer: Tokenizer) -> list[str]:
    """Return the pieces that begin a word and have two or more letters, sorted."""
    pieces = (tokenizer.piece(token_id) for token_id in range(tokenizer.vocab_size))
    words = {piece[1:] for piece in pieces if piece.startswith(SPACE_MARK)}
    return sorted(word for word in words if len(word) > 1 and word.isalpha())


def is_held_out(word: str) -> bool:
    """Whether a word, in any case, is kept for validation and test."""
    return zlib.crc32(word.lower().encode()) % HELD_OUT == 0


class LineTexts:
    """Random texts of at most `MAX_CHARACTERS` of these characters.

    A half are of these words, with punctuation, a quarter single words or a few random characters, from which a model
    learns first, and the others numbers, dates and random characters.

    Raises:
        ValueError: no word consists of these characters.
    """

    def __init__(self, words: Iterable[str], characters: str) -> None:
        self.words = [word for word in words if set(word) <= set(characters) and len(word) <= MAX_CHARACTERS]
        if not self.words:
            raise ValueError("there are no words of the characters that can be drawn: give a checkpoint with others")
        self.characters = characters
        self.visible = characters.replace(" ", "")

    def draw(self, random: np.random.Generator) -> str:
        """Return one text, without spaces at its ends."""
        kind = random.random()
        if kind < 0.5:
            return self._phrase(random)
        if kind < 0.6:
            return self._number(random)
        if kind < 0.65:
            return _choice(self.words, random)
        count = int(random.integers(1, 4 if kind < 0.85 else 13))
        text = "".join(_choice(self.characters, random) for _ in range(count))
        return " ".join(text.split()) or _choice(self.visible, random)

    def _phrase(self, random: np.random.Generator) -> str:
        words = [_choice(self.words, random)]
        for _ in range(int(random.integers(0, 4))):
            word = _choice(self.words, random)
            if len(" ".join([*words, word])) > MAX_CHARACTERS - 3:
                break
            words.append(word + (_choice(MARKS, random) if random.random() < 0.15 else ""))
        case = random.random()
        text = " ".join(words)
        if case < 0.15:
            upper = text.upper()
            text = upper if set(upper) <= set(self.characters) and len(upper) <= MAX_CHARACTERS else text
        elif case < 0.4:
            text = text[0].upper() + text[1:]
        extra = random.random()
        pairs = [pair for pair in PAIRS if set(pair) <= set(self.characters)]
        if extra < 0.25 and len(text) < MAX_CHARACTERS:
            return text + _choice(MARKS, random)
        if extra < 0.35 and len(text) < MAX_CHARACTERS - 1:
            pair = _choice(pairs, random)
            return pair[0] + text + pair[1]
        return text

    def _number(self, random: np.random.Generator) -> str:
        number = int(random.integers(0, 10 ** int(random.integers(1, 7))))
        a, b, c = (int(random.integers(1, limit)) for limit in (32, 13, 100))
        forms = [f"{number}", f"{number:,}", f"{number / 100:.2f}", f"{a}.{b}.{1950 + c}", f"{1950 + c}-{b:02}-{a:02}"]
        forms += [f"{a % 24}:{c % 60:02}", f"{c} %", f"+{c} {number}", f"{a}/{b}", f"{a} + {b} = {a + b}", f"({c})"]
        forms += [f"{sign}{number}" for sign in "$€§#" if sign in self.characters]
        return _choice(forms, random)[:MAX_CHARACTERS]


def _choice(options: Sequence[str], random: np.random.Generator) -> str:
    return options[int(random.integers(len(options)))]
