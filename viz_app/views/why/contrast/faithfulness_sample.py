"""The faithfulness of all methods on a sample of sentences, for one session."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from core.analysis.attribution.faithfulness import Example, sample_curves
from viz_app.language import marked
from viz_app.session.address import FAITHFUL_SAMPLE
from viz_app.session.jobs import Job
from viz_app.session.models import Model
from viz_app.session.sample_sentences import OWN_NAME, SHIPPED, SHIPPED_NAME, sample_name
from viz_app.session.state import MayHoldModel, session_object
from viz_app.views.why.contrast.contrast_scores import scored


@dataclass
class FaithfulnessSample(MayHoldModel):
    """The session's measurement.

    Attributes:
        digest: of the model that is measured.
        sentences: the sample.
        contrastive: whether there is a B.
        examples: measured so far.
        job: None before the first one.
    """

    digest: str = ""
    sentences: tuple[str, ...] = ()
    contrastive: bool = True
    examples: list[Example] = field(default_factory=list[Example])
    job: Job | None = None

    def begin(self, model: Model, sentences: tuple[str, ...], contrastive: bool) -> None:
        """Measure these sentences, in place of what was measured before."""
        examples = list[Example]()

        def steps() -> Iterator[int]:
            for example in sample_curves(model.translator, sentences, contrastive):
                examples.append(example)
                yield 1

        self.digest, self.sentences, self.contrastive, self.examples = model.digest, sentences, contrastive, examples
        self.job = Job(steps(), len(sentences), marked("sentences"))

    def forget_model(self, digest: str) -> None:
        """Drop the job of a model that is closed, and all cached scores.

        They hold their model.
        """
        if self.job is not None and self.digest == digest:
            self.job.close()
            self.digest, self.examples, self.job = "", [], None
        scored.clear()

    def restore(self, model: Model, contrastive: bool) -> None:
        """In a new session, measure the shipped sentences if the address asks for it."""
        if SHIPPED_NAME in FAITHFUL_SAMPLE.texts and self.job is None:
            self.begin(model, SHIPPED, contrastive)

    def of(self, model: Model) -> Job | None:
        """Return the job, if it is about this model."""
        return self.job if self.digest == model.digest else None

    def write_address(self) -> None:
        """Write to the address which sample is measured."""
        if self.job is not None:
            FAITHFUL_SAMPLE.take()
            FAITHFUL_SAMPLE.put(sample_name(self.sentences))

    @property
    def is_missing(self) -> bool:
        """Whether the address is for a visitor's own sample that is not entered yet."""
        return self.job is None and OWN_NAME in FAITHFUL_SAMPLE.texts


def sample() -> FaithfulnessSample:
    """Return the session's measurement."""
    return session_object(FaithfulnessSample)


def sample_part(model_part: str, measured: FaithfulnessSample) -> str:
    """Measure the sample in Python as `examples`, as far as it was measured here."""
    if measured.sentences == SHIPPED:
        sentences = "from viz_app.session.sample_sentences import SHIPPED\nsentences = SHIPPED"
    else:
        sentences = f"sentences = {list(measured.sentences)}"
    return f"""
{model_part}
{sentences}
from itertools import islice
from core.analysis.attribution.faithfulness import sample_curves
measured = islice(sample_curves(translator, sentences, {measured.contrastive}), {len(measured.examples)})
examples = [example.curves for example in measured]""".strip()
