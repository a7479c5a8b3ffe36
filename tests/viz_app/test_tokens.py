"""Tokens as HTML: everything escaped, numbers beside them."""

import html
import re

from core import Explanation, ScoredText
from viz_app import tokens

HOSTILE = '"><script>alert(1)</script>&amp;'


def visible(markup: str) -> str:
    """What a reader sees."""
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def test_the_text_reads_as_text_with_spaces_where_words_begin() -> None:
    markup = tokens.token_text(["\u2581Ein", "\u2581brau", "ner", ".", "</s>"], [-0.1] * 5)
    assert visible(markup) == "Ein brauner. </s>"


def test_bytes_of_one_character_are_one_token_with_the_product_of_their_probabilities() -> None:
    markup = tokens.token_text(["\u2581a", "<0xE2>", "<0x82>", "<0xAC>"], [0.0, -0.25, -0.5, -0.25])
    assert visible(markup) == "a\u20ac"
    assert "log-probability -1.000, probability 0.368" in markup


def test_the_less_likely_the_stronger_the_tint() -> None:
    certain, even, hopeless = (float(re.search(r"--tint: (\d+)%", tokens.token_text(["\u2581a"], [p]))[1]) for p in (0.0, -0.7, -20.0))  # type: ignore[index]
    assert certain == 0
    assert certain < even < hopeless


def test_hostile_tokens_and_hypotheses_stay_text() -> None:
    hypothesis = ScoredText(text=HOSTILE, token_ids=(5,), tokens=(HOSTILE,), token_log_probs=(-1.0,), score=-1.0)
    for markup in (tokens.token_text([HOSTILE], [-1.0]), tokens.hypothesis_table([hypothesis], 0)):
        assert "<script" not in markup
        assert HOSTILE in visible(markup)


def test_the_chosen_hypothesis_is_marked_and_an_empty_one_named() -> None:
    one = ScoredText(text="Ja.", token_ids=(5, 2), tokens=("\u2581Ja.", "</s>"), token_log_probs=(-1.0, -0.5), score=-1.25)
    none = ScoredText(text="", token_ids=(2,), tokens=("</s>",), token_log_probs=(-3.0,), score=-3.0)
    markup = tokens.hypothesis_table([one, none], 1)
    assert markup.count("class=chosen") == 1
    assert visible(markup.split("class=chosen")[1]).startswith(">2empty-3.00-3.001")
    assert "1Ja.-1.25-1.502" in visible(markup)


def test_the_table_names_what_else_was_likely() -> None:
    explanation = Explanation(
        source="a", target="b", source_tokens=("\u2581a", "</s>"), fed_tokens=("<s>", "\u2581b"), predicted_tokens=("\u2581b", "</s>"),
        log_probs=(-0.5, -1.0), alternatives=((("\u2581b", -0.5), ("\u2581c", -1.0)), (("x", -0.25), ("</s>", -1.0))), maps={},
    )  # fmt: skip
    table = tokens.token_table(explanation)
    assert list(table["token"]) == ["b", "</s>"]
    assert list(table["others"]) == ["c 0.37", "\u00b7x 0.78"]
    assert list(table.index) == [1, 2]
