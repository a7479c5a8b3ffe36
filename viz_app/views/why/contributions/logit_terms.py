"""Logit terms and lexicons of a reading, and the selection of a token, an alternative and a head."""

from core.analysis.attribution.logit_attribution import Against, LogitAttribution, attribute_logit
from core.analysis.attribution.logit_lexicon import head_lexicon, rank_lexicons
from core.analysis.attribution.logit_trace import trace_logits
from core.analysis.heads.ablation import head_removals
from core.analysis.recorded_call import Call
from core.trace import Head
from viz_app.controls.predicted_token import alternative_box, alternatives
from viz_app.language import marked, tr
from viz_app.session import address, python_code
from viz_app.session.chosen_heads import select_head
from viz_app.session.readings import Reading

AGAINST = address.MINUS  # a piece, or one of the two below
NOTHING, MEAN = marked("nothing"), marked("mean of all")
PROMOTED = 5  # pieces of a lexicon for each source token


def select(head: Head) -> None:
    """Select a head, here and on the page Heads."""
    address.TERM.set(head)
    select_head(head)


@python_code.with_result(max_entries=12)
def trace_call(about: Reading) -> Call:
    """Return the call that records the residual stream of a reading."""
    return Call("trace", trace_logits, (*python_code.sentence(about), python_code.explanation(about)))


@python_code.with_result(max_entries=128)
def terms_call(about: Reading, position: int, against: Against) -> Call:
    """Return the call that splits the logit of a predicted token.

    Raises:
        DisagreementError: as `attribute_logit`.
    """
    return Call("result", attribute_logit, (trace_call(about), position), {"against": against})


@python_code.with_result(max_entries=128)
def removals_call(about: Reading, position: int) -> Call:
    """Return the call that turns off each head alone and predicts the token again."""
    return Call("removals", head_removals, (*python_code.sentence(about), position))


@python_code.with_result(max_entries=128)
def lexicon_call(about: Reading, head: Head) -> Call:
    """Return the call that finds what a cross-attention head promotes for each source token."""
    return Call("lexicon", head_lexicon, (trace_call(about), head, PROMOTED))


@python_code.with_result(max_entries=12)
def ranking_call(about: Reading) -> Call:
    """Return the call that ranks cross-attention heads by how their lexicon agrees with the translation."""
    return Call("ranking", rank_lexicons, (trace_call(about),))


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


def term_head(terms: LogitAttribution) -> Head:
    """Return the selected head, by default the one with the largest contribution, and write it to the address."""
    contributions, is_new = terms.heads(), address.TERM.is_due()
    head = address.TERM.selected(possible=contributions.__contains__)
    if head is not None and is_new:
        select_head(head)
    return head or max(contributions, key=contributions.__getitem__)
