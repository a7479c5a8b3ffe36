"""Score-cards of the chosen heads: on the sentence, and beside it on a sample of sentences."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd
import streamlit as st

from core.analysis.alignment.aligners import head_error_rates
from core.analysis.alignment.pharaoh import parse_links
from core.analysis.alignment.sentence_alignment import rank_sentence, shown_words
from core.analysis.heads.head import Head
from core.analysis.heads.labels import head_labels
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.scoring import score_cards
from core.capture import Kind
from viz_app.controls.job_control import job_control
from viz_app.controls.tables import show_table
from viz_app.controls.toolbar import Options
from viz_app.features.heads import sentence_sample
from viz_app.features.heads.head_overview import ABOUT_CORRELATION
from viz_app.features.heads.sentence_sample import Sample
from viz_app.figures import head_names
from viz_app.figures.display_text import decimal, plain, sentence_case
from viz_app.figures.scorecard_text import offset_name, sentences
from viz_app.session import gold_links, memory, readings
from viz_app.session.aligner_ranking import TextRankings
from viz_app.session.attributions import NOTHING_TO_RANK, rank_correlations
from viz_app.session.state import session_object

Basis = Literal["Sentence", "Sample"]
BASES: tuple[Basis, ...] = ("Sentence", "Sample")
BASIS = "judged_by"  # the widget that says what heads are sorted and labelled by
COLUMNS: dict[str, tuple[str, str]] = {
    "entropy": (
        "Entropy",
        "0 looks at one token, 1 at all alike: the entropy of a row over the greatest possible. Clark et al. 2019.",
    ),
    "confidence": ("Confident", "The mean of each row's largest weight, `</s>` left out. Voita et al. 2019."),
    "offset": ("Offset", "Where the largest weight is, most often: -1 is the token before, 0 the same position."),
    "offset_share": (
        "At it",
        "For how many tokens the largest weight is at that offset; from 90 % on a head is positional (Voita et al. "
        "2019).",
    ),
    "sink_share": ("Sink", "The share of weight on `<s>`, `</s>`, the first token and punctuation."),
    "rare_token": (
        "Rare",
        "For how many tokens the largest weight is on the rarest token in sight (Voita et al. 2019). Rare is what "
        "occurs least in "
        "the sample, the shipped one at first; among equals, what the tokenizer learned last.",
    ),
    "alignment_error_rate": (
        "AER",
        "As a word aligner: 0 finds all gold links and no others (Och & Ney 2003). It needs gold links: on the page "
        "Alignment, "
        "link this sentence's words, or rank a text.",
    ),
}
ABOUT_SAMPLE = """
Every sentence is translated greedily, and every head is scored on all tokens, special ones included; the numbers are
means over tokens, so long sentences count for more. One sentence is little to judge a head by. What was computed for a
checkpoint is kept while the app runs.
"""
OWN_SAMPLE = (
    "This address was made with its maker's own sample, which it does not hold: under My own, give the sentences again."
)


@st.cache_resource(show_spinner=False)
def _scored() -> "memory.Memory[list[ScoreCard]]":
    return memory.Memory(16)


def judged(reading: readings.Reading, kind: Kind) -> list[ScoreCard]:
    """Every head's card, on the sentence or on the sample: by what heads are sorted and labelled."""
    # its widget is drawn where there is a sample, and after this
    basis = st.session_state.get(BASIS, st.query_params.get(BASIS))
    on_sample = sample_cards(reading, kind) if basis == "Sample" else None
    return on_sample if on_sample is not None else sentence_cards(reading, kind)


def sentence_cards(reading: readings.Reading, kind: Kind) -> list[ScoreCard]:
    """Every head's card on the sentence that is read, by its raw weights."""
    rates = _error_rates(reading) if kind == "cross" else None
    sentences = session_object(Sample).sentences
    frequencies = sentence_sample.frequencies(reading.model, sentences)
    about = (reading.identity, kind, sentences, tuple((rates or {}).items()))
    return _scored().get(about, lambda: score_cards([{kind: reading.explanation.maps[kind]}], frequencies, rates))


def sample_cards(reading: readings.Reading, kind: Kind) -> list[ScoreCard] | None:
    """The same on the sample; None where this checkpoint has not been scored on it."""
    cards = session_object(Sample).cards(reading.model)
    if cards is None:
        return None
    rates = session_object(TextRankings).error_rates(reading.model)
    return [card.with_error_rate(rates.get(card.head, math.nan)) for card in cards if card.head.kind == kind]


def _error_rates(reading: readings.Reading) -> Mapping[Head, float]:
    """Of every head as an aligner of this sentence, where the reader has linked its words on the page Alignment."""
    line, explanation = gold_links.links_of(reading.identity), reading.explanation
    if not line.strip():
        return {}
    try:
        links = parse_links(
            line, len(shown_words(explanation.source_tokens)), len(shown_words(explanation.predicted_tokens))
        )
    except ValueError:  # said where they are typed
        return {}
    return head_error_rates(rank_sentence(explanation.maps["cross"], links)) if links.possible else {}


def basis_box(reading: readings.Reading) -> None:
    """Whether heads are sorted and labelled by the sentence or by the sample, once there is one."""
    if session_object(Sample).cards(reading.model) is not None:
        st.segmented_control(
            "Judged by",
            BASES,
            default="Sentence",
            required=True,
            key=BASIS,
            bind="query-params",
            label_visibility="collapsed",
        )


def cards(reading: readings.Reading, heads: Sequence[head_names.LayerHead], options: Options) -> None:
    """What the chosen heads do, in numbers and in words; beside another method, how it ranks tokens."""
    if options.method != "attention":
        _correlations(reading, heads, options)
    heads = [head for head in heads if head[0] >= 0]
    if options.per_layer or not heads:
        return
    found = {"Sentence": sentence_cards(reading, options.kind), "Sample": sample_cards(reading, options.kind) or []}
    table = card_table(found, heads)
    st.markdown("**Score-cards**" + ("" if options.method == "attention" else " of the raw weights"), help=ABOUT_SAMPLE)
    config = {
        name: st.column_config.NumberColumn(title, help=text, format="%.2f") for name, (title, text) in COLUMNS.items()
    }
    config["offset"] = st.column_config.TextColumn(COLUMNS["offset"][0], help=COLUMNS["offset"][1])
    show_table(table, column_config={"head": "Head", "on": "On", **config})
    for line in in_words(found, heads):
        st.caption(plain_but_bold(*line))
    sample_box(reading)


def card_table(found: Mapping[str, Sequence[ScoreCard]], heads: Sequence[head_names.LayerHead]) -> pd.DataFrame:
    """A row for each head on each basis that it has been scored on; a column only where something was measured."""
    rows = [
        {
            "head": head_names.name_of(*head),
            "on": basis,
            **{name: getattr(card, name) for name in COLUMNS},
            "offset": offset_name(card),
        }
        for head in heads
        for basis, each in found.items()
        for card in each
        if (card.head.layer, card.head.head) == head
    ]
    return pd.DataFrame(rows).dropna(axis=1, how="all")


def in_words(found: Mapping[str, Sequence[ScoreCard]], heads: Sequence[head_names.LayerHead]) -> list[tuple[str, str]]:
    """What the labels say of each head on each basis, if they say anything."""
    lines: list[tuple[str, str]] = []
    for head in heads:
        for basis, each in found.items():
            for card in each:
                if (card.head.layer, card.head.head) == head and head_labels(card):
                    names = ", ".join(label.name for label in head_labels(card))
                    lines.append((head_names.name_of(*head), f"on the {basis.lower()}: {names}. {sentences(card)}"))
    return lines


def plain_but_bold(name: str, text: str) -> str:
    """A head's name and what is said of it, for Markdown."""
    return f"**{name}** {plain(text)}"


def _correlations(reading: readings.Reading, heads: Sequence[head_names.LayerHead], options: Options) -> None:
    correlations = rank_correlations(reading, options.method, options.kind, options.output)
    for layer, head in heads:
        if layer < 0:
            continue
        values = correlations[layer] if options.per_layer else correlations[layer][head : head + 1]
        st.caption(
            f"**{options.name(layer, head)}**: rank correlation with the raw weights {_spread(values)}.",
            help=ABOUT_CORRELATION,
        )


def _spread(correlations: Sequence[float]) -> str:
    known = [value for value in correlations if not math.isnan(value)]
    if not known:
        return NOTHING_TO_RANK
    if len(correlations) == 1:
        return decimal(known[0], 2)
    return f"{decimal(min(known), 2)} to {decimal(max(known), 2)} with each head"


@st.fragment
def sample_box(reading: readings.Reading) -> None:
    """Score all heads on many sentences."""
    model, sample = reading.model, session_object(Sample)
    is_missing, job = sample.is_missing(), sample.unfinished_job(model)
    is_scored = sample.cards(model) is not None
    title = f"Sample: {len(sample.sentences)} sentences" if is_scored else "Score all heads on a sample of sentences"
    with st.expander(title, expanded=is_missing or job is not None):
        if is_missing:
            st.caption(OWN_SAMPLE)
        source = st.segmented_control(
            "Sentences", ("Shipped", "My own"), default="Shipped", required=True, key="sample_source", help=ABOUT_SAMPLE
        )
        text, file = "", None
        if source == "My own":
            text = st.text_area(
                "Sentences, one a line",
                key="sample_text",
                height=110,
                placeholder="A dog runs.\nTwo children are playing.",
            )
            file = st.file_uploader("Or a text file", key="sample_file", max_upload_size=1)
        ready = source == "Shipped" or bool(text.strip()) or file is not None
        if st.button("Score the sample", disabled=not ready, key="score_sample"):
            try:
                sentences = (
                    sentence_sample.uploaded_sentences(file.name, file.getvalue())
                    if file
                    else sentence_sample.sentences_of(text)
                    if text
                    else sentence_sample.SHIPPED
                )
                sample.begin(model, sentences)
            except ValueError as error:
                st.error(sentence_case(str(error)))
                return
            st.rerun()
        if job is not None:
            job_control(job, "run_sample")
