"""Tasks for small models: sources, targets, and pairs that training never sees."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor, nn

from core.text.text_normalization import normalized
from core.text.tokenizer import BOS_ID, EOS_ID, PAD_ID, SPACE_MARK, SentencePieceTokenizer

Pair = tuple[str, str]  # source and target
Unit = Literal["words", "characters"]
UNSEEN = 200  # pairs of a task, at most
MAX_LINES, MIN_SOURCES, MAX_TOKENS, MAX_VOCABULARY = 5000, 20, 64, 2000  # of one's own pairs; tokens of a side


@dataclass(frozen=True)
class Task:
    """What a model learns."""

    name: str  # identifier
    tokenizer: SentencePieceTokenizer  # of both sides
    draw: Callable[[random.Random], Pair]  # a pair to train on
    unseen: tuple[Pair, ...]  # pairs to test on, whose sources are not trained on

    @cached_property
    def _unseen_sources(self) -> set[str]:
        return {source for source, _ in self.unseen}

    @property
    def vocab_size(self) -> int:
        return self.tokenizer.vocab_size

    def ids(self, text: str) -> list[int]:
        """Token ids of a source or of a predicted target, with `</s>`."""
        return [*self.tokenizer.encode(text), EOS_ID]

    def text(self, token_ids: Sequence[int]) -> str:
        return self.tokenizer.decode(token_ids)

    def tokens(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.tokenizer.pieces(token_ids))

    def batch(self, size: int, draw: random.Random) -> tuple[Tensor, Tensor]:
        """Sources with `</s>`, and the targets between `<s>` and `</s>`, padded at the right: [B, S], [B, T]."""
        pairs = list[Pair]()
        while len(pairs) < size:
            if (pair := self.draw(draw))[0] not in self._unseen_sources:
                pairs.append(pair)
        return padded([self.ids(source) for source, _ in pairs]), padded(
            [[BOS_ID, *self.ids(target)] for _, target in pairs]
        )


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Token ids of several texts: [B, L]."""
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], True, PAD_ID)


# --- Digits, and dates ----------------------------------------------------------------------------------------------
DIGITS = "0123456789"
_NAMES = (
    "January February March April May June July August September October November December "
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
MONTHS, DAYS = _NAMES.split()[:12], _NAMES.split()[12:]
YEARS = range(1900, 2100)


def _digits_task(name: str, answer: Callable[[str], str]) -> Task:
    """4 to 10 digits and what becomes of them."""

    def drawn(draw: random.Random) -> Pair:
        digits = "".join([draw.choice(DIGITS) for _ in range(draw.randint(4, 10))])
        return digits, answer(digits)

    return _with_unseen(name, SentencePieceTokenizer.of_characters(" " + DIGITS), drawn)


def _dates_task() -> Task:
    """Dates in words, as "the third of May 1987", and in digits, as "1987-05-03"; each word is one token."""
    words = [SPACE_MARK + word for word in (*DAYS, *MONTHS, "twenty", "thirty", "thirtieth", "of")]
    tokenizer = SentencePieceTokenizer.of_characters(f" -{DIGITS}", ["the", *DAYS[:9], *words])

    def drawn(draw: random.Random) -> Pair:
        day = date.fromordinal(draw.randrange(date(YEARS[0], 1, 1).toordinal(), date(YEARS[-1] + 1, 1, 1).toordinal()))
        return in_words(day), day.isoformat()

    return _with_unseen("dates", tokenizer, drawn)


def in_words(day: date) -> str:
    """Return a date as "the third of May 1987"."""
    tens, rest = divmod(day.day, 10)
    if day.day <= len(DAYS):
        name = DAYS[day.day - 1]
    else:
        name = f"{('twenty', 'thirty')[tens - 2]}-{DAYS[rest - 1]}" if rest else "thirtieth"
    return f"the {name} of {MONTHS[day.month - 1]} {day.year}"


def _with_unseen(name: str, tokenizer: SentencePieceTokenizer, drawn: Callable[[random.Random], Pair]) -> Task:
    draw = random.Random(0)
    return Task(name, tokenizer, drawn, tuple(drawn(draw) for _ in range(UNSEEN)))


TASKS: dict[str, Callable[[], Task]] = {
    "reverse": lambda: _digits_task("reverse", lambda digits: digits[::-1]),
    "copy": lambda: _digits_task("copy", str),
    "sort": lambda: _digits_task("sort", lambda digits: "".join(sorted(digits))),
    "dates": _dates_task,
}


# --- One's own pairs ------------------------------------------------------------------------------------------------
def own_task(text: str, unit: Unit) -> Task:
    """Pairs of one's own, a line each: source, tab, target. A tenth of the sources, at most 200, is not trained on.

    Tokens are words or characters; those beyond the 2,000 most frequent are unknown.

    Raises:
        ValueError: a line is no pair or too long, or there are too many lines or too few sources.
    """
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len(lines) > MAX_LINES:
        raise ValueError(f"{len(lines):,} lines, at most {MAX_LINES:,} are trained on: leave some out")
    pairs = [_pair(number, line, unit) for number, line in lines]
    sources = sorted({source for source, _ in pairs})
    if len(sources) < MIN_SOURCES:
        raise ValueError(
            f"{len(sources)} different sources, at least {MIN_SOURCES} are needed, so that some stay unseen: add lines"
        )
    unseen = set(random.Random(0).sample(sources, min(UNSEEN, len(sources) // 10)))
    trained = [pair for pair in pairs if pair[0] not in unseen]
    counts = Counter(token for pair in pairs for side in pair for token in _units(side, unit))
    frequent = [token for token, _ in counts.most_common(MAX_VOCABULARY)]
    if unit == "words":
        tokenizer = SentencePieceTokenizer.of_words(frequent)
    else:
        tokenizer = SentencePieceTokenizer.of_characters("".join({" ": 0} | dict.fromkeys(frequent)))
    tests = {source: target for source, target in pairs if source in unseen}
    return Task("own", tokenizer, lambda draw: draw.choice(trained), tuple(tests.items()))


def _units(text: str, unit: Unit) -> Sequence[str]:
    return text.split() if unit == "words" else text


def _pair(number: int, line: str, unit: Unit) -> Pair:
    sides = [normalized(side.replace(SPACE_MARK, " ")) for side in line.split("\t")]
    if len(sides) != 2 or not all(sides):
        raise ValueError(f"line {number} is {line!r:.60}, expected a source, one tab and a target")
    longest = max(len(_units(side, unit)) for side in sides)
    if longest > MAX_TOKENS:
        raise ValueError(f"line {number} has {longest} {unit} on one side, at most {MAX_TOKENS} are read: shorten it")
    return sides[0], sides[1]
