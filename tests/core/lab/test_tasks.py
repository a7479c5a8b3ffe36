"""What small models learn: right pairs, of which some are never trained on."""

import random
import re
from collections.abc import Callable
from datetime import date, timedelta

import pytest

from core.lab.tasks import MAX_VOCABULARY, TASKS, Task, Unit, in_words, own_task

LINES = [f"{number} dogs 😀 run\t{number} Hunde\u3000laufen" for number in range(60)]


def trained(task: Task) -> set[tuple[str, str]]:
    draw, pairs = random.Random(1), set[tuple[str, str]]()
    for _ in range(20):
        sides = [[task.text(row) for row in side.tolist()] for side in task.batch(50, draw)]
        pairs |= {*zip(*sides, strict=True)}
    return pairs


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("reverse", lambda text: "".join(reversed(text))),
        ("copy", lambda text: text),
        ("sort", lambda text: "".join(digit * text.count(digit) for digit in "0123456789")),
        ("dates", lambda text: next(day.isoformat() for day in days(text[-4:]) if in_words(day) == text)),
    ],
)
def test_targets_are_right_and_unseen_sources_are_not_trained_on(name: str, answer: Callable[[str], str]) -> None:
    task = TASKS[name]()
    pairs = trained(task)
    assert all(answer(source) == target for source, target in [*pairs, *task.unseen][:300])
    assert not {source for source, _ in pairs} & {source for source, _ in task.unseen}


def days(year: str) -> list[date]:
    return [date(int(year), 1, 1) + timedelta(number) for number in range(366)]


def test_dates_in_words() -> None:
    assert in_words(date(1987, 5, 3)) == "the third of May 1987"
    assert in_words(date(2001, 12, 31)) == "the thirty-first of December 2001"
    task, texts = TASKS["dates"](), [in_words(day) for day in days("2001")]
    assert len({*texts}) == len(texts)
    assert all(task.text(task.ids(text)) == text and 3 not in task.ids(text) for text in texts)


@pytest.mark.parametrize("unit", ["words", "characters"])
def test_own_pairs_are_text_again_and_a_tenth_stays_unseen(unit: Unit) -> None:
    task = own_task("\n".join([*LINES, "", LINES[0]]), unit)
    assert len(task.unseen) == 6
    pairs = trained(task)
    assert len(pairs) == 54
    assert {*pairs, *task.unseen} == {tuple(line.replace("\u3000", " ").split("\t")) for line in LINES}
    assert len(task.tokens(task.ids("7 dogs 😀 run"))) == {"words": 5, "characters": 13}[unit]


@pytest.mark.parametrize("unit", ["words", "characters"])
def test_strange_tokens_and_those_beyond_the_most_frequent(unit: Unit) -> None:
    rare = ["".join(chr(0x4E00 + 20 * number + each) + " " for each in range(20)) for number in range(200)]
    task = own_task(
        "\n".join(f"{number} \x01 \u2581\u200d\U0010ffff <s>\t{text}" for number, text in enumerate(rare)), unit
    )
    assert task.batch(8, random.Random(1))[0].max() < task.vocab_size <= MAX_VOCABULARY + 5


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*LINES, "no tab"], "line 61 is 'no tab', expected a source, one tab and a target"),
        ([*LINES, "a\t "], "line 61 is 'a\\t ', expected a source, one tab and a target"),
        ([*LINES, "a " * 65 + "\tb"], "line 61 has 65 words on one side, at most 64 are read: shorten it"),
        (LINES * 100, "6,000 lines, at most 5,000 are trained on: leave some out"),
        (LINES[:19] * 2, "19 different sources, at least 20 are needed, so that some stay unseen: add lines"),
    ],
)
def test_refused_pairs(lines: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        own_task("\n".join(lines), "words")
