"""Every drawing of a sentence, its translation and its attention, without Streamlit."""

from collections.abc import Callable, Iterator

import pandas as pd

from core.analysis import weight_tables
from core.analysis.alignment.align import RankedAligners
from core.analysis.alignment.aligners import rank_aligners
from core.analysis.alignment.first_head import head_links
from core.analysis.alignment.pharaoh import GoldLinks, GoldPair
from core.analysis.alignment.sentence_alignment import align_words, all_aligners, word_shares
from core.analysis.attribution.methods import METHODS
from core.analysis.comparison import difference
from core.analysis.joint_map import joint_map
from core.analysis.tokens.token_table import token_table
from core.analysis.tokens.words import merge_words
from core.export.files import as_bytes
from core.export.record import record_of
from tests.strange_sentences import reason
from tests.viz_app.drawn_sentence import NO_DRAWING, Drawn, Subject
from tests.viz_app.export_readers import READERS
from viz_app.components import attention_lines, attention_map, head_grid, sentence_bar, word_links
from viz_app.drawing import head_grid as grid_figures
from viz_app.drawing import head_links_text, scorecard_text
from viz_app.views.compare.one_sentence import figures as comparison_figures
from viz_app.views.heads.alignment import alignment_ribbons
from viz_app.views.heads.grid.figures import bertviz_views
from viz_app.views.heads.grid.head_detail import shown_table
from viz_app.views.paper.paper_figures import appendix_figure
from viz_app.views.translate.translation import figures as hypothesis_tables
from viz_app.views.translate.translation import token_steps


def sentence(of: Subject) -> Iterator[Drawn]:
    """Above every page: the sentence and its translation; and the files of an explanation."""
    yield sentence_bar.sentence_payload(of.explanation, list(sentence_bar.words_by_name(of.explanation).values())[:1])
    yield token_steps.steps_payload(of.explanation, step=of.position)
    record = record_of(of.explanation, of.translator, {})
    for suffix in (".html", ".json", ".npz"):
        READERS[suffix[1:]](as_bytes(record, suffix))


def translations(of: Subject) -> Iterator[Drawn]:
    """Translate."""
    yield pd.DataFrame(token_table(of.explanation))
    yield hypothesis_tables.hypothesis_table(of.translation.hypotheses, 0)
    given = of.translator.score(of.text, of.target)
    yield pd.DataFrame(hypothesis_tables.comparison_table(of.second, given))
    yield {"": hypothesis_tables.verdict(of.second, given)}


def heads(of: Subject) -> Iterator[Drawn]:
    """Heads: the grid, one head as lines, as a map and as a table, score-cards, and the views of BertViz."""
    if not all(of.map.weights.shape):
        return
    head = of.place[1]
    yield grid_figures.grid_picture(of.maps, of.theme)
    notes = scorecard_text.notes(of.cards, "confidence")
    order = scorecard_text.ordered(of.cards, "confidence")
    links = word_links.links(of.explanation, of.kind, False, False)
    yield head_grid.grid_payload(of.maps, of.theme, [of.place], order=order, notes=notes, links=links)
    yield attention_lines.lines_payload(of.map, [head], of.theme, links=links)
    yield attention_map.map_payload(of.map, head, of.theme, links=links)
    yield pd.DataFrame(weight_tables.lines_table(of.map, [head]))
    yield pd.DataFrame(weight_tables.grid_table(of.maps, [of.place]))
    yield shown_table(of.map, [head], "hidden")
    for card in of.cards:
        yield {"": [scorecard_text.head_does(card), scorecard_text.numbers(card), scorecard_text.sentences(card)]}
    yield {"": head_links_text.links_text("L1 H1", head_links(of.explanation.maps["cross"], *of.place))}
    if not bertviz_views.too_long(of.maps):
        READERS["html"](bertviz_views.bertviz_page(of.maps, of.choice.choice(bertviz_views.VIEWS), of.theme).encode())


def all_kinds(of: Subject) -> Iterator[Drawn]:
    """Heads: the three kinds of attention in one matrix."""
    joint = joint_map(of.explanation.maps, of.place[0], of.place[1])
    yield attention_map.joint_payload(joint, "L1 H1", of.theme)
    yield pd.DataFrame(joint.table())


def methods(of: Subject) -> Iterator[Drawn]:
    """Heads by another method."""
    method = of.choice.choice(list(METHODS))
    maps = METHODS[method](of.translator, of.text, of.target)[of.kind]
    yield attention_map.map_payload(maps[of.place[0]], 0, of.theme)
    yield pd.DataFrame(weight_tables.lines_table(maps[of.place[0]], [0]))


def comparison(of: Subject) -> Iterator[Drawn]:
    """Compare: the attention of two hypotheses."""
    other = of.translator.explain(of.text, of.second.token_ids)
    layer, head = of.place
    first, second = (merge_words(each.maps["cross"][layer]) for each in (of.explanation, other))
    try:
        found = difference(first, second)
    except ValueError as error:
        reason(error, *NO_DRAWING)
        return
    yield attention_map.map_payload(found.map, head, of.theme, diverging=True)
    yield {"": [comparison_figures.agreement(found), found.answer(head)]}
    yield pd.DataFrame(weight_tables.lines_table(found.map, [head]))


def figures_of_the_paper(of: Subject) -> Iterator[Drawn]:
    """Figures: the selection of the page Heads."""
    if not all(of.map.weights.shape):
        return
    queries = () if of.choice.random() < 0.5 else (of.choice.randrange(len(of.map.row_tokens)),)
    panels = [weight_tables.LinePanel(of.map, (0, of.place[1]), queries)]
    yield pd.DataFrame(weight_tables.appendix_table(panels))
    yield appendix_figure.appendix_payload(panels, of.theme, of.text)


def alignment(of: Subject) -> Iterator[Drawn]:
    """Alignment: ribbons, coverage, and aligners by gold links."""
    cross = of.explanation.maps["cross"]
    found = align_words(cross, of.choice.choice(all_aligners(cross)))
    links = sorted(found.links)
    gold = GoldLinks(frozenset(links[:1]), frozenset(links[:3]))
    yield alignment_ribbons.ribbon_payload(found, gold)
    yield pd.DataFrame(found.table(gold))
    yield pd.DataFrame(found.source_table())
    shares = word_shares([0.5] * len(of.explanation.predicted_tokens), of.explanation.predicted_tokens)
    yield pd.DataFrame(found.target_table(shares))
    spaced = " ".join(of.text.split()), " ".join(of.explanation.target.split())
    if all(spaced):
        links = GoldLinks(frozenset({(0, 0)}), frozenset({(0, 0)}))
        yield pd.DataFrame(RankedAligners(rank_aligners(of.translator, [GoldPair(*spaced, links)]), 1).table())


DRAWINGS: tuple[Callable[[Subject], Iterator[Drawn]], ...] = (
    *(sentence, translations, heads, all_kinds, methods, comparison, figures_of_the_paper, alignment),
)
