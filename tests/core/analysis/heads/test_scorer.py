import math
from dataclasses import replace

import pytest
import torch

from core.analysis.heads.attention_distance import head_distances
from core.analysis.heads.head import all_heads
from core.analysis.heads.labels import DEFINITIONS, head_labels
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.scorer import Scorer, piece_counts, piece_frequencies, score_cards
from core.capture import AttentionMap
from core.results import Explanation
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import Head
from core.translator import Translator

TOKENS = ("▁a", "▁b", "▁a", ",", "</s>")


def encoder(*heads: list[list[float]], tokens: tuple[str, ...] = TOKENS) -> dict[str, list[AttentionMap]]:
    return {"encoder_self": [AttentionMap("encoder_self", 0, torch.tensor(heads), tokens, tokens)]}


def one_hot(*keys: int, length: int = 5) -> list[list[float]]:
    return torch.eye(length)[list(keys)].tolist()


EVEN = [[0.2] * 5] * 5
PREVIOUS = one_hot(0, 0, 1, 2, 3)


def card(*heads: list[list[float]], **more: object) -> ScoreCard:
    return score_cards([encoder(*heads)], **more)[0]


def test_a_sharp_head():
    found = card(PREVIOUS)
    assert found.head == ("encoder_self", 0, 0)
    assert (found.num_tokens, found.entropy) == (5, 0)
    assert (found.offset, found.offset_share) == (-1, 0.8)
    assert (found.previous, found.same_position, found.following) == pytest.approx((0.8, 0.2, 0))
    # Weight on `</s>` 0, on the first token 2 of 5, on the comma 1 of 5.
    assert (found.sink_end, found.sink_start, found.sink_punctuation, found.sink_share) == pytest.approx(
        (0, 0.4, 0.2, 0.6)
    )
    assert found.confidence == 1  # of the four that are not `</s>`
    assert found.same_token == 0


def test_an_even_head():
    found = card(EVEN)
    assert found.entropy == pytest.approx(1)
    assert found.confidence == pytest.approx(0.2)
    assert found.sink_share == pytest.approx(0.6)
    assert found.same_token == pytest.approx(2 / 5 * 0.2)  # only the two `a` have another one


def test_an_end_in_the_first_place_is_no_start():
    found = score_cards([encoder(EVEN, tokens=("</s>", *TOKENS[1:]))])[0]
    assert (found.sink_end, found.sink_start, found.sink_share) == pytest.approx((0.4, 0, 0.6))


def test_confidence_leaves_the_end_out_as_query_and_as_key():
    rows = [[0.1, 0.0, 0.0, 0.0, 0.9]] * 4 + [[0.0, 1.0, 0.0, 0.0, 0.0]]
    assert card(rows).confidence == pytest.approx(0.1)


def test_same_token():
    found = card(one_hot(2, 1, 0, 3, 4))
    assert found.same_token == pytest.approx(2 / 5)
    assert found.same_position == pytest.approx(3 / 5)


def test_causal_rows_are_measured_by_what_they_see():
    """Two visible keys of equal weight: maximum entropy. The first row has one key and is not counted."""
    weights = torch.tensor([[[1.0, 0, 0], [0.5, 0.5, 0], [0, 1, 0]]])
    tokens = ("<s>", "▁x", "▁y")
    maps = {"decoder_self": [AttentionMap("decoder_self", 0, weights, tokens, tokens, ("▁x", "▁y", "</s>"))]}
    found = score_cards([maps], {"▁x": 3, "▁y": 1})[0]
    assert found.num_tokens == 2
    assert found.entropy == pytest.approx((1 + 0) / 2)
    assert found.sink_start == pytest.approx(0.25)
    assert (found.offset, found.offset_share) == (-1, 1.0)
    # The rarest visible token of row 1 is `x`, of row 2 `y`; the head looks at `<s>` and at `x`.
    assert found.rare_token == 0


@pytest.mark.parametrize("weights", [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
def test_the_rarest_token_is_one_that_a_causal_row_sees(weights: list[float]):
    """`y` is the rarest of all, but row 1 sees `x` alone."""
    tokens, rows = ("<s>", "\u2581x", "\u2581y"), torch.tensor([[[1.0, 0, 0], [0, 1, 0], weights]])
    maps = {"decoder_self": [AttentionMap("decoder_self", 0, rows, tokens, tokens, ("\u2581x", "\u2581y", "</s>"))]}
    assert score_cards([maps], {"\u2581x": 3, "\u2581y": 1})[0].rare_token == pytest.approx((1 + weights[2]) / 2)


@pytest.mark.parametrize("start", ["<s>", "</s>", "<pad>", ".", "\u2581x"])
def test_a_token_at_the_start_is_one_sink_whatever_its_name(start: str):
    """The start of some models is `</s>`."""
    tokens = (start, "\u2581y", "\u2581z")
    rows = torch.tensor([[[1.0, 0, 0], [1, 0, 0], [1, 0, 0]]])
    maps = {"decoder_self": [AttentionMap("decoder_self", 0, rows, tokens, tokens, ("\u2581y", "\u2581z", "</s>"))]}
    assert score_cards([maps])[0].sink_share == pytest.approx(1)


def test_rare_tokens():
    counts = {"▁a": 10, "▁b": 2, ",": 30}
    assert card(one_hot(1, 1, 1, 0, 0), frequencies=counts).rare_token == pytest.approx(3 / 5)
    assert card(one_hot(3, 3, 3, 3, 0), frequencies={"▁a": 10, "▁b": 2}).rare_token == pytest.approx(4 / 5)
    assert math.isnan(card(EVEN).rare_token)


def test_cross_attention_counts_from_the_predicted_token():
    weights = torch.eye(3)[None]
    maps = {
        "cross": [AttentionMap("cross", 0, weights, ("<s>", "▁x", "▁b"), ("▁x", "▁y", "</s>"), ("▁x", "▁b", "</s>"))]
    }
    found = score_cards([maps])[0]
    assert (found.offset, found.offset_share) == (0, 1.0)
    assert found.same_token == pytest.approx(2 / 3)
    assert head_labels(found)[0].text == "puts 100% of its weight on the source token at the same position"


def test_sentences_are_weighed_by_their_tokens():
    long, short = encoder(PREVIOUS), encoder([[0.0, 1.0], [0.0, 1.0]], tokens=("▁a", "</s>"))
    both = score_cards([long, short])[0]
    assert both.num_tokens == 7
    assert both.previous == pytest.approx((4 + 0) / 7)
    assert both.sink_end == pytest.approx((0 + 2) / 7)
    assert (both.offset, both.offset_share) == (-1, 4 / 7)
    assert both.confidence == pytest.approx((4 * 1 + 1 * 0) / 5)


def test_the_mean_distance_is_over_the_weight_of_all_sentences():
    """As the analysis of one sentence measures it, and then weighed by the weight between tokens of the text."""
    sentences = [
        encoder(PREVIOUS, EVEN),
        encoder(EVEN, one_hot(4, 4, 4, 0, 0), tokens=("▁a", "▁b", "</s>", "▁c", "▁d")),
    ]
    found = score_cards(sentences)
    for head in range(2):
        moment = weight = 0.0
        for (layer,) in (maps["encoder_self"] for maps in sentences):
            text = [place for place, token in enumerate(layer.key_tokens) if token != "</s>"]
            pairs = [(query, key) for query in text for key in text]
            weight += sum(float(layer.weights[head, query, key]) for query, key in pairs)
            moment += sum(float(layer.weights[head, query, key]) * abs(query - key) for query, key in pairs)
        assert found[head].distance == pytest.approx(moment / weight)
    explained = Explanation("", "", (), (), (), (), (), sentences[0])
    measured = head_distances(explained).heads
    assert [each.distance for each in score_cards(sentences[:1])] == [each.distance for each in measured]
    assert math.isnan(card(one_hot(4, 4, 4, 4, 4)).distance)


def test_a_single_token_leaves_nothing_to_measure():
    found = score_cards([encoder([[1.0]], tokens=("</s>",))])[0]
    assert found.num_tokens == 0
    assert all(math.isnan(value) for value in (found.entropy, found.confidence, found.offset_share, found.sink_share))
    assert head_labels(found) == ()


def test_labels_say_what_was_found():
    heads = score_cards(
        [encoder(one_hot(1, 2, 3, 4, 4), EVEN, one_hot(4, 4, 4, 4, 4), one_hot(1, 1, 1, 1, 1))],
        {"▁b": 1, "▁a": 5, ",": 5},
    )
    texts = [{label.name: label.text for label in head_labels(head)} for head in heads]
    assert texts[0] == {
        "next token": "puts 80% of its weight on the next token",
        "marks": "puts 60% of its weight on tokens of little content: 40% on </s> and 20% on punctuation",
    }
    assert texts[1]["spread out"] == "attends almost uniformly: 100% of the largest possible entropy"
    assert texts[2]["end mark"] == "puts 100% of its weight on tokens of little content: 100% on </s>"
    assert texts[3]["one token at a time"] == "puts 100% of its weight on one token on average"
    assert texts[3]["rarest token"] == "attends most to the rarest visible token for 100% of tokens"
    long = 12
    tokens = tuple(f"▁{i}" for i in range(long))
    ahead = score_cards([encoder(one_hot(*range(1, long), long - 1, length=long), tokens=tokens)])[0]
    assert head_labels(ahead)[0].name == "next token"
    assert head_labels(ahead)[0].text == "puts 92% of its weight on the next token"
    back = score_cards([encoder(one_hot(0, 0, *range(long - 2), length=long), tokens=tokens)])[0]
    assert back.offset == -2
    assert head_labels(replace(back, offset_share=0.95))[0].name == "fixed distance: 2 back"
    faint = replace(back, offset=-1, offset_share=0.95, previous=0.3)  # the largest weight, but not most of the weight
    assert head_labels(faint)[0].name == "previous token"
    assert head_labels(faint)[0].text == "attends most to the previous token for 95% of tokens"
    assert head_labels(score_cards([encoder(one_hot(*range(long), length=long), tokens=tokens)])[0])[0].name == "itself"


def test_the_aligner_s_score_is_filled_in():
    weights = torch.eye(2)[None]
    maps = {"cross": [AttentionMap("cross", 0, weights, ("<s>", "▁x"), ("▁a", "</s>"), ("▁x", "</s>"))]}
    found = score_cards([maps], alignment_error_rates={Head("cross", 0, 0): 0.3})[0]
    assert found.alignment_error_rate == 0.3
    assert "aligns words: its alignment error rate is 0.30" in {label.text for label in head_labels(found)}


def test_heads_that_link_most_words_like_the_others_align_words_unless_gold_links_say_otherwise():
    found = card(EVEN)
    assert "aligns words" not in {label.name for label in head_labels(replace(found, agreement=0.5))}
    agreeing = replace(found, agreement=0.75)
    assert "links 75% of the words like the other heads" in {label.text for label in head_labels(agreeing)}
    assert "aligns words" not in {label.name for label in head_labels(replace(agreeing, alignment_error_rate=0.6))}


def test_every_head_of_a_model_has_a_card(translator: Translator, parallel_text: list[tuple[str, str]]):
    cards = score_cards(
        (translator.explain(*pair).maps for pair in parallel_text[:3]), piece_counts(translator.tokenizer, ["A dog."])
    )
    assert [found.head for found in cards] == all_heads(translator.model)
    assert all(0 <= value <= 1 for found in cards for value in (found.sink_share, found.entropy))


def test_counts(tokenizer: SentencePieceTokenizer):
    assert sum(piece_counts(tokenizer, ["a b", "c"]).values()) == sum(
        len(tokenizer.encode(text)) for text in ("a b", "c")
    )


def test_pieces_are_as_common_as_they_occur_then_as_they_were_learned(tokenizer: SentencePieceTokenizer):
    frequencies = piece_frequencies(tokenizer, ["the the dog"])
    assert len(frequencies) == tokenizer.vocab_size
    the, *_ = (tokenizer.piece(token_id) for token_id in tokenizer.encode("the"))
    assert max(frequencies, key=frequencies.__getitem__) == the
    unseen = [
        tokenizer.piece(token_id)
        for token_id in range(tokenizer.vocab_size)
        if frequencies[tokenizer.piece(token_id)] < 1
    ]
    assert unseen == sorted(unseen, key=frequencies.__getitem__, reverse=True)


def test_sentences_can_be_counted_one_by_one(translator: Translator, parallel_text: list[tuple[str, str]]):
    sentences = [translator.explain(*pair).maps for pair in parallel_text[:2]]
    scorer = Scorer()
    for maps in sentences:
        scorer.add(maps)
    assert str(scorer.cards()) == str(score_cards(sentences))


def test_every_label_is_defined_with_its_threshold():
    heads = score_cards(
        [encoder(PREVIOUS, EVEN, one_hot(4, 4, 4, 4, 4), one_hot(1, 1, 1, 1, 1), one_hot(2, 1, 0, 2, 0))],
        {"▁b": 1, "▁a": 5, ",": 5},
    )
    found = {label.base_name for head in heads for label in head_labels(head)}
    assert found >= {"marks", "end mark", "one token at a time", "spread out", "rarest token"}
    assert found <= set(DEFINITIONS)
    assert all("%" in definition for definition in DEFINITIONS.values())
