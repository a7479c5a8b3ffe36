"""The test set of the page, whose sentences two models translate step by step."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from core.analysis.two_models.compare import ComparedModels, CompareOptions, Thresholds, compared
from core.analysis.two_models.translated_lines import TranslatedPair, parse_pairs, translate_pairs
from viz_app.language import marked, tr
from viz_app.session import address, readings, signs
from viz_app.session.jobs import Job
from viz_app.session.models import Model
from viz_app.session.state import MayHoldModel, lead_to
from viz_app.views.compare.one_sentence import other_side

MAX_LINES = 3_500  # newstest2013 has 3,000
TOO_LARGE = marked("{name} is larger than {most} MB: upload fewer sentences, or use `python -m core compare`")
NOT_TEXT = marked(
    "{name} is not UTF-8 text: {error}. Upload a TSV file with a source, a tab and its reference per line"
)
OPTIONS = CompareOptions()


@dataclass
class ComparedFile(MayHoldModel):
    """The test set of a session.

    Attributes:
        name: of the file.
        text: its content.
        models: both models; None before the first file.
        thresholds: of the signs of both.
        lines: translated so far.
        result: None until all are.
        job: translates them.
    """

    name: str = ""
    text: str = ""
    models: tuple[Model, Model] | None = None
    thresholds: Thresholds = (None, None)
    lines: list[TranslatedPair] = field(default_factory=list[TranslatedPair])
    result: ComparedModels | None = None
    job: Job | None = None

    def begin(self, models: tuple[Model, Model], name: str, text: str) -> None:
        """Start to translate a test set.

        Raises:
            ValueError: it has too many lines, or as `parse_pairs`.
        """
        pairs = parse_pairs(text)
        if len(pairs) > MAX_LINES:
            raise ValueError(
                tr(
                    "{name} has {count} sentences, at most {most} can be compared here: use `python -m core compare`",
                    name=name,
                    count=len(pairs),
                    most=MAX_LINES,
                )
            )
        lines: list[TranslatedPair] = []
        translators = [model.translator for model in models]
        limits = signs.thresholds(models[0]), signs.thresholds(models[1])

        def steps() -> Iterator[int]:
            searched = translate_pairs(translators[0], translators[1], pairs, OPTIONS.beam_size, OPTIONS.length_penalty)
            for line in searched:
                lines.append(line)
                if len(lines) == len(pairs):  # in the last step: the page that runs after it has the scores
                    self.result = compared(lines, OPTIONS, limits)
                yield 1

        self.name, self.text, self.models, self.thresholds = name, text, models, limits
        self.lines, self.result = lines, None
        self.job = Job(steps(), len(pairs), marked("sentences"))

    def forget_model(self, digest: str) -> None:
        """Drop the translations by a model that is closed."""
        if self.job is not None and self.models and digest in (model.digest for model in self.models):
            self.job.close()
            self.models, self.lines, self.result, self.job = None, [], None, None

    def open(self, line: TranslatedPair) -> None:
        """Open a sentence and both translations on the page Compare; call it in a callback."""
        assert self.models is not None
        search = readings.Search(line.pair.source, OPTIONS.beam_size, OPTIONS.length_penalty, num_hypotheses=1)
        readings.show_target(self.models[0], search, line.first[0], [])
        address.AGAINST.set("Checkpoint")
        other_side.CHECKPOINT.set(self.models[1].digest)
        address.SAME_TARGET.set(False)
        lead_to("compare")
