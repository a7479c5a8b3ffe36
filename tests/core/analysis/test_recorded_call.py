"""The script of a recorded call gives what the call gave."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.analysis.csv_output import save_csv
from core.analysis.lens.logit_lens import LensOptions, lens
from core.analysis.recorded_call import Call, Given, code_of, table_script
from core.trace import Head
from core.translator import Translator

SOURCE, TARGET = "A dog runs.", "Ein Hund."


def model(path: Path) -> Given:
    code = f"from core import Translator\ntranslator = Translator.from_checkpoint({str(path)!r})"
    return Given("translator", Translator.from_checkpoint(path), lambda _: code)


def test_the_script_writes_the_table_of_the_call(tiny_checkpoint: Path, tmp_path: Path) -> None:
    call = Call("result", lens, (model(tiny_checkpoint), SOURCE, TARGET, LensOptions(top=2))).then("table")
    code = table_script(call, str(tmp_path / "script.csv"))
    exec(compile(code, "script", "exec"), {})
    save_csv(call.run(), tmp_path / "own.csv")
    assert (tmp_path / "script.csv").read_text() == (tmp_path / "own.csv").read_text()
    assert len(list(csv.reader((tmp_path / "own.csv").open()))) > 1
    assert code.splitlines() == [
        "from core import Translator",
        "from core.analysis.csv_output import save_csv",
        "from core.analysis.lens.logit_lens import LensOptions, lens",
        "",
        f"translator = Translator.from_checkpoint({str(tiny_checkpoint)!r})",
        "result = lens(translator, 'A dog runs.', 'Ein Hund.', LensOptions(top=2))",
        "table = result.table()",
        f"save_csv(table, {str(tmp_path / 'script.csv')!r})",
    ]


CALLS: list[object] = []


def noted(*values: object, **others: object) -> tuple[object, ...]:
    CALLS.append(values)
    return (*values, *others.values())


def test_a_call_that_two_need_runs_and_is_written_once() -> None:
    CALLS.clear()
    first = Call("first", noted, (1,))
    both = Call("both", noted, (first, first), {"third": first})
    assert both.run() == ((1,), (1,), (1,))
    assert len(CALLS) == 2
    assert code_of(both).splitlines()[-2:] == ["first = noted(1)", "both = noted(first, first, third=first)"]


def test_calls_in_a_list_are_run_and_named_apart() -> None:
    CALLS.clear()
    pairs = [Call("pair", noted, (number,)) for number in range(3)]
    both = Call("all", noted, (pairs, (pairs[0],)))
    assert both.run() == ([(0,), (1,), (2,)], ((0,),))
    assert len(CALLS) == 4
    assert code_of(both).splitlines()[-4:] == [
        "pair = noted(0)",
        "pair_2 = noted(1)",
        "pair_3 = noted(2)",
        "all = noted([pair, pair_2, pair_3], (pair,))",
    ]


def test_calls_in_a_dictionary_are_run() -> None:
    call = Call("all", noted, ({1: Call("first", noted, (1,)), 2: "second"},))
    assert call.run() == ({1: (1,), 2: "second"},)
    assert code_of(call).splitlines()[-2:] == ["first = noted(1)", "all = noted({1: first, 2: 'second'})"]


def test_a_call_without_a_name_is_a_statement() -> None:
    written = [Call("", noted, (number, Call("first", noted, (1,)))) for number in (1, 2, 2)]
    assert code_of(*written).splitlines()[-3:] == ["first = noted(1)", "noted(1, first)", "noted(2, first)"]


def test_attributes_and_items() -> None:
    head = Given("head", Head("cross", 1, 2), lambda name: f"{name} = None")
    call = Call("all", noted, (Call("kind", ".kind", (head,)), Call("last", "[]", (head, -1))))
    assert call.run() == ("cross", 2)
    assert code_of(call).splitlines()[-2:] == ["head = None", "all = noted(head.kind, head[-1])"]
    by_head = Given("cards", {Head("cross", 1, 2): "card"}, lambda name: f"{name} = None")
    code = code_of(Call("all", noted, (Call("card", "[]", (by_head, Head("cross", 1, 2))),)))
    assert "from core.trace import Head" in code
    assert code.splitlines()[-1] == "all = noted(cards[Head('cross', 1, 2)])"
    assert code_of(call.arguments[0]).splitlines()[-1] == "kind = head.kind"


def test_equal_calls_are_written_once() -> None:
    one, other = (Call("call", noted, (Given("x", 1, lambda name: f"{name} = 1"),)) for _ in range(2))
    assert code_of(Call("all", noted, (one, other))).splitlines()[-3:] == [
        "x = 1",
        "call = noted(x)",
        "all = noted(call, call)",
    ]


def test_given_values_of_one_name_are_told_apart() -> None:
    one, other = (Given("x", value, lambda name, value=value: f"{name} = {value}") for value in (1, 2))
    call = Call("all", noted, (one, other, one))
    assert call.run() == (1, 2, 1)
    assert code_of(call).splitlines()[-3:] == ["x = 1", "x_2 = 2", "all = noted(x, x_2, x)"]


def test_what_is_known_does_not_run_again() -> None:
    CALLS.clear()
    first = Call("first", noted, (1,)).returning("known")
    assert Call("both", noted, (first,)).run() == ("known",)
    assert CALLS == [("known",)]
    assert code_of(first).splitlines()[-1] == "first = noted(1)"


@dataclass(frozen=True)
class Range:
    """Options with and without a default."""

    first: int
    last: int = 3
    names: Sequence[str] = ()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "None"),
        (-0.5, "-0.5"),
        ("it's \u2581", '"it\'s \u2581"'),
        ((1,), "(1,)"),
        ((1, "a"), "(1, 'a')"),
        ([1, [2]], "[1, [2]]"),
        (range(2), "range(0, 2)"),
        ({"a": (1, 2)}, "{'a': (1, 2)}"),
        (Path("a/b"), "Path('a/b')"),
        (Head("cross", 1, 2), "Head('cross', 1, 2)"),
        (Range(1, 3, ("a",)), "Range(first=1, names=('a',))"),
    ],
)
def test_values_are_written_as_python(value: object, written: str) -> None:
    code = code_of(Call("found", noted, (value,)))
    assert code.splitlines()[-1] == f"found = noted({written})"
    names: dict[str, object] = {"Range": Range, "noted": noted}
    exec("\n".join(line for line in code.splitlines() if "test_recorded_call" not in line), names)
    assert names["found"] == (value,)


def test_other_values_are_refused() -> None:
    with pytest.raises(TypeError, match=r"^a script cannot have <object object at .*> as an argument: give"):
        code_of(Call("found", noted, (object(),)))
