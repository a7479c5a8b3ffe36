"""One selection in several drawings, whose words stand at other places in each."""

from typing import Any, cast

import pytest
import streamlit as st
import torch

from core import Translator
from core.analysis.words import merge_words, without_special_tokens
from core.capture import AttentionMap
from core.model import Transformer
from core.tokenizer import SentencePieceTokenizer
from viz_app import state
from viz_app.one_selection import Selection, common_positions, other_positions, own_positions, selected_after, selecting


class Read:
    """As much of a reading as a selection asks for."""

    identity = "read"

    def __init__(self, model: Transformer, tokenizer: SentencePieceTokenizer) -> None:
        self.explanation = Translator(model, tokenizer).explain("A dog runs.", "Ein Hund.")


def cross(keys: str, predicted: str) -> AttentionMap:
    return AttentionMap("cross", 0, torch.ones(1, len(predicted), len(keys)), ("<s>", *predicted[:-1]), tuple(keys), tuple(predicted))


def test_where_the_words_of_one_drawing_stand_in_another() -> None:
    own, other = cross("abc", "xyz"), cross("ac", "wxz")
    assert {axis: list(at) for axis, at in own_positions(own).items()} == {"query": [0, 1, 2], "key": [0, 1, 2]}
    assert other_positions(own, other) == {"query": [None, 0, 2], "key": [0, 2]}
    assert common_positions(own, other) == {"query": [0, 2], "key": [0, 2]}


def test_a_word_is_selected_in_every_drawing_that_has_it(
    tiny_model: Transformer, tokenizer: SentencePieceTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    session: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", session)
    reading = cast("state.Reading", Read(tiny_model, tokenizer))
    own, other = (
        without_special_tokens(merge_words(Translator(tiny_model, tokenizer).explain(text, "Ein Hund.").maps["encoder_self"][0]))
        for text in ("A dog runs.", "A wet dog runs.")
    )
    positions = other_positions(own, other)
    assert positions == {"query": [0, None, 1, 2, 3], "key": [0, None, 1, 2, 3]}
    selection = Selection(reading, "encoder_self", True, True)
    links = selection.look(positions)["links"]
    assert links["key"][1] == ""  # "wet", which the reading has not
    assert links["key"][2] == selection.look(own_positions(own))["links"]["key"][1]
    selecting(reading)(links["key"][2], "only")
    assert selection.look(own_positions(own))["place"] == {"query": [1], "key": [1]}
    assert selection.look(positions)["place"] == {"query": [2], "key": [2]}
    selecting(reading)(links["query"][0], "also")
    assert selection.look(positions)["place"] == {"query": [0, 2], "key": [0, 2]}
    selecting(reading)("", "none")
    assert selection.look(positions)["place"] == {"query": [], "key": []}


def test_a_click_selects_a_word_alone_or_beside_others() -> None:
    one, other = ("source", range(1)), ("target", range(2, 4))
    assert selected_after((), one, "only") == (one,)
    assert selected_after((one,), one, "only") == ()
    assert selected_after((one,), other, "only") == (other,)
    assert selected_after((one, other), one, "only") == (one,)
    assert selected_after((one,), other, "also") == (one, other)
    assert selected_after((one, other), one, "also") == (other,)
    assert selected_after((one,), one, "also") == ()
    assert selected_after((one, other), None, "none") == ()
    assert selected_after((one,), None, "only") == (one,)  # a word that is not there
