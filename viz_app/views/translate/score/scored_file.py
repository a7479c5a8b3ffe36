"""The file of the page Score a file: its sentences are scored and searched for signs step by step, and opened."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from core.analysis.heads.word_pair import PlacedWord
from core.analysis.sample_sentences import SAMPLE
from core.analysis.signs.pair_signs import SignName
from core.analysis.signs.thresholds import UNMEASURED, SignThresholds
from core.analysis.word_scores.remedies import Remedies, Trial, flagged, plan, try_settings
from core.analysis.word_scores.scored_lines import ScoredLine, WordScore, score_lines
from core.analysis.word_scores.signed_lines import LEFT_OUT_LINES, SignedLine, add_left_out, sign_lines
from core.text.text_files import Line
from core.translator import Translator
from viz_app.controls.lines_form import BEAM_SIZE, LENGTH_PENALTY, LinesFile
from viz_app.controls.second_model import compare_with
from viz_app.language import marked
from viz_app.session import address, readings, signs
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
    trials: list[Trial] = field(default_factory=list[Trial])  # other settings so far
    seconds: dict[str, Model] = field(default_factory=dict[str, Model])  # second models that were tried, by name

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
        self.thresholds, self.problem, self.trials, self.seconds = known, "", [], {}
        total = len(lines) + min(LEFT_OUT_LINES, len(lines)) + (len(SAMPLE) if known is None else 0)
        self.job = Job(steps(), total, marked("steps"))

    @property
    def remedies(self) -> Remedies:
        """What mends sentences, as far as it was tried."""
        return Remedies(flagged(self.signed, self.thresholds or UNMEASURED), self.trials)

    def mend(self, name: str = "", opening: Callable[[], Model] | None = None) -> None:
        """Start to try other settings on the sentences with a sign, and a second model; call it in a callback."""
        limits, trials, second = self.thresholds or UNMEASURED, self.trials, opening and opening()
        tried, judges = {each.setting.second for each in trials}, dict[str, tuple[Translator, SignThresholds]]()
        if second:
            self.models, self.seconds = (*self.models, second), {**self.seconds, name: second}
            judges[name] = second.translator, signs.thresholds(second) or UNMEASURED
        planned = [each for each in plan(self.signed, limits, judges, LENGTH_PENALTY) if each[1].second not in tried]
        translator = self.models[0].translator

        def steps() -> Iterator[int]:
            for trial in try_settings(translator, planned, limits, judges, BEAM_SIZE):
                trials.append(trial)
                yield 1

        self.job = Job(steps(), len(planned), marked("sentences"))

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
        """Open a sentence with the setting that mends it, or else with its `marked` words selected, in a callback."""
        if trial := self.remedies.first.get(signed.line.number):
            self._open_trial(trial)
            return
        self._open(signed.line, signed.marked(self.thresholds or UNMEASURED, by))

    def _open_trial(self, trial: Trial) -> None:
        setting, line = trial.setting, trial.line.line
        if setting.second:
            self.show(line.source, line.target.token_ids)
            compare_with(self.seconds[setting.second])
            return
        address.BEAM_SIZE.set(BEAM_SIZE)
        address.LENGTH_PENALTY.set(setting.length_penalty)
        address.MIN_LENGTH.set(setting.constraints.min_length)
        readings.new_sentence(setting.source or line.source)
        if forbidden := tuple((each.position or 0, each.token_id) for each in setting.constraints.forbidden):
            target = readings.ForcedTarget(setting.prefix, forbidden=forbidden)
            readings.force(self.models[0], readings.Search(line.source), target)
        lead_to("translate")

    def _open(self, line: ScoredLine, words: Sequence[PlacedWord]) -> None:
        self.show(line.source, line.target.token_ids, words)
        lead_to("translate")
