"""Score a file: its words, worst first, or its sentences by the signs of a bad translation; a click opens one."""

from collections import Counter
from functools import partial
from typing import Any

import streamlit as st

from core.analysis.recorded_call import Call
from core.analysis.signs.pair_signs import SIGNS, SignName
from core.analysis.signs.thresholds import UNMEASURED
from core.analysis.word_scores.scored_lines import score_lines, word_columns, worst_words
from core.analysis.word_scores.signed_lines import LEFT_OUT_LINES, ranked_lines, sign_columns, sign_file
from core.text.text_files import parse_lines
from viz_app.controls.downloads import downloads
from viz_app.controls.job_control import job_control
from viz_app.controls.lines_form import BEAM_SIZE, LENGTH_PENALTY, LinesForm
from viz_app.controls.tables import bar_column, number_column
from viz_app.controls.widgets import setting_segments
from viz_app.drawing.display_text import plain
from viz_app.language import joined, marked, tr, tr_values
from viz_app.session import python_code, readings
from viz_app.session.address import LISTED, SORTED_BY
from viz_app.session.fields import part
from viz_app.session.signs import ABOUT as ABOUT_SIGNS
from viz_app.session.signs import LIMITS, NAMES, about_name, about_thresholds, about_withheld
from viz_app.session.state import session_object
from viz_app.views.translate.score.scored_file import MAX_LINES, ScoredFile

SHOWN = 500  # words in the table; the CSV has all
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
SIGNS_COMPUTED = marked(
    "Left-out words are looked for at the end, in the {most} sentences with the least probable translations, as each "
    "takes as long as some translations."
)
LISTED_NAMES = {"words": marked("Words"), "sentences": marked("Sentences by signs")}
SORTED_BY_NAMES: dict[str, str] = {"most": marked("Number of signs"), **NAMES}
EXAMPLE = "A brown dog runs across the grass.\nWhere is the station?\tWo ist der Bahnhof?"


def options(**first: Any) -> dict[str, Any]:
    """Return the options of a table with these columns first, and those of the line and its texts after them."""
    columns = {
        **first,
        "line": st.column_config.NumberColumn(tr("Line"), width=60),
        "source": st.column_config.TextColumn(tr("Source"), width="medium"),
        "translation": st.column_config.TextColumn(tr("Translation"), width="medium"),
    }
    return {"height": 560, "row_height": 78, "columns": columns}  # so high that texts wrap


FORM = LinesForm(
    "score", marked("File of sentences"), marked("Score the words"), ABOUT, EXAMPLE, "score", MAX_LINES, parse_lines
)


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
    FORM.draw(note, partial(session_object(ScoredFile).begin, model))


def results(scored: ScoredFile) -> None:
    """Draw the words scored so far, the least probable first; a click on one opens it."""
    words = worst_words(scored.lines)
    text = tr(
        "**Words of {file}**, the least probable first: {words:,} words in {sentences:,} sentences, by {model}",
        file=plain(tr(scored.name)),
        words=len(words),
        sentences=len(scored.lines),
        model=plain(scored.models[0].name),
    )
    st.markdown(text, help=tr(HOW_TO_READ))
    shown = "" if len(words) <= SHOWN else " " + tr("The first {count} are shown; the CSV has all.", count=SHOWN)
    note = tr("Select a row to open its word on Translate, with the alternatives and other translations.") + shown
    columns = options(
        word=st.column_config.TextColumn(tr("Word"), width="small"),
        probability=bar_column(tr("Probability"), 3, width="small"),
        log_prob=number_column(tr("Log-prob"), 2, width=80),
    )
    scored.table(word_columns(words[:SHOWN]), "scored_words", lambda row: scored.open(words[row]), note, **columns)
    recorded = Call("words", worst_words, (lines_call(scored),)).returning(words)
    downloads("word-scores", call=lambda: Call("table", word_columns, (recorded,)))


def sentences(scored: ScoredFile) -> None:
    """Draw the sentences by their signs; a click on one opens it with the words of its signs selected."""
    if not scored.signed:
        return
    thresholds = scored.thresholds or UNMEASURED
    fired = Counter(sign.name for line in scored.signed for sign in line.firing(thresholds))
    counts = joined([f"{tr(NAMES[name])} {fired[name]}" for name in SIGNS if fired[name]])
    st.markdown(
        tr(
            "**Sentences of {file}**: {fired}, of {sentences:,} sentences, by {model}",
            file=plain(tr(scored.name)),
            fired=counts or tr("no sign fires"),
            sentences=len(scored.signed),
            model=plain(scored.models[0].name),
        ),
        help="\n\n".join([*(about_name(name, thresholds) for name in SIGNS), tr(SIGNS_COMPUTED, most=LEFT_OUT_LINES)]),
    )
    if any(line.is_given for line in scored.lines) and (withheld := about_withheld(thresholds)):
        st.caption(withheld)
    if scored.problem:
        st.caption(tr("There are values but no thresholds: {problem}", problem=plain(scored.problem)))
    elif scored.thresholds is not None:
        st.caption(f"{tr(LIMITS)} {about_thresholds(thresholds)}")
    if not fired:
        st.caption(tr("No sign reaches its threshold here. Sort by one to see the sentences where it is strongest."))
    names: dict[str, SignName] = {name: name for name in SIGNS}
    by = names.get(setting_segments(SORTED_BY, tr("Sorted by"), tr_values(SORTED_BY_NAMES)))
    lines = ranked_lines(scored.signed, thresholds, by)
    shown = sign_columns(lines[:SHOWN], thresholds, by)
    shown["signs"] = [joined([tr(NAMES[sign.name]) for sign in line.firing(thresholds)]) for line in lines[:SHOWN]]
    note = tr("Select a row to open the sentence on Translate, with its words selected.")
    values = SIGNS if by is None else (by,)  # beside longer texts the one that they are sorted by
    columns = options(
        signs=st.column_config.TextColumn(tr("Signs"), width=150),
        words=st.column_config.TextColumn(tr("Words"), width=120),
    )
    columns["columns"] |= {
        name: number_column(tr(NAMES[name]), 2, width=110, help=tr(ABOUT_SIGNS[name])) for name in values
    }
    scored.table(shown, "signed_sentences", lambda row: scored.open_line(lines[row], by), note, **columns)
    signed = Call("signed", sign_file, (python_code.translator(scored.models[0]), lines_call(scored))).returning(
        scored.signed
    )
    downloads("signs", call=lambda: Call("table", sign_columns, (signed, thresholds, by)))


def lines_call(scored: ScoredFile) -> Call:
    """Return the call that scores the lines of a text; in the script, a long one is read from its file."""
    lines = Call("lines", parse_lines, (python_code.given_text(scored.text, scored.name),))
    return Call("scored", score_lines, (python_code.translator(scored.models[0]), lines))


scored = session_object(ScoredFile)
st.markdown(
    tr("**Score a file of sentences**: which words does the model find improbable, and what looks wrong?"),
    help=tr(HOW_TO_READ),
)
form()
if scored.job:
    job_control(scored.job, "score_job")
if scored.lines:
    listed = setting_segments(LISTED, tr("List"), tr_values(LISTED_NAMES), hide_label=True)
    (sentences if listed == "sentences" else results)(scored)
