"""The answer to "Which head links these two words?", in a line."""

import streamlit as st

from core.analysis.heads.word_pair import HeadWeight, PairHeads
from core.analysis.interventions.control_pairs import Control, ControlPair, control, pair_for
from core.analysis.tokens.words import spelled_words
from core.capture import Kind
from core.trace import Head
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import bar_column, show_table
from viz_app.controls.widgets import text_button
from viz_app.drawing import head_names
from viz_app.drawing.display_text import decimal, isolated, plain, sentence_case
from viz_app.language import joined, marked, quoted, tr, tr_lower, translated
from viz_app.session import address, chosen_heads, readings, selected_pair
from viz_app.session.attributions import MethodChoice
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.questions import ask_which_head
from viz_app.session.readings import Reading

NAMED = 3  # heads after the first
ABOUT = marked("""
The **weight** from one word to the other, summed over the pieces of the word attended to and averaged over the rows of
the word that attends. Two words of the source are linked by the encoder, from the word selected first; two of the
translation by the decoder's self-attention, from the later word, which can see the earlier; one of each by
cross-attention. A head with a large weight may have passed something on, or not: Cut and Switches try what happens
without it.
""")
ABOUT_CONTROL = marked("""
A weight in one sentence does not show what a head follows. Its control is the same weight where other words decide:
where the pronoun means another noun, or nothing is negated. Type a second sentence with as many words. Without one, a
pair of a shipped list is compared if the link is from a pronoun, to a negation, or of that list. The weight is in the
row of the word that attends; in cross-attention it is the largest of all rows. Both sentences are also translated
without the head.
""")


def pair_text(found: PairHeads, *, with_kind: bool) -> str:
    """Name the heads with the largest weights between two words, and the kind if `with_kind`, in Markdown."""
    first, *others = found.heads[: NAMED + 1]
    names = {
        "query": plain(isolated(found.query_text)),
        "key": plain(isolated(found.key_text)),
        "first": head_names.name_of(*first.head[1:]),
        "weight": decimal(first.weight, 2),
        "others": joined(map(_named, others)),
        "kind": tr_lower(head_names.KIND_NAMES[found.pair.kind]),
    }
    if with_kind and others:
        return tr(
            "**{query} \u2192 {key}**, {kind} attention: **{first}** has the most weight, {weight}; then {others}.",
            **names,
        )
    if others:
        return tr("**{query} \u2192 {key}**: **{first}** has the most weight, {weight}; then {others}.", **names)
    return tr("**{query} \u2192 {key}**, {kind} attention: **{first}** has the weight {weight}.", **names)


def _named(each: HeadWeight) -> str:
    return f"{head_names.name_of(*each.head[1:])} {decimal(each.weight, 2)}"


def pair_answer(
    reading: Reading, found: PairHeads, kind: Kind | None = None, weights: MethodChoice = selected_pair.WEIGHTS
) -> None:
    """Draw the answer, with buttons that show the first head, and the link the other way; and all heads as a table.

    Args:
        kind: of attention that the page Heads shows; None on other pages.
        weights: by which the heads were ordered.
    """
    first = found.heads[0].head
    row = st.container(horizontal=True, vertical_alignment="center", gap="small", key="pair-answer")
    with row:
        st.markdown(pair_text(found, with_kind=kind != found.pair.kind), width="content", help=tr(ABOUT))
        name = head_names.name_of(first.layer, first.head)
        if kind is None:
            text_button(tr("Open on Heads"), ask_which_head, reading, found, key="pair_on_heads")
        elif kind != first.kind or chosen_heads.heads_widget(first.kind).value != [name]:
            text_button(tr("Show {head}", head=name), show_first, found, key="show_first_head")
        if found.pair.kind == "encoder_self":  # the only one in which both words can attend
            names = {"query": plain(isolated(found.key_text)), "key": plain(isolated(found.query_text))}
            text = tr("Or {query} \u2192 {key}", **names)
            if text_button(text, turn, reading, found, kind, weights, key="turn_pair"):
                st.rerun()  # the whole page, which shows the selected words
        with st.popover(tr("All heads"), type="tertiary", key="pair_heads"):
            all_heads(reading, found)
    if weights.method == "attention" and first.kind != "decoder_self" and reading.model.explanation is None:
        with row, st.popover(tr("Its control"), type="tertiary", key="pair_control"):
            second = control_box(reading)
        if pair := control_pair(reading, found, second):
            control_answer(reading, first, pair)


def control_box(reading: Reading) -> str:
    """Select the second sentence of the visitor's own control; "" for that of the shipped list."""
    address.CONTROL.preset_for((reading.model.digest, reading.translation.source), str)
    hint = tr("Change a word of the sentence above")
    return address.CONTROL.draw(st.text_input, tr("Second sentence"), placeholder=hint, help=tr(ABOUT_CONTROL)) or ""


def control_pair(reading: Reading, found: PairHeads, second: str) -> ControlPair | None:
    """Return the pair that controls the link of two words, with the visitor's second sentence if there is one."""
    (_, query), (_, key) = found.pair.query, found.pair.key
    words = {group: number for number, (group, _) in enumerate(spelled_words(reading.explain().source_tokens))}
    if key not in words or (found.pair.kind == "encoder_self" and query not in words):
        return None
    source, attends = reading.translation.source, words.get(query, 0)
    if second.strip():
        return ControlPair((source, second), attends, words[key])
    return pair_for(found.pair.kind, source, (attends, found.query_text), (words[key], found.key_text))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def _controlled(model: Model, head: Head, pair: ControlPair) -> Control:
    return control(model.translator, head, pair)


def control_answer(reading: Reading, head: Head, pair: ControlPair) -> None:
    """Draw what a head does in both sentences of a pair; with the pointer on it, the sentences and translations."""
    try:
        with st.spinner(tr("The model computes\u2026")):
            found = _controlled(reading.model, head, pair)
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return
    before = "" if pair.texts[0] == reading.translation.source else f"{quoted(pair.texts[0])} "
    said = [f"{text} {each.translation} / {each.without}" for text, each in zip(pair.texts, found.sides, strict=True)]
    text = tr("Control: {found}", found=before + translated(found.answer()))
    st.caption(plain(text), help=plain("\n\n".join(said)))


def turn(reading: Reading, found: PairHeads, kind: Kind | None, weights: MethodChoice) -> None:
    """Ask which head links two words the other way; on the page Heads, select it. Call it in a callback."""
    readings.select_words(reading, [found.pair.key, found.pair.query])
    if kind is not None and (pair := selected_pair.selected_pair(reading)) is not None:
        show_first(selected_pair.linking_heads(reading, pair, weights))


def show_first(found: PairHeads) -> None:
    """Select the first head on the page Heads; call it in a callback."""
    head = found.heads[0].head
    chosen_heads.select_head(head)
    chosen_heads.keep_heads(chosen_heads.heads_widget(head.kind))


def all_heads(reading: Reading, found: PairHeads) -> None:
    """Draw the table of all heads, by their attention weight."""
    call = selected_pair.linking_call(reading, found.pair)
    result = call.run()
    show_table(
        {
            "head": [head_names.name_of(*head[1:]) for head, _ in result.heads],
            "weight": [weight for _, weight in result.heads],
        },
        height=300,
        column_config={
            "head": st.column_config.TextColumn(tr("Head"), width=70),
            "weight": bar_column(tr("Weight"), 3),
        },
    )
    downloads("heads-of-two-words", call=call.returning(result).then("table"))
