"""Logit terms and lexicons of a reading, and the selection of a token, an alternative and a head."""

from dataclasses import dataclass

import streamlit as st

from core.analysis.attribution.logit_attribution import Against, LogitAttribution, attribute_logit
from core.analysis.attribution.logit_lexicon import Lexicon, LexiconRanking, head_lexicon, rank_lexicons
from core.analysis.attribution.logit_trace import LogitTrace, trace_logits
from core.analysis.recorded_call import Call
from core.trace import Head, parse_head
from viz_app.controls.predicted_token import alternative_box, alternatives
from viz_app.language import marked, tr
from viz_app.session import address, python_code
from viz_app.session.chosen_heads import select_head
from viz_app.session.readings import READING_HASH, Reading
from viz_app.session.state import session_object

AGAINST = address.MINUS  # a piece, or one of the two below
NOTHING, MEAN = marked("nothing"), marked("mean of all")
TERM = address.TERM  # the selected head
PROMOTED = 5  # pieces of a lexicon for each source token


@dataclass
class SelectedTerm:
    """The selected head of a session.

    Attributes:
        head: None: the one with the largest contribution.
    """

    head: Head | None = None

    def select(self, head: Head | None) -> None:
        """Select a head, here and on the page Heads."""
        self.head = head
        if head is not None:
            select_head(head)


def trace_call(about: Reading) -> Call:
    """Return the call that records the residual stream of a reading."""
    return Call("trace", trace_logits, (*python_code.sentence(about), python_code.explanation(about)))


def terms_call(about: Reading, position: int, against: Against) -> Call:
    """Return the call that splits the logit of a predicted token."""
    return Call("result", attribute_logit, (_traced_call(about), position), {"against": against})


def lexicon_call(about: Reading, head: Head) -> Call:
    """Return the call that finds what a cross-attention head promotes for each source token."""
    return Call("lexicon", head_lexicon, (_traced_call(about), head, PROMOTED))


def ranking_call(about: Reading) -> Call:
    """Return the call that ranks heads by how their lexicon agrees with the translation."""
    return Call("ranking", rank_lexicons, (_traced_call(about),))


def _traced_call(about: Reading) -> Call:
    return trace_call(about).returning(traced(about))


@st.cache_resource(max_entries=12, show_spinner=False, hash_funcs=READING_HASH)
def traced(about: Reading) -> LogitTrace:
    """Return the residual stream of a reading."""
    return trace_call(about).run()


@st.cache_resource(max_entries=128, show_spinner=False, hash_funcs=READING_HASH)
def attributed(about: Reading, position: int, against: Against) -> LogitAttribution:
    """Return the terms of the logit of a predicted token.

    Raises:
        DisagreementError: as `attribute_logit`.
    """
    return terms_call(about, position, against).run()


@st.cache_resource(max_entries=12, show_spinner=False, hash_funcs=READING_HASH)
def ranked(about: Reading) -> LexiconRanking:
    """Return cross-attention heads by how their lexicon agrees with the translation."""
    return ranking_call(about).run()


@st.cache_resource(max_entries=128, show_spinner=False, hash_funcs=READING_HASH)
def promoted(about: Reading, head: Head) -> Lexicon:
    """Return what a cross-attention head promotes for each source token."""
    return lexicon_call(about, head).run()


def against_box(about: Reading, position: int) -> Against:
    """Select the alternative whose logit is subtracted, at first that of Why A rather than B, if it was asked there."""
    asked = address.RATHER_THAN.value_for((about.identity, position))
    asked = asked if asked in alternatives(about, position) else None
    AGAINST.preset_for((about.identity, position, asked), lambda: asked or (MEAN if AGAINST.value == MEAN else NOTHING))
    chosen = alternative_box(
        about,
        position,
        AGAINST,
        tr("minus the logit of"),
        (NOTHING, MEAN),
        NOTHING,
        tr(
            "The most probable alternatives at this position. A difference of two logits is the logarithm of the ratio "
            "of their probabilities."
        ),
    )
    if chosen == NOTHING:
        return None
    return "mean" if chosen == MEAN else about.model.translator.tokenizer.target.token_id(chosen)


def term_head(about: Reading, terms: LogitAttribution) -> Head:
    """Return the selected head, by default the one with the largest contribution, and write it to the address."""
    state = session_object(SelectedTerm)
    if (named := TERM.take()) is not None:
        head = parsed_head(named.value)
        state.select(head if head in terms.heads() else None)
    contributions = terms.heads()
    if state.head not in contributions:  # none was clicked, or one of another model
        state.head = None
    TERM.put(str(state.head) if state.head else "")
    return state.head or max(contributions, key=contributions.__getitem__)


def parsed_head(name: str) -> Head | None:
    """Parse a decoder head such as `cross L5 H3`; None for other text."""
    try:
        head = parse_head(name)
    except ValueError:
        return None
    return None if head.kind == "encoder_self" else head
