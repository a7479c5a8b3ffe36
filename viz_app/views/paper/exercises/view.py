"""Exercises: six questions about this sentence, whose answers the opened model decides."""

import streamlit as st

from core.analysis.exercises import EXERCISES, Exercise, Opened
from viz_app.controls.widgets import setting_segments, text_button
from viz_app.drawing.display_text import plain
from viz_app.language import marked, tr, translated
from viz_app.session import address, readings
from viz_app.session.fields import FIELDS
from viz_app.session.readings import Reading, reading_part
from viz_app.session.state import kept, lead_to

EXAMPLE = "I don't know where he lives."
HOW_TO_READ = marked("""
Each answer is checked against the numbers of the open model for the sentence above: there is no key. With another
model or sentence another answer may be right. The mark of a solved exercise is in the address: a link keeps it.
""")


def show(exercise: Exercise) -> None:
    """Go to the view that shows it, with its settings; call it in a callback."""
    for name, text in exercise.settings.items():
        FIELDS[name].set(FIELDS[name].codec.decode([text]))
    lead_to(exercise.view)


@reading_part
def page(reading: Reading) -> None:
    """Draw the choice of an exercise, its question, an answer and, once it is checked, what decides it."""
    solved = address.EXERCISES_SOLVED.selected(possible=lambda names: EXERCISES.keys() >= {*names}) or []
    titles = {
        name: ("\u2713 " if name in solved else f"{number} ") + tr(each.title)
        for number, (name, each) in enumerate(EXERCISES.items(), 1)
    }
    name = setting_segments(address.EXERCISE, tr("Exercise"), titles, hide_label=True)
    exercise = EXERCISES[name]
    translator = None if reading.model.explanation else reading.model.translator
    opened = Opened(reading.explain(), translator, reading.hypothesis.token_ids)
    if refusal := exercise.refusal(opened):
        st.info(plain(translated(refusal)))
        if name == "negation" and translator:
            st.button(plain(EXAMPLE), on_click=readings.new_sentence, args=(EXAMPLE,), key="negation")
        return
    st.markdown(f"#### {plain(translated(exercise.question(opened)))}", help=tr(HOW_TO_READ))
    options = {"": tr("Choose an answer"), **exercise.options(opened)}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        answer = address.EXERCISE_ANSWER.draw(
            st.selectbox, tr("Answer"), list(options), format_func=lambda each: translated(options[each]), width=520
        )

        def measured() -> tuple[bool, str, str]:
            found = exercise.measure(opened)
            return answer in found.right, translated(found.says), translated(found.means(answer))

        asked, check = f"{name} {answer}", address.EXERCISE_CHECKED.set
        st.button(tr("Check"), on_click=check, args=(asked,), disabled=not answer, type="primary", key="exercise_check")
    if answer and address.EXERCISE_CHECKED.selected() == asked:
        with st.spinner(tr("The model computes\u2026")):
            is_right, says, means = kept("exercise", (reading.identity, name, answer), measured)
        if is_right and name not in solved:
            address.EXERCISES_SOLVED.set([*solved, name])
            st.rerun()
        if is_right:
            st.success(f"**{tr('Right.')}** {plain(says)}")
        else:
            st.info(f"**{tr('Not here.')}** {plain(means)}")
            with st.expander(tr("Solution")):
                st.markdown(plain(says))
    st.caption(tr(exercise.hint))
    text_button(tr("Show me"), show, exercise, icon=":material/arrow_forward:", key="exercise_view")
    if len(solved) == len(EXERCISES):
        st.caption(tr("All six are solved. Try another sentence or another model: the answers may change."))


page()
