"""Translate: what the search found, how sure the model was, and one head that tells how it went about it."""

import streamlit as st

from core.analysis.words import merge_words, without_special_tokens
from viz_app import choice, state, tokens
from viz_app.components.lines import attention_lines
from viz_app.figures.theme import head_name, theme_named

HOW_TO_READ = """
The background of a token says how unsure the model was of it: none where it was certain, strong where it was not. Hover a token
for its numbers. A **log-probability** is of a token given the source and the tokens before it, in nats: 0 is certain, -0.69 is one
in two. It says how likely the model found the word, not whether the translation is right.
"""
ABOUT_SCORES = """
The **log-prob** of a hypothesis is the sum over its tokens. Long sentences collect more of it, so hypotheses are ranked by their
**score**: the log-probability divided by ((5 + length) / 6) to the power of the length penalty (Wu et al. 2016). The best is the one nearest 0.
"""


def translation(reading: state.Reading) -> None:
    """The chosen hypothesis, the others, and the numbers of each token."""
    hypothesis = reading.hypothesis
    st.markdown("**Translation, token by token**", help=HOW_TO_READ)
    st.html(tokens.token_text(hypothesis.tokens, hypothesis.token_log_probs))
    st.markdown("**Hypotheses**", help=ABOUT_SCORES)
    st.html(tokens.hypothesis_table(reading.translation.hypotheses, reading.index))


def token_numbers(reading: state.Reading) -> None:
    """A row a token."""
    st.dataframe(
        tokens.token_table(reading.explanation),
        column_config={
            "position": st.column_config.NumberColumn("", width=40),
            "token": st.column_config.TextColumn("Token", width="small"),
            "log_prob": st.column_config.NumberColumn("Log-prob", format="%.3f", width="small"),
            "probability": st.column_config.ProgressColumn("Probability", format="%.2f", min_value=0, max_value=1, width="small"),
            "others": st.column_config.TextColumn("Likely others, with their probability"),
        },
        height="content",
    )


@st.fragment
def telling_head(reading: state.Reading) -> None:
    """One cross-attention head as lines."""
    maps = reading.explanation.maps["cross"]
    layer, head = choice.telling_head("cross", maps)
    name = head_name(layer, head)
    st.markdown(
        f"**One telling head**: {name} of cross-attention",
        help=f"Of all cross-attention heads, {name} puts most of its weight on single words here. What it looks at when it writes a word is "
        "often the word that is translated, but attention is not an explanation by itself. All heads are on the page Heads.",
    )
    how = (reading.explanation, "cross", True, True)
    query, key = choice.place(state.selected_word(reading), *how)
    selected = ("query", query) if query is not None else ("key", key) if key is not None else None
    attention = without_special_tokens(merge_words(maps[layer]))
    clicked = attention_lines(attention, [head], theme_named(st.context.theme.type), selected=selected, key="telling_head", height=420)
    word = clicked and choice.word_at(*clicked, *how)
    if word:
        state.select_word(reading, word)
        st.rerun()


reading = state.reading()
if reading is not None:
    with st.container(key="translation-and-head"):
        left, right = st.columns([5, 6], gap="large")
    with left:
        translation(reading)
    with right:
        telling_head(reading)
    token_numbers(reading)
