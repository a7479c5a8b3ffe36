"""One selection in several drawings, whose words stand at other places in each."""

from typing import Any, cast

import pytest
import streamlit as st
import torch

from core import Translator
from core.analysis.tokens.words import merge_words, without_special_tokens
from core.capture import AttentionMap
from core.model import Transformer
from core.tokenizer import SentencePieceTokenizer
from viz_app.components.sentence_bar import words_by_name
from viz_app.session import readings
from viz_app.session.word_selection import Selection, common_positions, other_positions, own_positions


class Read:
    """As much of a reading as a selection asks for."""

    identity = "read"

    def __init__(self, model: Transformer, tokenizer: SentencePieceTokenizer) -> None:
        self.explanation = Translator(model, tokenizer).explain("A dog runs.", "Ein Hund.")


def cross(keys: str, predicted: str) -> AttentionMap:
    return AttentionMap(
        "cross", 0, torch.ones(1, len(predicted), len(keys)), ("<s>", *predicted[:-1]), tuple(keys), tuple(predicted)
    )


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
    reading = cast("readings.Reading", Read(tiny_model, tokenizer))
    own, other = (
        without_special_tokens(
            merge_words(Translator(tiny_model, tokenizer).explain(text, "Ein Hund.").maps["encoder_self"][0])
        )
        for text in ("A dog runs.", "A wet dog runs.")
    )
    positions = other_positions(own, other)
    assert positions == {"query": [0, None, 1, 2, 3], "key": [0, None, 1, 2, 3]}
    selection = Selection(reading, "encoder_self", True, True)
    links = selection.look(positions)["links"]
    assert links["key"][1] == ""  # "wet", which the reading has not
    assert links["key"][2] == selection.look(own_positions(own))["links"]["key"][1]
    words = words_by_name(reading.explanation)
    readings.select_words(reading, [words[links["key"][2]]])
    assert selection.look(own_positions(own))["place"] == {"query": [1], "key": [1]}
    assert selection.look(positions)["place"] == {"query": [2], "key": [2]}
    readings.select_words(reading, [words[links["key"][2]], words[links["query"][0]]])
    assert selection.look(positions)["place"] == {"query": [0, 2], "key": [0, 2]}
    readings.select_words(reading, [])
    assert selection.look(positions)["place"] == {"query": [], "key": []}
