import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from core.files.runlog import read_log
from core.formats.checkpoint import load_checkpoint, save_checkpoint
from tests.train.conftest import write_lines
from train.__main__ import main
from train.card import draw_curves, operations, record_scores, write_card
from train.eval.line_scores import LineScore
from train.eval.translation_scores import Score

SHIPPED = Path(__file__).parents[2] / "checkpoints"
SCORE = Score(
    test_set="newstest",
    sentences=7,
    bleu=12.3456,
    bleu_signature="nrefs:1|case:mixed",
    chrf=45.678,
    chrf_signature="nrefs:1|nc:6",
    paper_bleu=13.579,
    paper_bleu_signature="tok:none, compounds split",
    lowercased_bleu=14.5,
    lowercased_bleu_signature="case:lc|tok:none",
    perplexity=9.87654,
    beam_size=4,
    length_penalty=0.6,
    seconds=1.25,
    tokens_per_second=321.9,
    date="2030-01-02T03:04:05+00:00",
)
TRAINING = {
    "preset": "tiny",
    "command": "python -m train fit tiny",
    "commit": "abc123",
    "seed": 3,
    "hardware": "CPU, 2 threads",
    "steps": 40,
    "hours": 0.25,
    "recipe": {"steps": 40, "seed": 3, "warmup": 10},
    "precision_measured": {"bfloat16_seconds": 0.25, "float32_seconds": 1.5, "batch_tokens": 4096},
    "manifest": {
        "pairs_by_label": {"captions": 1200, "news": 34},
        "repeat": {"news": 2},
        "train": {"pairs": 1268, "source_tokens": 5000, "target_tokens": 6000},
    },
    "averaged": [{"file": "a", "steps": 20}, {"file": "b", "steps": 40}],
    "stored_as": "float32",
}


@pytest.fixture
def checkpoint(tmp_path: Path, tiny_checkpoint: Path) -> Path:
    loaded = load_checkpoint(tiny_checkpoint)
    save_checkpoint(tmp_path / "tiny.safetensors", loaded.model, loaded.tokenizer, TRAINING)
    return tmp_path / "tiny.safetensors"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    lines = [{"kind": "train", "step": step, "loss": 6.0 / step, "nll": 2.5 * step} for step in (1, 2, 3)]
    lines.append({"kind": "valid", "step": 3, "nll": 2.0})
    return write_lines(tmp_path / "log.jsonl", map(json.dumps, lines))


def test_recording_scores_changes_nothing_else(checkpoint: Path, tmp_path: Path) -> None:
    before = tmp_path / "before"
    shutil.copy(checkpoint, before)
    record_scores(checkpoint, [SCORE])
    assert load_checkpoint(checkpoint).training == {**TRAINING, "scores": [SCORE.facts()]}
    with safe_open(before, framework="np") as old, safe_open(checkpoint, framework="np") as new:
        assert set(old.keys()) == set(new.keys())
        assert all((old.get_tensor(name) == new.get_tensor(name)).all() for name in old.keys())  # noqa: SIM118
        assert {**old.metadata(), "training": ""} == {**new.metadata(), "training": ""}


def test_a_new_score_replaces_the_old_one_of_the_same_setting(checkpoint: Path) -> None:
    record_scores(checkpoint, [SCORE, replace(SCORE, test_set="other")])
    record_scores(checkpoint, [replace(SCORE, bleu=20.0), replace(SCORE, beam_size=1, bleu=11.0)])
    scores = load_checkpoint(checkpoint).training["scores"]
    assert [(score["test_set"], score["beam_size"], score["bleu"]) for score in scores] == [
        ("other", 4, 12.35),
        ("newstest", 4, 20.0),
        ("newstest", 1, 11.0),
    ]


def test_a_card_says_in_how_many_pieces_a_pair_was(checkpoint: Path, tmp_path: Path) -> None:
    loaded = load_checkpoint(checkpoint)
    manifest = TRAINING["manifest"] | {"bpe_dropout": 0.1, "segmentations": 8, "text_normalization": 1}
    manifest |= {"copying": 0.01, "capitals": 0.02, "by_rule": [[5, 1_000], [2_000, 2_205]]}
    save_checkpoint(checkpoint, loaded.model, loaded.tokenizer, TRAINING | {"manifest": manifest})
    write_card(checkpoint, tmp_path / "card.md", None)
    card = (tmp_path / "card.md").read_text(encoding="utf-8")
    assert "| captions | 1,200 | 8 |" in card
    assert "| news | 34 | 16 |" in card
    assert "target tokens. Each time a pair is in other pieces: BPE-dropout of 0.1 (Provilkov et al. 2020)." in card
    assert "Of the pairs 1,200 were made by rule from the others (`--copying 0.01 --capitals 0.02`)." in card
    assert "Both sides have single spaces" in card


def test_a_card_has_metadata_the_training_facts_and_scores(checkpoint: Path, log: Path, tmp_path: Path) -> None:
    record_scores(checkpoint, [SCORE])
    given = {"license_name": "other", "licences": "captions: CC BY 4.0", "limits": "Numbers."}
    write_card(checkpoint, tmp_path / "card.md", log, languages=("en", "de"), **given)
    card = (tmp_path / "card.md").read_text(encoding="utf-8")
    assert "| captions | 1,200 | 1 |" in card
    assert "| news | 34 | 2 |" in card
    assert "| newstest | 7 | 12.35 | 45.68 | 13.58 | 14.5 | 9.877 | 4 | 0.6 |" in card
    assert "- BLEU as in the paper: `tok:none, compounds split`" in card
    assert "- BLEU: `nrefs:1|case:mixed`" in card
    assert "captions: CC BY 4.0" in card
    assert "## Limits\n\nNumbers." in card
    assert "| command | `python -m train fit tiny` |" in card
    times = "bfloat16 0.25 s, float32 1.5 s, for the matrix products of 4,096 tokens a side"
    assert f"| precision chosen by | {times} |" in card
    assert "| mean of | step 20, step 40 |" in card
    assert "python -m train average RUN --last 2 -o tiny.safetensors" in card
    assert "(card.svg)" in card
    assert (tmp_path / "card.svg").read_text(encoding="utf-8").startswith("<?xml")

    values = metadata_of(tmp_path / "card.md")
    opening, _, rest = card.split("---\n", 2)
    assert opening == ""
    assert rest.startswith("\n# tiny.safetensors")
    assert values["license"] == "other"
    assert values["language"] == ["en", "de"]
    assert values["datasets"] == ["captions", "news"]
    (result,) = values["model-index"][0]["results"]
    assert result["dataset"]["name"] == "newstest"
    assert [metric["value"] for metric in result["metrics"]] == [12.35, 45.68]


def test_the_card_of_an_older_checkpoint_has_its_kinds_of_bleu(tiny_checkpoint: Path, tmp_path: Path) -> None:
    newer = ("paper_bleu", "lowercased_bleu")
    old = {name: value for name, value in SCORE.facts().items() if not name.startswith(newer)}
    loaded = load_checkpoint(tiny_checkpoint)
    save_checkpoint(tmp_path / "old.safetensors", loaded.model, loaded.tokenizer, {"scores": [old]})
    write_card(tmp_path / "old.safetensors", tmp_path / "old.md")
    card = (tmp_path / "old.md").read_text(encoding="utf-8")
    assert "| newstest | 7 | 12.35 | 45.68 | 9.877 | 4 | 0.6 |" in card
    assert "as in the paper" not in card
    record_scores(tmp_path / "old.safetensors", [replace(SCORE, test_set="new")])
    write_card(tmp_path / "old.safetensors", tmp_path / "old.md")
    card = (tmp_path / "old.md").read_text(encoding="utf-8")
    assert "| newstest | 7 | 12.35 | 45.68 |  |  | 9.877 | 4 | 0.6 |" in card
    assert "| new | 7 | 12.35 | 45.68 | 13.58 | 14.5 | 9.877 | 4 | 0.6 |" in card


def test_a_card_leaves_out_unknown_facts(tiny_checkpoint: Path, tmp_path: Path) -> None:
    write_card(tiny_checkpoint, tmp_path / "card.md")
    card = (tmp_path / "card.md").read_text(encoding="utf-8")
    assert "Scores" not in card
    assert "Limits" not in card
    assert not (tmp_path / "card.svg").exists()


def metadata_of(card: Path) -> dict[str, Any]:
    _, metadata, _ = card.read_text(encoding="utf-8").split("---\n", 2)
    return {key: json.loads(value) for key, _, value in (line.partition(": ") for line in metadata.splitlines())}


def test_the_card_of_a_parser(tree_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, gold = tmp_path / "trees.safetensors", tmp_path / "gold.mrg"
    shutil.copy(tree_checkpoint, path)
    gold.write_text("(S (NP (DT The) (NN dog)) (VP (VBZ runs)) (. .))\n", encoding="utf-8")
    assert main(["evaluate-trees", str(path), "--trees", str(gold), "--beam-size", "2", "--json", "--record"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert load_checkpoint(path).training["scores"] == [printed]
    assert main(["card", str(path), "--datasets", "a treebank"]) == 0
    values = metadata_of(path.with_suffix(".md"))
    assert values["datasets"] == ["a treebank"]
    (result,) = values["model-index"][0]["results"]
    assert result["task"]["type"] == "constituency-parsing"
    assert [(metric["type"], metric["value"]) for metric in result["metrics"]] == [("f1", printed["f1"])]
    assert f"| gold.mrg | 1 | {printed['f1']} | {printed['precision']} |" in path.with_suffix(".md").read_text("utf-8")


@pytest.mark.parametrize("card", sorted(SHIPPED.glob("*.md")), ids=lambda card: card.stem)
def test_shipped_cards_name_license_languages_data_and_metrics(card: Path) -> None:
    values = metadata_of(card)
    assert all(values[key] for key in ("license", "language", "datasets", "metrics"))
    results = values["model-index"][0]["results"]
    with safe_open(card.with_suffix(".safetensors"), framework="np") as file:
        recorded = json.loads(file.metadata()["training"])["scores"]
    assert [result["dataset"]["name"] for result in results] == [score["test_set"] for score in recorded]


def test_a_card_has_the_commands_and_the_cost_of_every_part(tiny_checkpoint: Path, tmp_path: Path) -> None:
    first = {"file": "a.safetensors", "sha256": "0" * 64, "steps": 100, "hours": 1.5}
    first["command"] = "python -m train fit 1"
    facts = {**TRAINING, "command": "python -m train fit 2 --run runs/two --init a.safetensors", "init": first}
    loaded = load_checkpoint(tiny_checkpoint)
    save_checkpoint(tmp_path / "b.safetensors", loaded.model, loaded.tokenizer, {**facts, "stored_as": "float16"})
    write_card(tmp_path / "b.safetensors", tmp_path / "card.md")
    card = (tmp_path / "card.md").read_text(encoding="utf-8")
    commands = card.partition("```sh\n")[2].partition("\n```")[0].splitlines()
    averaging = "python -m train average runs/two --last 2 --half -o b.safetensors"
    assert commands == [first["command"], facts["command"], averaging]
    assert "| 1 | 100 | 1.5 |  |  |" in card
    assert "| 2 | 40 | 0.25 | CPU, 2 threads |  |" in card
    assert "| all | 140 | 1.75 |  |  |" in card


def test_command(checkpoint: Path, log: Path, tmp_path: Path) -> None:
    limits = tmp_path / "limits.md"
    limits.write_text("Long sentences.", encoding="utf-8")
    assert main(["card", str(checkpoint), "--log", str(log), "--limits", str(limits)]) == 0
    assert "Long sentences." in (tmp_path / "tiny.md").read_text(encoding="utf-8")
    assert (tmp_path / "tiny.svg").exists()
    assert read_log(tmp_path / "tiny.log.jsonl") == read_log(log)  # too short to be thinned


def test_a_log_without_losses_has_no_curves(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no losses yet"):
        draw_curves([], tmp_path / "curves.svg")


def test_the_card_of_a_model_that_reads_pictures(line_checkpoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "lines.safetensors"
    shutil.copy(line_checkpoint, path)
    record_scores(path, [LineScore("test", 60, 8.456, 61.5, 4, 0.6, 1.0, "2030-01-02T03:04:05+00:00")])
    write_card(path, tmp_path / "card.md")
    card = (tmp_path / "card.md").read_text(encoding="utf-8")
    assert '"task": {"type": "image-to-text"}' in card
    assert '{"type": "cer", "value": 8.46, "name": "character error rate"}' in card
    assert 'metrics: ["cer"]' in card
    assert "| patches | 8 x 8 pixels, 3 a column |" in card
    assert "| test | 60 | 8.46 | 61.5 | 4 | 0.6 |" in card


@pytest.mark.parametrize(
    "odd",
    [
        {"steps": "many", "command": "x"},
        {"steps": None, "command": "x"},
        {"steps": 1, "command": None},
        {"manifest": ["a"]},
        {"manifest": {"pairs_by_label": {"a": "b"}}},
        {"manifest": {"train": {"x": 1}}},
        {"scores": ["a"]},
        {"scores": {"test_set": 1}},
        {"scores": [{"bleu": 1}]},
        {"init": "x"},
        {"init": {"file": "x"}},
        {"resumed": [1]},
        {"recipe": "x"},
        {"precision_measured": {"x": 1}},
        {"averaged": [1, 2]},
        {"preset": "\ud800"},
    ],
)
def test_odd_facts_are_refused_by_the_name_of_the_checkpoint(
    odd: dict[str, Any], tmp_path: Path, tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, path = load_checkpoint(tiny_checkpoint), tmp_path / "odd.safetensors"
    save_checkpoint(path, model.model, model.tokenizer, odd)
    assert main(["card", str(path)]) == 1
    (message,) = capsys.readouterr().err.splitlines()
    expected = f"python -m train card: {path}: its training facts are not as `python -m train` writes them ("
    assert message.startswith(expected)
    assert not path.with_suffix(".md").exists()


def test_other_commands_refuse_odd_facts_too(tmp_path: Path, tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]):
    model, path = load_checkpoint(tiny_checkpoint), tmp_path / "odd.safetensors"
    odd = {"preset": "tiny", "steps": "many", "command": 1, "scores": [1]}
    save_checkpoint(path, model.model, model.tokenizer, odd)
    for arguments in (["presets", str(path)], ["average", str(path), "-o", str(tmp_path / "out.safetensors")]):
        assert main(arguments) == 1
        (message,) = capsys.readouterr().err.splitlines()
        assert message.startswith(f"python -m train {arguments[0]}: {path}: its training facts are not as ")
    with pytest.raises(ValueError, match=r"odd\.safetensors: its training facts are not as"):
        record_scores(path, [SCORE])


def test_texts_of_a_card_are_utf8(tmp_path: Path, tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.md").write_bytes(b"caf\xe9")
    options = ["-o", str(tmp_path / "x.md"), "--limits", str(tmp_path / "text.md")]
    assert main(["card", str(tiny_checkpoint), *options]) == 1
    expected = "text.md is not UTF-8 text: byte 0xe9 in line 1; convert it to UTF-8"
    assert capsys.readouterr().err == f"python -m train card: {expected}\n"


def test_the_shipped_cards_have_the_operations_of_their_trainings() -> None:
    for card in SHIPPED.glob("*.md"):
        text = operations(load_checkpoint(card.with_suffix(".safetensors")))
        assert text
        assert text in card.read_text("utf-8")
