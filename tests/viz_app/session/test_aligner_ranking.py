"""A text with gold links: ranked turn by turn, stopped and taken up again."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import streamlit as st

from core.analysis.alignment.aligners import head_error_rates, rank_aligners
from core.analysis.alignment.pharaoh import GoldLinks, GoldPair
from core.model import Transformer
from core.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from viz_app.session import aligner_ranking, gold_links
from viz_app.session.models import Model

PAIRS = gold_links.pasted_pairs("a dog runs ||| ein Hund l\u00e4uft ||| 0-0 1-1 2?2\n\nwhere ? ||| wo ? ||| 0-0")


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", state)
    monkeypatch.setattr(aligner_ranking, "TURN", 0.0)  # a pair a turn
    return state


@pytest.fixture(scope="module")
def model(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> Model:
    return Model("tiny.safetensors", "digest", Translator(tiny_model, tokenizer))


def begun(model: Model, pairs: list[GoldPair]) -> aligner_ranking.Ranking:
    aligner_ranking.begin(model, "attention", pairs)
    work = aligner_ranking.ranking()
    assert work is not None
    return work


def test_turn_by_turn_it_comes_to_what_the_command_line_prints(session: dict[str, Any], model: Model) -> None:
    work = begun(model, PAIRS)
    assert work.advance()
    assert (work.done, aligner_ranking.ranked()) == (1, None)
    work.let_run(False)
    assert aligner_ranking.ranking() is work  # stopped, it stays where it was
    work.let_run(True)
    assert not work.advance()
    assert aligner_ranking.ranking() is None
    found = aligner_ranking.ranked()
    assert found is not None
    assert (found.num_pairs, found.aligners) == (2, rank_aligners(model.translator, PAIRS))
    assert aligner_ranking.error_rates(model) == head_error_rates(found.aligners)
    assert not aligner_ranking.error_rates(Model("other.safetensors", "another digest", model.translator))


def test_two_runs_of_the_page_at_once_score_each_pair_once(session: dict[str, Any], model: Model) -> None:
    """One that was interrupted is still at its last pair while the next one asks for more."""
    work = begun(model, PAIRS * 3)
    with ThreadPoolExecutor(2) as runs:
        for run in [runs.submit(lambda: [True for _ in iter(work.advance, False)]) for _ in range(2)]:
            run.result()
    found = aligner_ranking.ranked()
    assert found is not None
    assert found.aligners == rank_aligners(model.translator, PAIRS * 3)


def test_a_pair_that_cannot_be_scored_ends_it_with_its_reason(session: dict[str, Any], model: Model) -> None:
    work = begun(model, [PAIRS[0], GoldPair("very " * 600, "sehr", GoldLinks(frozenset(), frozenset()))])
    assert work.advance()
    assert not work.advance()
    assert not work.running
    assert work.problem.startswith("pair 2: the text has")
    assert aligner_ranking.ranked() is None
