from dataclasses import replace

import pytest
import torch

from core.analysis.joint_map import JointMap
from viz_app.views.heads.grid.figures.joint_map import HIDDEN, joint_table


@pytest.fixture
def joint() -> JointMap:
    """Two source tokens, three of the target; special tokens of the source hidden."""
    weights = torch.full((5, 4), torch.nan)
    weights[:2, :2] = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
    weights[2:, :2] = 0.5
    weights[2:, 2:] = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.5, 0.5]])
    return JointMap(weights, ("▁a", "▁<b>", "<s>", "▁x", "▁y"), ("▁a", "▁<b>", "▁x", "▁y"), ("▁x", "▁y", "</s>"), 2, 2)


def test_the_table_holds_every_weight_that_there_is_and_no_other(joint: JointMap) -> None:
    table = joint_table(joint)
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
    table = joint_table(replace(joint, hidden=hidden))
    sums = table.groupby(["block", "row"])["weight"].sum()
    assert len(sums) == 2 + 2 * 3
    assert (sums == 1).all()
    shown = table[table["key"].isin(HIDDEN)].groupby("block")["key"].unique().map(list).to_dict()
    source, target = HIDDEN
    assert shown == {"encoder_self": [source], "cross": [source], "decoder_self": [target]}
