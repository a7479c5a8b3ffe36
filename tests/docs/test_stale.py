"""`python -m docs.stale`: everything that was made from weights is declared, and newer than they are."""

import importlib.util
import json
import shlex
from pathlib import Path

import pytest

from core.analysis.corpus.index_file import load_index
from docs import stale
from docs.stale import ROOT, Product, digests, make, note_made, products, read_record

PRODUCTS, NOW = products(), digests()


def test_nothing_in_the_repository_is_older_than_its_weights() -> None:
    assert stale.stale(PRODUCTS, read_record(), NOW) == {}, "python -m docs.stale says what to do"
    assert read_record().keys() == PRODUCTS.keys()


@pytest.mark.parametrize("model", sorted(NOW))
def test_a_changed_checkpoint_makes_its_products_stale_and_no_others(model: str) -> None:
    found = stale.stale(PRODUCTS, read_record(), {**NOW, model: "another"})
    assert found == {name: [model] for name, product in PRODUCTS.items() if model in product.models}
    assert f"card of {model}" in found
    assert ("moving picture" in found) == (model == "en-de")


def test_files_that_name_their_checkpoint_agree_with_the_record() -> None:
    record = read_record()
    for model, digest in NOW.items():
        if f"signs of {model}" in record:
            assert json.loads((ROOT / f"checkpoints/{model}.signs.json").read_text("utf-8"))["digest"] == digest
        if f"index of {model}" in record:
            assert load_index(ROOT / f"checkpoints/{model}.corpus.npz").facts.digest == digest


def test_every_file_is_declared_and_there_with_its_program() -> None:
    declared = {path for product in PRODUCTS.values() for path in product.files}
    beside = {path for path in (ROOT / "checkpoints").iterdir() if path.suffix != ".safetensors"}
    pictures = {*(ROOT / "docs/pages").glob("*.png"), *ROOT.glob("docs/*.[pw][en]*"), *ROOT.glob("docs/*/*.ipynb")}
    assert {path.relative_to(ROOT).as_posix() for path in beside | pictures} <= declared
    assert [path for path in sorted(declared) if not (ROOT / path).exists()] == []
    for product in PRODUCTS.values():
        program, *arguments = shlex.split(product.command)
        assert program == "python"
        is_module = arguments[0] == "-m"
        assert importlib.util.find_spec(arguments[1]) if is_module else (ROOT / arguments[0]).exists(), product.command


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "record.json"
    path.write_text('{"gone": {"m": "1"}, "runs": {"m": "1"}}', "utf-8")
    monkeypatch.setattr(stale, "RECORD", path)
    return path


def test_what_runs_is_made_and_recorded_and_the_rest_is_said(record: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made = {
        "runs": Product(("a",), ("m",), "python -c 'print(6 * 7)'", 1),
        "fails": Product(("b",), ("m",), "python -c 'raise SystemExit(3)'", 1),
        "text": Product(("c",), ("m", "n"), "python -c 'print(43)'", 1, "put it into the table"),
        "corpus": Product(("d",), ("n",), "python -c 'print(44)' --gold GOLD.en", 1),
    }
    now = {"m": "2", "n": "3"}
    assert stale.stale(made, read_record(), now) == {"runs": ["m"], "fails": ["m"], "text": ["m", "n"], "corpus": ["n"]}
    assert make(made, made, now) == ["fails", "text", "corpus"]
    printed = capfd.readouterr().out
    assert "42" in printed
    assert "43\n  by hand: put it into the table\n  by hand: python -m docs.stale --made text\n" in printed
    assert "\n44\n" not in printed
    assert "by hand: python -c 'print(44)' --gold GOLD.en" in printed
    assert read_record() == {"runs": {"m": "2"}}
    note_made(["text"], made, now)
    assert stale.stale(made, read_record(), {"m": "2", "n": "4"}) == {"fails": ["m"], "text": ["n"], "corpus": ["n"]}


def test_the_command_lists_what_is_stale(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        stale, "products", lambda: {"a text": Product(("a", "b"), ("en-fr",), "python a.py", 7, "note")}
    )
    assert stale.main([]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "a text: a, b, about 7 min",
        "  older than en-fr",
        "  python a.py",
        "  note",
        "1 of 1 are older than the weights",
    ]
    assert stale.main(["--made", "a text"]) == 0
    assert json.loads(record.read_text("utf-8")) == {"a text": {"en-fr": NOW["en-fr"]}}
    with pytest.raises(SystemExit):
        stale.main(["--make", "b"])
    assert "there is no product 'b', expected one of: a text" in capsys.readouterr().err
