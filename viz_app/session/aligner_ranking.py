"""Heads ranked as word aligners on a text with gold links."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.analysis.alignment.align import RankedAligners
from core.analysis.alignment.aligners import AlignerRanking, head_error_rates
from core.analysis.alignment.pharaoh import GoldPair
from core.analysis.attribution.methods import METHODS, Method
from core.analysis.heads.head import Head
from viz_app.language import RefusedError, tr
from viz_app.session.attributions import METHOD_NAMES
from viz_app.session.jobs import Job
from viz_app.session.models import Model
from viz_app.session.state import MayHoldModel


@dataclass(frozen=True)
class RankedText(RankedAligners):
    """Aligners of a checkpoint, ranked on a text by a method."""

    checkpoint: str  # file name
    digest: str
    method: Method


@dataclass
class TextRankings(MayHoldModel):
    """The text rankings of a session."""

    job: Job | None = None  # scores the pairs of the current text one by one
    last: RankedText | None = None  # the last result
    last_by_weights: RankedText | None = None  # the last result of the method "attention"

    def begin(self, model: Model, method: Method, pairs: Sequence[GoldPair]) -> None:
        """Start to rank all heads on these pairs, as `python -m core align` does."""
        name = model.name

        def unit() -> str:
            return tr("pairs, {method}, {checkpoint}", method=tr(METHOD_NAMES[method]), checkpoint=name)

        self.job = Job(self._steps(model, method, pairs), len(pairs), unit)

    def forget_model(self, digest: str) -> None:
        """Drop an unfinished job, which may be of a model that is closed; results are kept."""
        if self.job is not None and not self.job.finished:
            self.job.close()
            self.job = None

    def _steps(self, model: Model, method: Method, pairs: Sequence[GoldPair]) -> Iterator[int]:
        scores = AlignerRanking()
        for number, pair in enumerate(pairs, start=1):
            try:
                scores.replay(model.translator, pair, lambda *arguments: METHODS[method](*arguments)["cross"])
            except ValueError as error:
                raise RefusedError("pair {number}: {error}", number=number, error=error) from error
            yield 1
        self.last = RankedText(scores.aligners(), len(pairs), model.name, model.digest, method)
        if method == "attention":
            self.last_by_weights = self.last

    def error_rates(self, model: Model) -> Mapping[Head, float]:
        """Return the alignment error rate of each head's weights on the last text; empty without a ranking."""
        last = self.last_by_weights
        return head_error_rates(last.aligners) if last is not None and last.digest == model.digest else {}
