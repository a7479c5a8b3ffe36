"""Score-cards of the selected heads, on the sentence and on a sample of sentences."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from core.analysis.alignment.aligners import head_error_rates
from core.analysis.alignment.first_head import AgreementScorer, cards_of
from core.analysis.alignment.pharaoh import parse_links
from core.analysis.alignment.sentence_alignment import rank_sentence, shown_words
from core.analysis.corpus.head_description import with_chances
from core.analysis.heads.head import Head
from core.analysis.heads.scorecards import ScoreCard
from core.capture import Kind
from viz_app.controls.job_control import job_control
from viz_app.controls.tables import show_table
from viz_app.controls.widgets import segments, setting_segments
from viz_app.drawing import head_names
from viz_app.drawing.display_text import decimal, plain
from viz_app.drawing.scorecard_text import MEASURES, head_does, sentences
from viz_app.language import marked, tr, tr_count
from viz_app.session import address, readings, sample_sentences
from viz_app.session.aligner_ranking import TextRankings
from viz_app.session.attributions import NOTHING_TO_RANK, rank_correlations
from viz_app.session.fields import part
from viz_app.session.random_weights import random_weights
from viz_app.session.state import kept, refusals_shown, session_object
from viz_app.views.heads.gold_links import SentenceLinks
from viz_app.views.heads.grid import sentence_sample
from viz_app.views.heads.grid.head_overview import ABOUT_CORRELATION
from viz_app.views.heads.grid.heads_view import HeadsView
from viz_app.views.heads.grid.sentence_sample import Sample

Judge = Callable[[readings.Reading], list[ScoreCard]]
BASIS = address.JUDGED_BY  # read before it is drawn
ABOUT_CARDS = marked("""
Measurements of a head's raw weights on this sentence, special tokens included, and on the sample once it is scored.
What a head does is what it does most, of a list, against the same configuration with random weights: of what is left
above their largest share, the largest part (as Cohen 1960 corrects agreement). The criteria under "More" above the grid
are stricter.

**Spread**: the entropy of a row over its maximum (Clark et al. 2019). **Largest weight**: the mean over tokens (Voita
et al. 2019). **Distance**: where the largest weight is, key minus query; in cross-attention the query is the predicted
token. **Rarest token**: frequencies are those of the sample; ties go to the token that the tokenizer learned last.
**Linked like other heads**: compared with the mean of the heads in the upper half of the layers. **AER**: the alignment
error rate (Och & Ney 2003), once there are gold links of this sentence or a text, see the page Alignment.

One sentence says little about a head, and a name says where a head attends, not what it contributes.
""")
ABOUT_SAMPLE = marked("""
Every sentence is translated greedily, and every head is scored on all tokens, special ones included; the numbers are
means over tokens, so long sentences count for more. One sentence says little about a head. Results are kept while the
app runs.
""")
OWN_SAMPLE = marked(
    "This link was made with its author's own sample, which it does not include: enter the sentences under My own."
)
LABEL_TEXTS = {"Sentence": marked("on the sentence: {does}."), "Sample": marked("on the sample: {does}.")}
SHIPPED, OWN = marked("Shipped"), marked("My own")
EXAMPLE = "A dog runs.\nTwo children are playing."


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=readings.READING_HASH)
def _scored(
    reading: readings.Reading, kind: Kind, sample: tuple[str, ...], error_rates: tuple[tuple[Head, float], ...]
) -> list[ScoreCard]:
    has_model = reading.model.explanation is None
    frequencies = sentence_sample.frequencies(reading.model, sample) if has_model else None
    scorer, explanation = AgreementScorer(frequencies), reading.explain()
    scorer.add({kind: explanation.maps[kind]})
    cards, twin = scorer.cards(dict(error_rates)), random_weights(reading.model) if has_model else None
    if twin is None:
        return cards
    by_chance = twin.explain(explanation.source, reading.hypothesis.token_ids, 1)
    return with_chances(cards, cards_of([{kind: by_chance.maps[kind]}]))


def judge(reading: readings.Reading, kind: Kind) -> Judge:
    """Return a function from a reading to the cards by which heads are sorted and labelled.

    They are of the sentence or, if selected, the sample. The function needs no visitor, and takes other readings.
    """
    on_sample = sample_cards(reading, kind) if BASIS.requested == "Sample" else None
    return sentence_judge(kind) if on_sample is None else lambda other: on_sample


def sentence_judge(kind: Kind) -> Judge:
    """Return a function from a reading to the cards of all heads on its sentence, by their raw weights."""
    sample, links = session_object(Sample).sentences, session_object(SentenceLinks)

    def cards(reading: readings.Reading) -> list[ScoreCard]:
        rates = _error_rates(reading, links) if kind == "cross" else {}
        return _scored(reading, kind, sample, tuple(rates.items()))

    return cards


def sample_cards(reading: readings.Reading, kind: Kind) -> list[ScoreCard] | None:
    """Return the card of every head on the sample; None if this checkpoint has not been scored on it."""
    cards = session_object(Sample).cards(reading.model)
    if cards is None:
        return None
    rates = session_object(TextRankings).error_rates(reading.model)
    return [
        replace(card, alignment_error_rate=rates.get(card.head, math.nan)) for card in cards if card.head.kind == kind
    ]


def _error_rates(reading: readings.Reading, gold: SentenceLinks) -> Mapping[Head, float]:
    """Return every head's alignment error rate on this sentence, if it has gold links."""
    line, explanation = gold.lines.get(reading.identity, ""), reading.explain()
    if not line.strip():
        return {}
    try:
        links = parse_links(
            line, len(shown_words(explanation.source_tokens)), len(shown_words(explanation.predicted_tokens))
        )
    except ValueError:  # the page Alignment shows the reason
        return {}
    return head_error_rates(rank_sentence(explanation.maps["cross"], links)) if links.possible else {}


def basis_box(reading: readings.Reading, are_old: bool) -> None:
    """Select whether heads are judged by the sentence or by the sample, once that is scored. See `are_values_old`."""
    if session_object(Sample).cards(reading.model) is not None:
        setting_segments(BASIS, tr("Measured on"), is_old=are_old)


def cards(reading: readings.Reading, view: HeadsView, heads: Sequence[head_names.LayerHead]) -> None:
    """Draw the score-cards of the selected heads, and their labels in words.

    For a method other than the raw weights, its rank correlations stand above them.
    """
    if view.weights.method != "attention":
        _correlations(reading, view, heads)
    heads = [head for head in heads if head[0] >= 0]
    if view.weights.per_layer or not heads:
        return
    by_basis = {"Sentence": sentence_judge(view.kind)(reading), "Sample": sample_cards(reading, view.kind) or []}
    is_raw = view.weights.method == "attention"
    title = tr("**Score-cards**") if is_raw else tr("**Score-cards** of the raw weights")
    st.markdown(title, help=tr(ABOUT_CARDS))
    shown = by_basis, heads
    for name, text in kept("labels_of_heads", shown, lambda: label_texts(by_basis, heads)):
        st.caption(f"**{name}** {plain(text)}")
    table = kept("score-cards", shown, lambda: card_table(by_basis, heads))
    show_table(table, height="content", column_config={"measure": tr("Measure"), "scale": tr("Scale")})
    if reading.model.explanation is None:
        sample_box(reading)


def _judged(
    by_basis: Mapping[str, Sequence[ScoreCard]], heads: Sequence[head_names.LayerHead]
) -> Iterator[tuple[str, str, ScoreCard]]:
    """The name and the card of each head on each basis (the text on which heads were scored)."""
    for head in heads:
        for basis, cards in by_basis.items():
            yield from ((head_names.name_of(*head), basis, card) for card in cards if card.head[1:] == head)


def card_table(
    by_basis: Mapping[str, Sequence[ScoreCard]], heads: Sequence[head_names.LayerHead]
) -> Mapping[str, Sequence[str]]:
    """Make a row for each measure that a card has, and a column for each head and basis."""
    cards = {
        name if basis == "Sentence" else tr("{head}, sample", head=name): card
        for name, basis, card in _judged(by_basis, heads)
    }
    measures = [each for each in MEASURES if any(map(each.value, cards.values()))]
    return {
        "measure": [tr(each.name) for each in measures],
        **{name: [each.value(card) for each in measures] for name, card in cards.items()},
        "scale": [tr(each.scale) for each in measures],
    }


def label_texts(
    by_basis: Mapping[str, Sequence[ScoreCard]], heads: Sequence[head_names.LayerHead]
) -> list[tuple[str, str]]:
    """Return the name of each head, with a text on its labels, on each basis."""
    return [
        (name, f"{tr(LABEL_TEXTS[basis], does=head_does(card))} {sentences(card)}".rstrip())
        for name, basis, card in _judged(by_basis, heads)
    ]


def _correlations(reading: readings.Reading, view: HeadsView, heads: Sequence[head_names.LayerHead]) -> None:
    weights = view.weights
    correlations = rank_correlations(reading, weights.method, view.kind, weights.output)
    for layer, head in heads:
        if layer < 0:
            continue
        values = correlations[layer] if weights.per_layer else correlations[layer][head : head + 1]
        text = tr(
            "**{head}**: rank correlation with the raw weights {correlation}.",
            head=weights.name(layer, head),
            correlation=_spread(values),
        )
        st.caption(text, help=tr(ABOUT_CORRELATION))


def _spread(correlations: Sequence[float]) -> str:
    known = [value for value in correlations if not math.isnan(value)]
    if not known:
        return tr(NOTHING_TO_RANK)
    if len(correlations) == 1:
        return decimal(known[0], 2)
    return tr("{low} to {high} with each head", low=decimal(min(known), 2), high=decimal(max(known), 2))


@part
def sample_box(reading: readings.Reading) -> None:
    """Score all heads on many sentences."""
    model, sample = reading.model, session_object(Sample)
    is_missing, job = sample.is_missing(), sample.unfinished_job(model)
    is_scored = sample.cards(model) is not None
    title = (
        tr_count("Sample: {count} sentence", "Sample: {count} sentences", len(sample.sentences))
        if is_scored
        else tr("Score all heads on a sample of sentences")
    )
    with st.expander(title, expanded=is_missing or job is not None):
        if is_missing:
            st.caption(tr(OWN_SAMPLE))
        source = segments(tr("Sentences"), (SHIPPED, OWN), SHIPPED, "sample_source", help=tr(ABOUT_SAMPLE))
        text, file = "", None
        if source == OWN:
            text = st.text_area(tr("Sentences, one per line"), key="sample_text", height=110, placeholder=EXAMPLE)
            file = st.file_uploader(tr("Or a text file"), key="sample_file", max_upload_size=1)
        ready = source == SHIPPED or bool(text.strip()) or file is not None
        if st.button(tr("Score the sample"), disabled=not ready, key="score_sample"):
            with refusals_shown():
                sentences = (
                    sample_sentences.uploaded_sentences(file.name, file.getvalue())
                    if file
                    else sample_sentences.sentences_of(text)
                    if text
                    else sample_sentences.SHIPPED
                )
                sample.begin(model, sentences)
            st.rerun()
        if job is not None:
            job_control(job, "run_sample")
