from dataclasses import replace

import pandas as pd
import pytest
import torch

from core.analysis.joint_map import HIDDEN, JointMap, joint_map
from core.capture import AttentionMap
from core.translator import Translator


def maps(encoder_layers: int = 1, decoder_layers: int = 1, encoder_heads: int = 2, decoder_heads: int = 2):
    """Two source tokens and three target tokens; all weights of a block differ."""
    source, fed, predicted = ("▁a", "</s>"), ("<s>", "▁x", "▁y"), ("▁x", "▁y", "</s>")

    def layers(kind, count, heads, queries, keys, put_out, base):
        size = (heads, len(queries), len(keys))
        return [
            AttentionMap(
                kind,
                n,
                torch.full(size, base + n + 0.0) + torch.arange(heads)[:, None, None] / 10,
                queries,
                keys,
                put_out,
            )
            for n in range(count)
        ]

    return {
        "encoder_self": layers("encoder_self", encoder_layers, encoder_heads, source, source, None, 10),
        "decoder_self": layers("decoder_self", decoder_layers, decoder_heads, fed, fed, predicted, 20),
        "cross": layers("cross", decoder_layers, decoder_heads, fed, source, predicted, 30),
    }


def test_the_blocks_stand_where_their_tokens_meet():
    found = joint_map(maps(), 0, 1)
    assert found.rows == found.columns == ("▁a", "</s>", "<s>", "▁x", "▁y")
    assert (found.source_rows, found.source_columns, found.predicted) == (2, 2, ("▁x", "▁y", "</s>"))
    torch.testing.assert_close(found.weights[:2, :2], torch.full((2, 2), 10.1))
    torch.testing.assert_close(found.weights[2:, :2], torch.full((3, 2), 30.1))
    own = torch.ones(3, 3).tril().bool()
    torch.testing.assert_close(found.weights[2:, 2:][own], torch.full((6,), 20.1))
    assert found.weights[2:, 2:][~own].isnan().all()  # what comes later is masked
    assert found.weights[:2, 2:].isnan().all()  # the encoder does not see the target


def test_the_mean_and_the_maximum_over_a_layer_and_over_all():
    three = maps(encoder_layers=3, decoder_layers=2)
    assert joint_map(three, 1, "mean").weights[0, 0] == pytest.approx(11.05)
    assert joint_map(three, None, "mean").weights[0, 0] == pytest.approx(11.05)  # of 10, 11, 12 and the same plus 0.1
    assert joint_map(three, None, "maximum").weights[2, 0] == pytest.approx(31.1)


def test_missing_layers_and_heads_are_nan_and_listed():
    deeper = joint_map(maps(encoder_layers=3, decoder_layers=1), 2, 0)
    assert deeper.missing == ("decoder_self", "cross")
    assert deeper.weights[2:].isnan().all()
    assert not deeper.weights[:2, :2].isnan().any()
    assert joint_map(maps(encoder_heads=1), 0, 1).missing == ("encoder_self",)


def test_a_layer_and_head_of_no_kind_are_refused():
    with pytest.raises(ValueError, match="no attention of this model has a layer 4 with a head 0"):
        joint_map(maps(), 4, 0)
    with pytest.raises(ValueError, match="head 0 of all layers is not one map"):
        joint_map(maps(), None, 0)


def test_rows_of_a_model_are_distributions(translator: Translator, parallel_text: list[tuple[str, str]]):
    found = joint_map(translator.explain(*parallel_text[0]).maps, 1, "mean")
    size = found.source_rows
    torch.testing.assert_close(found.weights[:size, :size].sum(1), torch.ones(size))
    for block in (found.weights[size:, :size], found.weights[size:, size:]):
        torch.testing.assert_close(block.nansum(1), torch.ones(len(found.rows) - size))


def test_each_row_has_what_went_to_hidden_tokens_of_source_and_target(translator: Translator):
    explanation = translator.explain("Where is it?", "Wo ist es?")
    shown = {
        kind: [each.select(range(len(each.query_tokens)), range(1, len(each.key_tokens))) for each in layers]
        for kind, layers in explanation.maps.items()
    }
    found = joint_map(shown, 0, 1)
    assert found.hidden is not None
    for row in range(len(found.rows)):
        blocks = found.weights[row, : found.source_columns], found.weights[row, found.source_columns :]
        for part, block in enumerate(blocks):
            share = found.hidden[row, part]
            assert share.isnan() == (row < found.source_rows and part == 1)
            if not share.isnan():
                assert block.nansum() + share == pytest.approx(1, abs=1e-5)
    assert joint_map(explanation.maps, 0, 1).hidden is None


@pytest.fixture
def joint() -> JointMap:
    """Two source tokens, three of the target; special tokens of the source hidden."""
    weights = torch.full((5, 4), torch.nan)
    weights[:2, :2] = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
    weights[2:, :2] = 0.5
    weights[2:, 2:] = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.5, 0.5]])
    return JointMap(weights, ("▁a", "▁<b>", "<s>", "▁x", "▁y"), ("▁a", "▁<b>", "▁x", "▁y"), ("▁x", "▁y", "</s>"), 2, 2)


def test_the_table_holds_every_weight_that_there_is_and_no_other(joint: JointMap) -> None:
    table = pd.DataFrame(joint.table())
    assert len(table) == 5 * 4 - 2 * 2
    assert table.groupby("block")["weight"].sum().to_dict() == {"cross": 3.0, "decoder_self": 2.0, "encoder_self": 2.0}
    row = table[(table["row"] == 3) & (table["column"] == 2)].iloc[0]
    assert (row["query"], row["predicted"], row["key"], row["weight"]) == ("x", "y", "x", 1.0)


def test_weights_on_hidden_tokens_are_named_in_the_table(joint: JointMap) -> None:
    """Each row of a block has a sum of 1 with them."""
    of_target = joint.weights[2:, 2:].nansum(1)
    hidden = torch.full((5, 2), torch.nan)
    hidden[2:] = torch.stack([torch.zeros(3), 1 - of_target], 1)
    hidden[:2, 0] = 0
    table = pd.DataFrame(replace(joint, hidden=hidden).table())
    sums = table.groupby(["block", "row"])["weight"].sum()
    assert len(sums) == 2 + 2 * 3
    assert (sums == 1).all()
    shown = table[table["key"].isin(HIDDEN)].groupby("block")["key"].unique().map(list).to_dict()
    source, target = HIDDEN
    assert shown == {"encoder_self": [source], "cross": [source], "decoder_self": [target]}
