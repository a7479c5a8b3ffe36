"""What one head does in all sentences of a corpus: small charts, and the tokens that it attends from and to most."""

from collections.abc import Callable

import streamlit as st

from core.analysis.corpus import head_charts
from core.analysis.corpus.distributions import SAMPLE_SIZE, TokenMeasure, least_occurrences
from core.analysis.heads.head import Head
from core.analysis.recorded_call import Call
from viz_app.components.picture import picture
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import bar_column, show_table
from viz_app.controls.widgets import setting_segments
from viz_app.drawing.display_text import sentence_case
from viz_app.language import marked, tr, translated
from viz_app.session import address, python_code
from viz_app.session.models import Model
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
    """Draw a chart of a head, with its files."""
    call = Call("chart", function, (index_call(opened), head, *arguments))
    found: head_charts.HeadChart = call.run()
    picture(found.picture, name)
    title = translated(found.picture.title)
    downloads(name, name, title=title, of_sentence=False, call=lambda: call.returning(found).then("table"))


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
    downloads("corpus-tokens", of_sentence=False, call=lambda: call.returning(table))
