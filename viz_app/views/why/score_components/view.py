"""Why a head looks there: the score of a query and a key as a sum over the parts of both."""

import streamlit as st

from core.analysis.attribution.score_components import ScoreComponents, ScoreComponentsOptions, Side, score_components
from core.analysis.declaration import FIRST
from core.analysis.heads.head import Head, all_heads
from core.analysis.pictures import Grid
from core.analysis.recorded_call import Call
from core.analysis.tokens.words import readable, readable_all
from core.analysis.word_scores.least_probable import least_probable_token
from core.capture import AttentionMap
from core.drawing.drawing_data import FED_ARROW
from core.trace import stack_of
from viz_app.components import word_links
from viz_app.components.attention_clicks import ClickedWeights
from viz_app.components.attention_map import attention_map
from viz_app.components.picture import picture
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import downloads
from viz_app.controls.widgets import page_theme, setting_menu, show_answer, text_button
from viz_app.drawing.display_text import decimal, isolated, plain
from viz_app.drawing.head_names import head_title
from viz_app.language import marked, tr, translated
from viz_app.session import python_code, readings
from viz_app.session.address import ATTENDED, ATTENDING, ATTENDING_HEAD, INSTEAD_OF, OPENED_TERMS
from viz_app.session.chosen_heads import ShownHeads, default_head
from viz_app.session.questions import ask_which_map, select_score
from viz_app.session.readings import Reading, reading_part
from viz_app.session.state import refusals_shown, session_object

MEAN = "mean"
TITLES: dict[Side, str] = {"key": marked("**In the key**, {token}"), "query": marked("**In the query**, {token}")}
HOW_TO_READ = marked("""
The **score** of a query and a key decides the weight: a row of weights is the softmax of its scores. Query and key are
linear in the states that they are computed from, and these states are sums: the token's embedding, its position, what
every head and network before has added, and biases. With the scale of every norm held at its value in this pass, the
score splits exactly into a bar for each of them: **the bars of a side sum to the score** (Elhage et al. 2021; with
features in place of heads and networks, Kamath et al. 2025).

What is the same for all keys of a row changes no weight. So each bar says by how much a part raises the score **above
the mean** over all tokens that the head can see there or, instead of the mean, above the score of one of them. Then the
bars sum to the logarithm of the ratio of both weights: why it looks here and not there.

**In the key**: what marks this token out for the query as it is. **In the query**: what looks for this token, with the
keys as they are. A layer's heads open into single ones, and a head opens its own map in the row of this token: what it
has read, it wrote there.

A bar is not an effect: without a part, the norms and all later parts would change. Switches and Patching try that.
""")
ABOUT_REMOVAL = marked("""
Each summand of the keys is taken out alone, in all keys of this head, with norms held, and the weights of the row are
computed again. Where less than half of the weight is left, the summand decides. The others are the control: what one
drawn by lot does.
""")
ABOUT_BADGE = marked(
    "The bars are computed from recorded states and parameters, in float64; the score is that of the model's own pass. "
    "Both sums must be the score, to rounding."
)
ABOUT_BARS = marked("Click the heads of a layer to see each, and a head to see its map in the row of this token.")
ABOUT_INSTEAD = marked(
    "With another token, the bars say why the weight is here and not there: they sum to the difference of the "
    "logarithms of both weights."
)


@reading_part
def page(reading: Reading) -> None:
    """Draw everything below the sentence; a click in it runs only this part again."""
    options = boxes(reading)
    with refusals_shown():
        recorded = components_call(reading, options)
    found: ScoreComponents = recorded.known
    show_answer(found.removals.answer(), f"{tr(ABOUT_REMOVAL)}\n\n{tr(HOW_TO_READ)}", found.answer())
    left, right = st.container(key="side-by-side").columns([4, 6], gap="medium")
    with left:
        own_map(reading, found)
    with right:
        opened, sides = OPENED_TERMS.selected() or [], st.container(key="difference").columns(2, gap="medium")
        for column, side, grid in zip(sides, TITLES, found.pictures(FIRST, opened), strict=True):
            with column:
                bars(reading, found, side, grid, opened)
                name = f"score-bars-{side}"
                title = translated(grid.title)
                downloads(f"score-{side}", name, recorded.then("table"), title=title)
    sums = tr(
        "key {key:+.6f}, query {query:+.6f}, score {score:+.6f}, gap {gap:.1g}",
        key=found.total("key"),
        query=found.total("query"),
        score=found.score,
        gap=found.gap,
    )
    check_badge(marked("bars sum to the score"), True, ABOUT_BADGE, sums)  # others are refused
    st.caption(sums)


# --- what is asked --------------------------------------------------------------------------------------------------


def boxes(reading: Reading) -> ScoreComponentsOptions:
    """Select head, query and key, and what the key is compared with."""
    maps = reading.explain().maps
    heads = {str(head): head for head in all_heads(reading.model.translator.model)}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        ATTENDING_HEAD.preset_for(reading.model.digest, lambda: first_head(reading))
        titles = {name: head_title(head) for name, head in heads.items()}
        head = heads[setting_menu(ATTENDING_HEAD, tr("Head"), titles, width=200)]
        own = maps[head.kind][head.layer]
        rows, keys = row_names(own), readable_all(own.key_tokens)
        ATTENDING.preset_for((reading.identity, stack_of(head.kind)), lambda: first_query(reading, head))
        row_labels = {row: f"{row + 1} {name}" for row, name in enumerate(rows)}
        query = setting_menu(ATTENDING, tr("looks from"), row_labels, width=200)
        visible = [key for key, is_visible in enumerate(own.visible[query].tolist()) if is_visible]
        weights = own.weights[head.head, query]
        ATTENDED.preset_for((reading.identity, head, query), lambda: int(weights.argmax()))
        labels = {key: f"{key + 1} {keys[key]}, {decimal(float(weights[key]), 2)}" for key in visible}
        key = setting_menu(ATTENDED, tr("at"), labels, width=180)
        others = {str(each + 1): label for each, label in labels.items() if each != key}
        others = {MEAN: tr("the mean of all"), **others}
        other = setting_menu(INSTEAD_OF, tr("instead of"), others, width=180, help=tr(ABOUT_INSTEAD))
    return ScoreComponentsOptions(head=head, query=query, key=key, instead_of=None if other == MEAN else int(other) - 1)


def first_head(reading: Reading) -> str:
    """Return the name of the head to begin with: the first one that the page Heads shows, or one that aligns words."""
    shown = session_object(ShownHeads).first_head(reading.model.digest)
    return str(shown or Head("cross", *default_head(reading.explain().maps["cross"])))


def first_query(reading: Reading, head: Head) -> int:
    """Return the row to begin with: that of a selected word, or of the least probable token, or the first."""
    side = "source" if head.kind == "encoder_self" else "target"
    selected = [group.start for each, group in readings.selected_words(reading) if each == side]
    if selected:
        return selected[-1]
    return least_probable_token(reading.explain()) if side == "target" else 0


def row_names(own: AttentionMap) -> list[str]:
    """Name the rows of a map; in the decoder with the fed and the predicted token."""
    fed = readable_all(own.query_tokens)
    if own.predicted_tokens is None:
        return fed
    pairs = zip(fed, readable_all(own.predicted_tokens), strict=True)
    return [f"{token} {FED_ARROW} {predicted}" for token, predicted in pairs]


@python_code.with_result(max_entries=64)
def components_call(reading: Reading, options: ScoreComponentsOptions) -> Call:
    """Return the call that splits the score.

    Raises:
        ValueError: as `score_components`.
    """
    return Call("components", score_components, (*python_code.sentence(reading), options))


# --- the answer -----------------------------------------------------------------------------------------------------


def own_map(reading: Reading, found: ScoreComponents) -> None:
    """Draw the map of the head, and lead to the page Heads; a click on a cell asks about it."""
    head, explanation = found.head, reading.explain()
    own = explanation.maps[head.kind][head.layer]

    def ask(clicked: ClickedWeights) -> None:
        _, row, column = clicked
        if row is not None and column is not None and own.visible[row, column]:
            select_score(reading, head, row, column)

    st.markdown(tr("**The map of the head**: click a cell to ask about it"))
    attention_map(
        own,
        head.head,
        page_theme(),
        key="score-map",
        on_cell=ask,
        place={"query": [found.query], "key": [found.key]},
        links=word_links.links(explanation, head.kind, words=False, hide_special=False),
        name=lambda *_: head_title(head),
    )
    text_button(tr("Open on Heads"), ask_which_map, reading, found.head, found.query, key="score_on_heads")


def bars(reading: Reading, found: ScoreComponents, side: Side, grid: Grid, opened: list[str]) -> None:
    """Draw the bars of a side; a click opens the heads of a layer, or the map of one."""
    position, tokens = (found.key, found.key_tokens) if side == "key" else (found.query, found.query_tokens)
    title = tr(TITLES[side], token=plain(isolated(readable(tokens[position]))))
    st.markdown(title, help=tr(ABOUT_BARS))

    def click(place: tuple[int, int]) -> None:
        row = list(found.rows(side, opened))[place[0]]
        if row.group:
            OPENED_TERMS.set([each for each in opened if each != row.group] + [row.group] * (row.group not in opened))
        elif row.head is not None:
            weights = reading.explain().maps[row.head.kind][row.head.layer].weights[row.head.head, position]
            select_score(reading, row.head, position, int(weights.argmax()))

    picture(grid, f"score-bars-{side}", on_place=click)


page()
