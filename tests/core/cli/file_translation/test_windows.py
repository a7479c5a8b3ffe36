"""Lines keep their order in any order of batches; batches depend on the window alone."""

import io
import random
from collections.abc import Iterator

import pytest

from core.cli.file_translation import lines
from core.cli.file_translation.engine import Hypotheses
from core.cli.file_translation.lines import InputReader, LineWindow, read_windows
from core.cli.file_translation.windows import translate_windows
from core.translator import BATCH_TOKENS, Translator

WORDS = ["a", "dog", "runs", "through", "the", "green", "grass", "and"]


@pytest.fixture
def text(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lines of various lengths, blank ones, a blank window, and a line that is split into sentences."""
    monkeypatch.setattr(lines, "WINDOW_LINES", 100)
    generator = random.Random(1)
    text = [" ".join(generator.choices(WORDS, k=generator.randrange(40))) for _ in range(430)]
    return text[:200] + [""] * 100 + ["A dog runs. " * 100] + text[200:]


def in_another_order(batches: Iterator[list[str]]) -> Iterator[tuple[int, list[Hypotheses]]]:
    """Translate to upper case, three batches at a time, in any order, as processes might."""
    generator = random.Random(2)
    waiting: list[tuple[int, list[Hypotheses]]] = []
    for index, texts in enumerate(batches):
        waiting.append((index, [(text.upper(),) for text in texts]))
        if len(waiting) == 3:
            yield waiting.pop(generator.randrange(3))
    yield from reversed(waiting)


def test_lines_keep_their_order(text: list[str], translator: Translator) -> None:
    windows = read_windows(InputReader(io.BytesIO("\n".join(text).encode())))
    done: list[int] = []
    found = list(translate_windows(windows, translator, in_another_order, progress=done.append))
    assert [line for part in found for line in part.lines] == [" ".join(line.upper().split()) for line in text]
    assert [part.window.start for part in found] == list(range(0, len(text), 100))
    assert done == sorted(done)
    assert done[-1] == len(text)


def batches_of(text: list[str], translator: Translator) -> list[list[str]]:
    batches: list[list[str]] = []

    def record(parts: Iterator[list[str]]) -> Iterator[tuple[int, list[Hypotheses]]]:
        for index, texts in enumerate(parts):
            batches.append(texts)
            yield index, [(text,) for text in texts]

    list(translate_windows(read_windows(InputReader(io.BytesIO("\n".join(text).encode()))), translator, record))
    return batches


def test_batches_depend_on_their_window_alone(text: list[str], translator: Translator) -> None:
    together = [batches_of(text[start : start + 100], translator) for start in range(0, len(text), 100)]
    assert batches_of(text, translator) == [batch for batches in together for batch in batches]
    assert together[2] == [[]]  # blank lines


def test_a_batch_has_sentences_of_like_length(text: list[str], translator: Translator) -> None:
    batches = batches_of(text[:100], translator)
    lengths = [[translator.codec.num_tokens(sentence) for sentence in batch] for batch in batches]
    assert [length for batch in lengths for length in batch] == sorted(
        (length for batch in lengths for length in batch), reverse=True
    )
    assert all(max(batch) * len(batch) <= BATCH_TOKENS for batch in lengths)


def test_windows_are_read_when_they_are_needed(text: list[str], translator: Translator) -> None:
    """Memory does not grow with the input."""
    read = 0

    def windows() -> Iterator[LineWindow]:
        nonlocal read
        for window in read_windows(InputReader(io.BytesIO("\n".join(text).encode()))):
            read = window.end
            yield window

    for part in translate_windows(windows(), translator, lambda batches: enumerate(batches)):
        assert read == part.window.end
