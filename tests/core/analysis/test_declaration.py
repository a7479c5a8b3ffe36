"""A declaration makes the command of an analysis: arguments, checks, table and message."""

import argparse
from dataclasses import dataclass
from typing import Literal, get_args, get_type_hints

import pytest

from core.analysis.declaration import Analysis, Columns, PicturedResult, option
from core.analysis.subject import MODEL, NOTHING, SENTENCE, Sentence, Subject
from core.cli.commands import ANALYSES
from core.files.number_range import NumberRange


@dataclass(frozen=True)
class Options:
    """One option of each kind."""

    count: int = option(help="how many", metavar="N", type=NumberRange(int, 1, note="the number of rows"))
    names: tuple[str, ...] = option(("a",), "several")
    is_short: bool = option(False, "a flag")
    mode: Literal["one", "two"] = option("one", "a choice")
    limit: float | None = option(None, "a number or nothing")
    first: int | None = option(None, group="either")
    second: int | None = option(None, group="either")
    layer: int = option(0, from_1=True)
    doubled: str | None = option(None, type=int, parse=lambda value: str(2 * value))
    read: str | None = option(None, read=lambda about, value: f"{value} of {about[0]}")


@dataclass(frozen=True)
class Found:
    """The options, as a table of one row."""

    options: Options

    def table(self) -> Columns:
        return {name: [value] for name, value in vars(self.options).items()}

    def summary(self) -> str:
        return f"{self.options.count} rows"


OF_A_NAME = Subject(lambda parser: parser.add_argument("--about") and None, lambda options: (options.about,))
ANALYSIS = Analysis("try", "try the options", lambda about, options: Found(options), Options, OF_A_NAME)


def run(arguments: list[str], analysis: Analysis = ANALYSIS) -> None:
    parser = argparse.ArgumentParser()
    analysis.add_arguments(parser)
    analysis.run(parser.parse_args(arguments))


def test_the_arguments_are_the_fields(capsys: pytest.CaptureFixture[str]) -> None:
    given = (
        "--about it --count 2 --names b c --is-short --mode two --limit 0.5 --layer 3 --first 1 --doubled 4 --read word"
    )
    run(given.split())
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "count,names,is_short,mode,limit,first,second,layer,doubled,read",
        "2,\"('b', 'c')\",True,two,0.5,1,,2,8,word of it",
    ]
    assert printed.err == "2 rows\n"


def test_what_is_not_given_has_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    run(["--count", "1"])
    assert capsys.readouterr().out.splitlines()[1] == "1,\"('a',)\",False,one,,,,0,,"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: --count"),
        (["--count", "1", "--mode", "three"], "argument --mode: invalid choice: 'three'"),
        (["--count", "1", "--first", "1", "--second", "2"], "--second: not allowed with argument --first"),
        (["--count", "0"], "argument --count: 0 must be an integer from 1 to 10^15: the number of rows"),
        (["--count", "1", "--layer", "0"], "argument --layer: 0 must be an integer from 1 to 10^15: it is counted fro"),
    ],
)
def test_what_argparse_refuses(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(arguments)
    assert message in capsys.readouterr().err


@dataclass(frozen=True)
class Both:
    """An option that the subject has, too."""

    beam_size: int = option(4)


def test_an_option_of_the_subject_is_shared(capsys: pytest.CaptureFixture[str]) -> None:
    found: list[Both] = []

    def function(*about: object) -> Found:
        found.append(about[-1])  # type: ignore[arg-type]
        return Found(Options(count=1))

    subject = Subject(SENTENCE.add_arguments, lambda options: Sentence(None, options.text, ""))  # type: ignore[arg-type]
    run(["--checkpoint", "x", "--text", "a", "--beam-size", "2"], Analysis("try", "", function, Both, subject))
    assert found == [Both(beam_size=2)]


def test_a_group_that_must_be_chosen_from(capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass(frozen=True)
    class Choice:
        one: int | None = option(None, group="what!")
        other: int | None = option(None, group="what!")

    with pytest.raises(SystemExit):
        run([], Analysis("try", "", lambda options: Found(options), Choice, NOTHING))
    assert "one of the arguments --one --other is required" in capsys.readouterr().err


def test_subjects_have_their_arguments() -> None:
    for subject, names in ((NOTHING, []), (MODEL, ["checkpoint"])):
        parser = argparse.ArgumentParser()
        subject.add_arguments(parser)
        assert [action.dest for action in parser._actions if action.dest != "help"] == names


@pytest.mark.parametrize("analysis", ANALYSES, ids=lambda analysis: analysis.name)
def test_every_result_has_its_answer(analysis: Analysis) -> None:
    found = get_type_hints(analysis.function)["return"]
    assert [each for each in get_args(found) or (found,) if not issubclass(each, PicturedResult)] == []
