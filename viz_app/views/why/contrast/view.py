"""Why A rather than B: the tokens of source and prefix behind a prediction, by several methods, and which to trust."""

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from core.analysis.attribution.attribute import ContrastAttribution
from core.analysis.attribution.contrast_methods import NO_INTEGRAL, ContrastMethod, methods_of
from core.analysis.attribution.deletion_curves import RANDOM, methods_table
from core.analysis.declaration import FIRST
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import picture_with_files
from viz_app.controls.job_control import job_control
from viz_app.controls.predicted_token import token_box
from viz_app.controls.tables import number_column
from viz_app.controls.toolbar import token_boxes
from viz_app.controls.widgets import segments, show_answer
from viz_app.drawing.display_text import plain, sentence_case
from viz_app.language import marked, tr, translated
from viz_app.session.readings import Reading, TokenView, reading_part
from viz_app.session.sample_sentences import SHIPPED, sentences_of
from viz_app.session.state import refusals_shown
from viz_app.session.word_selection import selected_names
from viz_app.views.why.contrast import contrast_scores, faithfulness_sample
from viz_app.views.why.contrast.contrast_scores import PredictionScores

HOW_TO_READ = marked("""
**log p(A) \u2212 log p(B)** is the logarithm of how many times as probable A is as B. Each method gives every token of
the source and of the prefix (the translation so far) a score: positive for A, negative for B. The baseline is a
sentence of as many unknown tokens, with embeddings of 0: integrated gradients sum to the difference from it.

Words are sums of their tokens. Each method has a scale of its own.
""")
ABOUT_DELETION = marked("""
Each word of the source is left out alone, and the model predicts this token again. Where less than half of its
probability is left, the word decides. The other words are the control: what a word drawn by lot does.
""")
CAVEAT = marked(
    "A score says how this prediction moves when a token is hidden in the method's own way, not how the model works "
    "inside. Where methods disagree, no picture here is the explanation."
)
ABOUT_CURVES = marked("""
The tokens that a method ranks highest are deleted from the source and the prefix, 10 % to 50 % of all, and the model
predicts again. Special tokens, codes of languages and the words of a task stay. The further the probability falls, the
more faithful the method is to the model (comprehensiveness, DeYoung et al. 2020). **AOPC** is the mean fall over the
curve. With a B, the probability is p(A) / (p(A) + p(B)). The dashed line is the mean over 40 random orders. One
sentence says little about a method: see below.
""")
ABOUT_CORRELATIONS = marked("""
Spearman's rank correlation over the tokens of the sentence and its translation: 1 if two methods rank them alike.
Shares cannot be negative, so they are compared with the absolute values of the scores in nats.
""")
ABOUT_SAMPLE = marked("""
Every sentence is translated greedily, one of its tokens is chosen at random as A, and the curves above are measured for
it, with random orders of its own. **Above random** is the mean difference of the AOPC from theirs, sentence by
sentence, with its 95 % interval. A method beats random if a paired t-test says so at 5 %, corrected for the number of
methods (Holm 1979).

The largest of several means is too large by chance. So the **best** method is chosen on one half of the sentences and
measured on the other, both ways. Methods are marked that are not shown to be worse there. It holds for this model and
such sentences, and for this definition of faithfulness.
""")
SAMPLES = SHIPPED_SAMPLE, OWN_SAMPLE = marked("Shipped"), marked("My own")
ABOUT_BADGE = marked(
    "Integrated gradients must sum to the output minus that of the baseline, up to 5 % or 0.05 nats (Sundararajan et "
    "al. 2017). No other method here has this property."
)


@reading_part
def page(reading: Reading) -> None:
    """Draw everything about the sentence; a click in it runs only this part again."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        position = token_box(reading)
        against = contrast_scores.against_box(reading, position)
        with st.popover(tr("More"), key="contrast-more"):
            methods = contrast_scores.methods_box()
            tokens = token_boxes()
    known = contrast_scores.scored(reading, position, against)
    job_control(
        contrast_scores.scoring_job(reading, position, against),
        "attribution",
        below=partial(attribution, reading, known, methods, tokens),
    )


def attribution(reading: Reading, known: PredictionScores, methods: list[ContrastMethod], tokens: TokenView) -> None:
    """Draw the methods that are done so far, and their faithfulness when all are."""
    result = known.found
    if result is None:
        return
    if known.without is not None:
        show_answer(known.without.answer(), tr(ABOUT_DELETION), known.without.agreement())
    st.markdown(plain(translated(result.answer())), help=tr(HOW_TO_READ))
    done: list[ContrastMethod] = [method for method in methods if method in result.scores]
    left, right = st.container(key="scores-and-curves").columns([9, 5], gap="large")
    if done:
        with left:
            scores(reading, result, done, tokens)
    if known.has_curves:
        with right:
            faithfulness(reading, known, result, done)
    st.caption(tr(CAVEAT))
    if "integrated_gradients" not in methods_of(reading.model.translator.config):
        st.caption(sentence_case(NO_INTEGRAL))
    if "integrated_gradients" in result.scores:
        text = tr(
            "sum {sum:.4f}, difference {difference:.4f}, gap {gap:.1g}, {points} points",
            sum=float(result.scores["integrated_gradients"].sum()),
            difference=result.output - result.baseline,
            gap=result.gap("integrated_gradients"),
            points=result.points,
        )
        check_badge(tr("integrated gradients are complete"), result.is_complete, tr(ABOUT_BADGE), text)


def scores(reading: Reading, result: ContrastAttribution, methods: list[ContrastMethod], tokens: TokenView) -> None:
    """Draw the scores of source and prefix as bars, and the rank correlations between methods."""
    view, recorded = (tokens.words, tokens.hide_special), contrast_scores.scores_call(reading, result)
    shown = replace(result, scores={method: result.scores[method] for method in methods})
    bars, correlations = shown.pictures(FIRST, *view)
    words = contrast_scores.row_words(reading, result.contrast.position, tokens)
    marks: dict[str, Any] = {"words": words, "selected_words": selected_names(reading)}
    picture_with_files(bars, "contrast", recorded.then("table", *view), key="contrast-scores", **marks)
    st.markdown(tr("**Rank correlation** between methods"), help=tr(ABOUT_CORRELATIONS))
    picture_with_files(correlations, "contrast-correlations", recorded.then("correlations"))


def faithfulness(
    reading: Reading, known: PredictionScores, result: ContrastAttribution, methods: list[ContrastMethod]
) -> None:
    """Draw this sentence's deletion curves, and AOPC and completeness by method."""
    st.markdown(tr("**Delete the highest tokens** of each method"), help=tr(ABOUT_CURVES))
    if known.curves is None:
        st.caption(sentence_case(known.refused))
        return
    recorded = contrast_scores.curves_call(reading, result)
    curves = {method: known.curves[method] for method in (*methods, RANDOM)}
    faithfulness_sample.draw_curves("contrast-curves", recorded.returning(known.curves), curves)
    faithfulness_sample.draw_methods(
        methods_table(result, curves),
        aopc=number_column("AOPC", 3, help=tr(ABOUT_CURVES)),
        sum=number_column(tr("Sum"), 2, help=tr("Of all scores, special tokens included.")),
        gap=number_column(
            tr("Gap"), 2, help=tr("Completeness gap: between the sum and the output minus the baseline's.")
        ),
    )


@reading_part
def trust(reading: Reading) -> None:
    """Measure on a sample of sentences which methods are faithful to this model."""
    measured, model = faithfulness_sample.sample(), reading.model
    contrastive = contrast_scores.RATHER.value != contrast_scores.NOTHING
    measured.restore(model, contrastive)
    measured.write_address()
    st.markdown(tr("**Which method to trust on this model**"), help=tr(ABOUT_SAMPLE))
    if measured.is_missing:
        st.caption(
            tr("This link was made with its author's own sentences, which it does not include: enter them here.")
        )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        sample = segments(tr("Sentences"), SAMPLES, SHIPPED_SAMPLE, "faithful_source")
        pressed = st.button(tr("Measure the sample"), key="measure_faithfulness")
    text = st.text_area(tr("Sentences, one per line"), key="faithful_text", height=90) if sample == OWN_SAMPLE else ""
    if pressed:
        with refusals_shown():
            measured.begin(model, SHIPPED if sample == SHIPPED_SAMPLE else sentences_of(text), contrastive)
        st.rerun()
    if (job := measured.of(model)) is not None:
        job_control(job, "run_faithfulness", below=faithfulness_sample.result)


page()
trust()
