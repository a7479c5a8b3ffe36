"""The file of the page Score a file, whose sentences are scored step by step, and its words opened."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from core.analysis.word_scores.scored_lines import ScoredLine, WordScore, parse_lines, score_lines
from viz_app.language import marked, tr
from viz_app.session import readings
from viz_app.session.jobs import Job
from viz_app.session.models import Model
from viz_app.session.next_page import lead_to
from viz_app.session.state import MayHoldModel

MAX_LINES = 2_000
TOO_LARGE = marked("{name} is larger than {most} MB: upload fewer sentences, or use `python -m core score`")
NOT_TEXT = marked(
    "{name} is not UTF-8 text: {error}. Upload a text file with one sentence per line, or a TSV file with a source and "
    "its translation per line"
)
BEAM_SIZE, LENGTH_PENALTY = 4, 0.6  # of the search for the translations that are not given, as in the paper (6.1)


@dataclass
class ScoredFile(MayHoldModel):
    """The scored file of a session.

    Attributes:
        name: of the file.
        text: its content.
        model: that it is scored by; None before the first file.
        lines: scored so far.
        job: scores them.
    """

    name: str = ""
    text: str = ""
    model: Model | None = None
    lines: list[ScoredLine] = field(default_factory=list[ScoredLine])
    job: Job | None = None

    def begin(self, model: Model, name: str, text: str) -> None:
        """Start to score a text.

        Raises:
            ValueError: it has too many lines, or as `parse_lines`.
        """
        lines = parse_lines(text)
        if len(lines) > MAX_LINES:
            raise ValueError(
                tr(
                    "{name} has {count} sentences, at most {most} can be scored here: use `python -m core score`",
                    name=name,
                    count=len(lines),
                    most=MAX_LINES,
                )
            )
        scored: list[ScoredLine] = []

        def steps() -> Iterator[int]:
            for line in score_lines(model.translator, lines, BEAM_SIZE, LENGTH_PENALTY):
                scored.append(line)
                yield 1

        self.name, self.text, self.model, self.lines = name, text, model, scored
        self.job = Job(steps(), len(lines), marked("sentences"))

    def forget_model(self, digest: str) -> None:
        """Drop the scores by a model that is closed."""
        if self.job is not None and self.model is not None and self.model.digest == digest:
            self.job.close()
            self.model, self.lines, self.job = None, [], None

    def open(self, score: WordScore) -> None:
        """Open a word in its translation, on the page Translate; call it in a callback."""
        assert self.model is not None
        search = readings.Search(score.line.source, BEAM_SIZE, LENGTH_PENALTY, num_hypotheses=1)
        readings.show_target(self.model, search, score.line.target.token_ids, [("target", score.tokens)])
        lead_to("translate")
