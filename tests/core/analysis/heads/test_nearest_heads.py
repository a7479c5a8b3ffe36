"""The nearest heads of a model beside itself, a copy with its heads in another order, and loops over all cells."""

import copy
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from core.analysis.heads.head import Maps, all_heads, attention_layers
from core.analysis.heads.nearest_heads import CorrelationTally, NearestOptions, nearest_heads
from core.capture import AttentionMap
from core.formats.checkpoint import save_checkpoint
from core.model import MultiHeadAttention, Transformer
from core.text.tokenizer import SPACE_MARK, SentencePieceTokenizer
from core.trace import KINDS, Head
from core.translator import Translator
from tests.core.analysis.conftest import Command

SENTENCES = ("A dog runs.", "Two children are playing with a red ball.", "It is raining.")


@pytest.fixture
def translator(tiny_checkpoint: Path) -> Translator:
    return Translator.from_checkpoint(tiny_checkpoint)


def reordered(model: Transformer) -> tuple[Transformer, dict[Head, Head]]:
    """A model that computes the same with its heads in another order, and the new place of each head."""
    other, places = copy.deepcopy(model), dict[Head, Head]()
    for (kind, layer), attention in attention_layers(other).items():
        order = torch.arange(attention.num_heads).roll(1 + layer)
        _reorder(attention, order)
        places |= {Head(kind, layer, old): Head(kind, layer, new) for new, old in enumerate(order.tolist())}
    return other, places


@torch.no_grad()
def _reorder(attention: MultiHeadAttention, order: torch.Tensor) -> None:
    for projection in (attention.q_proj, attention.k_proj, attention.v_proj):
        for parameter in (projection.weight, projection.bias):
            parameter.copy_(parameter.unflatten(0, (attention.num_heads, -1))[order].flatten(0, 1))
    columns = attention.out_proj.weight.unflatten(1, (attention.num_heads, -1))
    attention.out_proj.weight.copy_(columns[:, order].flatten(1))


@pytest.mark.parametrize("words", [False, True])
def test_each_head_of_a_model_is_nearest_to_itself(translator: Translator, words: bool) -> None:
    found = nearest_heads(translator, translator, SENTENCES, NearestOptions(words=words))
    for head in all_heads(translator.model):
        nearest, *others = found.nearest_to(head)
        assert nearest.head == head
        assert nearest.correlation == pytest.approx(1, abs=1e-9)
        assert all(each.correlation < 0.999 for each in others)
        (grid,) = found.pictures(head)
        cells = {cell.head: cell for _, row in grid.rows for cell in row if cell}
        assert {each for each, cell in cells.items() if cell.is_strong} == {each.head for each in others[:4]} | {head}
        assert cells[head].shade == nearest.correlation
        assert found.answer(head).startswith(f"{head.short} of the second attends most like {head.short}")


def test_heads_in_another_order_are_found_again(translator: Translator) -> None:
    model, places = reordered(translator.model)
    assert all(old != new for old, new in places.items())
    found = nearest_heads(translator, Translator(model, translator.tokenizer), SENTENCES)
    for head in all_heads(translator.model):
        nearest = found.nearest_to(head)[0]
        assert (nearest.head, nearest.correlation) == (places[head], pytest.approx(1, abs=1e-5))


def test_it_is_pearsons_correlation_of_weights_without_the_means_of_their_rows(translator: Translator) -> None:
    found = nearest_heads(translator, translator, SENTENCES)
    explained = [
        translator.explain(text, translator.translate(text, beam_size=1).hypotheses[0].token_ids) for text in SENTENCES
    ]
    for kind in KINDS:
        values: list[list[float]] = [[], []]
        for each in explained:
            for row in range(len(each.maps[kind][0].query_tokens)):
                seen = row + 1 if kind == "decoder_self" else len(each.maps[kind][0].key_tokens)
                for side, (layer, head) in zip(values, ((0, 1), (1, 2)), strict=True):
                    weights = each.maps[kind][layer].weights[head, row, :seen].double()
                    side += (weights - weights.mean()).tolist()
        (correlation,) = (
            near.correlation for near in found.nearest_to(Head(kind, 0, 1)) if near.head == Head(kind, 1, 2)
        )
        assert correlation == pytest.approx(np.corrcoef(np.array(values))[0, 1], abs=1e-5)


def maps_of(weights: torch.Tensor, tokens: tuple[str, ...]) -> Maps:
    """The same weights [H, L, L] in all three kinds of attention."""
    fed = ("<s>", *tokens[:-1])
    return {
        "encoder_self": (AttentionMap("encoder_self", 0, weights, tokens, tokens),),
        "decoder_self": (AttentionMap("decoder_self", 0, weights.tril(), fed, fed, tokens),),
        "cross": (AttentionMap("cross", 0, weights, fed, tokens, tokens),),
    }


def test_other_pieces_of_the_same_words_are_compared_on_words() -> None:
    whole = tuple(SPACE_MARK + word for word in ("reading", "is", "fun"))
    cut = (f"{SPACE_MARK}read", "ing", *whole[1:])
    weights = torch.tensor([[0.2, 0.5, 0.3], [0.7, 0.1, 0.2], [0.6, 0.3, 0.1]])
    of_pieces = torch.empty(4, 4)  # rows of "read" and "ing" with this mean, columns with this sum
    of_pieces[:, 2:] = torch.stack([weights[0] + 0.05, weights[0] - 0.05, weights[1], weights[2]])[:, 1:]
    of_pieces[:, :2] = (1 - of_pieces[:, 2:].sum(1, keepdim=True)) * torch.tensor([0.75, 0.25])
    tally = CorrelationTally(words=True)
    tally.add(maps_of(torch.stack([weights.flip(1), weights]), whole), maps_of(of_pieces[None], cut))
    other = Head("encoder_self", 0, 0)
    assert tally.result().nearest_to(Head("encoder_self", 0, 1))[0] == (other, pytest.approx(1))
    assert tally.result().nearest_to(Head("cross", 0, 1))[0].correlation == pytest.approx(1)
    assert tally.result().nearest_to(Head("encoder_self", 0, 0))[0].correlation < 0.9


def test_words_of_one_side_alone_are_left_out() -> None:
    tokens = tuple(SPACE_MARK + word for word in "abcd")
    weights = torch.rand(1, 4, 4, generator=torch.Generator().manual_seed(0))
    longer = torch.zeros(1, 5, 5)
    longer[:, 1:, 1:] = weights
    tally = CorrelationTally(words=True)
    tally.add(maps_of(weights, tokens), maps_of(longer, (">>fra<<", *tokens)))
    assert tally.result().nearest_to(Head("encoder_self", 0, 0))[0].correlation == pytest.approx(1)


def test_a_head_that_attends_to_all_keys_alike_has_no_correlation_and_comes_last() -> None:
    tokens = tuple(SPACE_MARK + word for word in "abcd")
    weights = torch.rand(3, 4, 4, generator=torch.Generator().manual_seed(0))
    weights[0] = 0.25
    tally = CorrelationTally(words=False)
    tally.add(maps_of(weights, tokens), maps_of(weights, tokens))
    near = tally.result().nearest_to(Head("encoder_self", 0, 1))
    assert [each.head.head for each in near] == [1, 2, 0]
    assert math.isnan(near[-1].correlation)


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([], "there is none: give at least one"),
        (["A dog.", " "], "sentence 2: there is nothing to translate"),
        (["very " * 600], "sentence 1: the text has .* tokens, at most 512 can be translated at once: shorten or spli"),
    ],
)
def test_sentences_that_cannot_be_compared_are_refused(translator: Translator, sentences: list[str], message: str):
    with pytest.raises(ValueError, match=message):
        nearest_heads(translator, translator, sentences)


def test_the_command_prints_the_nearest_heads_of_another_model(
    command: Command, tokenizer: SentencePieceTokenizer, tmp_path: Path
) -> None:
    model, places = reordered(command.translator.model)
    save_checkpoint(tmp_path / "other.safetensors", model, tokenizer)
    (tmp_path / "sentences.txt").write_text("\n\n".join(SENTENCES), encoding="utf-8")
    other, texts = str(tmp_path / "other.safetensors"), str(tmp_path / "sentences.txt")
    rows = command("nearest-heads", "--other", other, "--input", texts, "--nearest", "2")
    heads = all_heads(command.translator.model)
    assert [row["rank"] for row in rows] == ["1", "2"] * len(heads)
    for head, row in zip(heads, rows[::2], strict=True):
        assert (row["kind"], int(row["layer"]), int(row["head"])) == head
        assert (int(row["other_layer"]), int(row["other_head"])) == places[head][1:]
        assert float(row["correlation"]) == pytest.approx(1, abs=1e-5)
