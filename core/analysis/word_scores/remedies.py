"""Remedies: settings with which sentences that have a sign of a bad translation get one without.

Sentences on whose translation a sign fires are translated again, each with all of the following, but those whose
translation is given with neither a length penalty nor a minimum length

    model's own     search, where the translation is given
    length penalty  each of `PENALTIES`
    minimum length  `LEAST_SHARE` of the tokens of the source, where the translation has fewer
    lower case      of a source in capitals, after its first letter
    another word    than each of the first `MOST_WORDS` that its signs are about; the words before it stay
    second model    which judges its own translation, by its own thresholds

A setting mends a sentence if no sign fires on its new translation; one that fired before has to be computed again. What
can be set for a file is also tried on `SAMPLED` sentences without a sign: it harms those on which one fires then. A
translation without a sign is not thereby right.
"""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from core.analysis.declaration import FIRST, PicturedResult
from core.analysis.signs.pair_signs import SignName
from core.analysis.signs.text_signs import in_capitals
from core.analysis.signs.thresholds import SignThresholds
from core.analysis.word_scores.scored_lines import WINDOW, ScoredLine
from core.analysis.word_scores.signed_lines import SignedLine, add_left_out, sign_lines
from core.decoding.constraints import FREE, Constraints, Forbidden
from core.text.byte_pieces import is_special
from core.text.phrases import Number, Phrase, marked
from core.trace import Head
from core.translator import Translator

PENALTIES = (1.0, 1.5, 0.0)
LEAST_SHARE = 0.8
MOST_WORDS = 3
SAMPLED = 50
OWN, ANOTHER_WORD, LOWER_CASE = marked("The model's own search"), marked("Another word"), marked("Source in lower case")
SINGLE = OWN, ANOTHER_WORD, LOWER_CASE  # not tried on sentences without a sign


@dataclass(frozen=True)
class Setting:
    """A setting with which a sentence is translated again."""

    kind: str  # what is counted together, as the subject of a sentence
    label: str  # what is set for this sentence
    length_penalty: float
    constraints: Constraints = FREE
    prefix: tuple[int, ...] = ()  # tokens before the one that is forbidden
    source: str = ""  # written otherwise
    second: str = ""  # name of the second model, if it is one


@dataclass(frozen=True)
class Trial:
    """A sentence translated again with a setting."""

    line: SignedLine  # as it was
    setting: Setting
    after: SignedLine | None  # None if the translation is the same
    outcome: Literal["mended", "harmed", ""]


@dataclass(frozen=True)
class Remedies(PicturedResult):
    """Settings that mend sentences of a file."""

    flagged: Sequence[SignedLine]  # all sentences with a sign
    trials: Sequence[Trial]

    @property
    def first(self) -> Mapping[int, Trial]:
        """The first trial that mends a sentence, by the number of its line."""
        return {each.line.line.number: each for each in reversed(self.trials) if each.outcome == "mended"}

    def table(self) -> Mapping[str, list[Any]]:
        """A row for each kind of setting that mends or harms sentences, of so many without a sign; the best first."""
        numbers = {each.line.number for each in self.flagged}
        rows: list[tuple[Any, ...]] = []
        for kind in dict.fromkeys(each.setting.kind for each in self.trials if each.outcome):
            trials = [each for each in self.trials if each.setting.kind == kind]
            mended = {each.line.line.number for each in trials if each.outcome == "mended"}
            harmed = sum(each.outcome == "harmed" for each in trials)
            sampled = sum(each.line.line.number not in numbers for each in trials)
            rows.append((kind, len(mended), *((None, None) if kind in SINGLE else (harmed, sampled))))
        rows.sort(key=lambda row: (-row[1], row[2] or 0))
        return {name: [row[place] for row in rows] for place, name in enumerate(("setting", "mended", "harmed", "of"))}

    def of_lines(self, lines: Sequence[SignedLine]) -> dict[str, list[Any]]:
        """What mends each of some sentences first, and its translation then; "" where nothing does."""
        found = [self.first.get(each.line.number) for each in lines]
        return {
            "mended_by": [each.setting.label if each else "" for each in found],
            "mended": [each.after.line.target.text if each and each.after else "" for each in found],
        }

    def answer(self, at: Head = FIRST) -> str:
        """Which setting mends most, how many it harms, and how many sentences none mends."""
        total = len(self.flagged)
        values = {"flagged": Number(total, ","), "rest": Number(total - len(self.first), ",")}
        best = next(zip(*self.table().values(), strict=True), None)
        if best is None or not best[1]:
            return Phrase(marked("No setting mends one of the {flagged} sentences with a sign."), **values)
        kind, mended, *harmed = best
        values |= {"setting": kind, "mended": Number(mended, ",")}
        if None in harmed:
            text = marked("{setting} mends {mended} of {flagged} sentences with a sign; mended by no setting: {rest}.")
            return Phrase(text, **values)
        text = marked(
            "{setting} mends {mended} of {flagged} sentences with a sign and harms {harmed} of {sampled} without one; "
            "mended by no setting: {rest}."
        )
        return Phrase(text, harmed=Number(harmed[0], ","), sampled=Number(harmed[1], ","), **values)


def flagged(lines: Sequence[SignedLine], thresholds: SignThresholds) -> list[SignedLine]:
    """Sentences on whose translation a sign fires, in order."""
    return [each for each in lines if each.firing(thresholds)]


def plan(
    lines: Sequence[SignedLine], thresholds: SignThresholds, seconds: Collection[str], length_penalty: float
) -> list[tuple[SignedLine, Setting]]:
    """Which sentences, searched with a length penalty, to try with which settings, and second models by their names."""
    broken = flagged(lines, thresholds)
    clean = [each for each in lines if not each.line.is_given and not each.firing(thresholds)]
    sample = clean[:: math.ceil(len(clean) / SAMPLED) or 1] if broken else []
    searched = [each for each in broken if not each.line.is_given]
    tried = [*searched, *sample] if searched else []
    planned = [(line, Setting(OWN, OWN, length_penalty)) for line in broken if line.line.is_given]
    for value in PENALTIES:
        name = Phrase(marked("Length penalty {value}"), value=Number(value, ".1f"))
        planned += [(line, Setting(name, name, value)) for line in tried]
    for line in tried:
        least = math.ceil(LEAST_SHARE * sum(not is_special(token) for token in line.source_tokens))
        if len(line.line.target.token_ids) - 1 < least:  # without `</s>`
            kind = Phrase(marked("Minimum length {share} of the source"), share=Number(LEAST_SHARE, ".0%"))
            label = Phrase(marked("Minimum length {value}"), value=Number(least, ","))
            planned.append((line, Setting(kind, label, length_penalty, Constraints(min_length=least))))
    for line in broken:
        text = line.line.source
        if in_capitals(text):
            planned.append((line, Setting(LOWER_CASE, LOWER_CASE, length_penalty, source=text.capitalize())))
        token_ids, words = line.line.target.token_ids, line.marked(thresholds)
        for word in [each for each in words if each[0] == "target"][:MOST_WORDS]:
            start = word[1].start
            label = Phrase(marked("Another word than \u201c{word}\u201d"), word=line.texts([word])[0])
            constraints = Constraints(forbidden=(Forbidden(token_ids[start], start),))
            planned.append((line, Setting(ANOTHER_WORD, label, length_penalty, constraints, token_ids[:start])))
    planned += [
        (line, Setting(name, name, length_penalty, second=name)) for name in seconds for line in [*broken, *sample]
    ]
    return planned


def try_settings(
    translator: Translator,
    planned: Sequence[tuple[SignedLine, Setting]],
    thresholds: SignThresholds,
    seconds: Mapping[str, tuple[Translator, SignThresholds]],
    beam_size: int,
) -> Iterator[Trial]:
    """Translate sentences again, each with its setting, in order.

    Raises:
        ValueError: a second model cannot translate a sentence.
    """
    for setting, group in itertools.groupby(planned, key=lambda each: each[1]):
        lines, (judge, limits) = [line for line, _ in group], seconds.get(setting.second, (translator, thresholds))
        for start in range(0, len(lines), WINDOW):
            window = lines[start : start + WINDOW]
            texts = [setting.source or line.line.source for line in window]
            found = judge.translate_batch(
                texts,
                beam_size,
                setting.length_penalty,
                prefixes=[setting.prefix] * len(texts) if setting.prefix else None,
                constraints=setting.constraints,
            )
            changed = [
                ScoredLine(line.line.number, each.source, each.hypotheses[0])
                for line, each in zip(window, found, strict=True)
                if each.text != line.line.target.text
            ]
            signed = {each.line.number: each for each in sign_lines(judge, changed)}
            for line in window:
                after = signed.get(line.line.number)
                if after and "left_out" in line.signs and not after.firing(limits):
                    (after,) = add_left_out(judge, [after])
                fired: list[SignName] = [sign.name for sign in line.firing(thresholds)]
                outcome = ""
                if after and bool(fired) != bool(after.firing(limits)):
                    is_judged = all(name in after.signs and limits[name] is not None for name in fired)
                    outcome = "harmed" if not fired else "mended" if is_judged else ""
                yield Trial(line, setting, after, outcome)
