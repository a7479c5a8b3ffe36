"""The hypothesis with the most n-grams of the reference is written."""

from pathlib import Path

import pytest

from tests.train.conftest import write_lines
from train.__main__ import main
from train.cli.closest import closest

REFERENCE = "Ein Hund läuft durch das grüne Gras ."


def test_the_closest_is_the_reference_itself() -> None:
    others = ["Ein Hund läuft durch das Gras .", "Der Hund läuft durch das grüne Gras ."]
    assert closest(REFERENCE, [others, [*others, REFERENCE]]) == (REFERENCE, 1)


def test_more_common_n_grams_are_closer() -> None:
    far, near = "Eine Katze läuft durch den Garten .", "Ein Hund läuft durch das Gras ."
    assert closest(REFERENCE, [[far, near], [far]]) == (near, 0)
    assert closest(REFERENCE, [[far], [near]]) == (near, 1)


def test_case_does_not_count_and_of_equals_the_lower_rank_and_then_the_first_file_wins() -> None:
    lower = REFERENCE.lower()
    assert closest(REFERENCE, [["x", REFERENCE], [lower]]) == (lower, 1)
    assert closest(REFERENCE, [["x", lower], ["y", REFERENCE]]) == (lower, 0)
    assert closest(REFERENCE, [[lower], [REFERENCE]]) == (lower, 0)


def test_a_script_without_spaces_has_n_grams_too() -> None:
    far, near = "我每天都去学校。", "我今天去大学。"
    assert closest("我今天去学校。", [[far, near]]) == (near, 0)
    assert closest("我今天去学校。", [[near], [far]]) == (near, 0)


def test_without_any_hypothesis() -> None:
    assert closest(REFERENCE, [[""], [" ", ""]]) is None
    assert closest(REFERENCE, [[""], ["", "unlike"]]) == ("unlike", 1)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Arguments with two files of hypotheses for three references."""
    texts = {
        "de": ["Es regnet .", "Nein .", "Ja ."],
        "a": ["Es regnet .\tEs schneit .", "", ""],
        "b": ["Regen", "No", ""],
    }
    for name, lines in texts.items():
        write_lines(tmp_path / name, lines)
    paths = {name: str(tmp_path / name) for name in (*texts, "out")}
    return ["closest", "--hypotheses", paths["a"], paths["b"], "--reference", paths["de"], "-o", paths["out"]]


def test_the_command_writes_a_line_a_sentence(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(files) == 0
    assert (tmp_path / "out").read_text(encoding="utf-8") == "Es regnet .\nNo\n\n"
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].endswith("a: 1 of 3 lines")
    assert printed[1].endswith("b: 1 of 3 lines")
    assert printed[2] == "equal to the reference: 1; no hypothesis: 1"


def test_files_of_other_lengths_are_an_error_and_nothing_is_lost(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("before", encoding="utf-8")
    (tmp_path / "b").write_text("Regen\n", encoding="utf-8")
    assert main(files) == 1
    assert f"{tmp_path / 'de'} and {tmp_path / 'b'} are not parallel: 3 lines but 1" in capsys.readouterr().err
    assert (tmp_path / "out").read_text(encoding="utf-8") == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "de", "out"]


@pytest.mark.parametrize(
    ("name", "message"), [("out", "there is no folder"), ("de", "there is no file"), ("a", "there is no file")]
)
def test_a_missing_file_or_folder_is_named(
    files: list[str], tmp_path: Path, name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing" / name
    assert main([str(missing) if argument == str(tmp_path / name) else argument for argument in files]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert str(missing.parent) in error
