"""Remedies: settings that mend, harm or change nothing, of a translator whose translations are known."""

from collections.abc import Sequence
from typing import Any

import pytest

from core.analysis.signs.pair_signs import SIGNS, MarkedWord, Sign, SignName
from core.analysis.signs.thresholds import UNMEASURED, SignThresholds, Threshold
from core.analysis.word_scores import remedies
from core.analysis.word_scores.remedies import Remedies, flagged, plan, try_settings
from core.analysis.word_scores.scored_lines import ScoredLine
from core.analysis.word_scores.signed_lines import SignedLine
from core.decoding.constraints import Constraints
from core.results import ScoredText, Translation

LIMITS = SignThresholds({name: Threshold(1.0, 8, 0.0) for name in SIGNS}, "a sample", 8)
LONG = "f g h i j k"


def scored(target: str) -> ScoredText:
    tokens = (*(f"\u2581{word}" for word in target.split()), "</s>")
    return ScoredText(target, tuple(range(len(tokens))), tokens, (-1.0,) * len(tokens), -1.0)


def with_signs(line: ScoredLine, name: SignName = "repetition") -> SignedLine:
    """A sentence that has a sign for each word *bad*."""
    bad = [place for place, word in enumerate(line.target.text.split()) if word == "bad"]
    marks = tuple(MarkedWord(("target", range(place, place + 1)), 1.0) for place in bad)
    tokens = (*(f"\u2581{word}" for word in line.source.split()), "</s>")
    return SignedLine(line, tokens, {name: Sign(name, len(bad), marks)})


class Known:
    """A translator that translates by a table: what a setting is not in it for, as before."""

    def __init__(self, before: dict[str, str], after: dict[tuple[str, object], str]) -> None:
        self.before, self.after = before, after

    def translate_batch(
        self, texts: Sequence[str], beam_size: int, penalty: float, prefixes: Any, constraints: Constraints
    ) -> list[Any]:
        setting = constraints.forbidden or constraints.min_length or penalty
        kept = tuple(range(constraints.forbidden[0].position or 0)) if constraints.forbidden else ()
        assert prefixes == ([kept] * len(texts) if kept else None)
        found = [self.after.get((text, setting)) or self.before[text] for text in texts]
        return [Translation(text, (), (scored(target),)) for text, target in zip(texts, found, strict=True)]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Remedies:
    monkeypatch.setattr(remedies, "sign_lines", lambda _, lines: map(with_signs, lines))
    before = {
        "a": "bad one",
        "b": "a bad two",
        "c": "bad bad",
        "d": "fine",
        "e": "good",
        LONG: "short",
        "NO WAY": "bad",
    }
    after: dict[tuple[str, object], str] = {
        ("a", 1.0): "good one",
        ("a", 0.0): "bad two",
        ("b", ((1, 1),)): "a good two",
        ("d", 1.0): "bad",
        ("d", 1.5): "finer",
        (LONG, 5): "a bad long long one",
        ("No way", 0.6): "nice",
    }
    first: Any = Known({**before, "given": "mine"}, after)
    second: Any = Known(dict.fromkeys([*before, "given"], "good"), {("b", 0.6): "bad"})
    lines = [with_signs(ScoredLine(number, text, scored(before[text]))) for number, text in enumerate(before, start=1)]
    lines.append(with_signs(ScoredLine(8, "given", scored("bad"), is_given=True)))
    planned = plan(lines, LIMITS, ["other"], 0.6)
    found = [*try_settings(first, planned, LIMITS, {"other": (second, LIMITS)}, 4)]
    assert [(each.line, each.setting) for each in found] == planned
    return Remedies(flagged(lines, LIMITS), found)


def test_what_a_setting_mends_and_harms_is_counted_and_what_changes_nothing_is_not(tried: Remedies) -> None:
    rows = [*zip(*tried.table().values(), strict=True)]
    assert rows == [
        ("other", 4, 0, 3),
        ("Another word", 2, None, None),
        ("The model's own search", 1, None, None),
        ("Source in lower case", 1, None, None),
        ("Length penalty 1.0", 1, 1, 3),
        ("Minimum length 80% of the source", 0, 1, 1),
    ]
    assert {number: each.setting.label for number, each in tried.first.items()} == {
        1: "Length penalty 1.0",
        2: "Another word than \u201cbad\u201d",
        3: "other",
        7: "Source in lower case",
        8: "The model's own search",
    }
    assert tried.of_lines(tried.flagged)["mended"] == ["good one", "a good two", "good", "nice", "mine"]
    said = "other mends 4 of 5 sentences with a sign and harms 0 of 3 without one; mended by no setting: 0."
    assert tried.answer() == said


def test_a_sign_that_is_not_judged_is_not_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second model without thresholds of its own knows the signs of the texts alone, which *doubtful* is not."""
    monkeypatch.setattr(remedies, "sign_lines", lambda _, lines: [with_signs(each, "doubtful") for each in lines])
    line = with_signs(ScoredLine(1, "a", scored("bad")), "doubtful")
    first: Any = Known({"a": "bad"}, {("a", ((0, 0),)): "good"})
    second: Any = Known({"a": "good"}, {})
    found = [*try_settings(first, plan([line], LIMITS, ["other"], 0.6), LIMITS, {"other": (second, UNMEASURED)}, 4)]
    assert [each.outcome for each in found if each.after] == ["mended", ""]
    assert Remedies([line], found).answer().startswith("Another word mends 1 of 1 sentences with a sign; mended by no")
    assert Remedies([line], found[-1:]).answer() == "No setting mends one of the 1 sentences with a sign."
