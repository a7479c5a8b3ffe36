"""A guided tour for the first visit: each step opens a page and points at a part of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from viz_app.language import marked, tr
from viz_app.session.address import SENTENCE, TOUR
from viz_app.session.state import session_object


class Step(NamedTuple):
    """A step of the tour.

    Attributes:
        view: the address of the view that it speaks of.
        text: what to see or try there.
        part: selects the part of the page that it speaks of, in CSS.
        focus: selects what has the focus then, if anything.
    """

    view: str
    text: str
    part: str
    focus: str = ""


STEPS = (
    Step(
        "overview",
        marked(
            "**This is a Transformer with a sentence in it:** words enter below, the next word comes out at the top."
        ),
        ".st-key-figure1",
    ),
    Step(
        "heads",
        marked(
            "**Each small picture is one attention head:** a row for each word that attends. Click one to enlarge it."
        ),
        '[class*="st-key-grid_"]',
    ),
    Step(
        "heads",
        marked(
            "**The same head, large:** at the right who attends, at the left to what. Point at a word for its weights."
        ),
        ':is([class*="st-key-lines_"], [class*="st-key-map_"])',
    ),
    Step(
        "alignment",
        marked("**Which word translates which?** The ribbons of a head; link words yourself to rank all heads."),
        ".st-key-ribbon",
    ),
    Step(
        "switches",
        marked(
            "**Click a head to turn it off**, or a layer's name for all its heads; below, how the translation changes."
        ),
        ":is(.st-key-switchboard, .st-key-switch-outcome)",
    ),
    Step(
        "overview",
        marked("**Now your own sentence:** type it and press Enter. Every page then shows it."),
        ".st-key-sentence",
        ".st-key-text input",
    ),
)
OFF = "off"  # in the address
# What is not the part that a step speaks of is dimmed, unless it is pointed at or has the focus; the sentence box has
# an opacity of its own.
DIMMED = """
.stApp:has({part}) :is(.stMain, .stSidebar) :is(.stElementContainer, .stPopover):not(
  :is({part}, {part} *, :has({part}), .st-key-tour *, .st-key-text, :hover, :focus-within),
  [class*="st-key-export_"] > :not(:first-child)
) {{ opacity: 0.28; transition: opacity 0.2s; }}
{part} {{ outline: 2px solid var(--primary-color, #2456a6); outline-offset: 6px; border-radius: 4px; }}
"""


def _first_step() -> int | None:
    return None if OFF in TOUR.texts else 0


@dataclass
class TourState:
    """The step that the tour shows.

    Attributes:
        step: None after the tour was left.
        moves: how often the step was changed.
        is_due: whether the page of the step is to be opened.
        sentence: the sentence when the last step began, which ends with another one.
    """

    step: int | None = field(default_factory=_first_step)
    moves: int = 0
    is_due: bool = False
    sentence: str | None = None

    def go(self, step: int | None) -> None:
        """Show another step and open its page, or leave the tour."""
        self.step, self.is_due, self.moves = step, step is not None, self.moves + 1
        self.sentence = SENTENCE.value if step == len(STEPS) - 1 else None

    def leave(self) -> None:
        """Leave the tour."""
        self.go(None)

    def end_with_sentence(self) -> None:
        """Leave the tour if the visitor has entered a sentence in its last step."""
        if self.sentence is not None and SENTENCE.value != self.sentence:
            self.leave()


def draw(pages: Mapping[str, StreamlitPage], current: StreamlitPage) -> None:
    """Draw the current step, on any page, with a link to its page, by its address; a visitor's sentence may end the
    tour.
    """
    state = session_object(TourState)
    state.end_with_sentence()
    if (step := state.step) is None:
        return
    view, text, part, _ = STEPS[step]
    is_last = step == len(STEPS) - 1
    if pages[view] == current and state.moves:  # a visitor who has not asked for the tour sees the whole page
        st.html(f"<style>{DIMMED.format(part=part)}</style>")
    with st.container(key="tour", horizontal=True, vertical_alignment="center", gap="small"):
        number = tr("{number} of {count}", number=step + 1, count=len(STEPS))
        st.markdown(f"{number}\u2002{tr(text)}", width="stretch")
        if pages[view] != current:
            st.page_link(pages[view], label=tr("Show me"), icon=":material/arrow_forward:", width="content")
        if step > 0:
            st.button(tr("Back"), on_click=state.go, args=(step - 1,), type="tertiary", key="tour_back")
        st.button(
            tr("Done") if is_last else tr("Next"),
            on_click=state.go,
            args=(None if is_last else step + 1,),
            type="tertiary",
            key="tour_next",
        )
        if not is_last:
            st.button(tr("Skip the tour"), on_click=state.leave, type="tertiary", key="tour_skip")


def lead(pages: Mapping[str, StreamlitPage], current: StreamlitPage) -> dict[str, Any] | None:
    """Return what the browser is to do for the step, see components/tour_lead.js: open its page, and show its part."""
    state = session_object(TourState)
    if state.step is None:
        return None
    step = STEPS[state.step]
    is_here = pages[step.view] == current
    follow, state.is_due = not is_here and state.is_due, state.is_due and not is_here
    shown = (step.part, step.focus) if is_here else (None, None)
    return {"part": shown[0], "focus": shown[1], "follow": follow, "move": state.moves}
