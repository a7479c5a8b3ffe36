"""Alignment: word alignments by any head or method, compared with gold links."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from core.analysis.alignment.align import RankedAligners
from core.analysis.alignment.aligners import Aligner, Rows
from core.analysis.alignment.coverage import coverage_text
from core.analysis.alignment.first_head import aligner_answer
from core.analysis.alignment.pharaoh import GoldLinks, Link, format_links, parse_links
from core.analysis.alignment.sentence_alignment import (
    HeadOrMean,
    WordAlignment,
    align_words,
    aligner_name,
    all_aligners,
    rank_sentence,
    token_weights,
    word_shares,
)
from core.analysis.attribution.rollout import source_share
from core.analysis.recorded_call import Call
from core.capture import AttentionMap
from viz_app.controls.downloads import downloads
from viz_app.controls.score_products import MapCells, no_products
from viz_app.controls.tables import bar_column, number_column, show_table
from viz_app.controls.widgets import setting_menu, setting_segments, show_answer, text_button
from viz_app.drawing.display_text import plain, sentence_case
from viz_app.drawing.head_links_text import ABOUT_LINKS
from viz_app.language import marked, tr, tr_values, translated
from viz_app.session import address, python_code, readings
from viz_app.session.attributions import METHOD_HELP, METHOD_NAMES, Method
from viz_app.session.chosen_heads import default_head, keep_heads, preset_heads
from viz_app.session.readings import Reading, reading_part
from viz_app.session.state import session_object
from viz_app.views.heads import gold_links
from viz_app.views.heads.alignment import aligner_list
from viz_app.views.heads.alignment.aligner_list import (
    ALIGNER,
    METHOD,
    ROW_NAMES,
    ROWS,
    aligner_title,
    text_with_gold,
    took_click,
)
from viz_app.views.heads.alignment.alignment_ribbons import ribbon, ribbon_cells
from viz_app.views.heads.gold_links import LINKS, SentenceLinks

TARGET, _ = address.NUMBERS_OF.codec.values
HOW_TO_READ = marked("""
A ribbon is as thick as the weight from a target word to a source word: summed over the pieces of the source word,
averaged over those of the target word. The strongest ribbon of each target word is its **link**. A word's ribbons may
sum to less than 1; the rest went to special tokens or, with rollout and ALTI, to the prefix.

**Gold links** are yours: click a source word, then a target word; the same again removes the link. With the keyboard:
Tab, arrow keys, Enter. The bar under a target word is the share of its prediction that comes from the **source**; the
rest comes from the **prefix**, the target words before it (ALTI, rolled out). A high share does not prove that the
translation is faithful.
""")
ABOUT_ROWS = marked("""
A decoder row is fed one word and predicts the next. A word can be aligned by the row that **predicts** it, or by the
next row, which it is **fed** to and which therefore knows the word (Chen et al. 2020).
""")
ABOUT_AER = marked("""
**AER**, the alignment error rate (Och & Ney 2003): 0 if all sure links were found and nothing else, 1 if none was.
**Precision**: the share of the links found that are gold. **Recall**: the share of the sure gold links that were found.
Every target word gets one link, so gold links that leave words out cannot be matched exactly. One sentence says little
about a head; rank a text below.
""")
ABOUT_COVERAGE = marked("""
For the aligner above, over all tokens, special ones included, in nats: 0 is best; lower is worse. **Coverage penalty**
(Wu et al. 2016): the sum of the logarithms of the source tokens' total weights, each at most 1; it is lower if source
tokens are left out. **Deviation**: how far these totals are from 1. **Absentmindedness**: minus the mean entropy of the
weights from a target token, and of those to a source token. **Attention confidence**: the sum of the last three
(Rikters et al. 2017). They compare translations of one sentence; they correlate only weakly with human judgements of
translation quality (Rikters & Fishel 2017).
""")


@reading_part
def sentence(reading: Reading) -> None:
    """Draw the part about the current sentence; a click in it runs only this part again."""
    took_click()
    if "cross" not in reading.explain().maps:
        st.info(tr("{model} has no cross-attention, which aligns words.", model=plain(reading.model.name)))
        return
    method, place, rows, cross = toolbar(reading)
    alignment = align_words(cross, place, rows)
    above = st.container()  # of the answer, from the links below
    left, right = st.container(key="side-by-side").columns(2, gap="large")
    with left:
        text = tr(
            "**{method}**, {head}: what each target word attends to",
            method=tr(METHOD_NAMES[method]),
            head=aligner_title(place),
        )
        st.markdown(text, help=tr(HOW_TO_READ))
        below = st.container()
        links = links_box(reading, alignment)
        with below:
            drawn = links or GoldLinks(frozenset(), frozenset())
            none = no_products(reading.model, method, None not in place)
            call = partial(ribbon_call, reading, method, place, rows, drawn)
            cells = None if none else ribbon_cells(reading, place, rows)
            picture(reading, alignment, drawn, f"{tr(METHOD_NAMES[method])}, {aligner_title(place)}", call, cells)
            if cells is None:
                st.caption(none)
            else:
                cells.show(lambda cell: cell.head == ("cross", *place))
    ranked = rank_sentence(cross, links) if links and links.possible else []
    with above:
        answer = RankedAligners(ranked, 1).answer() if ranked else aligner_answer(cross, alignment)
        show_answer(answer, tr(ABOUT_AER if ranked else ABOUT_LINKS))
    with right:
        if links is not None:
            ranking(ranked, links, len(alignment.target))
        numbers(reading, alignment)
        st.caption(translated(coverage_text(token_weights(cross, place))), help=tr(ABOUT_COVERAGE))


def toolbar(reading: Reading) -> tuple[Method, HeadOrMean, Rows, Sequence[AttentionMap]]:
    """Select a method, one of its heads or means, and the decoder rows to align by."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        names = {each: tr(METHOD_NAMES[each]) for each in reading.methods}
        method: Method = setting_menu(METHOD, tr("Method"), names, help=tr(METHOD_HELP), width=230)
        try:
            cross = reading.method_maps(method)["cross"]
        except ValueError as error:
            st.error(tr("{problem}. Attention weights are shown instead.", problem=sentence_case(str(error))))
            method, cross = "attention", reading.explain().maps["cross"]
        by_name = {aligner_name(place): place for place in all_aligners(cross)}
        titles = {name: aligner_title(place) for name, place in by_name.items()}
        several = cross[0].num_heads > 1

        def default() -> str:
            return aligner_name(default_head(reading.explain().maps["cross"]) if several else (None, None))

        preset_heads(reading, ALIGNER, default)
        if ALIGNER.requested not in by_name:  # of another method
            ALIGNER.set(default())
        name = setting_menu(ALIGNER, tr("Head"), titles, width=130, on_change=keep_heads, args=(ALIGNER,))
        rows = setting_segments(ROWS, tr("Rows"), tr_values(ROW_NAMES), help=tr(ABOUT_ROWS))
    return method, by_name[name or next(iter(by_name))], rows, cross


def ribbon_call(reading: Reading, method: Method, place: HeadOrMean, rows: Rows, links: GoldLinks) -> Call:
    """Return the call of the table of the ribbons."""
    cross = Call("cross", "[]", (python_code.recorded_pass(reading).all_maps(method), "cross"))
    gold = Call("links", parse_links, (format_links(links),))
    return Call("alignment", align_words, (cross, place, rows)).then("table", gold)


def picture(
    reading: Reading,
    alignment: WordAlignment,
    links: GoldLinks,
    title: str,
    call: Callable[[], Call],
    cells: MapCells | None,
) -> None:
    """Draw the ribbons, with their files and, if they are those of one head, their cells; and warnings about them."""
    from_source = shares(reading)

    def link(clicked: Link) -> None:
        LINKS.set(gold_links.toggled(links, clicked))
        if cells is not None:
            cells.select_words(*reversed(clicked))

    ribbon(alignment, links, link, shares=from_source)
    downloads("alignment", "ribbon", call, title=tr("Alignment by {method}", method=title))
    for concern in alignment.concerns():
        st.warning(plain(translated(concern)), icon=":material/visibility_off:")
    if note := alignment.left_out_note():
        st.caption(plain(translated(note)))


def shares(reading: Reading) -> tuple[float, ...]:
    """Return each target word's share that comes from the source; nothing if ALTI cannot be applied to the model."""
    if reading.model.explanation is not None:
        return ()
    try:
        rolled = reading.method_maps("rolled_contributions")
    except ValueError as error:
        st.caption(sentence_case(str(error)))
        return ()
    return word_shares(source_share(rolled), reading.explain().predicted_tokens)


def links_box(reading: Reading, alignment: WordAlignment) -> GoldLinks | None:
    """Edit the gold links as text; None, with the reason on the page, if they cannot be parsed."""
    sentences = session_object(SentenceLinks)
    restored = sentences.before_box(reading.identity, LINKS.value)
    if restored is not None:
        LINKS.set(restored)
    line = LINKS.draw(
        st.text_input,
        tr("Gold links"),
        placeholder=tr("Click a source word, then a target word, or type 0-0 1-2"),
        help=tr(
            "In the Pharaoh format, counted from 0 as in the picture, the source word first: `0-0` is a sure link, "
            "`1?2` a possible one."
        ),
    )
    sentences.lines[reading.identity] = line
    if line:
        text_button(tr("Clear"), LINKS.set, "", key="clear")
    else:
        text_button(tr("Start from the links of this head"), LINKS.set, format_links(alignment.links), key="seed")
    try:
        return parse_links(line, len(alignment.source), len(alignment.target))
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return None


def ranking(ranked: Sequence[Aligner], links: GoldLinks, words: int) -> None:
    """Draw a table of all aligners on this sentence, best first; selecting a row shows that aligner."""
    st.markdown(tr("**Heads as aligners of this sentence**, best first"), help=tr(ABOUT_AER))
    if not ranked:
        st.caption(tr("Link a few words in the picture to rank all heads by agreement with your links."))
        return
    linked = len({target for _, target in links.possible})
    if linked < words:
        st.caption(
            tr(
                "{linked} of {words} target words are linked; links of the others count as wrong.",
                linked=linked,
                words=words,
            )
        )
    aligner_list.show_aligners(ranked, "sentence")


def numbers(reading: Reading, alignment: WordAlignment) -> None:
    """Draw the tables behind the picture."""
    view = setting_segments(address.NUMBERS_OF, tr("Numbers"))
    if view == TARGET:
        table = alignment.target_table(shares(reading))
        columns = {
            "target": st.column_config.TextColumn(tr("Target"), width=90),
            "looks_at": st.column_config.TextColumn(
                tr("Linked to"), width=90, help=tr("The source word of largest weight.")
            ),
            "weight": number_column(tr("Weight"), 2, help=tr("Of that source word, from 0 to 1.")),
            "from_source": bar_column(
                tr("From source"),
                2,
                width=110,
                help=tr("Share of the prediction that comes from the source (ALTI, rolled out)."),
            ),
            "from_prefix": number_column(tr("From prefix"), 2, help=tr("The rest, from the target words before it.")),
        }
    else:
        table = alignment.source_table()
        columns = {
            "source": st.column_config.TextColumn(tr("Source"), width=120),
            "coverage": number_column(
                tr("Attention received"), 2, help=tr("From all target words together; 1 is that of one word.")
            ),
            "linked_to": st.column_config.TextColumn(tr("Linked to"), help=tr("The target words linked to it.")),
        }
    show_table(table, height=420, column_config=columns)


sentence()
if readings.reading() is not None and readings.model().explanation is None:
    st.divider()
    text_with_gold()
