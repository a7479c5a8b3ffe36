"""Translate windows of lines: sentences of like length in a batch, lines in their order."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from core.file_translation.engine import TranslateBatches
from core.file_translation.lines import LineWindow, split_lines
from core.translator import BATCH_TOKENS, Translator, batches_by_length


@dataclass(frozen=True)
class TranslatedLines:
    """A window with the translation of each line, and for each line that has none because of an error, a message."""

    window: LineWindow
    lines: list[str]
    problems: list[str]


def translate_windows(
    windows: Iterator[LineWindow],
    translator: Translator,
    translate_batches: TranslateBatches,
    strict: bool = False,
    progress: Callable[[int], None] = lambda lines: None,
) -> Iterator[TranslatedLines]:
    """Translate the lines of each window.

    Sentences are sorted by length within a window, and a batch never has sentences of two windows. So what is
    translated together, and with it every translation to the bit, depends on the window alone, not on which process
    translates it or when. A window is read when a process has nothing left to do, so only those that are being
    translated are in memory.

    Args:
        translator: counts tokens.
        translate_batches: translates, perhaps several batches at the same time.
        strict: stop at a line that cannot be translated.
        progress: called after each batch with about how many lines of the input are done.

    Yields:
        The windows in their order.

    Raises:
        ValueError: if `strict`, naming the line.
    """
    pending: deque[_Pending] = deque()
    batches: dict[int, tuple[_Pending, list[int]]] = {}  # those not yet translated, by their index

    def texts() -> Iterator[list[str]]:
        index = 0
        for window in windows:
            part = _Pending(window, *split_lines(window, translator, strict))
            pending.append(part)
            lengths = [translator.num_tokens(text) for text in part.texts]
            for batch in list(batches_by_length(lengths, BATCH_TOKENS)) or [
                []
            ]:  # a window of blank lines is an empty batch
                batches[index] = part, batch
                index += 1
                yield [part.texts[sentence] for sentence in batch]

    for index, translations in translate_batches(texts()):
        part, batch = batches.pop(index)
        part.fill(batch, translations)
        progress(pending[0].window.start + sum(each.lines_done for each in pending))
        while pending and pending[0].complete:
            yield pending.popleft().translated()


class _Pending:
    """A window that is being translated."""

    def __init__(self, window: LineWindow, sentences: list[tuple[str, ...]], problems: list[str]) -> None:
        self.window = window
        self.texts = [sentence for line in sentences for sentence in line]
        self.complete = False
        self._sentences, self._problems = sentences, problems
        self._translations = [""] * len(self.texts)
        self._missing = len(self.texts)
        self._characters, self._characters_done = sum(map(len, self.texts)), 0

    def fill(self, sentences: list[int], translations: list[str]) -> None:
        for sentence, translation in zip(sentences, translations, strict=True):
            self._translations[sentence] = translation
            self._characters_done += len(self.texts[sentence])
        self._missing -= len(sentences)
        self.complete = not self._missing

    @property
    def lines_done(self) -> int:
        """An estimate by characters: the longest sentences come first, and take longer."""
        lines = len(self.window.lines)
        return lines if self.complete else lines * self._characters_done // (self._characters or 1)

    def translated(self) -> TranslatedLines:
        """Each line's translation as one line, whatever the model's output is."""
        translations = iter(self._translations)
        joined = (" ".join(next(translations) for _ in line) for line in self._sentences)
        return TranslatedLines(self.window, [" ".join(line.splitlines()) for line in joined], self._problems)
