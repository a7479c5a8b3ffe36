import base64

import numpy as np
import pytest
import torch

from core.analysis.tokens.words import merge_words, without_special_tokens
from core.capture import AttentionMap
from core.drawing.drawing_data import (
    NO_WEIGHT,
    STEPS,
    attention_data,
    axis_words,
    encoded_weights,
    label_spans,
    run_spans,
    shown_weights,
    spoken,
    unit_spans,
)
from core.text.byte_pieces import resolve_bytes


def test_encoded_weights_are_off_by_half_a_step_at_most() -> None:
    weights = 2 * torch.rand(3, 5, 7, generator=torch.Generator().manual_seed(0)) - 1
    found = np.frombuffer(base64.b64decode(encoded_weights(weights)), "<i2").reshape(3, 5, 7)
    np.testing.assert_allclose(found / STEPS, weights, rtol=0, atol=0.5 / STEPS + 1e-9)


def test_weights_out_of_range_are_clipped_and_missing_ones_stay_missing() -> None:
    weights = torch.tensor([-1.1, -1, 0, 1, 1.1, torch.nan])
    found = np.frombuffer(base64.b64decode(encoded_weights(weights)), "<i2")
    assert found.tolist() == [-STEPS, -STEPS, 0, STEPS, STEPS, NO_WEIGHT]


def test_a_piece_that_continues_a_word_has_a_faint_mark() -> None:
    assert label_spans("ing") == [("\u00b7", "faint"), ("ing", "")]
    assert label_spans("\u2581read") == [("read", "")]


def test_special_tokens_have_their_own_style() -> None:
    assert label_spans("</s>") == [("</s>", "special")]


def test_bytes_read_as_the_character_they_spell() -> None:
    assert unit_spans(["<0xC3>", "<0xA4>"]) == [("\u00e4", "")]
    assert unit_spans(["<0x3C>"]) == [("<", "")]
    assert unit_spans(["ing"]) == label_spans("ing")


def test_one_byte_of_a_character_says_which_it_is() -> None:
    first, second = resolve_bytes(["<0xC3>", "<0xA4>"])
    assert label_spans(second) == [("\u00e4", ""), (" 2/2", "faint")]
    # in a text the character stands once
    assert (run_spans(first), run_spans(second)) == ([("\u00e4", "")], [("2", "byte")])
    assert spoken(second) == "\u00e4, byte 2 of 2, 0xA4"
    assert spoken(*resolve_bytes(["<0xF0>"])) == "0xF0, byte 1 of 4"


def test_a_run_of_text_has_no_joint_marks() -> None:
    assert run_spans("ing") == [("ing", "")]
    assert run_spans("\u2581") == [("\u2423", "faint")]


def test_a_lone_space_is_faint() -> None:
    assert label_spans("\u2581") == [("\u2423", "faint")]


def test_accents_stand_on_their_letters() -> None:
    assert unit_spans(["\u2581e", "\u0301"]) == [("e\u0301", "")]
    assert unit_spans(["\u0643", "<0xD9>", "<0x8F>"]) == [("\u00b7", "faint"), ("\u0643\u064f", "")]


def test_heads_have_their_style_and_weights_and_the_axes_their_titles() -> None:
    weights = torch.eye(3).expand(2, 3, 3)
    attention = AttentionMap("decoder_self", 4, weights, ("<s>", "a", "b"), ("<s>", "a", "b"), ("a", "b", "</s>"))
    found = attention_data(attention, [(1, {"name": "L5 H2"}), (0, {"name": "L5 H1"})], str.upper)
    assert [head["name"] for head in found["heads"]] == ["L5 H2", "L5 H1"]
    assert found["heads"][0]["weights"] == encoded_weights(shown_weights(attention)[1])
    assert found["titles"] == {"query": "FED \u25b8 PREDICTS", "key": "FED, ATTENDED TO"}
    assert axis_words(attention)["titles"]["key"] == "fed, attended to"
    for head in (2, -1):
        with pytest.raises(ValueError, match=rf"^layer 5 has 2 heads, there is no head {head + 1}$"):
            attention_data(attention, [(head, {})])


def test_a_masked_cell_is_no_weight_of_0() -> None:
    """Of the decoder, what comes later; under any other mask, what it hides; a visible weight of 0 stays 0."""
    tokens = ("a", "b", "c")
    decoder = AttentionMap("decoder_self", 0, torch.zeros(1, 3, 3), tokens, tokens, tokens)
    assert torch.equal(shown_weights(decoder)[0].isnan(), torch.ones(3, 3).triu(1).bool())
    hidden = torch.tensor([[True, False, True]]).expand(3, 3)
    encoder = AttentionMap("encoder_self", 0, torch.zeros(1, 3, 3), tokens, tokens, mask=hidden)
    assert torch.equal(shown_weights(encoder)[0].isnan(), ~hidden)
    assert not shown_weights(AttentionMap("cross", 0, torch.zeros(1, 3, 3), tokens, tokens, tokens)).isnan().any()


def test_what_went_to_hidden_tokens_is_sent_with_every_head() -> None:
    tokens = ("<s>", "\u2581a", "\u2581b")
    weights = torch.rand(2, 3, 3).tril()
    weights /= weights.sum(2, keepdim=True)
    attention = AttentionMap("decoder_self", 0, weights, tokens, tokens, ("\u2581a", "\u2581b", "</s>"))
    assert attention_data(attention, [(0, {})])["heads"][0]["hidden"] is None
    shown = without_special_tokens(merge_words(attention))
    assert shown.hidden is not None
    torch.testing.assert_close(shown.hidden + shown.weights.sum(2), torch.ones(2, 2))
    assert shown.hidden[0, 0] == 1  # the first row has nothing but a hidden <s>
    assert attention_data(shown, [(1, {})])["heads"][0]["hidden"] == encoded_weights(shown.hidden[1])
