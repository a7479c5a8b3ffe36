import json
from pathlib import Path

import pytest

from core.files.runlog import LogLine, format_log, of_kind, parse_log, read_log, thin_log


def a_run(steps: int) -> list[LogLine]:
    lines: list[LogLine] = []
    for step in range(25, steps + 1, 25):
        numbers = {
            "loss": 1 / 3 + 1 / step,
            "nll": 2 / 3,
            "rate": 0.000123456789,
            "tokens_per_second": 2345.6789,
            "epoch": 0,
            "hours": step / 999,
        }
        lines.append({"kind": "train", "step": step, **numbers})
        if step % 500 == 0:
            lines.append({"kind": "valid", "step": step, "nll": 2 / 7, "perplexity": 1.3307121974473499})
            sentence = "Ein kleines Mädchen in einem rosa Kleid klettert eine Treppe hinauf."
            lines += [
                {
                    "kind": "sample",
                    "step": step,
                    "source": f"{n} {sentence}",
                    "reference": sentence,
                    "translation": sentence,
                }
                for n in range(5)
            ]
    return lines


def test_a_log_comes_back_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(format_log(a_run(1000)), encoding="utf-8")
    assert read_log(tmp_path / "log.jsonl") == a_run(1000)


def test_a_line_that_is_being_written_is_left_out_until_it_is_whole(tmp_path: Path) -> None:
    path, whole = tmp_path / "log.jsonl", format_log(a_run(500)).encode()
    for end in range(len(whole) - 60, len(whole)):  # some of these cut an umlaut in two
        path.write_bytes(whole[:end])
        lines = read_log(path)
        assert lines == a_run(500)[: len(lines)]
        assert len(lines) >= len(a_run(500)) - 1
    path.write_bytes(b"")
    assert read_log(path) == []


def test_malformed_logs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"kind": "train", "step": 1}\n{"kind": "tra\n{"kind": "train", "step": 2}\n', encoding="utf-8")
    with pytest.raises(ValueError, match="line 2 is not JSON"):
        read_log(path)
    path.write_text('["train", 1]\n', encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"line 1 has no kind \(train, valid, sample, warning\) and step: this is not the log"
    ):
        read_log(path)
    for content in (b"\xff\xfe", b"\xe9\n", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not JSON"):
            read_log(path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"kind": "train", "step": True}, r"line 1 has no kind .* and step"),
        ({"kind": "train", "step": -1}, r"line 1 has the step -1, expected one from 0 to 2147483647"),
        ({"kind": "valid", "step": 2**31}, r"line 1 has the step 2147483648, expected"),
        ({"kind": "train", "step": 1, "nll": "x"}, r"line 1: 'nll' is 'x', expected a number"),
        ({"kind": "train", "step": 1, "rate": True}, r"line 1: 'rate' is True, expected a number"),
        ({"kind": "train", "step": 1, "other": {}}, r"line 1: 'other' is {}, expected a number"),
        ({"kind": "valid", "step": 1, "nll": 2**63}, r"line 1: 'nll' is 9223372036854775808, expected a number"),
        ({"kind": "sample", "step": 1, "source": "a", "reference": "b"}, r"'translation' is None, expected a text"),
        ({"kind": "train", "step": 1, **{f"{number}": 0 for number in range(99)}}, r"has 101 names of numbers and"),
    ],
)
def test_lines_with_other_values_are_refused(line: LogLine, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_log(format_log([line, line]).encode(), "log.jsonl")


def test_numbers_that_are_not_finite_are_read() -> None:
    line = {"kind": "train", "step": 2**31 - 1, "nll": float("inf"), "rate": 2**63 - 1}
    assert parse_log(json.dumps(line).encode(), "log.jsonl") == [line]
    assert thin_log([line, {**line, "nll": 1.0}]) == [{**line, "nll": 1.0}], "JSON cannot say it"


def test_a_thinned_log_is_small_and_keeps_its_ends() -> None:
    lines = a_run(30_000)
    kept = thin_log(lines)
    assert len(format_log(lines)) > 200_000
    assert 20_000 < len(format_log(kept).encode()) < 60_000
    for kind in ("train", "valid", "sample"):
        assert [of_kind(kept, kind)[end]["step"] for end in (0, -1)] == [
            of_kind(lines, kind)[end]["step"] for end in (0, -1)
        ]
    assert len(of_kind(kept, "train")) == 200
    assert {len([line for line in of_kind(kept, "sample") if line["step"] == step]) for step in (500, 30_000)} == {5}
    assert json.loads(format_log(kept[:1]))["nll"] == 0.66667
    assert [line["step"] for line in kept] == sorted(line["step"] for line in kept)


def test_a_short_log_is_only_rounded() -> None:
    assert [(line["kind"], line["step"]) for line in thin_log(a_run(1000))] == [
        (line["kind"], line["step"]) for line in a_run(1000)
    ]
