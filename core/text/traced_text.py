"""Texts that know which characters of an original text they come from.

A tokenizer normalises a text before it splits it, so that the result has other characters at other positions. Only the
result of each change is used, so that it can be any function: `aligned` matches the two texts.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TypeVar

Span = tuple[int, int]  # start and stop of characters
Rule = tuple[str | re.Pattern[str], str]  # pattern and replacement of `re.sub`
Step = Callable[[str], str] | Rule
MOST_PASSED = 8  # characters that a moved one may pass and still be matched
MOST_COMPARED = 10**7  # product of the lengths of two texts, beyond which they are not compared by character


@dataclass(frozen=True)
class TracedText:
    """A text with the origin of each character."""

    text: str  # as it is now
    # characters of the original text that each comes from; empty for an inserted space, None for text put before
    origins: tuple[Span | None, ...]

    @classmethod
    def of(cls, text: str) -> "TracedText":
        """A text that is the original itself."""
        return cls(text, tuple((index, index + 1) for index in range(len(text))))

    def behind(self, prefix: str) -> "TracedText":
        """The text behind another one that is not of the original; the space between them belongs to the text."""
        words = prefix.rstrip()
        place = next((start for origin in self.origins if origin for start in origin), 0)
        space = [(place, place)] * (len(prefix) - len(words))
        return TracedText(prefix + self.text, (*[None] * len(words), *space, *self.origins))

    def from_character(self, start: int) -> "TracedText":
        """The text without its first characters."""
        return TracedText(self.text[start:], self.origins[start:])

    def __len__(self) -> int:
        return len(self.text)

    def rewritten(self, text: str) -> "TracedText":
        """Another text that was made from this one, in the same order."""
        if text == self.text:
            return self
        return TracedText(text, tuple(self._origin(span) for span in aligned(self.text, text)))

    def span(self, start: int, stop: int) -> Span | None:
        """Characters of the original that some characters come from, None if all were put before the text.

        White space around them is left out; white space alone keeps its own, or its place.
        """
        if start == stop:
            return self._origin((start, stop))
        inner = [index for index in range(start, stop) if not self.text[index].isspace()] or range(start, stop)
        origins = [self.origins[index] for index in inner]
        return _union(origin for origin in origins if origin is not None)

    def _origin(self, span: Span) -> Span | None:
        """Origin of a character that comes from some of these."""
        start, stop = span
        if start < stop:
            return _union(origin for origin in self.origins[start:stop] if origin is not None)
        before, after = (0, 0) if not start else self.origins[start - 1], next(iter(self.origins[start:]), None)
        place = before[1] if before else after[0] if after else None
        return None if place is None else (place, place)

    def substituted(self, pattern: str | re.Pattern[str], replacement: str) -> "TracedText":
        """The text after `re.sub`."""
        texts: list[str] = []
        origins: list[Span | None] = []
        end = 0
        for match in re.finditer(pattern, self.text):
            part = TracedText(match[0], self.origins[match.start() : match.end()]).rewritten(match.expand(replacement))
            texts += [self.text[end : match.start()], part.text]
            origins += [*self.origins[end : match.start()], *part.origins]
            end = match.end()
        return TracedText("".join((*texts, self.text[end:])), (*origins, *self.origins[end:]))


Text = TypeVar("Text", str, TracedText)


def changed(text: Text, steps: Iterable[Step]) -> Text:
    """A text after some steps, one after the other."""
    for step in steps:
        if isinstance(text, TracedText):
            text = text.rewritten(step(text.text)) if callable(step) else text.substituted(*step)
        else:
            text = step(text) if callable(step) else re.sub(*step, text)
    return text


def surface_spans(text: TracedText, surfaces: Sequence[bytes]) -> list[Span | None]:
    """Spans, as `TracedText.span`, of consecutive pieces by their UTF-8 bytes, maybe of a part of a character."""
    encoded = b"".join(surfaces)
    traced = text.rewritten(encoded.decode(errors="replace"))
    first_bytes = [0, *accumulate(byte & 0xC0 != 0x80 for byte in encoded)]  # characters begun before each byte
    ends = [0, *accumulate(map(len, surfaces))]
    return [
        traced.span(max(first_bytes[min(start + 1, stop)] - 1, 0), first_bytes[stop]) for start, stop in pairwise(ends)
    ]


def aligned(before: str, after: str) -> list[Span]:
    """Characters of one text that each character of another comes from.

    Letters are compared without case, accents separately, compatibility characters by their normal form, and white
    space not at all. Characters that differ come from the characters between the same neighbours; inserted white space
    has an empty span.
    """
    old, old_places = _compared(before)
    new, new_places = _compared(after)
    aligned_spans: list[Span | None] = [None] * len(after)
    for place, (start, stop) in zip(new_places, _origins(old, new), strict=True):
        if start < stop:
            found = old_places[start], old_places[stop - 1] + 1
            aligned_spans[place] = _union(filter(None, (aligned_spans[place], found)))
    return _filled(after, aligned_spans)


def _compared(text: str) -> tuple[str, list[int]]:
    """A text in the form used for comparison, and the position that each of its characters comes from."""
    spelled = [_spelled(character) for character in text]
    return "".join(spelled), [place for place, letters in enumerate(spelled) for _ in letters]


@lru_cache(maxsize=4096)
def _spelled(character: str) -> str:
    return "".join(unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold()).split())


def _origins(old: str, new: str) -> Iterator[Span]:
    """Characters of one text that each of another comes from."""
    shorter = min(len(old), len(new))
    head = next((index for index in range(shorter) if old[index] != new[index]), shorter)
    tail = next((index for index in range(shorter - head) if old[-1 - index] != new[-1 - index]), shorter - head)
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    yield from ((index, index + 1) for index in range(head))
    for start, stop, count, one_by_one in _blocks(inner_old, inner_new):
        for index in range(count):
            yield (head + start + index, head + start + index + 1) if one_by_one else (head + start, head + stop)
    yield from ((index, index + 1) for index in range(len(old) - tail, len(old)))


def _blocks(old: str, new: str) -> Iterator[tuple[int, int, int, bool]]:
    """Parts of two texts that correspond.

    Yields:
        Start and stop in the old one, number of characters in the new one, and whether they correspond one by one.
    """
    if len(old) * len(new) > MOST_COMPARED:
        yield 0, len(old), len(new), len(old) == len(new)
        return
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    while codes:
        tag, start, stop, first, last = codes.pop(0)
        if tag != "equal" and len(codes) > 1:
            (_, passed, passed_stop, _, _), (_, after, end, put, put_stop) = codes[:2]
            has_moved = (old[start:stop], new[first:last]) == (new[put:put_stop], old[after:end])
            if has_moved and passed_stop - passed <= MOST_PASSED:  # such as a comma before a quote
                codes = codes[2:]
                yield start, end, put_stop - first, False
                continue
        yield start, stop, last - first, stop - start == last - first


def _filled(text: str, spans: Sequence[Span | None]) -> list[Span]:
    """Spans of all characters; those without one get that of the nearest in their word, before or else after it."""
    filled: list[Span] = []
    for index, span in enumerate(spans):
        if span is None and not text[index].isspace():
            span = _neighbour(text, spans, index)
        stop = filled[-1][1] if filled else 0
        filled.append(span or (stop, stop))
    return filled


def _neighbour(text: str, spans: Sequence[Span | None], index: int) -> Span | None:
    for step in (-1, 1):
        place = index
        while 0 <= place < len(text) and not text[place].isspace():
            if (span := spans[place]) is not None:
                return span
            place += step
    return None


def _union(spans: Iterable[Span]) -> Span | None:
    """From the first start to the last stop of some spans; empty spans count only alone."""
    listed = list(spans)
    listed = [(start, stop) for start, stop in listed if start < stop] or listed[:1]
    return (min(start for start, _ in listed), max(stop for _, stop in listed)) if listed else None
