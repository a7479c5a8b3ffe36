"""Rows of Table 2: the paper's, and the shipped models with a score on newstest2014."""

from pathlib import Path
from typing import Any

from core.analysis.declaration import Columns
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

SHIPPED = {"en-de": "bleu_de", "en-fr": "bleu_fr"}  # and the column of their score
TEST_SET = "newstest2014"
P100 = f"{PAPER_DEVICES} x P100"
COLUMNS = (
    *("model", "bleu_de", "bleu_fr", "exaflops_de", "exaflops_fr", "counted_exaflops", "teraflops_per_second"),
    *("pairs", "hours", "devices", "signature"),
)


def training_costs() -> Columns:
    """Return a row a model, None where a number is not known.

    Columns: `model`, `bleu_de` and `bleu_fr` on newstest2014, of tokenized text with compounds split, as in the paper;
    10^18 FLOPs of the training, estimated by the paper (`exaflops_de`, `exaflops_fr`) and counted (`counted_exaflops`),
    see `core.analysis.training_cost`; `teraflops_per_second`, the counted ones by the time of a device; `pairs` of
    training text; `hours` and `devices`; `signature` of a score that was measured here.
    """
    rows = [*map(_of_paper, TABLE_2), *filter(None, map(_shipped, SHIPPED))]
    for row in rows:
        for name in ("flops_de", "flops_fr", "counted_flops"):
            row[name.replace("flops", "exaflops")] = row.get(name) and row[name] / 1e18
        if row.get("hours") and row.get("counted_flops"):
            seconds = 3600 * row["hours"] * (PAPER_DEVICES if row["devices"] == P100 else 1)
            row["teraflops_per_second"] = row["counted_flops"] / seconds / 1e12
    return {name: [row.get(name) for row in rows] for name in COLUMNS}


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
