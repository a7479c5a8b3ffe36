"""Rows of Table 2: the paper's, and the shipped models with a score on newstest2014."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.analysis.model_variations import TABLE_3
from core.analysis.training_cost import (
    PAPER_BATCH_TOKENS,
    PAPER_DEVICES,
    PAPER_HOURS,
    PAPER_PAIRS,
    TABLE_2,
    Result,
    counted_flops,
    training_cost,
)
from core.files.shipped_files import shipped_checkpoint
from core.files.training_runs import training_facts_of
from core.formats.checkpoint import load_checkpoint
from core.model.preset_configs import PRESETS

if TYPE_CHECKING:
    import pandas as pd

SHIPPED = {"en-de": "bleu_de", "en-fr": "bleu_fr"}  # and the column of their score
TEST_SET = "newstest2014"
P100 = f"{PAPER_DEVICES} x P100"


def training_costs() -> "pd.DataFrame":
    """Return a row a model, `<NA>` where a number is not known.

    Columns: `model`, `bleu_de` and `bleu_fr` on newstest2014, of tokenized text with compounds split, as in the paper;
    10^18 FLOPs of the training, estimated by the paper (`exaflops_de`, `exaflops_fr`) and counted (`counted_exaflops`),
    see `core.analysis.training_cost`; `teraflops_per_second`, the counted ones by the time of a device; `pairs` of
    training text; `hours` and `devices`; `signature` of a score that was measured here.
    """
    import pandas as pd

    rows = [*map(_of_paper, TABLE_2), *filter(None, map(_shipped, SHIPPED))]
    table = pd.DataFrame(rows)
    seconds = table["hours"] * 3600 * table["devices"].map(lambda name: PAPER_DEVICES if name == P100 else 1)
    return pd.DataFrame(
        {
            **{name: table[name] for name in ("model", "bleu_de", "bleu_fr")},
            **{f"exaflops_{side}": table[f"flops_{side}"] / 1e18 for side in ("de", "fr")},
            "counted_exaflops": table["counted_flops"] / 1e18,
            "teraflops_per_second": table["counted_flops"] / seconds / 1e12,
            **{name: table[name] for name in ("pairs", "hours", "devices", "signature")},
        }
    )


def _of_paper(result: Result) -> dict[str, Any]:
    row: dict[str, Any] = result._asdict()
    preset = result.model.removeprefix("Transformer, ")
    if preset in PAPER_HOURS:
        tokens = TABLE_3[preset].steps * PAPER_BATCH_TOKENS
        counted = counted_flops(PRESETS[preset], tokens, tokens)
        row |= {"pairs": PAPER_PAIRS, "hours": PAPER_HOURS[preset], "devices": P100, "counted_flops": counted}
    return row


def _shipped(name: str) -> dict[str, Any] | None:
    path: Path = shipped_checkpoint(name)
    if not path.exists():
        return None
    checkpoint = load_checkpoint(path)
    facts = checkpoint.training
    with training_facts_of(path):
        cost = training_cost(checkpoint.model.config, facts)
        score = next(each for each in facts["scores"] if each["test_set"] == TEST_SET)
        return {
            "model": name,
            SHIPPED[name]: score["paper_bleu"],
            "pairs": sum(facts["manifest"]["pairs_by_label"].values()),
            "hours": cost and cost.hours,
            "devices": facts.get("hardware"),
            "counted_flops": cost and cost.flops,
            "signature": score["paper_bleu_signature"],
        }
