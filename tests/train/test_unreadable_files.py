"""Every command that cannot read or write a path ends with one line that names it, whatever is wrong with it."""

import shlex
import shutil
from pathlib import Path

import pytest

from core.cli import commands as core_commands
from core.cli.file_translation.cli import UNTRANSLATED
from tests.fixtures import TREES
from train import __main__ as train_commands

SENTENCE = "--checkpoint {bad} --text Where? --target Wo?"
TEXT = "--checkpoint {checkpoint} --input {bad} --beam-size 1"
TABLE = "--batch-tokens 200 --device cpu --precision float32"
SMALL = f"--rows base --scale 64 --depth-scale 3 {TABLE}"
TRAINING = f"--steps 1 --snapshot-every 1 {TABLE}"
TEXTS = "{text} --valid-source {text} --valid-target {text} --vocab-size 290"
COMMANDS = (  # one for each option that takes a path
    f"core translate {TEXT}",
    "core translate --checkpoint {bad}",
    "core translate --checkpoint {checkpoint} --input {text} --beam-size 1 --output {bad}",
    "core translate --checkpoint {checkpoint} --input {text} --draft {bad}",
    "core convert {bad} {out}.safetensors",
    "core convert {bad} {text} {out}.safetensors",
    "core convert {checkpoint} {bad} --to marian",
    "core convert {checkpoint} {bad}.safetensors",
    "core inspect {bad}",
    f"core explain {SENTENCE} -o {{out}}.html",
    "core explain --checkpoint {checkpoint} --text Where? --target Wo? -o {bad}.json",
    "core explain-arrays {bad} -o {out}.html",
    f"core score {TEXT}",
    "core score --checkpoint {checkpoint} --input {text} --beam-size 1 -o {bad}",
    f"core corpus {TEXT} -o {{out}}.corpus.npz",
    "core corpus --checkpoint {checkpoint} --input {bad}.corpus.npz -o {out}.corpus.npz",
    "core corpus --checkpoint {checkpoint} --input {text} --beam-size 1 -o {bad}",
    "core corpus --checkpoint {checkpoint} --input {text} -o {out} --gold {bad} {text} {gold}",
    "core align --checkpoint {checkpoint} --source {bad} --target {text} --gold {gold}",
    "core align --checkpoint {checkpoint} --source {text} --target {text} --gold {bad}",
    f"core contributions {SENTENCE} --token 1",
    f"core lexicon {SENTENCE}",
    f"core attribute {SENTENCE} --token 1",
    "core faithfulness --checkpoint {checkpoint} --input {bad}",
    f"core lens {SENTENCE}",
    "core over-training --history {bad} --text Where?",
    f"core step {SENTENCE} --token 1",
    f"core cut {SENTENCE} --cut 'cross L1 H1'",
    f"core patch {SENTENCE} --corrupted Who? --token 1",
    f"core paths {SENTENCE} --token 1",
    f"train prepare {{out}} --source {{bad}} --target {TEXTS}",
    "train prepare {out} --source {text} --target {text} --valid-source {text} --valid-target {bad} --vocab-size 290",
    f"train prepare {{bad}} --source {{text}} --target {TEXTS}",
    "train prepare {out} --pairs {bad}.tsv --valid-pairs {bad}.tsv --vocab-size 290",
    "train prepare {out} --pairs {bad}.zip --valid-pairs {bad}.zip --languages en de",
    "train prepare {out} --pairs {bad}.parquet --valid-pairs {bad}.parquet --languages en de",
    "train prepare {out} --pairs {bad}.tsv.gz --valid-pairs {bad}.tsv.gz",
    f"train prepare {{out}} --source {{text}} --target {TEXTS} --tokenizer {{bad}}",
    f"train prepare {{out}} --source {{text}} --target {TEXTS} --labels {{bad}}",
    "train prepare-trees {out} --trees {bad} --valid-trees {trees}",
    "train prepare-trees {out} --trees {trees} --train a b --valid b c --ids {bad}",
    "train prepare-trees {bad} --trees {trees} --valid-trees {trees} --vocab-size 330",
    "train prepare-lines {out} --words-from {bad} --lines 1 --held-out 1",
    "train closest --hypotheses {bad} --reference {text} -o {out}",
    "train closest --hypotheses {text} --reference {bad} -o {out}",
    "train closest --hypotheses {text} --reference {text} -o {bad}",
    f"train fit tiny --data {{bad}} --run {{out}} {TRAINING}",
    f"train fit tiny --data {{prepared}} --run {{bad}} {TRAINING}",
    f"train fit tiny --data {{prepared}} --run {{out}} --init {{bad}} {TRAINING}",
    "train average {bad} -o {out}.safetensors",
    "train average {checkpoint} -o {bad}",
    "train history {bad} -o {out}.zip",
    "train history {run} -o {bad}",
    "train evaluate {bad} --source {text} --target {text}",
    "train evaluate {checkpoint} --source {bad} --target {text} --beam-size 1",
    "train evaluate {checkpoint} --source {text} --target {text} --beam-size 1 --write {bad}",
    "train evaluate-trees {bad} --trees {trees}",
    "train evaluate-trees {parser} --trees {bad}",
    "train evaluate-trees {parser} --trees {trees} --beam-size 1 --write {bad}",
    "train evaluate-lines {bad} --lines {text}",
    "train evaluate-lines {reader} --lines {bad}",
    "train card {bad} -o {out}",
    "train card {checkpoint} -o {bad}",
    "train card {checkpoint} -o {out} --log {bad}",
    "train card {checkpoint} -o {out} --licences {bad}",
    "train card {checkpoint} -o {out} --limits {bad}",
    "train table3 --data {bad} --budget 1 -o {out} --rows base",
    f"train table3 --data {{prepared}} --budget 1 -o {{bad}} {SMALL}",
    f"train table3 --data {{prepared}} --budget 1 -o {{out}} --source {{bad}} --target {{gold}} {SMALL}",
    "train presets {bad}",
)
KINDS = ("long", "folder", "inside-a-file", "empty", "not-utf8", "nulls")


@pytest.fixture(scope="module")
def places(
    tmp_path_factory: pytest.TempPathFactory,
    tiny_checkpoint: Path,
    tree_checkpoint: Path,
    line_checkpoint: Path,
    prepared: Path,
    run_history: Path,
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("places")
    contents = {"text": "A dog runs.\nWhere?\n", "gold": "0-0\n0-0\n", "trees": TREES}
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")
    files = {name: folder / name for name in contents}
    return {
        "checkpoint": tiny_checkpoint,
        "parser": tree_checkpoint,
        "reader": line_checkpoint,
        "prepared": prepared,
        "run": run_history,
        **files,
    }


def bad_path(kind: str, folder: Path, suffix: str) -> Path:
    """A path with which something is wrong."""
    path = folder / f"bad{suffix}"
    match kind:
        case "long":
            return folder / ("bad" * 100 + suffix)
        case "folder":
            path.mkdir()
        case "inside-a-file":
            (folder / "file").touch()
            return folder / "file" / f"bad{suffix}"
        case "empty":
            path.touch()
        case "not-utf8":
            path.write_bytes(b"\xff\xfe\x81 b\nc\n" * 3)
        case "nulls":
            path.write_bytes(b"\0\0\0\n\0\n")
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_bad_path_is_named_in_one_line(
    command: str,
    places: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 1)
    suffix = command.partition("{bad}")[2].partition(" ")[0]
    for kind in KINDS:
        folder = tmp_path / kind
        folder.mkdir()
        bad = bad_path(kind, folder, suffix)
        words: dict[str, object] = {**places, "bad": str(bad).removesuffix(suffix), "out": folder / "out"}
        package, *arguments = shlex.split(command.format(**words))
        status = (core_commands if package == "core" else train_commands).main(arguments)
        *_, message = ["", *capsys.readouterr().err.splitlines()]
        if status not in (0, UNTRANSLATED):
            assert status == 1
            assert message.startswith(f"python -m {package} {arguments[0]}: "), kind
            assert "bad" in message, f"{kind}: {message}"
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    "command",
    [
        "core inspect {bad}",
        "train card {checkpoint} -o {out} --log {bad}",
        "train card {checkpoint} -o {out} --limits {bad}",
    ],
)
def test_an_error_of_reading_names_the_file(
    command: str, places: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.safetensors"
    bad.symlink_to("/proc/self/mem")  # whose first byte cannot be read
    package, *arguments = command.format(**places, bad=bad, out=tmp_path / "out").split()
    assert (core_commands if package == "core" else train_commands).main(arguments) == 1
    assert capsys.readouterr().err == f"python -m {package} {arguments[0]}: {bad}: input/output error\n"
