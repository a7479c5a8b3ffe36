"""Scores and deletion curves of a reading, and the selection of the alternative and the methods."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import streamlit as st

from core.analysis.attribution.attribute import ContrastAttribution, attribute_contrast, contrast_steps
from core.analysis.attribution.contrast import contrast_at
from core.analysis.attribution.contrast_methods import METHODS, NAMES, ContrastMethod, methods_of
from core.analysis.attribution.deletion_curves import DeletionCurves, deletion_curves
from core.analysis.attribution.word_deletion import WordDeletions, word_deletions
from core.analysis.recorded_call import Call
from core.analysis.tokens.words import axis_groups
from viz_app.components import word_links
from viz_app.controls.predicted_token import alternative_box, alternatives
from viz_app.language import marked, tr
from viz_app.session import address, python_code
from viz_app.session.jobs import Job, JobSlot
from viz_app.session.readings import READING_HASH, Reading, TokenView
from viz_app.session.state import session_object

RATHER = address.RATHER_THAN  # a piece, or the one below
NOTHING = marked("nothing")
# so that a picture is there at once
QUICKEST: tuple[ContrastMethod, ...] = (
    "attention",
    "rollout",
    "norms",
    "alti",
    "gradient_x_input",
    "occlusion",
    "value_zeroing",
    "integrated_gradients",
)
METHOD_HELP = marked("""
**Integrated gradients** (Sundararajan et al. 2017): the gradient, integrated from unknown tokens to the sentence.
**Occlusion** (Zeiler & Fergus 2014): the change when the token is made unknown. **Value zeroing** (after Mohebbi et
al. 2023): the change when no head can read the token. **Gradient \u00d7 input** (Yin & Neubig 2022): the gradient at
the sentence itself. These four are in nats, and negative where a token speaks for B.

**Attention**, **Norms**, **Rollout** and **ALTI** are shares of the decoder row. They are the same for every B and
cannot be negative.
""")


@dataclass
class PredictionScores:
    """The scores of one prediction, which all sessions share."""

    found: ContrastAttribution | None = None  # with the methods so far; None before the first step
    without: WordDeletions | None = None  # the prediction without each word of the source; None before the first step
    curves: DeletionCurves | None = None  # deletion curves of all methods; None until they are measured
    refused: str = ""  # why there are none, or ""

    @property
    def is_whole(self) -> bool:
        """Whether all methods are done."""
        result = self.found
        return result is not None and len(result.scores) == len(methods_of(result.contrast.translator.config))

    @property
    def has_curves(self) -> bool:
        """Whether nothing is left to compute."""
        return self.curves is not None or bool(self.refused)


@dataclass
class Scoring:
    """The job that completes the scores of one prediction."""

    job: Job


class ScoringSlot(JobSlot[Scoring]):
    """The session's job."""


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=READING_HASH)
def scored(about: Reading, position: int, against: int | None) -> PredictionScores:
    """Return the scores of a prediction, shared by all sessions."""
    return PredictionScores()


def scoring_job(about: Reading, position: int, against: int | None) -> Job:
    """Return the session's job for a prediction, with a step for each method, and one for the curves."""

    def begun() -> Scoring:
        known = scored(about, position, against)
        count = len(methods_of(about.model.translator.config))
        job = Job(_steps(about, position, against, known), count + 1, marked("steps"))
        if known.has_curves:
            job.advance(0)
        return Scoring(job)

    return session_object(ScoringSlot).of((about.identity, position, against), begun).job


def _steps(about: Reading, position: int, against: int | None, known: PredictionScores) -> Iterator[int]:
    translator, source, target = about.model.translator, about.translation.source, about.hypothesis.token_ids
    methods = sorted(methods_of(translator.config), key=QUICKEST.index)
    if not known.is_whole:
        contrast = contrast_at(translator, source, target, position, against=against)
        for result in contrast_steps(contrast, methods):
            scores = {method: result.scores[method] for method in METHODS if method in result.scores}
            known.found = replace(result, scores=scores)
            known.without = replace(known.without or word_deletions(result), attribution=known.found)
            yield int(len(scores) > 0)
    if known.found is not None and not known.has_curves:
        try:
            known.curves = curves_call(about, known.found).run()
        except ValueError as error:
            known.refused = str(error)
        yield 1


def scores_call(about: Reading, found: ContrastAttribution) -> Call:
    """Return the call that computes the scores, with its result."""
    contrast = found.contrast
    place, against = (*python_code.sentence(about), contrast.position), {"against": contrast.against}
    return Call("result", attribute_contrast, place, against).returning(found)


def curves_call(about: Reading, found: ContrastAttribution) -> Call:
    """Return the call that measures the deletion curves of all methods."""
    return Call("curves", deletion_curves, (scores_call(about, found),))


def against_box(about: Reading, position: int) -> int | None:
    """Select B, at first the most probable other token; None for the predicted token alone."""
    pieces = alternatives(about, position)
    default = pieces[0] if pieces else NOTHING
    if RATHER.value != NOTHING:
        RATHER.preset_for((about.identity, position), lambda: default)
    chosen = alternative_box(
        about,
        position,
        RATHER,
        tr("rather than"),
        (NOTHING,),
        default,
        tr(
            "The most probable other tokens at this position. Without one, the probability of the predicted token "
            "alone is explained, and with it all that favours any token here."
        ),
    )
    return None if chosen == NOTHING else about.model.translator.tokenizer.target.token_id(chosen)


def row_words(about: Reading, position: int, tokens: TokenView) -> list[str]:
    """Name the word of the sentence that each row of the bars belongs to, "" for `<s>` and the name of a side."""
    explanation = about.explain()
    source, prefix = (
        axis_groups(each, tokens.words, tokens.hide_special)
        for each in (explanation.source_tokens, explanation.fed_tokens[: position + 1])
    )
    sides = [word_links.names(explanation, source, "source", 0), word_links.names(explanation, prefix, "target", 1)]
    return [name for side in sides if side for name in ("", *side)]


def methods_box() -> list[ContrastMethod]:
    """Select the methods to show."""
    chosen = address.CONTRAST_METHODS.draw(
        st.pills,
        tr("Methods"),
        METHODS,
        default=list(METHODS),
        selection_mode="multi",
        format_func=lambda method: tr(NAMES[method][0]),
        label_visibility="collapsed",
        help=tr(METHOD_HELP),
        width="content",
    )
    return [method for method in METHODS if method in chosen] or list(METHODS)
