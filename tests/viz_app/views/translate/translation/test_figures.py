"""Tokens as HTML: everything escaped, numbers beside them."""

import html
import math
import re

import pytest

from core import ScoredText
from viz_app.views.translate.translation import figures as hypothesis_tables

HOSTILE = '"><script>alert(1)</script>&amp;'


def visible(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def test_hostile_tokens_and_hypotheses_stay_text() -> None:
    hypothesis = ScoredText(text=HOSTILE, token_ids=(5,), tokens=(HOSTILE,), token_log_probs=(-1.0,), score=-1.0)
    markup = hypothesis_tables.hypothesis_table([hypothesis], 0)
    assert "<script" not in markup
    assert HOSTILE in visible(markup)


def test_the_chosen_hypothesis_is_marked_and_an_empty_one_named() -> None:
    one = ScoredText(
        text="Ja.", token_ids=(5, 2), tokens=("\u2581Ja.", "</s>"), token_log_probs=(-1.0, -0.5), score=-1.25
    )
    none = ScoredText(text="", token_ids=(2,), tokens=("</s>",), token_log_probs=(-3.0,), score=-3.0)
    markup = hypothesis_tables.hypothesis_table([one, none], 1)
    assert markup.count("class=chosen") == 1
    assert visible(markup.split("class=chosen")[1]).startswith(">2empty\u22123.00\u22123.001")
    assert "1Ja.\u22121.25\u22121.502" in visible(markup)


def scored(text: str, log_probs: list[float], penalty: float = 0.0, finished: bool = True) -> ScoredText:
    """A target of one letter a token; ids are the letters' own."""
    pieces = (*text, "</s>") if finished else tuple(text)
    total = sum(log_probs)
    score = total / ((5 + len(pieces)) / 6) ** penalty
    return ScoredText(text, tuple(ord(piece[0]) for piece in pieces), pieces, tuple(log_probs), score, finished)


def test_two_translations_are_compared_from_where_they_differ() -> None:
    own, other = scored("abcd", [-0.1, -0.2, -0.3, -0.4, -0.5]), scored("abxyd", [-0.1, -0.2, -3.0, -1.0, -0.25, -0.5])
    table = hypothesis_tables.comparison_table(own, other)
    assert table["row"] == ["log-prob", "score", "3", "4", "5", "6"]
    assert table["own"] == ["5 tokens", "", "\u00b7c", "", "\u00b7d", "</s>"]
    assert table["other"] == ["6 tokens", "", "\u00b7x", "\u00b7y", "\u00b7d", "</s>"]
    assert table["same"] == [None, None, False, False, True, True]
    changes = [other.log_prob - own.log_prob, other.score - own.score, -2.7, math.nan, 0.15, 0.0]
    assert table["change"] == pytest.approx(changes, nan_ok=True)
    assert table["own_log_prob"][:2] == [own.log_prob, own.score]
    assert hypothesis_tables.comparison_table(own, own)["row"] == ["log-prob", "score"]


@pytest.mark.parametrize(
    ("own", "other", "said"),
    [
        ([-1.0, 0.0], [-1.0 - math.log(4), 0.0], "The model rates its own translation about 4.0 times more probable."),
        ([-1.0, 0.0], [-21.0, 0.0], "The model rates its own translation about 490,000,000 times more probable."),
        (
            [-9.0, 0.0],
            [-9.0 + math.log(2), 0.0],
            "The model rates this one about 2.0 times more probable than its own translation: the search missed it.",
        ),
        (
            [-9.0] + 9 * [0.0],
            [-8.9, 0.0],
            "about 1.1 times more probable than its own translation, but scores it lower because of its length.",
        ),
        (
            [-8.9, 0.0],
            [-9.0] + 9 * [0.0],
            "its own translation about 1.1 times more probable. Because of its length this one scores higher",
        ),
    ],
)
def test_which_the_model_finds_better(own: list[float], other: list[float], said: str) -> None:
    first, second = (scored("x" * (len(values) - 1), values, 1.0) for values in (own, other))
    assert said in hypothesis_tables.verdict(first, second)


def test_a_beginning_is_not_ranked_among_whole_translations() -> None:
    assert "cannot be compared" in hypothesis_tables.verdict(
        scored("a", [-1.0, -1.0]), scored("a", [-1.0], finished=False)
    )


def test_hypotheses_show_where_they_differ_from_the_first() -> None:
    def hypothesis(text: str) -> ScoredText:
        tokens = (*(f"\u2581{word}" for word in text.split()), "</s>")
        return ScoredText(text, tuple(range(len(tokens))), tokens, (-1.0,) * len(tokens), -1.0)

    texts = ["Ich war in Rom", "Ich bin in Rom", "Ich war", "Ich war in Rom und <Wien>", "Ich war in Rom"]
    rows = hypothesis_tables.hypothesis_table([hypothesis(text) for text in texts], 0).split("<tr")[2:]
    assert "<ins>" not in rows[0] + rows[4]
    assert "Ich <ins>bin</ins> in Rom" in rows[1]
    assert "Ich war <small>\u2212 in Rom</small>" in rows[2]
    assert "in Rom <ins>und</ins> <ins>&lt;Wien&gt;</ins>" in rows[3]
    long = " ".join(f"w{number}" for number in range(30))  # more than a row shows: it begins before the difference
    _, row = hypothesis_tables.hypothesis_table([hypothesis(long), hypothesis(f"{long} x")], 0).split("<tr")[2:]
    assert f'title="{long} x"' in row
    assert ">\u2026 w26 w27 w28 w29 <ins>x</ins></div>" in row
