"""The file of the page Score a file: its sentences are scored and searched for signs step by step, and opened."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from core.analysis.heads.word_pair import PlacedWord
from core.analysis.sample_sentences import SAMPLE
from core.analysis.signs.pair_signs import SignName
from core.analysis.signs.thresholds import UNMEASURED, SignThresholds
from core.analysis.word_scores.scored_lines import ScoredLine, WordScore, score_lines
from core.analysis.word_scores.signed_lines import LEFT_OUT_LINES, SignedLine, add_left_out, sign_lines
from core.text.text_files import Line
from viz_app.controls.lines_form import BEAM_SIZE, LENGTH_PENALTY, LinesFile
from viz_app.language import marked
from viz_app.session import signs
from viz_app.session.jobs import Job
from viz_app.session.models import Model
from viz_app.session.state import lead_to

MAX_LINES = 2_000


@dataclass
class ScoredFile(LinesFile):
    """The scored file of a session."""

    lines: list[ScoredLine] = field(default_factory=list[ScoredLine])  # scored so far
    # the same with their signs; `left_out` for the worst of them at the end
    signed: list[SignedLine] = field(default_factory=list[SignedLine])
    thresholds: SignThresholds | None = None  # of the signs; None if they cannot be measured, for the reason `problem`
    problem: str = ""

    def begin(self, model: Model, name: str, text: str, lines: Sequence[Line]) -> None:
        """Start to score the lines of a text."""
        scored: list[ScoredLine] = []
        signed: list[SignedLine] = []
        known = signs.thresholds(model)

        def score() -> Iterator[ScoredLine]:
            for line in score_lines(model.translator, lines, BEAM_SIZE, LENGTH_PENALTY):
                scored.append(line)
                yield line

        def steps() -> Iterator[int]:
            for line in sign_lines(model.translator, score()):
                signed.append(line)
                yield 1
            if known is None:
                yield from self._measure(model, tuple(line.source for line in lines), name)
            for _ in add_left_out(model.translator, signed):
                yield 1

        self.name, self.text, self.models, self.lines, self.signed = name, text, (model,), scored, signed
        self.thresholds, self.problem = known, ""
        total = len(lines) + min(LEFT_OUT_LINES, len(lines)) + (len(SAMPLE) if known is None else 0)
        self.job = Job(steps(), total, marked("steps"))

    def _measure(self, model: Model, sources: tuple[str, ...], name: str) -> Iterator[int]:
        """Measure the thresholds of a model that has none; without them, there are values alone."""
        done = 0
        try:
            for step in signs.measure_steps(model, sources, name):
                done += step
                yield step
            self.thresholds = signs.thresholds(model)
        except ValueError as error:
            self.problem = str(error)
            yield len(SAMPLE) - done

    def open(self, score: WordScore) -> None:
        """Open a word in its translation, on the page Translate; call it in a callback."""
        self._open(score.line, [("target", score.tokens)])

    def open_line(self, signed: SignedLine, by: SignName | None) -> None:
        """Open a sentence on the page Translate, with its `marked` words selected; call it in a callback."""
        self._open(signed.line, signed.marked(self.thresholds or UNMEASURED, by))

    def _open(self, line: ScoredLine, words: Sequence[PlacedWord]) -> None:
        self.show(line.source, line.target.token_ids, words)
        lead_to("translate")
