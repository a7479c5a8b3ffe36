"""How often signs fire on sentences with right translations: on a model's own translations, and on the right ones.

A sign that fires on right translations of people says little of a translation that is not the model's own. The signs of
the texts alone are counted on all right translations; what needs the model on some pairs at equal distances, and
left-out words, which take some 50 passes, on each fifth of these.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from core.analysis.signs.left_out import left_out
from core.analysis.signs.pair_signs import SIGNS, Pair, SignName, pair_signs
from core.analysis.signs.text_signs import MEASURES, TEXT_SIGNS
from core.text.text_files import read_text, split_lines
from core.translator import Translator

SAMPLED = 100  # pairs of a set
LEFT_OUT_STEP = 5
WINDOW = 16  # pairs that are computed together


class Count(NamedTuple):
    """Translations on which a sign fires, of so many."""

    fired: int
    translations: int


class Rate(NamedTuple):
    """How often a sign fires on the model's own translations of a set, and on the right ones."""

    own: Count
    right: Count


Rates = Mapping[SignName, Rate]


def rate_steps(
    translator: Translator,
    limits: Mapping[SignName, float | None],
    pairs: Sequence[tuple[str, str]],
    most: int = SAMPLED,
) -> Iterator[int | Rates]:
    """Measure on right translations how often signs fire: yields numbers of pairs that are done, and the rates last.

    What needs the model is measured on the first `most` pairs.

    Raises:
        ValueError: as `Translator.score`.
    """
    sampled = [pairs[place * len(pairs) // most] for place in range(most)] if len(pairs) > most else pairs
    fired: dict[SignName, tuple[list[bool], list[bool]]] = {name: ([], []) for name in SIGNS}
    for start in range(0, len(sampled), WINDOW):
        window = sampled[start : start + WINDOW]
        own = translator.translate_batch([source for source, _ in window])
        sides: list[list[Pair]] = [[(each.source, each.hypotheses[0].token_ids) for each in own], [*window]]
        for side, given in enumerate(sides):
            for place, (each, signs) in enumerate(zip(given, pair_signs(translator, given), strict=True), start):
                found = dict(signs)
                if place % LEFT_OUT_STEP == 0:
                    with suppress(ValueError):  # too long
                        found["left_out"] = left_out(translator, *each)
                for name, sign in found.items():
                    fired[name][side].append(sign.fires(limits[name]))
        yield len(window)
    for name in TEXT_SIGNS:
        values = (MEASURES[name](*pair).value for pair in pairs)
        limit = limits[name]
        fired[name][1][:] = [limit is not None and value >= limit for value in values]
    yield {name: Rate(*(Count(sum(side), len(side)) for side in sides)) for name, sides in fired.items()}


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Sentences with right translations, a tab between.

    Raises:
        ValueError: a line has something else.
        OSError: the file cannot be read.
    """
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(split_lines(read_text(path)), start=1):
        columns = [column.strip() for column in line.split("\t")]
        if any(columns):
            if len(columns) != 2 or not all(columns):
                raise ValueError(
                    f"{path.name}: line {number} has {len([*filter(None, columns)])} texts, expected a sentence, a tab "
                    f"and its right translation"
                )
            pairs.append((columns[0], columns[1]))
    return pairs


def read_rates(content: Any) -> Rates:
    """The rates on a set, as a file has them.

    Raises:
        KeyError, TypeError, ValueError: it is damaged.
    """
    return {name: Rate(*(Count(*map(int, side)) for side in content[name])) for name in SIGNS}
