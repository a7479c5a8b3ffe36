"""Cutting on the page Heads: the mode, the list of cuts, which the session keeps, and their effect."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from core.analysis.heads.head import Head
from core.analysis.interventions.cut_search import MAX_CUTS, CutSearch, find_cuts
from core.analysis.interventions.cut_translation import translate_cut
from core.analysis.interventions.cuts import Cut, CutEffect, cut_effect, parse_cut
from core.analysis.tokens.words import readable
from core.capture import AttentionMap, Kind
from core.results import ScoredText
from viz_app.components import word_links
from viz_app.components.attention_clicks import ClickedWeights, Cutting
from viz_app.controls.changed_translation import changed_translation
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import downloads
from viz_app.controls.job_control import job_control
from viz_app.controls.widgets import page_theme, show_answer, text_button
from viz_app.drawing import ablation
from viz_app.drawing.display_text import decimal, isolated, plain, sentence_case
from viz_app.drawing.theme import head_name
from viz_app.language import marked, tr, tr_count
from viz_app.session import readings
from viz_app.session.address import CUT
from viz_app.session.jobs import Job, JobSlot
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.readings import READING_HASH, Reading, Search, SearchProgress, TokenView
from viz_app.session.state import Widget, session_object


@dataclass
class Cuts:
    """The cuts of a session, which belong to one sentence and one model."""

    about: Hashable = None  # digest of the model, and the source
    cuts: tuple[Cut, ...] = ()  # in the order in which they were made
    problem: str = ""  # why the cuts of the address were not made, or ""

    def of(self, reading: Reading) -> tuple[Cut, ...]:
        """Return the cuts of a reading; at first and after going back, those of the address."""
        about = reading.model.digest, reading.translation.source
        if (named := CUT.take()) is not None:
            self.about = about
            try:
                self.cuts = tuple(map(parse_cut, named.value))
                effect(reading, self.cuts)
            except ValueError as error:
                self.cuts, self.problem = (), str(error)
        return self.cuts if self.about == about else ()

    def set(self, reading: Reading, cuts: Sequence[Cut]) -> None:
        """Keep these cuts and no others."""
        self.about, self.cuts, self.problem = (reading.model.digest, reading.translation.source), tuple(cuts), ""

    def toggle(self, reading: Reading, cuts: Sequence[Cut]) -> None:
        """Add cuts, or remove them if all of them are made, with whatever number."""
        old = self.of(reading)
        places = {(cut.head, cut.rows, cut.keys) for cut in cuts}
        others = [cut for cut in old if (cut.head, cut.rows, cut.keys) not in places]
        self.set(reading, others if len(others) + len(places) == len(old) else [*others, *cuts])


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={**READING_HASH, Cut: str})
def effect(about: Reading, cuts: tuple[Cut, ...]) -> CutEffect:
    """Return the effect of cuts on the target.

    Raises:
        ValueError: as `cut_effect`.
    """
    return cut_effect(about.model.translator, about.translation.source, about.hypothesis.token_ids, cuts)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={**MODEL_HASH, Cut: str})
def cut_translation(
    model: Model, search: Search, cuts: tuple[Cut, ...], _progress: SearchProgress | None = None
) -> ScoredText:
    """Return the best translation under cuts."""
    sizes = search.beam_size, search.length_penalty
    return translate_cut(model.translator, search.text, cuts, *sizes, _progress, search.constraints())


@dataclass
class FoundCuts:
    """A search for few cuts that change a token, by its state after each round."""

    states: list[CutSearch]
    job: Job


class CutSearchSlot(JobSlot[FoundCuts]):
    """The session's search."""


def cut_search(about: Reading, position: int, kind: Kind) -> FoundCuts:
    """Return the session's search for cuts in one kind of attention that change a predicted token.

    It is not running at first.
    """

    def begun() -> FoundCuts:
        states = list[CutSearch]()

        def steps() -> Iterator[int]:
            source, target = about.translation.source, about.hypothesis.token_ids
            for state in find_cuts(about.model.translator, source, target, position, (kind,)):
                states.append(state)
                yield int(not state.has_changed)

        return FoundCuts(states, Job(steps(), MAX_CUTS + 1, marked("cuts at most"), running=False))

    return session_object(CutSearchSlot).of((about.identity, position, kind), begun)


ABOUT = marked("""
Click a **cell or a line** to cut one weight, a **word** at the side for its whole row or column; click again to undo
it. A cut weight is set to the number beside the switch, and everything after it is computed again. "Scale the rest"
lets the other weights of the row share what is left, so that it sums to 1 again. With 0, that is the attention knockout
of Geva et al. 2023, who use it in all heads of several layers. Without it, the row sums to less than 1.

With whole words, a cut covers all sub-words. In the new translation, a row is a step of the search, whatever has been
written before it. A cut shows that this model, as it is, depends on the weight. It never saw such weights in training.
""")
ABOUT_SEARCH = marked("""
Greedy: in each round the sixteen weights whose gradient promises most are tried, and the one that lowers the token's
lead most is cut, until another token is more probable. Then cuts that are not needed are taken back. No cut of the
result can be left out, but a smaller set of other weights may exist.
""")
ABOUT_BADGE = marked("In the pass with the cuts, the weights of each cut must sum to its number in each of its rows.")
NUMBER, REST = Widget[float]("cut_to"), Widget[bool]("cut_rest")


def cutting(reading: readings.Reading, kind: Kind, tokens: TokenView, attention: AttentionMap) -> Cutting:
    """Return the cuts to mark in a drawing of one layer, and the function that handles a click."""
    places = word_links.positions(reading.explain(), kind, tokens.words, tokens.hide_special)
    value, renormalise = NUMBER.value or 0.0, bool(REST.value)

    def clicked(weights: ClickedWeights) -> None:
        heads, row, key = weights
        rows = None if row is None else places["query"][row]
        keys = None if key is None else places["key"][key]
        cuts = [Cut(Head(kind, attention.layer, head), rows, keys, value, renormalise) for head in heads]
        session_object(Cuts).toggle(reading, cuts)

    def shown(positions: range | None, groups: list[range]) -> range | None:
        if positions is None:
            return None
        touched = [
            index for index, group in enumerate(groups) if group.start < positions.stop and positions.start < group.stop
        ]
        return range(touched[0], touched[-1] + 1) if touched else range(0)

    marks = [
        (head_name(*cut.head[1:]), shown(cut.rows, places["query"]), shown(cut.keys, places["key"]))
        for cut in session_object(Cuts).of(reading)
        if (cut.head.kind, cut.head.layer) == (kind, attention.layer)
    ]
    drawn = [mark for mark in marks if range(0) not in mark]  # hidden tokens have neither row nor column
    return Cutting(drawn, clicked)


def panel(reading: readings.Reading, kind: Kind) -> None:
    """Draw the list of cuts, their effect, and the search for few that change a token."""
    state = session_object(Cuts)
    cuts = state.of(reading)
    if state.problem:
        st.error(sentence_case(state.problem))
    CUT.put(list(map(str, cuts)))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.number_input(tr("Set to"), 0.0, 1.0, 0.0, 0.05, key=NUMBER.key, width=110)
        st.toggle(
            tr("Scale the rest"), False, key=REST.key, help=tr("The other weights of the row share what is left of 1.")
        )
        st.button(tr("Undo"), on_click=state.set, args=(reading, cuts[:-1]), disabled=not cuts, key="cut-undo")
        st.button(tr("Remove all"), on_click=state.set, args=(reading, ()), disabled=not cuts, key="cut-clear")
    if not cuts:
        st.caption(tr("No weight is cut. Click a cell, a line or a word in the drawing above."))
    for number, cut in enumerate(cuts):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(plain(_text(cut)), width="content")
            others = cuts[:number] + cuts[number + 1 :]
            text_button(tr("Remove"), state.set, reading, others, key=f"cut-remove-{number}")
    if cuts:
        try:
            _effect(reading, cuts)
        except ValueError as error:
            st.error(sentence_case(str(error)))
    _search(reading, kind)


def _text(cut: Cut) -> str:
    name = ablation.head_title(cut.head) + str(cut).removeprefix(str(cut.head)).removesuffix(" rest")
    if not cut.renormalise:
        return name if cut.value else tr("{weight} to 0", weight=name)
    if cut.value:
        return tr("{weight}, the rest scaled", weight=name)
    return tr("{weight} to 0, the rest scaled", weight=name)


def _effect(reading: readings.Reading, cuts: tuple[Cut, ...]) -> None:
    """Draw the change of each token, and the translation before and after."""
    found, theme = effect(reading, cuts), page_theme()
    before, tokens = found.before.log_probs, found.before.predicted_tokens
    show_answer(found.answer())
    st.markdown(tr("**Log-probability of the translation above**, token by token: blue is less probable, orange more"))
    with st.container(key="cut-changes"):
        st.html(ablation.changed_tokens(tokens, before, found.changes, theme))
    downloads("cut-tokens", "cut-changes", table=found.table)
    st.markdown(tr("**Translation**: without cuts and with them"))
    changed_translation(
        reading.translation.hypotheses[0].tokens,
        partial(cut_translation, reading.model, reading.search, cuts),
        (reading.model.digest, reading.search, cuts),
        "cut",
    )
    gap = tr("largest difference {gap:.1g}", gap=found.gap(cuts))
    check_badge(marked("weights as set"), True, ABOUT_BADGE, gap)  # others are refused
    downloads("cuts", table=lambda: {"cut": list(map(str, cuts))})


def _search(reading: readings.Reading, kind: Kind) -> None:
    targets = [group.start for side, group in readings.selected_words(reading) if side == "target"]
    if not targets:
        st.caption(tr("Select a word of the translation to search for few cuts that change it."), help=tr(ABOUT_SEARCH))
        return
    search = cut_search(reading, targets[-1], kind)
    token = plain(isolated(readable(reading.explain().predicted_tokens[targets[-1]])))
    st.markdown(tr("**Few cuts that change {token}**", token=token), help=tr(ABOUT_SEARCH))
    job_control(search.job, "find-cuts", marked("Search"), partial(_found, reading, search, token))


def _found(reading: readings.Reading, search: FoundCuts, token: str) -> None:
    """Draw the result of a search so far."""
    if not search.states:
        return
    last = search.states[-1]
    winner = plain(readable(reading.model.translator.codec.piece(last.winner)))
    lead = decimal(last.margin, 2, sign=True)
    st.caption(
        tr_count(
            "{count} cut: {token} becomes {winner}. Lead over the next token: {lead} nats.",
            "{count} cuts: {token} becomes {winner}. Lead over the next token: {lead} nats.",
            len(last.cuts),
            token=token,
            winner=winner,
            lead=lead,
        )
        if last.has_changed
        else tr_count(
            "{count} cut: it is still the most probable. Lead over the next token: {lead} nats.",
            "{count} cuts: it is still the most probable. Lead over the next token: {lead} nats.",
            len(last.cuts),
            lead=lead,
        )
    )
    keep = session_object(Cuts).set
    st.button(
        tr("Use these cuts"), on_click=keep, args=(reading, last.cuts), disabled=not last.is_minimal, key="use-cuts"
    )
