"""Score a file: its words, worst first, or its sentences by the signs of a bad translation; a click opens one."""

from collections import Counter
from functools import partial
from itertools import chain
from typing import Any

import streamlit as st

from core.analysis.declaration import Columns
from core.analysis.recorded_call import Call
from core.analysis.signs.pair_signs import SIGNS, SignName
from core.analysis.signs.thresholds import UNMEASURED
from core.analysis.word_scores.scored_lines import score_lines, word_columns, worst_words
from core.analysis.word_scores.signed_lines import LEFT_OUT_LINES, ranked_lines, sign_columns, sign_file
from core.text.text_files import parse_lines
from viz_app.controls.downloads import downloads
from viz_app.controls.job_control import job_control
from viz_app.controls.lines_form import BEAM_SIZE, LENGTH_PENALTY, LinesForm
from viz_app.controls.second_model import second_models
from viz_app.controls.tables import bar_column, number_column, show_table
from viz_app.controls.widgets import setting_segments, show_answer, text_button
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
ABOUT_REMEDIES = marked("""
Sentences with a sign are translated again: by the model's own search where the translation was given, elsewhere with
three length penalties and a minimum length where the translation is much shorter than its source; a source in capitals
in lower case; and with another word in place of each of the first three that a sign is about; the words before it stay.
A second model judges its own.

A setting **mends** a sentence if no sign fires then, and **harms** one of up to 50 without a sign if one fires then.
Those that do neither are left out. A sentence without a sign is not thereby right.
""")
TEXTS = {"source": marked("Source"), "translation": marked("Translation"), "mended": marked("New translation")}
WIDTH, LINE, LETTER, MOST_LINES = 620, 20, 7, 9  # pixels: all texts of a row, a line of them, a letter
EXAMPLE = "A brown dog runs across the grass.\nWhere is the station?\tWo ist der Bahnhof?"


def options(table: Columns, **first: Any) -> dict[str, Any]:
    """Return the options of a table with these columns first, and those of the line and its texts after them, in rows
    so high that the longest text is whole.
    """
    texts = [name for name in TEXTS if name in table]
    width = WIDTH // len(texts)
    columns = {**first, "line": number_column(tr("Line"), 0, width=50)}
    columns |= {name: st.column_config.TextColumn(tr(TEXTS[name]), width=width) for name in texts}
    longest = max((len(str(text)) for name in texts for text in table[name]), default=0)
    height = max(66, LINE * min(MOST_LINES, 1 + longest * LETTER // width) + 16)  # from 66 on, texts wrap
    return {"height": 560, "row_height": height, "columns": columns}


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
    table = word_columns(words[:SHOWN])
    columns = options(
        table,
        word=st.column_config.TextColumn(tr("Word"), width="small"),
        probability=bar_column(tr("Probability"), 3, width="small"),
        log_prob=number_column(tr("Log-prob"), 2, width=80),
    )
    scored.table(table, "scored_words", lambda row: scored.open(words[row]), note, **columns)
    recorded = Call("words", worst_words, (lines_call(scored),)).returning(words)
    downloads("word-scores", call=lambda: Call("table", word_columns, (recorded,)))


def sentences(scored: ScoredFile) -> None:
    """Draw the sentences by their signs; a click on one opens it with the words of its signs selected."""
    if not scored.signed:
        return
    thresholds = scored.thresholds or UNMEASURED
    firing = [[sign.name for sign in line.firing(thresholds)] for line in scored.signed]
    fired, count = Counter(chain.from_iterable(firing)), sum(map(bool, firing))
    about = [tr(SIGNS_COMPUTED, most=LEFT_OUT_LINES), *([about_thresholds(thresholds)] if scored.thresholds else [])]
    st.markdown(
        tr(
            "**{count:,} of {sentences:,} sentences of {file} have a sign** of a bad translation by {model}",
            count=count,
            sentences=len(scored.signed),
            file=plain(tr(scored.name)),
            model=plain(scored.models[0].name),
        ),
        help="\n\n".join([*(about_name(name, thresholds) for name in SIGNS), *about]),
    )
    if any(line.is_given for line in scored.lines) and (withheld := about_withheld(thresholds)):
        st.caption(withheld)
    if scored.problem:
        st.caption(tr("There are values but no thresholds: {problem}", problem=plain(scored.problem)))
    elif scored.thresholds is not None:
        st.caption(tr(LIMITS))
    names = {"most": f"{tr('Any sign')} {count}", **{name: f"{tr(NAMES[name])} {fired[name]}" for name in SIGNS}}
    SORTED_BY.show_labels(names.values())
    chosen = setting_segments(SORTED_BY, tr("Sign"), names, hide_label=True)
    by: SignName | None = next((name for name in SIGNS if name == chosen), None)
    lines = [line for line, found in zip(scored.signed, firing, strict=True) if (by in found if by else found)]
    if by and not lines:
        st.caption(tr("This sign fires on no sentence: all are listed, those first where it is strongest."))
    lines = ranked_lines(lines or scored.signed, thresholds, by)
    remedies(scored)
    shown = sign_columns(lines[:SHOWN], thresholds, by)
    shown["signs"] = [joined([tr(NAMES[sign.name]) for sign in line.firing(thresholds)]) for line in lines[:SHOWN]]
    note = tr("Select a row to open the sentence on Translate, with its words selected.")
    first: dict[str, Any] = {"signs": st.column_config.TextColumn(tr("Signs"), width=120)}
    if by:
        first = {by: number_column(tr(NAMES[by]), 2, width=120, help=tr(ABOUT_SIGNS[by]))}
    if scored.trials:
        shown |= scored.remedies.of_lines(lines[:SHOWN])
        note = tr("Select a row to open the sentence with the setting that mends it, or as it is if none does.")
        first["mended_by"] = st.column_config.TextColumn(tr("Mended by"), width=120)
    else:
        first["words"] = st.column_config.TextColumn(tr("Words"), width=120)
    columns = options(shown, **first)
    scored.table(shown, "signed_sentences", lambda row: scored.open_line(lines[row], by), note, **columns)
    if scored.trials:
        downloads("signs", table=lambda: shown)
        return
    signed = Call("signed", sign_file, (python_code.translator(scored.models[0]), lines_call(scored))).returning(
        scored.signed
    )
    downloads("signs", call=lambda: Call("table", sign_columns, (signed, thresholds, by)))


def remedies(scored: ScoredFile) -> None:
    """Draw which settings mend the sentences with a sign, and offer to try settings and second models."""
    found = scored.remedies
    if scored.trials:
        show_answer(found.answer(), tr(ABOUT_REMEDIES))
        names = {"setting": tr("Setting"), "mended": tr("Mends"), "harmed": tr("Harms")}
        show_table(found.table(), columns={**names, "of": tr("Without a sign")})
    if scored.job is None or not scored.job.finished or not found.flagged:
        return
    with st.container(horizontal=True, gap="small"):
        if not scored.trials:
            st.button(tr("What would mend them?"), on_click=scored.mend, key="mend")
        others = second_models(scored.models[0])
        if untried := [name for name in others if name not in scored.seconds]:
            with st.popover(tr("What does a second model say?")):
                for name in untried:
                    text_button(name, scored.mend, name, others[name], key=f"mend-{name}")


def lines_call(scored: ScoredFile) -> Call:
    """Return the call that scores the lines of a text; in the script, a long one is read from its file."""
    lines = Call("lines", parse_lines, (python_code.given_text(scored.text, scored.name),))
    return Call("scored", score_lines, (python_code.translator(scored.models[0]), lines))


scored = session_object(ScoredFile)
st.markdown(
    tr("**Score a file of sentences**: which words does the model find improbable, and what looks wrong?"),
    help=tr(HOW_TO_READ),
)
with st.expander(tr("Another file")) if scored.job else st.container():
    form()
if scored.job:
    job_control(scored.job, "score_job")
if scored.job and scored.lines and not scored.job.running:
    flagged = sum(bool(line.firing(scored.thresholds or UNMEASURED)) for line in scored.signed)
    LISTED.preset_for((scored.name, flagged), lambda: "sentences" if flagged else "words")
    listed = setting_segments(LISTED, tr("List"), tr_values(LISTED_NAMES), hide_label=True)
    (sentences if listed == "sentences" else results)(scored)
