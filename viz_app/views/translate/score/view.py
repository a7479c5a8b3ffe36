"""Score a file: the words of a file of sentences, worst first; a click opens a word in its translation."""

from typing import Any

import streamlit as st

from core.analysis.recorded_call import Call, Given
from core.analysis.word_scores.scored_lines import parse_lines, score_lines, worst_words
from viz_app.controls.downloads import downloads
from viz_app.controls.job_control import job_control
from viz_app.controls.lines_form import lines_form
from viz_app.controls.tables import decimals, selectable_table, show_table
from viz_app.drawing.display_text import plain, sentence_case
from viz_app.language import marked, tr
from viz_app.session import python_code, readings
from viz_app.session.fields import part
from viz_app.session.models import Model
from viz_app.session.state import session_object
from viz_app.views.translate.score.figures import word_table
from viz_app.views.translate.score.scored_file import (
    BEAM_SIZE,
    LENGTH_PENALTY,
    MAX_LINES,
    NOT_TEXT,
    TOO_LARGE,
    ScoredFile,
)

SHOWN = 500  # words in the table; the CSV has all
EMBEDDED = 2_000  # characters of a text that stands in the Python script itself
ABOUT = marked("""
A text file, one sentence per line: the model translates them, and the words of its translations are scored. Or a TSV
file with a source, a tab and its translation per line: these translations are scored as given. `python -m core score`
computes the same.
""")
HOW_TO_READ = marked("""
The **log-probability** of a word is given the source and the words before it, in nats: 0 is certain, -0.69 is one in
two. A word of several tokens has the product of their probabilities; `</s>` is the end of the translation.

It says how probable the model finds a word, not whether the word is right: a correct rare name may have a low one, and
a fluent mistake a high one.
""")
EXAMPLE = "A brown dog runs across the grass.\nWhere is the station?\tWo ist der Bahnhof?"


def columns() -> dict[str, Any]:
    """Return the options of the table of words."""
    return {
        "height": 560,
        "column_config": {
            "word": st.column_config.TextColumn(tr("Word"), width="small"),
            "probability": st.column_config.ProgressColumn(
                tr("Probability"), **decimals(3), min_value=0, max_value=1, width="small"
            ),
            "log_prob": st.column_config.NumberColumn(tr("Log-prob"), **decimals(2), width=80),
            "line": st.column_config.NumberColumn(tr("Line"), width=60),
            "number": None,
            "source": st.column_config.TextColumn(tr("Source"), width="medium"),
            "translation": st.column_config.TextColumn(tr("Translation"), width="medium"),
        },
    }


@part
def form() -> None:
    """Draw the form for the sentences."""
    model = readings.model()
    note = tr(
        "Up to {most:,} sentences. Where no translation is given, {model} translates with beam size {beam} and length "
        "penalty {penalty}.",
        most=MAX_LINES,
        model=plain(model.name),
        beam=BEAM_SIZE,
        penalty=LENGTH_PENALTY,
    )
    try:
        submitted = lines_form(
            "score",
            tr("File of sentences"),
            tr("Score the words"),
            about=tr(ABOUT),
            example=EXAMPLE,
            note=note,
            too_large=TOO_LARGE,
            not_text=NOT_TEXT,
        )
        if submitted is None:
            return
        session_object(ScoredFile).begin(model, *submitted)
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return
    st.rerun()


def results(scored: ScoredFile) -> None:
    """Draw the words scored so far, the least probable first; a click on one opens it."""
    if scored.model is None or not scored.lines:
        return
    words = worst_words(scored.lines)
    st.markdown(
        tr(
            "**Words of {file}**, the least probable first: {words:,} words in {sentences:,} sentences, by {model}",
            file=plain(tr(scored.name)),
            words=len(words),
            sentences=len(scored.lines),
            model=plain(scored.model.name),
        ),
        help=tr(HOW_TO_READ),
    )
    shown = "" if len(words) <= SHOWN else " " + tr("The first {count} are shown; the CSV has all.", count=SHOWN)
    if scored.model.digest == readings.model().digest:
        st.caption(
            tr("Select a row to open its word on Translate, with the alternatives and other translations.") + shown
        )
        selectable_table(word_table(words[:SHOWN]), "scored_words", lambda row: scored.open(words[row]), **columns())
    else:
        st.caption(tr("Scored by another checkpoint than the current one. Score them again to open them.") + shown)
        show_table(word_table(words[:SHOWN]), **columns())
    recorded = words_call(scored.model, scored.text, scored.name).returning(words)
    downloads("word-scores", call=lambda: Call("table", word_table, (recorded,)))


def words_call(model: Model, text: str, name: str) -> Call:
    """Return the call that scores the words of a text; in the script, a long one is read from its file."""

    def code(variable: str) -> str:
        if len(text) <= EMBEDDED:
            return f"{variable} = {text!r}"
        imports = "from pathlib import Path\nfrom core.text.text_files import read_text"
        return f"{imports}\n{variable} = read_text(Path({name!r}))"

    lines = Call("lines", parse_lines, (Given("text", text, code),))
    scored = Call("scored", score_lines, (python_code.translator(model), lines))
    return Call("words", worst_words, (scored,))


scored = session_object(ScoredFile)
st.markdown(tr("**Score a file of sentences**: which words does the model find improbable?"), help=tr(HOW_TO_READ))
form()
if scored.job:
    job_control(scored.job, "score_job")
results(scored)
