"""One head of a corpus index: its examples, its distributions over all sentences, and its top tokens."""

from collections.abc import Callable

import streamlit as st

from core.analysis.corpus import head_charts
from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.corpus.distributions import DECILES, SAMPLE_SIZE, TokenMeasure, least_occurrences
from core.analysis.corpus.head_description import with_chances_of
from core.analysis.corpus.index import HeadExample
from core.analysis.corpus.recomputation import head_strength
from core.analysis.corpus.shown_examples import examples_table, head_examples, strongest_examples
from core.analysis.heads.corpus_maps import batch_maps
from core.analysis.heads.head import Head
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.recorded_call import Call
from core.capture import AttentionMap
from viz_app.controls.downloads import downloads, picture_with_files
from viz_app.controls.tables import bar_column, show_table
from viz_app.controls.widgets import setting_menu, setting_segments
from viz_app.drawing.display_text import plain, sentence_case
from viz_app.drawing.scorecard_text import head_does, sentences
from viz_app.language import capital, marked, tr
from viz_app.session import address, python_code
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.random_weights import random_weights
from viz_app.views.corpus import selection
from viz_app.views.corpus.figures import corpus as figures
from viz_app.views.corpus.opened_index import OpenedIndex, index_call

ABOUT_WEIGHTS = marked("""
The largest weight of the head in each sentence, from and to tokens of the text: special tokens are left out, as a head
with nothing to do attends to `</s>`. A head with all sentences at the right picks one token; one at the left spreads.
""")
ABOUT_DISTANCES = marked("""
Where the weight goes, by the distance from the query to the key in tokens, to the left what comes before: the share of
all weight of the rows of tokens of the text. What lacks to 100 % is on special tokens. The outermost bars have all that
is farther.

The positions of cross-attention are of two sentences. Against the diagonal, a target token at t is compared with the
source position t S / T: 0 is a translation word by word in the same order.
""")
ABOUT_STRENGTHS = marked("""
The strengths of the head in a sample of sentences, in which every sentence of the corpus is with the same probability;
the tenth that is shown has another colour.
""")
ABOUT_TOKENS = marked("""
The tokens **from** which and **to** which the head attends most: the largest weight (or strength, the norm of what it
writes) in the row of a query or the column of a key, mean over all occurrences of the token in the corpus.
""")
MEASURES: dict[TokenMeasure, str] = {"weight": marked("Weight"), "strength": marked("Strength")}


def needs_distributions(opened: OpenedIndex) -> bool:
    """Whether the index is of an earlier version, without distributions; then say how to make it anew."""
    index = opened.index
    if index.distributions is not None:
        return False
    st.info(
        tr(
            "This index was made by an earlier version of Headlight: deciles, weights, distances and top tokens are "
            "missing. This command makes it anew, from the sentences that it has:"
        )
    )
    st.code(index.command, language=None, wrap_lines=True)
    return True


def weights_and_distances(opened: OpenedIndex, head: Head) -> None:
    """Draw the histogram of the strongest weights, and the weight by signed distance."""
    st.caption(
        tr("**Strongest weight** in each of {count:,} sentences", count=opened.index.facts.num_sentences),
        help=tr(ABOUT_WEIGHTS),
    )
    _chart("corpus-weights", head_charts.strongest_weights, opened, head)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.caption(tr("**Weight by distance**"), help=tr(ABOUT_DISTANCES), width="content")
        diagonal = head.kind == "cross" and address.CORPUS_DIAGONAL.draw(st.toggle, tr("against the diagonal"))
    _chart("corpus-distances", head_charts.weight_by_distance, opened, head, *([True] if diagonal else []))


def strengths(opened: OpenedIndex, head: Head, decile: int) -> None:
    """Draw the strengths of the sample, with a decile marked."""
    count = min(SAMPLE_SIZE, len(opened.index.known_distributions().sentences))
    st.caption(tr("**Strength** in a sample of {count} sentences", count=count), help=tr(ABOUT_STRENGTHS))
    _chart("corpus-strengths", head_charts.sampled_strengths, opened, head, decile)


def _chart(
    name: str, function: Callable[..., head_charts.HeadChart], opened: OpenedIndex, head: Head, *arguments: int | bool
) -> None:
    call = Call("chart", function, (index_call(opened), head, *arguments))
    found: head_charts.HeadChart = call.run()
    picture_with_files(found.picture, name, call.returning(found).then("table"), of_sentence=False)


def top_tokens(model: Model, opened: OpenedIndex, head: Head) -> None:
    """Draw the top query and key tokens side by side."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        names = {measure: tr(name) for measure, name in MEASURES.items()}
        measure = setting_segments(address.CORPUS_TOKENS_BY, tr("By"), names, help=tr(ABOUT_TOKENS))
    least = least_occurrences(opened.index.facts.num_sentences)
    st.caption(tr("Tokens that occur at least {least} times, by the mean of their largest value.", least=least))
    call = Call("table", head_charts.tokens_table, (python_code.translator(model), index_call(opened), head, measure))
    try:
        table = call.run()
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return
    titles = {"query": tr("Attends from"), "key": tr("Attends to")}
    most = max(table["mean"], default=1.0)
    for column, side in zip(st.columns(2), titles, strict=True):
        rows = [number for number, each in enumerate(table["side"]) if each == side]
        with column:
            show_table(
                {name: [table[name][number] for number in rows] for name in ("token", "mean")},
                height=360,
                column_config={
                    "token": titles[side],
                    "mean": bar_column(names[measure], 3, most=1.0 if measure == "weight" else most),
                },
            )
    downloads("corpus-tokens", call=call.returning(table))


ABOUT_EXAMPLES = marked("""
The **strength** is the norm of what the head writes for one token in one row, ||a f(x)|| (Kobayashi et al. 2020): a
large weight on a token with a short vector writes little. A sentence gives at most one example. The **frame** is where
the head attends from, in the decoder the token that was fed or, in cross-attention, the token that is predicted; the
**filled** token is what it attends to.

The ten strongest of thousands show the extreme, not the usual case: move the slider to see sentences of each tenth of a
sample of them. Point at a token, or at a cell of the map, to see the weights there.
""")
ABOUT_BADGE = marked(
    "The strongest example shown is computed again by the model, in a pass of its own sentence alone and by the code "
    "of the page Heads. It must agree with the index to one part in a thousand."
)
EXAMPLES, _, TOKENS = address.CORPUS_PART.codec.values
STRONGEST = "top"
PLACE = address.CORPUS_PLACE


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs={**MODEL_HASH, OpenedIndex: lambda each: each.key})
def described_cards(model: Model, opened: OpenedIndex) -> list[ScoreCard]:
    """Return the cards of an index with what random weights do in its first sentences."""
    pairs = [(each.source, each.target) for each in opened.index.sentences]
    return with_chances_of(opened.index.cards, random_weights(model), pairs)


def one_head(model: Model, opened: OpenedIndex, head: Head, behaviour: str = "") -> None:
    """Describe a head, and draw a part of what the index has of it, at first examples at the place of the behaviour."""
    card = described_cards(model, opened)[opened.index.rows[head]]
    st.markdown(f"**{figures.head_name(head)}**: {head_does(card)}.")  # one line, beside the table's
    if about := sentences(card):
        st.caption(plain(about))
    chosen = setting_segments(address.CORPUS_PART, tr("Shown of the head"), hide_label=True)
    if chosen == EXAMPLES:
        examples_part(model, opened, head, behaviour)
    elif needs_distributions(opened):
        return
    elif chosen == TOKENS:
        top_tokens(model, opened, head)
    else:
        weights_and_distances(opened, head)


def examples_part(model: Model, opened: OpenedIndex, head: Head, behaviour: str) -> None:
    """Draw examples of a head, the strongest at a place or those of a decile; a click opens one on the page Heads."""
    index, name = opened.index, figures.head_name(head)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        options = [*map(str, range(1, DECILES + 1)), STRONGEST]
        decile = address.CORPUS_DECILE.draw(
            st.select_slider, tr("Strength"), options, format_func=decile_name, width=220, help=tr(ABOUT_EXAMPLES)
        )
        place = place_box(behaviour) if decile == STRONGEST else "any"
    if decile != STRONGEST:
        if needs_distributions(opened):
            return
        strengths(opened, head, int(decile))
        title = tr("{head}, examples of the {decile}", head=name, decile=decile_name(decile))
        call = Call("examples", "decile_examples", (index_call(opened), head, int(decile)))
    else:
        usual = figures.quantile_text(index.heads.quantiles[index.rows[head]].tolist(), marked("rows"))
        st.caption(
            tr(
                "Strongest examples, from one word to another first, attending to: **{place}**. Strength: {strength}.",
                place=tr(figures.PLACE_NAMES[place]),
                strength=usual,
            )
        )
        title = tr("{head}, strongest examples attending to {place}", head=name, place=tr(figures.PLACE_NAMES[place]))
        call = Call("examples", strongest_examples, (python_code.translator(model), index_call(opened), head, place))
    try:
        is_top = decile == STRONGEST
        examples = strongest(model, opened, head, place) if is_top else index.decile_examples(head, int(decile))
        shown = head_examples(model.translator, head, examples)
        maps = example_maps(model, opened.key, head, f"{place} {decile}", examples) if examples else ()
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return
    if not examples:
        st.info(tr("{head} has no example of this in the corpus. Select other examples above.", head=name))
        return
    selection.examples(
        shown,
        lambda number: selection.open_head(model, head, examples[number]),
        key="corpus-examples",
        maps=[(each, head.head) for each in maps],
    )
    recorded = Call("shown", head_examples, (python_code.translator(model), head, call)).returning(shown)
    table = Call("table", examples_table, (recorded, "strength"))
    downloads("corpus-examples", "corpus-examples", table, title=title, of_sentence=False)
    check(model, opened, head, f"{place} {decile}", examples[0])


def decile_name(decile: str) -> str:
    """Return the name of a decile of the slider in the visitor's language."""
    names = {STRONGEST: marked("ten strongest"), "1": marked("weakest tenth"), "10": marked("strongest tenth")}
    return tr(names[decile]) if decile in names else tr("tenth {number} of 10", number=decile)


def place_box(behaviour: str) -> str:
    """Select the place of the strongest examples."""
    PLACE.preset_for(behaviour, lambda: BEHAVIOURS[behaviour].place if behaviour else "any")
    names = {place: capital(tr(name)) for place, name in figures.PLACE_NAMES.items()}
    return setting_menu(
        PLACE,
        tr("Examples attending to"),
        names,
        width=305,
        help=tr(
            "Off the usual places: neither at a special or the first token or punctuation, nor at the same position "
            "or one next to it. There, heads show what else they do."
        ),
    )


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={**MODEL_HASH, OpenedIndex: lambda each: each.key})
def strongest(model: Model, opened: OpenedIndex, head: Head, place: str) -> list[HeadExample]:
    """Return the strongest examples of a head at a place."""
    return strongest_examples(model.translator, opened.index, head, place)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def example_maps(
    model: Model, key: str, head: Head, chosen: str, _examples: list[HeadExample]
) -> tuple[AttentionMap, ...]:
    """Return the maps of the head's layer in the sentences of its examples, of which `chosen` says which they are."""
    maps = batch_maps(model.translator, [(each.sentence.source, each.sentence.target) for each in _examples])
    return tuple(each[head.kind][head.layer] for each in maps)


def check(model: Model, opened: OpenedIndex, head: Head, chosen: str, example: HeadExample) -> None:
    """Draw the badge: the first example, computed again."""
    try:
        again = recomputed(model, opened.key, head, chosen, example)
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return
    selection.agreement_badge(example.strength, again, ABOUT_BADGE)


@st.cache_resource(max_entries=256, show_spinner=False, hash_funcs=MODEL_HASH)
def recomputed(model: Model, key: str, head: Head, chosen: str, _example: HeadExample) -> float:
    """Return the strength of the first of the chosen examples of a head, from the model."""
    return head_strength(model.translator, head, _example)
