"""The part of the page Compare that finds the second side's heads that attend most like the first side's."""

from collections.abc import Iterator
from dataclasses import dataclass

import streamlit as st

from core.analysis.heads.head import Head
from core.analysis.heads.nearest_heads import (
    CorrelationTally,
    HeadCorrelations,
    NearestOptions,
    compared_maps,
    has_same_tokens,
    nearest_heads,
)
from core.analysis.recorded_call import Call
from viz_app.components.picture import picture
from viz_app.controls.downloads import downloads
from viz_app.controls.job_control import job_control
from viz_app.drawing.display_text import sentence_case
from viz_app.drawing.head_names import LayerHead
from viz_app.language import marked, tr, translated
from viz_app.session import python_code
from viz_app.session.address import NEAREST
from viz_app.session.jobs import Job, JobSlot
from viz_app.session.language_codes import codes_of, leading_codes
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.sample_sentences import SHIPPED
from viz_app.session.state import session_object
from viz_app.views.compare.one_sentence.other_side import ComparedSide
from viz_app.views.compare.one_sentence.settings import CompareView, second_widget

SHOWN = 5  # nearest heads of each
ABOUT = marked("""
The heads of the second side that attend most like the first side's head, whatever their numbers: by the correlation of
their raw weights within rows over 32 sentences, from -1 to 1. Both read the first model's translations. Models with
different tokens are compared on words (Clark et al. 2019).
""")


@dataclass
class Found:
    """The correlations of two models, shared by all sessions; None until they are measured."""

    correlations: HeadCorrelations | None = None


@dataclass
class Comparison:
    """A measurement of the correlations of two models."""

    tally: CorrelationTally  # of the sentences so far
    job: Job
    select: bool = False  # whether the nearest head is to be selected at the end


class ComparisonSlot(JobSlot[Comparison]):
    """The session's measurement."""


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=MODEL_HASH)
def found(first: Model, second: Model, options: NearestOptions) -> Found:
    """Return the correlations of two models on the shipped sentences."""
    return Found()


def options_of(first: ComparedSide, second: ComparedSide) -> NearestOptions:
    """Return the options: sentences begin with the codes of the languages that the sides' own begin with."""
    prefixes = [leading_codes(side.source, codes_of(side.model)) for side in (first, second)]
    return NearestOptions(prefix=prefixes[0], other_prefix=prefixes[1])


def comparison(first: ComparedSide, second: ComparedSide) -> Comparison:
    """Return the session's measurement of two models, begun unless it is the last one.

    Raises:
        ValueError: as `compared_maps`.
    """
    options, one, other = options_of(first, second), first.model.translator, second.model.translator

    def begin() -> Comparison:
        batches = compared_maps(one, other, SHIPPED, options)
        tally, shared = CorrelationTally(not has_same_tokens(one, other)), found(first.model, second.model, options)

        def steps() -> Iterator[int]:
            for batch in batches:
                for pair in batch:
                    tally.add(*pair)
                yield len(batch)
            shared.correlations = tally.result(SHOWN)

        return Comparison(tally, Job(steps(), len(SHIPPED), marked("sentences")))

    return session_object(ComparisonSlot).of((first.model.digest, second.model.digest, options), begin)


def known(first: ComparedSide, second: ComparedSide) -> HeadCorrelations | None:
    """Return the correlations if they are measured."""
    return found(first.model, second.model, options_of(first, second)).correlations


def nearest_button(first: ComparedSide, second: ComparedSide, view: CompareView, head: LayerHead) -> None:
    """Draw the button that selects the nearest head, at once or when it is found, and shows the nearest five."""

    def select() -> None:
        NEAREST.set(True)
        if (correlations := known(first, second)) is not None:
            select_nearest(correlations, view, head)
        else:
            comparison(first, second).select = True

    st.button(tr("Select nearest head"), on_click=select, key="nearest_head", help=tr(ABOUT))


def select_nearest(correlations: HeadCorrelations, view: CompareView, head: LayerHead) -> None:
    """Select the second side's head that is nearest to the first side's; before its widget is drawn."""
    second_widget(view).set(correlations.nearest_to(Head(view.kind, *head))[0].head.short)


def select_if_found(first: ComparedSide, second: ComparedSide, view: CompareView, head: LayerHead) -> None:
    """Select the nearest head if the visitor has asked for it and it has been found since."""
    slot = session_object(ComparisonSlot)
    if slot.measured is not None and slot.measured.select and (correlations := known(first, second)) is not None:
        slot.measured.select = False
        select_nearest(correlations, view, head)


def nearest_part(
    first: ComparedSide, second: ComparedSide, view: CompareView, heads: tuple[LayerHead, LayerHead]
) -> None:
    """Draw how alike the second side's heads are, if the visitor wants it, while it is found."""
    if not NEAREST.draw(st.toggle, tr("Similarity of all heads"), help=tr(ABOUT)):
        return
    correlations = known(first, second)
    if correlations is not None:
        near_grid(correlations, first, second, view, heads)
        downloads("nearest-heads", "nearest-heads", call=lambda: nearest_call(first, second), of_sentence=False)
        return
    try:
        measured = comparison(first, second)
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return

    def so_far() -> None:
        if measured.job.done:
            near_grid(measured.tally.result(SHOWN), first, second, view, heads)

    job_control(measured.job, "nearest_job", below=so_far)


def near_grid(
    correlations: HeadCorrelations,
    first: ComparedSide,
    second: ComparedSide,
    view: CompareView,
    heads: tuple[LayerHead, LayerHead],
) -> None:
    """Draw the second side's heads by their likeness to the first side's; a click on one compares it."""
    head, other = (Head(view.kind, *each) for each in heads)

    def select(near: Head) -> None:
        second_widget(view).set(near.short)

    picture(correlations.pictures(head)[0], "nearest-heads", other, on_head=select)
    if first.model.digest == second.model.digest and correlations.nearest_to(head)[0].head == head:
        st.caption(tr("Both sides have the same model, so {head} is nearest to itself.", head=head.short))
    else:
        st.caption(translated(correlations.answer(head)))


def nearest_call(first: ComparedSide, second: ComparedSide) -> Call:
    """Return the call of the table of the nearest heads of all heads."""
    one, two = (python_code.translator(side.model) for side in (first, second))
    arguments = one, two, python_code.given_sample(SHIPPED), options_of(first, second)
    return Call("found", nearest_heads, arguments).returning(known(first, second)).then("table")
