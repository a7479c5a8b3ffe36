"""Lines whose translation may mean little, counted for messages at the end."""

from collections.abc import Sequence

from core.analysis.unseen_characters import Alphabet, character_names, not_copied
from core.text.sentences import missing_sentences
from core.translator import Translator


class LineNotes:
    """Counts of lines with characters that the vocabulary lacks, or of several sentences and a translation of fewer."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self._alphabet = Alphabet(translator.tokenizer)
        self._unseen = self._shortened = 0
        self._first_unseen = self._first_shortened = ""

    def add(self, start: int, lines: Sequence[bytes], translations: Sequence[str]) -> None:
        """Count lines after the first `start`; a translation has tabs between hypotheses, and is empty without any."""
        for number, (line, hypotheses) in enumerate(zip(lines, translations, strict=True), start=start + 1):
            if not hypotheses:
                continue
            text = line.decode()
            if unseen := not_copied(self._alphabet.unseen(text), hypotheses.partition("\t")[0]):
                self._unseen += 1
                self._first_unseen = self._first_unseen or f"line {number} with {character_names(unseen)[0]}"
            # a line that does not fit was translated sentence by sentence
            if missing_sentences(text, hypotheses.partition("\t")[0]) and self._translator.codec.fits(text):
                self._shortened += 1
                self._first_shortened = self._first_shortened or f"line {number}"

    def messages(self) -> list[str]:
        """A message for each kind of which there are lines."""
        messages: list[str] = []
        if self._unseen:
            messages.append(
                f"lines with characters that the vocabulary lacks: {self._unseen:,}, the first is "
                f"{self._first_unseen}; the model may write anything in their place"
            )
        if self._shortened:
            messages.append(
                f"lines of several sentences whose translation has fewer: {self._shortened:,}, the first is "
                f"{self._first_shortened}; put each sentence on a line of its own"
            )
        return messages
