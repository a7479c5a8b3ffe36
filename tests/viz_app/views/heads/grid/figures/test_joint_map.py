import xml.etree.ElementTree as ElementTree

import pytest
import torch

from core.analysis.joint_map import JointMap
from viz_app.views.heads.grid.figures.joint_map import export_joint, joint_table


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


def test_the_file_names_the_tokens_as_text(joint: JointMap) -> None:
    file = export_joint(joint, "L1 mean", "svg")
    texts = ["".join(node.itertext()) for node in ElementTree.fromstring(file).iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("<b>") == 2  # a row and a column
    assert any("L1 mean" in text for text in texts)
    with pytest.raises(ValueError, match="unknown format 'gif'"):
        export_joint(joint, "L1 mean", "gif")  # type: ignore[arg-type]
