"""A test set: two models over many sentences; which is better, by how much, where, and whether that is chance."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from core.analysis.recorded_call import Call
from core.analysis.two_models.compare import ComparedModels, compared
from core.analysis.two_models.translated_lines import TestPair, parse_pairs, translate_pairs
from viz_app.controls.charts import show_chart
from viz_app.controls.downloads import downloads, picture_with_files
from viz_app.controls.job_control import job_control
from viz_app.controls.lines_form import LinesForm
from viz_app.controls.second_model import offer_second
from viz_app.controls.tables import number_column, show_table
from viz_app.controls.widgets import page_theme, show_answer
from viz_app.drawing.display_text import plain
from viz_app.language import marked, tr, tr_count, translated
from viz_app.session import python_code, readings
from viz_app.session.fields import part
from viz_app.session.open_models import OpenModels
from viz_app.session.signs import NAMES
from viz_app.session.state import Widget, session_object
from viz_app.views.compare.one_sentence.other_side import second_model_box
from viz_app.views.compare.test_set.compared_file import MAX_LINES, OPTIONS, ComparedFile
from viz_app.views.compare.test_set.figures import marker_line, sentences_figure

ABOUT = marked("""
A text file with a source, a tab and its reference per line. Both models translate the sources, with beam size 4 and
length penalty 0.6; `python -m core compare` computes the same.
""")
HOW_TO_READ = marked("""
**BLEU** and **chrF** of the whole set are sacreBLEU's, with half the width of a 95 % interval. The **p-value** is that
of a paired bootstrap (Koehn 2004): how often would sentences of this kind show such a difference if both models were
alike? It knows nothing of the training: the same model trained from another seed differs, too.
""")
ABOUT_SENTENCES = marked("""
A point for each sentence: chrF of the first model to the right, of the second upwards. Far from the dotted line are
those to look at; a click opens the sentence with the attention of both. ChrF of a single sentence is rough: a right
translation with other words than the reference has a low one.
""")
ABOUT_BUCKETS = marked("""
A difference of the whole may come from long sentences, or from rare words (Neubig et al. 2019). Sentences are grouped
by the words of their source, with chrF of each group. Words are grouped by how often the references have them, with the
F-measure: a word is right if the reference of its sentence has it.
""")
ABOUT_SIGNS = marked("""
Each model judges its own translations. Thresholds of signs that need the model come from its own translations of a
sample; a dash is of a model that has none. Open the sentences under Score a file to see the words. Left-out words are
not looked for here.
""")
EXAMPLE = "A brown dog runs.\tEin brauner Hund rennt.\nTwo men are sitting.\tZwei Männer sitzen."
FORM = LinesForm(
    "test_set", marked("Test set"), marked("Compare the models"), ABOUT, EXAMPLE, "compare", MAX_LINES, parse_pairs
)
OTHER = Widget[str]("test_set_other")  # digest of an open model


@part
def form() -> None:
    """Draw the form for the test set and the second model."""
    model = readings.model()
    opened = session_object(OpenModels).all()
    fitting = {each.digest: each for each in opened if each.kind == "translation" and each.digest != model.digest}
    if not fitting:
        st.info(tr("Open a second checkpoint in the sidebar to compare it over a test set."))
        offer_second(model)
        return

    def begin(name: str, text: str, pairs: Sequence[TestPair]) -> None:
        other = fitting[OTHER.value or next(iter(fitting))]
        session_object(ComparedFile).begin((model, other), name, text, pairs)

    FORM.draw(
        tr("Up to {most:,} sentences, each with its reference.", most=MAX_LINES),
        begin,
        partial(second_model_box, OTHER, opened, fitting),
    )


def answer(file: ComparedFile) -> None:
    """Say which model is better, or before that what is compared."""
    if file.result is None:
        st.markdown(tr("**Two models over a test set**: which is better, and where?"), help=tr(HOW_TO_READ))
        return
    texts = [line.texts for line in file.result.lines]
    about = tr_count("{count:,} sentence", "{count:,} sentences", len(texts))
    about += tr(", {same:,} of them translated alike", same=sum(one == other for one, other in texts))
    show_answer(file.result.answer(), tr(HOW_TO_READ), f"{about} ({tr(file.name)})")


def results(file: ComparedFile) -> None:
    """Draw the result, once all sentences are translated."""
    if file.result is None:
        return
    result, names = file.result, file.result.names
    recorded = result_call(file).returning(result)
    scores_table(result, names)
    downloads("paired-scores", call=recorded.then("scores_table"))
    left, right = st.columns([3, 2], gap="large")
    with left:
        sentences(file, result, names, recorded)
        sign_counts(result, names, recorded)
    with right:
        buckets(result, recorded)
    by_difference(file, result, names, recorded)


def scores_table(result: ComparedModels, names: tuple[str, str]) -> None:
    """Draw the scores of the whole set, a row for each metric, with what the p-value says."""
    show_table(
        result.scores_table(),
        columns={
            "metric": st.column_config.TextColumn(tr("Metric"), width=80),
            "first": number_column(names[0], 2),
            "first_interval": number_column("\u00b1", 2, width=60),
            "second": number_column(names[1], 2),
            "second_interval": number_column("\u00b1", 2, width=60),
            "p_value": number_column("p", 4, width=80),
            "signature": st.column_config.TextColumn(tr("Signature"), width="large"),
        },
    )


def sentences(file: ComparedFile, result: ComparedModels, names: tuple[str, str], recorded: Call) -> None:
    """Draw the sentences as points; a click on one opens it."""
    st.markdown(tr("**Sentences** by chrF"), help=tr(ABOUT_SENTENCES))
    theme, lines = page_theme(), result.lines
    figure, key = sentences_figure(lines, names, theme), "test_set_sentences"

    def select() -> None:
        points = (Widget[Any](key).value or {"selection": {"points": []}})["selection"]["points"]
        if points and (line := marker_line(lines, points[0])):
            file.open(line)

    options: dict[str, Any] = {"on_select": select, "selection_mode": "points"} if file.is_current else {}
    show_chart(figure, key, tr("Sentences by chrF of both models"), **options)
    title = tr("Sentences by chrF: {first} and {second}", first=names[0], second=names[1])
    downloads("compared-sentences", key, recorded.then("table"), title=title, of_sentence=False)


def sign_counts(result: ComparedModels, names: tuple[str, str], recorded: Call) -> None:
    """Draw on how many sentences of each model the signs of a bad translation fire."""
    st.markdown(tr("**Sentences with a sign** of a bad translation"), help=tr(ABOUT_SIGNS))
    show_table(
        {**result.signs_table(), "sign": [tr(NAMES[each.sign]) for each in result.signs]},
        column_config={
            "sign": st.column_config.TextColumn(tr("Sign")),
            "first": st.column_config.NumberColumn(names[0]),
            "second": st.column_config.NumberColumn(names[1]),
        },
    )
    downloads("compared-signs", call=recorded.then("signs_table"))


def buckets(result: ComparedModels, recorded: Call) -> None:
    """Draw both kinds of buckets."""
    st.markdown(tr("**Where they differ**"), help=tr(ABOUT_BUCKETS))
    for name, shown in zip(("compared-lengths", "compared-frequencies"), result.pictures(), strict=True):
        st.caption(translated(shown.title))
        picture_with_files(shown, name, recorded.then("buckets_table"), of_sentence=False)


def by_difference(file: ComparedFile, result: ComparedModels, names: tuple[str, str], recorded: Call) -> None:
    """Draw the list of sentences, those first that the first model translates better; a click on one opens it."""
    st.markdown(tr("**All sentences**, those first that {model} translates better by chrF", model=plain(names[0])))
    options: dict[str, Any] = {
        "height": 420,
        "columns": {
            "difference": number_column(tr("Difference"), 1, width=90),
            "line": st.column_config.NumberColumn(tr("Line"), width=60),
            "source": st.column_config.TextColumn(tr("Source"), width="medium"),
            "reference": st.column_config.TextColumn(tr("Reference"), width="medium"),
            "first": st.column_config.TextColumn(names[0], width="medium"),
            "second": st.column_config.TextColumn(names[1], width="medium"),
        },
    }
    note = tr("Select a row to open its sentence, with the attention of both models.")
    file.table(result.table(), "test_set_lines", lambda row: file.open(result.ranked[row]), note, **options)
    downloads("compared-lines", call=recorded.then("table"))


def result_call(file: ComparedFile) -> Call:
    """Return the call that compares the models; in the script, a long test set is read from its file."""
    pairs = Call("pairs", parse_pairs, (python_code.given_text(file.text, file.name),))
    first, second = map(python_code.translator, file.models, ("first", "second"))
    lines = Call("lines", translate_pairs, (first, second, pairs))
    return Call("result", compared, (lines, OPTIONS, file.thresholds))


file = session_object(ComparedFile)
answer(file)
with st.expander(tr("Test set"), expanded=file.result is None):
    form()
if file.job:
    job_control(file.job, "test_set_job")
results(file)
