"""Alignment: which word is a translation of which, by any head or method, and how far that is from what people say."""

from collections.abc import Sequence
from functools import partial

import streamlit as st
from torch import Tensor

from core.analysis.alignment.aligners import Rows
from core.analysis.alignment.coverage import (
    absentmindedness_in,
    absentmindedness_out,
    attention_confidence,
    coverage_deviation,
    coverage_penalty,
)
from core.analysis.alignment.pharaoh import GoldLinks, parse_links
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
from core.capture import AttentionMap
from viz_app.components.alignment_ribbons import ribbon
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import show_table
from viz_app.controls.toolbar import segments
from viz_app.features.alignment import aligner_list
from viz_app.features.alignment.corpus_ranking import text_with_gold
from viz_app.figures.aligner_tables import ROW_NAMES, coverage_table, ribbon_table, target_table
from viz_app.figures.display_text import decimal, plain, sentence_case
from viz_app.figures.export.alignment import export_ribbon
from viz_app.figures.theme import theme_named
from viz_app.session import chosen_heads, gold_links, permalink, readings
from viz_app.session.attributions import METHOD_HELP, METHOD_NAMES, Method, method_maps

HOW_TO_READ = """
A ribbon is as thick as the weight that a target word gives to a source word: summed over the pieces of the source word,
averaged over those of the target word. The strongest ribbon of each target word is its **link**. What a word's ribbons
lack of 1 went to special tokens, or, with rollout and ALTI, came from the prefix.

**Gold links** are yours: click a source word, then a target word; the same again takes a link away. With the keyboard:
Tab, arrow keys, Enter. The bar under a target word is the share of its prediction that comes from the **source**; the
rest comes from the **prefix**, what was written before it (ALTI, rolled out). A high share is no proof of a faithful
translation.
"""
ABOUT_ROWS = """
A decoder row was fed one word and predicts the next. What a word is aligned to can be read off the row **that predicts
it**, or off the row **that was fed it**, one later, which knows which word it is (Chen et al. 2020).
"""
ABOUT_AER = """
**AER**, the alignment error rate (Och & Ney 2003): 0 if all sure links were found and nothing else, 1 if none was.
**Precision**: how many of the links found are gold. **Recall**: how many of the sure gold links were found. Every
target word gets one link, so a gold that leaves words out cannot be met exactly. One sentence says little about a head;
rank a text below.
"""
ABOUT_COVERAGE = """
Of the aligner above, over all tokens, special ones too, in nats: 0 at best, the less the worse. **Coverage penalty**
(Wu et al. 2016): the logarithms of what the source tokens got, 1 at most, added up; the more was left out, the less it
is. **Deviation**: how far the source tokens are from getting just 1 each. **Absentmindedness**: minus the mean entropy
of where a target token looks, and of who looks at a source token. **Attention confidence**: these last three added up
(Rikters et al. 2017). They compare translations of one sentence; with what people think of a translation, it went
together only weakly (Rikters & Fishel 2017).
"""


@st.fragment
def sentence() -> None:
    """The sentence that is read; a click in here runs nothing else again."""
    aligner_list.just_chosen()
    reading = readings.reading()
    if reading is None:
        st.caption("The alignment appears here as soon as there is a sentence to look at.")
        return
    method, place, rows, cross = toolbar(reading)
    alignment = align_words(cross, place, rows)
    gold_links.recall_links(reading.identity)
    left, right = st.container(key="side-by-side").columns(2, gap="large")
    with left:
        st.markdown(
            f"**{METHOD_NAMES[method]}**, {aligner_name(place)}: where each target word looks", help=HOW_TO_READ
        )
        below = st.container()
        links = links_box(reading, alignment)
        with below:
            picture(
                reading,
                alignment,
                links or GoldLinks(frozenset(), frozenset()),
                f"{METHOD_NAMES[method]}, {aligner_name(place)}",
            )
    with right:
        if links is not None:
            ranking(cross, links, len(alignment.target))
        numbers(reading, alignment)
        st.caption(coverage_text(token_weights(cross, place)), help=ABOUT_COVERAGE)


def toolbar(reading: readings.Reading) -> tuple[Method, HeadOrMean, Rows, Sequence[AttentionMap]]:
    """What to align by: a method, one of its heads or means, and which decoder rows."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        method: Method = st.selectbox(
            "Method",
            METHOD_NAMES,
            format_func=METHOD_NAMES.__getitem__,
            key="method",
            bind="query-params",
            help=METHOD_HELP,
            width=230,
        )
        try:
            cross = method_maps(reading, method)["cross"]
        except (RuntimeError, ValueError) as error:
            st.error(f"{sentence_case(str(error))}. Attention weights are shown instead.")
            method, cross = "attention", reading.explanation.maps["cross"]
        by_name = {aligner_name(place): place for place in all_aligners(cross)}
        if st.session_state.get("aligner", st.query_params.get("aligner")) not in by_name:
            permalink.preset(
                "aligner", aligner_name(chosen_heads.telling_head("cross", cross)) if cross[0].num_heads > 1 else "mean"
            )
        name = st.selectbox("Head", by_name, None, required=True, key="aligner", bind="query-params", width=130)
        rows: Rows = segments("Rows", ROW_NAMES, "predicted", "rows", help=ABOUT_ROWS)
    return method, by_name[name or next(iter(by_name))], rows, cross


def picture(reading: readings.Reading, alignment: WordAlignment, links: GoldLinks, title: str) -> None:
    """The ribbons, and what speaks against them."""
    from_source = shares(reading)
    ribbon(alignment, links, lambda link: gold_links.toggle_link(links, link), shares=from_source)
    look = {"theme": theme_named(st.context.theme.type), "shares": from_source, "title": title}
    downloads("alignment", partial(export_ribbon, alignment, links, **look), lambda: ribbon_table(alignment, links))
    for concern in alignment.concerns():
        st.warning(plain(concern), icon=":material/visibility_off:")


def shares(reading: readings.Reading) -> tuple[float, ...]:
    """How much of each target word comes from the source; nothing where the model cannot be taken apart."""
    try:
        rolled = method_maps(reading, "rolled_contributions")
    except (RuntimeError, ValueError) as error:
        st.caption(sentence_case(str(error)))
        return ()
    return word_shares(source_share(rolled), reading.explanation.predicted_tokens)


def links_box(reading: readings.Reading, alignment: WordAlignment) -> GoldLinks | None:
    """The gold links as text; None when they cannot be read, with the reason."""
    line = st.text_input(
        "Gold links",
        key=gold_links.LINKS,
        bind="query-params",
        placeholder="Click a source word, then a target word, or type 0-0 1-2",
        help="In the Pharaoh format, as in the picture counted from 0, the source's word first: `0-0` is a sure link, "
        "`1?2` a possible one.",
    )
    gold_links.keep_links(reading.identity, line)
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Start from the links of this head",
            on_click=gold_links.set_links,
            args=(alignment.links,),
            type="tertiary",
            key="seed",
        )
        st.button(
            "Clear", on_click=gold_links.set_links, args=(frozenset(),), type="tertiary", disabled=not line, key="clear"
        )
    try:
        return parse_links(line, len(alignment.source), len(alignment.target))
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return None


def ranking(cross: Sequence[AttentionMap], links: GoldLinks, words: int) -> None:
    """Every aligner on this sentence, best first; a click on a row looks at it."""
    st.markdown("**Heads as aligners of this sentence**, best first", help=ABOUT_AER)
    if not links.possible:
        st.caption("Link a few words in the picture, and every head is ranked by how near it comes to your links.")
        return
    linked = len({target for _, target in links.possible})
    if linked < words:
        st.caption(f"{linked} of {words} target words are linked; a link found for any of the others counts as wrong.")
    aligner_list.show_aligners(rank_sentence(cross, links), "sentence")


def numbers(reading: readings.Reading, alignment: WordAlignment) -> None:
    """The tables behind the picture."""
    view = st.segmented_control(
        "Numbers",
        ("Target words", "Source words"),
        default="Target words",
        required=True,
        key="numbers_of",
        bind="query-params",
    )
    if view == "Target words":
        table = target_table(alignment, shares(reading))
        columns = {
            "target": st.column_config.TextColumn("Target", width=90),
            "looks_at": st.column_config.TextColumn("Looks at", width=90),
            "weight": st.column_config.NumberColumn("Weight", format="%.2f"),
            "from_source": st.column_config.ProgressColumn(
                "From source", format="%.2f", min_value=0, max_value=1, width=110
            ),
            "from_prefix": st.column_config.NumberColumn("From prefix", format="%.2f"),
        }
    else:
        table = coverage_table(alignment)
        columns = {
            "source": st.column_config.TextColumn("Source", width=120),
            "coverage": st.column_config.NumberColumn("Coverage", format="%.2f"),
            "linked_to": "Linked to",
        }
    show_table(table, height="content" if len(table) < 16 else 420, column_config=columns)


def coverage_text(weights: Tensor) -> str:
    """How much of the source was looked at, and how clearly: [T, S], rows that sum to 1."""
    scores = (coverage_penalty, coverage_deviation, absentmindedness_out, absentmindedness_in, attention_confidence)
    penalty, deviation, out, back, confidence = (decimal(score(weights), 2) for score in scores)
    away = f"absentmindedness {out} from the target, {back} from the source"
    return f"Coverage penalty {penalty}, deviation {deviation}; {away}; attention confidence {confidence}"


sentence()
if readings.reading() is not None:
    st.divider()
    text_with_gold()
