"""Translate: what the search found, what else it might have been, and one head that tells how it went about it."""

from functools import partial

import streamlit as st

from core.analysis.tokens.words import merge_words, without_special_tokens
from viz_app.components import word_links
from viz_app.components.attention_lines import attention_lines
from viz_app.components.token_steps import token_steps
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import show_table
from viz_app.features.translate import forced_target
from viz_app.figures import ablation as words
from viz_app.figures import hypothesis_tables
from viz_app.figures.export.head_pictures import export_lines
from viz_app.figures.export.token_steps import export_steps
from viz_app.figures.theme import head_name, theme_named
from viz_app.figures.weight_tables import lines_table
from viz_app.session import chosen_heads, readings, word_selection

HOW_TO_READ = """
The background of a token says how unsure the model was of it: none where it was certain, strong where it was not. A
click on a token, or the arrow keys, show what else the model found likely at that place. A click on one of those, or a
word of your own, **forces** it: everything before stays, and the search goes on behind it. What was forced is
underlined.

A character that the tokenizer does not know is spelled in bytes, a token each: it stands once, with a small number for
each of its other bytes. Elsewhere these tokens read `\u00e4 1/2` and `\u00e4 2/2`.

A **log-probability** is of a token given the source and the tokens before it, in nats: 0 is certain, -0.69 is one in
two. It says how likely the model found the word, not whether the translation is right.
"""
ABOUT_SCORES = """
The **log-prob** of a hypothesis is the sum over its tokens. Long sentences collect more of it, so hypotheses are ranked
by their **score**: the log-probability divided by ((5 + length) / 6) to the power of the length penalty (Wu et al.
2016). The best is the one nearest 0.
"""
ABOUT_OWN = """
**Forced decoding**: the model is made to read this translation, and says at each token how likely it found it. Nothing
is searched. Change the text, or paste another one; an empty one is a translation too. All pages then look at it.
"""
ABOUT_COMPARISON = """
Up to the first token that differs, the two are the same to the model, so the table begins there. Behind it even the
same token has another probability, for the model has read something else before. Rows without a mark hold different
tokens.
"""


def translation(reading: readings.Reading) -> None:
    """What is looked at, token by token, and the hypotheses."""
    st.markdown("**Translation, token by token**", help=HOW_TO_READ)
    if reading.index:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(forced_target.origin_text(reading), width="content")
            st.button("Back to the model's own", on_click=readings.new_sentence, key="own_again")
    token_steps(
        reading.explanation,
        lambda chosen: forced_target.choose(reading, *chosen),
        num_forced=forced_target.num_forced(reading),
        step=forced_target.step(reading),
        problem=forced_target.word_problem(reading),
    )
    told = reading.explanation
    draw = partial(export_steps, told.predicted_tokens, told.log_probs, theme=theme_named(st.context.theme.type))
    downloads("translation", draw, lambda: hypothesis_tables.token_table(told).reset_index())
    st.markdown("**Hypotheses**", help=ABOUT_SCORES)
    st.html(hypothesis_tables.hypothesis_table(reading.translation.hypotheses, reading.index))


def own_translation(reading: readings.Reading) -> None:
    """A text to change or to replace, and how the model likes it."""
    forced_target.fill_in(reading)
    with st.form("own_translation", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_area(
            "Your own translation",
            key=forced_target.TEXT,
            persist_state="session",
            height=72,
            help=ABOUT_OWN,
            placeholder="Type a translation",
        )
        st.form_submit_button("Score it", on_click=forced_target.score_text, args=(reading,))
    if problem := forced_target.text_problem(reading):
        st.error(problem)


def comparison(reading: readings.Reading) -> None:
    """The translation that is looked at beside the model's own."""
    own, other = reading.translation.hypotheses[0], reading.hypothesis
    st.markdown("**Beside the model's own translation**", help=ABOUT_COMPARISON)
    if own.token_ids == other.token_ids:
        st.caption("It is the model's own: the search finds the same without being forced.")
        return
    with st.container(key="scores-and-texts"):
        left, right = st.columns([2, 3], gap="large")
    with left:
        st.html(hypothesis_tables.score_table([("the model's own", own), ("this one", other)]))
    with right:
        texts = words.words_of(own.tokens), words.words_of(other.tokens)
        marks = words.difference(*texts)
        st.html(words.marked_text(texts[0], marks[0], "del") + words.marked_text(texts[1], marks[1], "ins"))
        st.caption(hypothesis_tables.verdict(own, other))
    show_table(
        hypothesis_tables.comparison_table(own, other),
        hide_index=False,
        column_order=["own", "own_log_prob", "other", "other_log_prob", "change", "same"],
        column_config={
            "row": st.column_config.NumberColumn("", width=40),
            "own": st.column_config.TextColumn("Own", width="small"),
            "own_log_prob": st.column_config.NumberColumn("Log-prob", format="%.3f", width="small"),
            "other": st.column_config.TextColumn("This one", width="small"),
            "other_log_prob": st.column_config.NumberColumn("Log-prob ", format="%.3f", width="small"),
            "change": st.column_config.NumberColumn("Change", format="%+.3f", width="small"),
            "same": st.column_config.CheckboxColumn("Same token", width="small"),
        },
        height="content",
    )


def token_numbers(reading: readings.Reading) -> None:
    """A row a token."""
    show_table(
        hypothesis_tables.token_table(reading.explanation),
        hide_index=False,
        column_config={
            "position": st.column_config.NumberColumn("", width=40),
            "token": st.column_config.TextColumn("Token", width="small"),
            "log_prob": st.column_config.NumberColumn("Log-prob", format="%.3f", width="small"),
            "probability": st.column_config.ProgressColumn(
                "Probability", format="%.2f", min_value=0, max_value=1, width="small"
            ),
            "others": st.column_config.TextColumn("Likely others, with their probability"),
        },
        height="content",
    )


@st.fragment
def telling_head(reading: readings.Reading) -> None:
    """One cross-attention head as lines."""
    maps = reading.explanation.maps["cross"]
    layer, head = chosen_heads.telling_head("cross", maps)
    name = head_name(layer, head)
    st.markdown(
        f"**One telling head**: {name} of cross-attention",
        help=f"Of all cross-attention heads, {name} puts most of its weight on single words here. What it looks at "
        f"when it writes a word is "
        "often the word that is translated, but attention is not an explanation by itself. All heads are on the page "
        "Heads.",
    )
    look = word_selection.look(reading, word_links.links(reading.explanation, "cross", True, True))
    attention = without_special_tokens(merge_words(maps[layer]))
    theme = theme_named(st.context.theme.type)
    attention_lines(attention, [head], theme, key="telling_head", height=420, **look)
    downloads(
        f"cross-layer{layer}-head{head}",
        partial(export_lines, attention, [head], theme=theme),
        lambda: lines_table(attention, [head]),
    )


reading = readings.reading()
if reading is not None:
    with st.container(key="translation-and-head"):
        left, right = st.columns([5, 6], gap="large")
    with left:
        translation(reading)
    with right:
        telling_head(reading)
    own_translation(reading)
    if reading.index:
        comparison(reading)
    token_numbers(reading)
