"""The test set of the page, whose sentences two models translate step by step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from core.analysis.two_models.compare import ComparedModels, CompareOptions, Thresholds, compared
from core.analysis.two_models.translated_lines import TestPair, TranslatedPair, translate_pairs
from viz_app.controls.lines_form import BEAM_SIZE, LENGTH_PENALTY, LinesFile
from viz_app.controls.second_model import compare_with
from viz_app.language import marked
from viz_app.session import signs
from viz_app.session.jobs import Job
from viz_app.session.models import Model

MAX_LINES = 3_500  # newstest2013 has 3,000
OPTIONS = CompareOptions()


@dataclass
class ComparedFile(LinesFile):
    """The test set of a session."""

    thresholds: Thresholds = (None, None)  # of the signs of both models
    lines: list[TranslatedPair] = field(default_factory=list[TranslatedPair])  # translated so far
    result: ComparedModels | None = None  # none until all are

    def begin(self, models: tuple[Model, Model], name: str, text: str, pairs: Sequence[TestPair]) -> None:
        """Start to translate the sentences of a test set."""
        lines: list[TranslatedPair] = []
        translators = models[0].translator, models[1].translator
        limits = signs.thresholds(models[0]), signs.thresholds(models[1])

        def steps() -> Iterator[int]:
            for line in translate_pairs(*translators, pairs, BEAM_SIZE, LENGTH_PENALTY):
                lines.append(line)
                if len(lines) == len(pairs):  # in the last step: the page that runs after it has the scores
                    names = models[0].name, models[1].name
                    self.result = replace(compared(lines, OPTIONS, limits), names=names)
                yield 1

        self.name, self.text, self.models, self.thresholds = name, text, models, limits
        self.lines, self.result = lines, None
        self.job = Job(steps(), len(pairs), marked("sentences"))

    def open(self, line: TranslatedPair) -> None:
        """Open a sentence and both translations on the page Compare; call it in a callback."""
        self.show(line.pair.source, line.first[0])
        compare_with(self.models[1])
