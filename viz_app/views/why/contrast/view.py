"""Why A rather than B: which tokens made a prediction, by several methods.

The tokens are those of source and prefix; the page also says which method to trust.
"""

import math
from functools import partial

import streamlit as st

from core.analysis.attribution.contrast_methods import (
    NO_INTEGRAL,
    ContrastAttribution,
    ContrastMethod,
    methods_of,
)
from core.analysis.attribution.faithfulness import RANDOM, Curves, mean_curves, rank_methods
from core.analysis.tokens.words import readable
from viz_app.components.cell_grid import cell_grid
from viz_app.controls.charts import show_chart
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import downloads
from viz_app.controls.job_control import job_control
from viz_app.controls.predicted_token import token_box
from viz_app.controls.tables import show_table
from viz_app.controls.toolbar import token_boxes
from viz_app.controls.widgets import page_theme, segments
from viz_app.drawing.display_text import decimal, isolated, plain, sentence_case
from viz_app.drawing.export.cell_grid import export_grid
from viz_app.drawing.export.plotly_chart import export_chart
from viz_app.language import marked, tr
from viz_app.session import python_code, readings
from viz_app.session.fields import part
from viz_app.session.readings import Reading, TokenView
from viz_app.session.sample_sentences import SHIPPED, sentences_of
from viz_app.session.word_selection import selected_names
from viz_app.views.why.contrast import contrast_scores, faithfulness_sample, figures
from viz_app.views.why.contrast.contrast_scores import PredictionScores

HOW_TO_READ = marked("""
**log p(A) \u2212 log p(B)** is the logarithm of how many times as probable A is as B. Each method gives every token of
the source and of the prefix (the translation so far) a score: positive for A, negative for B. The baseline is a
sentence of as many unknown tokens, with embeddings of 0: integrated gradients sum to the difference from it.

Words are sums of their tokens. Each method has a scale of its own.
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


@part
def page() -> None:
    """Draw everything about the sentence; a click in it runs only this part again."""
    reading = readings.reading()
    if reading is None:
        st.caption(tr("Enter a sentence above to see why a word was chosen rather than another."))
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        position = token_box(reading)
        against = contrast_scores.against_box(reading, position)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
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
    found = known.found
    if found is None:
        return
    headline(reading, found)
    done: list[ContrastMethod] = [method for method in methods if method in found.scores]
    left, right = st.container(key="scores-and-curves").columns([7, 5], gap="large")
    if done:
        with left:
            scores(reading, found, done, tokens)
            correlations(reading, found, done)
    if known.is_whole:
        with right:
            faithfulness(reading, found, done)
    if "integrated_gradients" in found.scores:
        check_badge(
            tr("integrated gradients are complete"),
            found.is_complete,
            tr(ABOUT_BADGE),
            tr(
                "sum {sum:.4f}, difference {difference:.4f}, gap {gap:.1g}, {points} points",
                sum=float(found.scores["integrated_gradients"].sum()),
                difference=found.output - found.baseline,
                gap=found.gap("integrated_gradients"),
                points=found.points,
            ),
        )


def names(reading: Reading, found: ContrastAttribution) -> tuple[str, str]:
    """Return A and B as Markdown; "" if there is no B."""
    contrast, piece = found.contrast, reading.model.translator.piece
    a, b = reading.explain().predicted_tokens[contrast.position], contrast.against
    return plain(isolated(readable(a))), "" if b is None else plain(isolated(readable(piece(b))))


def headline(reading: Reading, found: ContrastAttribution) -> None:
    """Say what is explained, and how large it is."""
    a, b = names(reading, found)
    value, baseline = decimal(found.output, 2, sign=bool(b)), decimal(found.baseline, 2, sign=True)
    if b:
        ratio = math.exp(min(abs(found.output), 700))
        times = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"
        better, other = (a, b) if found.output >= 0 else (b, a)
        text = tr(
            "**{a}** rather than **{b}**: **{value}** nats; {better} is {times} times as probable as {other}. With "
            "unknown tokens: {baseline}.",
            a=a,
            b=b,
            value=value,
            better=better,
            times=times,
            other=other,
            baseline=baseline,
        )
    else:
        text = tr(
            "**{a}**: log-probability **{value}** nats, probability {probability}. With unknown tokens: {baseline}.",
            a=a,
            value=value,
            probability=decimal(math.exp(found.output), 3),
            baseline=baseline,
        )
    st.markdown(text, help=tr(HOW_TO_READ))
    st.caption(tr(CAVEAT))
    if "integrated_gradients" not in methods_of(reading.model.translator.config):
        st.caption(sentence_case(NO_INTEGRAL))


def scores(reading: Reading, found: ContrastAttribution, methods: list[ContrastMethod], tokens: TokenView) -> None:
    """Draw the scores of source and prefix as bars."""
    theme = page_theme()
    rows = figures.token_rows(found, tokens.words, tokens.hide_special)
    words, selected = contrast_scores.row_words(reading, found.contrast.position, tokens), selected_names(reading)
    grid = figures.bars_grid(found, methods, rows, theme, words, selected)
    cell_grid(grid, key="contrast-scores")
    a, b = names(reading, found)
    code = python_code.reading_part(reading), contrast_scores.scores_part(found), scores_table_part(tokens)
    downloads(
        "contrast",
        partial(export_grid, grid, theme=theme, title=tr(figures.BARS)),
        lambda: figures.scores_table(found, rows),
        title=tr("Why {a} rather than {b}", a=a, b=b) if b else tr("Why {a}", a=a),
        python=lambda file: python_code.script(file, *code),
    )


def scores_table_part(tokens: TokenView) -> str:
    """Make the `table` of the bars in Python, after `scores_part`."""
    return f"""
from viz_app.views.why.contrast.figures import scores_table, token_rows
table = scores_table(found, token_rows(found, {tokens.words}, {tokens.hide_special}))""".strip()


CURVES = "from core.analysis.attribution.faithfulness import deletion_curves\ncurves = deletion_curves(found)"
CURVES_TABLE = "from viz_app.views.why.contrast.figures import curves_table\ntable = curves_table(curves)"
CORRELATIONS_TABLE = (
    "from viz_app.views.why.contrast.figures import correlations_table\ntable = correlations_table(found)"
)
RANKING_TABLE = """
from core.analysis.attribution.faithfulness import rank_methods
from viz_app.views.why.contrast.figures import ranking_table
table = ranking_table(rank_methods(examples))""".strip()


def faithfulness(reading: Reading, found: ContrastAttribution, methods: list[ContrastMethod]) -> None:
    """Draw this sentence's deletion curves, and AOPC and completeness by method."""
    st.markdown(tr("**Delete the highest tokens** of each method"), help=tr(ABOUT_CURVES))
    position, against = found.contrast.position, found.contrast.against
    try:
        curves = contrast_scores.curves(reading, position, against, found)
    except ValueError as error:
        st.caption(sentence_case(str(error)))
        return
    code = python_code.reading_part(reading), contrast_scores.scores_part(found), CURVES, CURVES_TABLE
    draw_curves("contrast-curves", curves, methods, against is not None, code)
    show_table(
        figures.methods_table(found, {method: curves[method] for method in (*methods, RANDOM)}),
        height="content",
        column_config={
            "method": st.column_config.TextColumn(tr("Method")),
            "aopc": st.column_config.NumberColumn("AOPC", format="%.3f", help=tr(ABOUT_CURVES)),
            "sum": st.column_config.NumberColumn(
                tr("Sum"), format="%+.2f", help=tr("Of all scores, special tokens included.")
            ),
            "gap": st.column_config.NumberColumn(
                tr("Gap"),
                format="%.2f",
                help=tr("Completeness gap: between the sum and the output minus the baseline's."),
            ),
        },
    )


def draw_curves(
    name: str, curves: Curves, methods: list[ContrastMethod], contrastive: bool, code: tuple[str, ...]
) -> None:
    """Draw deletion curves with their exports."""
    theme = page_theme()
    title = "p(A) / (p(A) + p(B))" if contrastive else "p(A)"
    figure = figures.curves_figure(curves, methods, title, theme)
    show_chart(figure, name, tr("Probability by share of deleted tokens, a line for each method"))
    downloads(
        name,
        partial(export_chart, figure, theme=theme),
        lambda: figures.curves_table(curves),
        title=tr("Probability without the tokens that a method ranks highest"),
        of_sentence=name == "contrast-curves",
        python=lambda file: python_code.script(file, *code),
    )


def correlations(reading: Reading, found: ContrastAttribution, methods: list[ContrastMethod]) -> None:
    """Draw the rank correlations between methods."""
    theme = page_theme()
    st.markdown(tr("**Rank correlation** between methods"), help=tr(ABOUT_CORRELATIONS))
    grid = figures.correlation_grid(found, methods, theme)
    cell_grid(grid, key="contrast-correlations")
    code = python_code.reading_part(reading), contrast_scores.scores_part(found), CORRELATIONS_TABLE
    downloads(
        "contrast-correlations",
        partial(export_grid, grid, theme=theme, title=tr("Spearman's rank correlation")),
        lambda: figures.correlations_table(found),
        title=tr("Rank correlations between methods"),
        python=lambda file: python_code.script(file, *code),
    )


@part
def trust() -> None:
    """Measure on a sample of sentences which methods are faithful to this model."""
    reading, measured = readings.reading(), faithfulness_sample.sample()
    if reading is None:
        return
    model, contrastive = reading.model, contrast_scores.RATHER.value != contrast_scores.NOTHING
    measured.restore(model, contrastive)
    measured.write_address()
    st.markdown(tr("**Which method to trust on this model**"), help=tr(ABOUT_SAMPLE))
    if measured.is_missing:
        st.caption(
            tr("This link was made with its author's own sentences, which it does not include: enter them here.")
        )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        sample = segments(tr("Sentences"), {each: tr(each) for each in SAMPLES}, SHIPPED_SAMPLE, "faithful_source")
        pressed = st.button(tr("Measure the sample"), key="measure_faithfulness")
    text = st.text_area(tr("Sentences, one per line"), key="faithful_text", height=90) if sample == OWN_SAMPLE else ""
    if pressed:
        try:
            measured.begin(model, SHIPPED if sample == SHIPPED_SAMPLE else sentences_of(text), contrastive)
        except ValueError as error:
            st.error(sentence_case(str(error)))
            return
        st.rerun()
    if (job := measured.of(model)) is not None:
        job_control(job, "run_faithfulness", below=result)


def result() -> None:
    """Draw the ranking of the methods on the sample, as far as it is measured."""
    measured = faithfulness_sample.sample()
    if not measured.examples:
        return
    examples = [example.curves for example in measured.examples]
    ranking = rank_methods(examples)
    st.markdown(figures.verdict(ranking, len(examples)))
    code = faithfulness_sample.sample_part(python_code.model_part(readings.model()), measured)
    mean = "from core.analysis.attribution.faithfulness import mean_curves\ncurves = mean_curves(examples)"
    left, right = st.container(key="difference").columns([5, 6], gap="large")
    with left:
        table = figures.ranking_table(ranking)
        show_table(
            table,
            height="content",
            column_order=["method", "aopc", "above_random", "low", "high", "beats_random", "is_best"],
            column_config={
                "method": st.column_config.TextColumn(tr("Method")),
                "aopc": st.column_config.ProgressColumn("AOPC", format="%.3f", min_value=0, max_value=1),
                "above_random": st.column_config.NumberColumn(
                    tr("Above random"), format="%+.3f", help=tr("Mean difference from the random orders.")
                ),
                "low": st.column_config.NumberColumn(
                    tr("Lower bound"), format="%+.3f", help=tr("95 % interval of that difference.")
                ),
                "high": st.column_config.NumberColumn(
                    tr("Upper bound"), format="%+.3f", help=tr("95 % interval of that difference.")
                ),
                "beats_random": st.column_config.CheckboxColumn(
                    tr("Beats random"), help=tr("By a paired t-test at 5 %, corrected for the number of methods.")
                ),
                "is_best": st.column_config.CheckboxColumn(
                    tr("Best"),
                    help=tr(
                        "Not shown to be worse than the best, which is chosen on one half of the sentences and "
                        "measured on the other."
                    ),
                ),
            },
        )
        downloads(
            "faithfulness",
            table=lambda: table,
            of_sentence=False,
            python=lambda file: python_code.script(file, code, RANKING_TABLE),
        )
    with right:
        methods: list[ContrastMethod] = [method for method in figures.METHOD_NAMES if method in examples[0]]
        draw_curves(
            "faithfulness-curves", mean_curves(examples), methods, measured.contrastive, (code, mean, CURVES_TABLE)
        )


page()
trust()
