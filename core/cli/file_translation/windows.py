"""Translation of windows of lines, with sentences batched by length."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from core.cli.file_translation.engine import Hypotheses, TranslateBatches
from core.cli.file_translation.lines import LineWindow, split_lines
from core.decoding.limits import batches_by_length
from core.text.text_files import one_line
from core.translator import BATCH_TOKENS, Translator


@dataclass(frozen=True)
class TranslatedLines:
    """A window with the translation of each line."""

    window: LineWindow
    # hypotheses with tabs between them; empty for blank lines, and for those that could not be translated
    lines: list[str]
    problems: list[str]  # a message for each line that could not be translated


def translate_windows(
    windows: Iterator[LineWindow],
    translator: Translator,
    translate_batches: TranslateBatches,
    strict: bool = False,
    progress: Callable[[int], None] = lambda lines: None,
) -> Iterator[TranslatedLines]:
    """Translate the lines of each window, and yield the windows in their order.

    Sentences are sorted by length within a window, and a batch never has sentences of two windows. So the batches, and
    with them every translation to the bit, depend on the window alone, not on the process or the order of work. A
    window is read when a process becomes idle, so only windows in progress are in memory. `progress` is called after
    each batch with the approximate number of input lines done.

    Raises:
        ValueError: if `strict`, naming the first line that cannot be translated.
    """
    pending: deque[_Pending] = deque()
    batches: dict[int, tuple[_Pending, list[int]]] = {}  # those not yet translated, by their index

    def texts() -> Iterator[list[str]]:
        index = 0
        for window in windows:
            part = _Pending(window, *split_lines(window, translator, strict))
            pending.append(part)
            lengths = [translator.codec.num_tokens(text) for text in part.texts]
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
        self._translations: list[Hypotheses] = [()] * len(self.texts)
        self._missing = len(self.texts)
        self._characters, self._characters_done = sum(map(len, self.texts)), 0

    def fill(self, sentences: list[int], translations: list[Hypotheses]) -> None:
        for sentence, translation in zip(sentences, translations, strict=True):
            self._translations[sentence] = translation
            self._characters_done += len(self.texts[sentence])
        self._missing -= len(sentences)
        self.complete = not self._missing

    @property
    def lines_done(self) -> int:
        """Estimate the lines done by characters, as long sentences come first and take longer."""
        lines = len(self.window.lines)
        return lines if self.complete else lines * self._characters_done // (self._characters or 1)

    def translated(self) -> TranslatedLines:
        """The translations; the n-th hypothesis of a line that was split joins the n-th hypotheses of its sentences."""
        translations = iter(self._translations)
        by_line = [[next(translations) for _ in line] for line in self._sentences]
        lines = ["\t".join(one_line(" ".join(ranked)) for ranked in zip(*line, strict=False)) for line in by_line]
        return TranslatedLines(self.window, lines, self._problems)
