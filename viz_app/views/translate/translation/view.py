"""Translate: the translation token by token, alternatives, and one example head."""

import streamlit as st

from core.analysis.alignment.first_head import head_links
from core.analysis.recorded_call import Call
from core.analysis.tokens.token_table import token_table
from core.analysis.tokens.words import readable
from core.analysis.weight_tables import lines_table
from core.analysis.word_scores.least_probable import least_probable_answer
from viz_app.components.attention_lines import attention_lines, lines_payload
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import bar_column, number_column, show_table
from viz_app.controls.widgets import page_theme, show_answer
from viz_app.drawing import ablation as words
from viz_app.drawing.display_text import isolated
from viz_app.drawing.head_links_text import ABOUT_LINKS, links_text
from viz_app.drawing.theme import head_name
from viz_app.language import marked, tr
from viz_app.session import chosen_heads, python_code, questions, readings, word_selection
from viz_app.session.fields import part
from viz_app.views.translate.translation import figures as hypothesis_tables
from viz_app.views.translate.translation import forced_target, samples_panel
from viz_app.views.translate.translation.penalty_note import penalty_note
from viz_app.views.translate.translation.sign_line import look_for_left_out, sign_line
from viz_app.views.translate.translation.token_steps import (
    EXAMPLE,
    EXAMPLE_HEIGHT,
    WHOLE_WORDS,
    offer_preview,
    token_steps,
    words_at,
)

HOW_TO_READ = marked("""
The stronger the background of a token, the less certain the model was of it. Click a token, or use the arrow keys, to
see its most probable alternatives. Click one of these, or type a word or its first letters, to **force** it: the
tokens before it are kept, and the search continues from it; a space ends a typed word. Forced tokens are underlined.
**Forbid here** keeps the tokens before it, too, and searches on without this token at this place; the probabilities
stay the model's own.

A character that the tokenizer does not know is spelled in bytes, one token each: it is shown once, with a small number
for each further byte. Elsewhere these tokens are written `\u00e4 1/2` and `\u00e4 2/2`.

The **log-probability** of a token is given the source and the tokens before it, in nats: 0 is certain, -0.69 is one in
two. It says how probable the model finds the word, not whether the translation is right.
""")
ABOUT_WORDS = marked("""
What could stand in its place are **words**. The probability of a word is the sum over all ways to spell it in pieces of
the vocabulary, each with the tokens that may follow the whole word. Pieces below a probability of 0.003 are not
followed: where that could change a number, it is a lower bound, with \u2265 before it. **Pieces** shows the tokens
themselves.
""")
ABOUT_SCORES = marked("""
The finished *hypotheses* of the search. The **log-prob** of a translation is the sum over its tokens. It is lower for
longer sentences, so translations are ranked by their **score**: the log-probability divided by ((5 + length) / 6) to
the power of the length penalty (Wu et al. 2016). The best is the one nearest 0. Words are underlined that the first
translation does not have; those that it alone has stand behind a minus.
""")
ABOUT_OWN = marked("""
**Forced decoding**: the model reads this translation and gives the probability of each token; nothing is searched.
Change the text, or paste another one; an empty text is a translation too. All pages then explain it.
""")
ABOUT_COMPARISON = marked("""
The first two rows are sums over all tokens: the **log-probability**, and the **score**, by which translations of
different lengths are ranked. Then follow the tokens from the first that differs. After it, even the same token has
another probability, since the model has read other tokens before. How probable the model finds a translation does not
say how good it is.
""")


def translation(reading: readings.Reading) -> None:
    """Draw the target token by token, and the hypotheses."""
    show_answer(least_probable_answer(reading.explain()), f"{tr(HOW_TO_READ)}\n\n{tr(ABOUT_WORDS)}")
    if reading.index:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(forced_target.origin_text(reading), width="content")
            st.button(tr("Back to the model's own translation"), on_click=readings.new_sentence, key="own_again")
    kept = samples_panel.kept(reading)
    token_steps(
        reading.explain(),
        words_at(reading) if kept is None else {},
        lambda chosen: forced_target.force_token(reading, *chosen),
        lambda doubt: questions.ask_why(reading, *doubt),
        lambda position: forced_target.forbid_token(reading, position),
        num_forced=forced_target.num_forced(reading),
        step=forced_target.selected_position(reading),
        problem=forced_target.word_problem(reading),
        forbidden=forced_target.forbidden_options(reading),
        kept=kept,
    )
    title = tr("Probability of each token")
    table = Call("steps", token_table, (python_code.explanation(reading),))
    downloads("translation", "token_steps", table, title=title)
    sign_line(reading)
    st.markdown(tr("**Translations**, best first"), help=tr(ABOUT_SCORES))
    penalty_note(reading)
    st.html(hypothesis_tables.hypothesis_table(reading.translation.hypotheses, reading.index))


def own_translation(reading: readings.Reading) -> None:
    """Draw a box for a translation of one's own, to be scored."""
    forced_target.fill_in(reading)
    with st.form("own_translation", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_area(
            tr("Your own translation"),
            key=forced_target.TEXT.key,
            persist_state="session",
            height=72,
            help=tr(ABOUT_OWN),
            placeholder=tr("Type a translation"),
        )
        st.form_submit_button(tr("Score it"), on_click=forced_target.score_text, args=(reading,))
    if problem := forced_target.text_problem(reading):
        st.error(problem)


def comparison(reading: readings.Reading) -> None:
    """Compare the target with the model's own translation, the verdict first."""
    own, other = reading.translation.hypotheses[0], reading.hypothesis
    st.markdown(tr("**Compared with the model's own translation**"), help=tr(ABOUT_COMPARISON))
    if own.token_ids == other.token_ids:
        st.caption(tr("It is the model's own translation: the search finds it without being forced."))
        return
    st.markdown(hypothesis_tables.verdict(own, other))
    texts = words.words_of(own.tokens), words.words_of(other.tokens)
    marks = words.difference(*texts)
    st.html(words.marked_text(texts[0], marks[0], "del") + words.marked_text(texts[1], marks[1], "ins"))
    show_table(
        hypothesis_tables.comparison_table(own, other),
        columns={
            "row": st.column_config.TextColumn(tr("Row"), width=60),
            "own": st.column_config.TextColumn(tr("Model's own"), width="small"),
            "own_log_prob": number_column(tr("Log-prob"), 3, width="small"),
            "other": st.column_config.TextColumn(tr("This one"), width="small"),
            "other_log_prob": number_column(tr("Log-prob "), 3, width="small"),
            "change": number_column(tr("Change"), 3, width="small"),
            "same": st.column_config.CheckboxColumn(tr("Same token"), width="small"),
        },
        height="content",
    )


def token_numbers(reading: readings.Reading) -> None:
    """Draw a table with a row for each token."""
    show_table(
        token_table(reading.explain(), lambda token: isolated(readable(token))),
        column_config={
            "position": st.column_config.NumberColumn("#", width=40),
            "token": st.column_config.TextColumn(tr("Token"), width="small"),
            "log_prob": number_column(tr("Log-prob"), 3, width="small"),
            "probability": bar_column(tr("Probability"), 2, width="small"),
            "others": tr("Alternatives, with their probability"),
        },
        height="content",
    )


@part
def example_head(reading: readings.Reading) -> None:
    """Draw one cross-attention head as lines."""
    layer, head = chosen_heads.default_head(reading.explain().maps["cross"])
    name, links = head_name(layer, head), head_links(reading.explain().maps["cross"], layer, head)
    st.markdown(
        tr("**Example: head {head}** of cross-attention: {links}", head=name, links=links_text("", links)),
        help=tr(ABOUT_LINKS),
    )
    options = word_selection.drawing_options(reading, word_selection.links(reading.explain(), "cross", WHOLE_WORDS))
    attention, theme = reading.maps("cross", WHOLE_WORDS)[layer], page_theme()
    payload = lines_payload(attention, [head], theme, height=EXAMPLE_HEIGHT, **options)
    attention_lines(payload, attention, [head], key=EXAMPLE)

    def maps() -> Call:
        return python_code.recorded_pass(reading).maps("cross", WHOLE_WORDS)

    downloads(
        f"cross-layer{layer}-head{head}",
        EXAMPLE,
        lambda: Call("table", lines_table, (Call("attention", "[]", (maps(), layer)), [head])),
        title=tr("Cross-attention, {head}", head=name),
    )


reading = readings.reading()
if reading is not None:
    offer_preview()
    with st.container(key="translation-and-head"):
        left, right = st.columns([5, 6], gap="large")
    with left:
        translation(reading)
    with right:
        example_head(reading)
    samples_panel.samples(reading)
    own_translation(reading)
    if reading.index:
        comparison(reading)
    else:
        token_numbers(reading)
    look_for_left_out(reading)
