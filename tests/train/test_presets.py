from pathlib import Path

import pytest

from core.files.shipped_files import shipped_folder
from core.formats.checkpoint import load_checkpoint, save_checkpoint
from core.model.preset_configs import PRESETS
from train.__main__ import main
from train.presets import MEASURED

FACTS = {
    "preset": "multi30k",
    "steps": 4_000,
    "hours": 0.5,
    "memory_gb": 1.25,
    "hardware": "CPU, 2 threads",
    "scores": [
        {"test_set": "dev", "bleu": 12.3, "bleu_signature": "nrefs:1|case:mixed", "perplexity": 9.9},
        {"test_set": "lines", "character_error_rate": 8.5, "exact_lines": 60.5},
        {"test_set": "trees", "f1": 70.1, "evaluator": "PYEVALB", "exact": 16.3},
        {"test_set": "letters", "exact_texts": 99.5},
    ],
}


def test_presets_have_recipes_and_recorded_results(
    tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = load_checkpoint(tiny_checkpoint)
    save_checkpoint(tmp_path / "mine.safetensors", loaded.model, loaded.tokenizer, FACTS)
    assert main(["presets", str(tmp_path / "mine.safetensors")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines if not line.startswith(" ")] == list(PRESETS)
    place = next(index for index, line in enumerate(lines) if line.startswith("multi30k: "))
    assert lines[place + 2 : place + 7] == [
        "  mine.safetensors: 4,000 steps, 0.5 hours, 1.25 GB of memory, on CPU, 2 threads",
        "  dev: BLEU 12.3 (nrefs:1|case:mixed), perplexity 9.9 per piece",
        "  lines: character error rate 8.5 %, exact lines 60.5 %",
        "  trees: F1 70.1 (PYEVALB), exact match 16.3 %",
        "  letters: exact texts 99.5 %",
    ]
    assert lines[place + 7 : place + 7 + len(MEASURED.get("multi30k", ()))] == [
        f"  {line}" for line in MEASURED.get("multi30k", ())
    ]
    assert lines.count("  not measured") == len(PRESETS) - len({"multi30k", *MEASURED})
    place = lines.index(
        "base: 63.1 M parameters with 37,000 pieces, 6 + 6 layers, "
        "d_model 512, d_ff 2048, 8 heads, d_k 64, d_v 64, dropout 0.1"
    )
    assert lines[place + 1].startswith("  recipe: steps 100000, ")
    assert "warmup 4000, rate_scale 1.0" in lines[place + 1]


def test_a_missing_checkpoint_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets", str(tmp_path / "none.safetensors")]) == 1
    assert "none.safetensors" in capsys.readouterr().err


def test_the_records_of_all_shipped_checkpoints_are_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets"]) == 0
    printed = capsys.readouterr().out
    assert [path.name for path in shipped_folder("checkpoints").glob("*.safetensors") if path.name not in printed] == []
