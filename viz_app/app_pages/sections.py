"""The paper, section by section: what each says, and where to see it."""

import streamlit as st

from viz_app.features.sections.paper_sections import SECTIONS, PaperSection
from viz_app.figures.display_text import plain

ABOUT = """
A path through [Attention Is All You Need](https://arxiv.org/abs/1706.03762) (Vaswani et al. 2017). Each link opens a
page with a sentence in a new tab; type your own there. The links are for the shipped model.
"""


def card(section: PaperSection) -> None:
    """Draw a section: what it says, what to look for, and the link."""
    with st.container(border=True, key=f"section_{section.number.replace('.', '_')}"):
        left, right = st.columns([3, 4], gap="large")
        with left:
            st.markdown(f"**{section.number} {section.title}**")
            st.markdown(section.about)
        with right:
            st.markdown(f"**Try** \u201c{plain(section.sentence)}\u201d")
            st.markdown(f"**See** {section.see}")
            st.link_button(section.link, section.address, icon=":material/open_in_new:", type="tertiary")


st.markdown("**The paper, section by section**", help=ABOUT)
for section in SECTIONS:
    card(section)
