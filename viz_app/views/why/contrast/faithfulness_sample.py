"""The faithfulness of all methods on a sample of sentences, for one session, and its drawings."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from core.analysis.attribution.deletion_curves import METHOD_NAMES, DeletionCurves, curves_picture, curves_table
from core.analysis.attribution.faithfulness import Example, measured_curves, rank_methods, sample_curves
from core.analysis.declaration import Columns
from core.analysis.recorded_call import Call
from viz_app.controls.downloads import downloads, picture_with_files
from viz_app.controls.tables import bar_column, number_column, show_table
from viz_app.drawing.display_text import plain
from viz_app.language import marked, tr, translated
from viz_app.session import python_code, readings
from viz_app.session.address import FAITHFUL_SAMPLE
from viz_app.session.jobs import Job
from viz_app.session.models import Model
from viz_app.session.sample_sentences import OWN_NAME, SHIPPED, SHIPPED_NAME, sample_name
from viz_app.session.state import MayHoldModel, session_object
from viz_app.views.why.contrast.contrast_scores import scored


@dataclass
class FaithfulnessSample(MayHoldModel):
    """The session's measurement."""

    digest: str = ""  # of the model that is measured
    sentences: tuple[str, ...] = ()  # the sample
    contrastive: bool = True  # whether there is a B
    examples: list[Example] = field(default_factory=list[Example])  # measured so far
    job: Job | None = None  # none before the first one

    def begin(self, model: Model, sentences: tuple[str, ...], contrastive: bool) -> None:
        """Measure these sentences, instead of those before."""
        examples = list[Example]()

        def steps() -> Iterator[int]:
            for example in sample_curves(model.translator, sentences, contrastive):
                examples.append(example)
                yield 1

        self.digest, self.sentences, self.contrastive, self.examples = model.digest, sentences, contrastive, examples
        self.job = Job(steps(), len(sentences), marked("sentences"))

    def forget_model(self, digest: str) -> None:
        """Drop the job of a model that is closed, and all cached scores, which hold their model."""
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
        """Write the measured sample to the address."""
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


def curves_call(model: Model, measured: FaithfulnessSample) -> Call:
    """Return the call that measures the sample, as far as it was measured here, with its result."""
    sentences, curves = python_code.given_sample(measured.sentences), [each.curves for each in measured.examples]
    arguments = python_code.translator(model), sentences, measured.contrastive, len(curves)
    return Call("examples", measured_curves, arguments).returning(curves)


def draw_curves(name: str, recorded: Call, curves: DeletionCurves) -> None:
    """Draw deletion curves, with the exports of those that a recorded call returns."""
    table = Call("table", curves_table, (recorded,))
    picture_with_files(curves_picture(curves), name, table, of_sentence=name == "contrast-curves")


def draw_methods(table: Columns, **columns: Any) -> None:
    """Draw a table with a row for each method."""
    show_table(
        {**table, "method": [tr(METHOD_NAMES[str(method)]) for method in table["method"]]},
        height="content",
        column_order=["method", *columns],
        column_config={"method": st.column_config.TextColumn(tr("Method")), **columns},
    )


def result() -> None:
    """Draw the ranking of the methods on the sample, as far as it is measured."""
    measured = sample()
    if not measured.examples:
        return
    ranking = rank_methods([example.curves for example in measured.examples])
    ranked = Call("result", rank_methods, (curves_call(readings.model(), measured),)).returning(ranking)
    st.markdown(plain(translated(ranking.answer())))
    left, right = st.container(key="difference").columns([5, 6], gap="large")
    check, interval = st.column_config.CheckboxColumn, tr("95 % interval of that difference.")
    with left:
        draw_methods(
            ranking.table(),
            aopc=bar_column("AOPC", 3),
            above_random=number_column(tr("Above random"), 3, help=tr("Mean difference from the random orders.")),
            low=number_column(tr("Lower bound"), 3, help=interval),
            high=number_column(tr("Upper bound"), 3, help=interval),
            beats_random=check(
                tr("Beats random"), help=tr("By a paired t-test at 5 %, corrected for the number of methods.")
            ),
            is_best=check(
                tr("Best"),
                help=tr(
                    "Not shown to be worse than the best, which is chosen on one half of the sentences and measured on "
                    "the other."
                ),
            ),
        )
        downloads("faithfulness", call=ranked.then("table"))
    with right:
        draw_curves("faithfulness-curves", ranked.then(".curves", name="curves"), ranking.curves)
