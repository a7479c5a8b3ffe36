"""The paper, section by section: a summary of each, and where to see it."""

import streamlit as st

from viz_app.components.frame_script import scroll_to
from viz_app.drawing.display_text import plain
from viz_app.language import marked, tr
from viz_app.session import address
from viz_app.session.fields import Visit
from viz_app.session.state import session_object
from viz_app.views.paper.sections.paper_sections import SECTIONS, PaperSection

ABOUT = marked("""
A path through [Attention Is All You Need](https://arxiv.org/abs/1706.03762) (Vaswani et al. 2017). Each link opens a
page in a new tab, most with a sentence; type your own there. The links are for the shipped model. Below each summary
are the functions and classes that do what the section says.
""")


def card(section: PaperSection) -> None:
    """Draw a section: its summary, what to look for, and the link."""
    key = f"section_{section.number.replace('.', '_')}"
    with st.container(border=True, key=key):
        left, right = st.columns([3, 4], gap="large")
        with left:
            st.markdown(f"**{tr(section.number)} {tr(section.title)}**")
            st.markdown(tr(section.about))
            st.markdown(" ".join(f"`{name}`" for name in section.code))
            if section.parts:
                links = " ".join(f"[`{name}`]({address})" for name, address in section.parts.items())
                st.markdown(tr("In one file, beside Figure 1: {links}", links=links))
        with right:
            if section.sentence:
                st.markdown(tr("**Try** \u201c{sentence}\u201d", sentence=plain(section.sentence)))
            st.markdown(tr("**See** {what}", what=tr(section.see)))
            st.link_button(tr(section.link), section.address, icon=":material/open_in_new:", type="tertiary")
    if section.number == address.SECTION.value:
        scroll_to(key, session_object(Visit).number)


st.markdown(tr("**The paper, section by section**"), help=tr(ABOUT))
address.SECTION.selected(possible={section.number for section in SECTIONS}.__contains__)
for section in SECTIONS:
    card(section)
