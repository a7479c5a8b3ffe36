"""Progress of a job, with one button to stop and to continue it."""

from collections.abc import Callable

import streamlit as st

from viz_app.drawing.display_text import plain, sentence_case
from viz_app.language import marked, tr
from viz_app.session import shown_slide
from viz_app.session.fields import part
from viz_app.session.jobs import Job

TURN = 0.4  # seconds of work in one run of the fragment
PAUSE = 0.1  # seconds between two runs, in which clicks are answered


def job_control(
    job: Job,
    key: str,
    start: str = marked("Continue"),
    below: Callable[[], None] | None = None,
    stop: str = marked("Stop"),
    beside: Callable[[], None] | None = None,
) -> None:
    """Draw the progress of a job and, while it is running, compute its next steps; the page runs again at its end.

    The button of a job that has not been started says `start`, that of a running one `stop`; others are `beside` it.
    The result is drawn below the progress, again after every few steps; a click in it runs only this again.
    """
    if job.error:
        st.error(sentence_case(job.error))
    elif not job.finished:
        if job.running:
            shown_slide.expect_more()
        part(_turn, key=key, run_every=PAUSE if job.running else None)(job, key, start, below, stop, beside)
        return
    if below:
        with st.container():  # in place of the fragment: a widget that moves loses the focus
            st.container()  # in place of the progress
            part(_result, key=key)(below)


def _turn(
    job: Job, key: str, start: str, below: Callable[[], None] | None, stop: str, beside: Callable[[], None] | None
) -> None:
    unit = tr(job.unit) if isinstance(job.unit, str) else job.unit()
    progress = plain(tr("{done} of {total} {unit}", done=job.done, total=job.total, unit=unit))
    label = tr(stop) if job.running else tr("Continue") if job.done else tr(start)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if st.button(label, on_click=job.set_running, args=(not job.running,), key=key):
            st.rerun()  # `run_every` is set where the fragment is called
        if beside:
            beside()
        if job.running:
            st.progress(job.done / job.total, progress)
        else:
            st.caption(progress, width="content")
    if below:
        part(_result, key=key)(below)
    if job.running and not job.advance(TURN):
        st.rerun()


def _result(below: Callable[[], None]) -> None:
    """Draw the result below the progress.

    At the end of the job this fragment is still there, in the same place: Streamlit drops requests of fragments that
    are gone, such as that of a slider which was moved a moment before.
    """
    below()
