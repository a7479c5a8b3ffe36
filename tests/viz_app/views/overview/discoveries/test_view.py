"""The view Discoveries without a browser: it fills, and a fact leads to its head."""

from collections.abc import Iterator

import pytest

from core import Translator
from core.analysis.discoveries import search
from core.analysis.discoveries.facts import Discoveries, Fact
from core.trace import Head
from tests.viz_app.pages import Start, comes_to, drawn, healthy, measured, opened, parsed, said, to_page
from viz_app.session.address import HEADS
from viz_app.views.overview.discoveries.search_job import SearchSlot

SENTENCE = "Where is the <b>dog</b>?"


def test_it_fills_and_a_fact_leads_to_its_head(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(translator: Translator) -> Iterator[Discoveries]:
        ids = translator.translate(SENTENCE, 1).hypotheses[0].token_ids
        maps, shares = translator.explain(SENTENCE, ids).maps, (0.5, 0.4, 0.6, 0.2)
        for done in (1, 2):
            facts = [
                Fact(head, "first", *shares, 4, (SENTENCE, ids), maps[head.kind][0], 2, 1.0, SENTENCE, "a", "b")
                for head in (Head("cross", 0, 2), Head("encoder_self", 0, 1))[:done]
            ]
            yield Discoveries(facts, done, 2, by_lot=(1,))

    monkeypatch.setattr(search, "discover", found)
    monkeypatch.setattr(search, "num_steps", lambda _: 2)
    app = opened(start(text="Hello.", beam_size="1"), "discoveries")
    while measured(app, SearchSlot).job.advance(1):
        pass
    healthy(app.run())
    assert "**Cross L1 H3 attends to the first token**" in said(app)
    assert "2 of 4 translations change" in said(app)
    assert SENTENCE in said(app)
    assert drawn(app, "discovery-1")["kind"] == "grid"
    [link, _] = [each.value for each in app.markdown if "in this sentence](" in each.value]
    page, settings = parsed(link.split("(", 1)[1].removesuffix(")"))
    assert page == "heads"
    comes_to(to_page(app, page), **settings)
    healthy(app.run())
    assert app.multiselect(key=HEADS["cross"].key).value == ["L1 H3"]
    assert app.query_params["text"] == SENTENCE
