"""How well the signs of a bad translation tell bad translations from others, on two files of labelled pairs.

    python -m benchmarks.signs --made made-errors.en-de.jsonl --natural mlqe-pe-test21.en-de.jsonl [--checkpoint FILE]

`--made` has a JSON object a line: `kind`, `origin`, `source`, `translation`, and `omitted`, spans of characters of the
source that are not translated. Kinds that begin with `correct` are undamaged; `correct_wikipedia` are those that
post-editors left unchanged. `--natural` has `source`, `translation` and `hter`, the edit rate of a post-edit.

For each sign: AUROC against undamaged pairs of the same origin, and the share of pairs on which it fires at the
thresholds of the checkpoint. For ordinary errors: AUROC of each sign for a sentence with any edit.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from benchmarks import ratios
from benchmarks.capture import SHIPPED
from core import Translator
from core.analysis.signs.left_out import left_out_sign, span_values
from core.analysis.signs.pair_signs import SIGNS, ForcedPair, Sign, SignName, forced_pairs, signs_of
from core.analysis.signs.thresholds import load_thresholds, thresholds_beside
from core.analysis.tokens.words import spelled_words
from core.files.file_writing import file_digest

WINDOW = 16
UNDAMAGED = {"tatoeba": "correct", "europarl100": "correct_europarl"}  # by origin; others are correct_wikipedia
CORRECT = ("correct_wikipedia", "correct", "correct_europarl")
FLOORS: dict[tuple[SignName, str], float] = {
    ("detached", "detached"): 0.99,
    ("detached", "detached_wikipedia"): 0.99,
    ("repetition", "repetition"): 0.99,
    ("numbers", "number"): 0.95,
}
WORD_FLOOR, MOST_FALSE = 0.84, 0.05
PAIRS: list[tuple[SignName, str]] = [*FLOORS, ("doubtful", "name"), ("doubtful", "number"), ("left_out", "omission")]


@dataclass(frozen=True)
class Measured:
    """A labelled pair with its signs; `word_values` are those of source words in `left_out`, by their first token."""

    case: Mapping[str, Any]
    pair: ForcedPair
    signs: Mapping[SignName, Sign]
    word_values: Mapping[int, float]


def read(path: Path, most: int | None) -> list[dict[str, Any]]:
    """Read JSON objects, one a line; at most so many of each kind."""
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    counts: dict[str, int] = defaultdict(int)
    kept: list[dict[str, Any]] = []
    for case in cases:
        kind = case.get("kind", "")
        counts[kind] += 1
        if most is None or counts[kind] <= most:
            kept.append(case)
    return kept


def measured(
    translator: Translator, cases: Sequence[dict[str, Any]], left_out_kinds: Collection[str]
) -> Iterator[Measured]:
    """Measure the signs of labelled pairs; `left_out` of some kinds only, as it takes longest."""
    for start in tqdm(range(0, len(cases), WINDOW), file=sys.stderr):
        window = cases[start : start + WINDOW]
        pairs = forced_pairs(translator, [(case["source"], case["translation"]) for case in window])
        for case, pair in zip(window, pairs, strict=True):
            signs, words = dict(signs_of(pair)), dict[int, float]()
            if case.get("kind", "") in left_out_kinds:
                values = list(span_values(translator, case["source"], case["translation"]))
                signs["left_out"] = left_out_sign(pair.source_tokens, iter(values))
                for span, value in values:
                    for group, _ in spelled_words(pair.source_tokens):
                        if group.start in span:
                            words[group.start] = max(words.get(group.start, value), value)
            yield Measured(case, pair, signs, words)


def auroc(bad: Sequence[float], good: Sequence[float]) -> float:
    """Share of pairs of a bad and a good one in which the bad one has the larger value; ties count one half."""
    first, second = torch.tensor(bad)[:, None], torch.tensor(good)[None]
    return ((first > second).double() + (first == second).double() / 2).mean().item()


def omitted_words(translator: Translator, each: Measured) -> tuple[list[float], list[float]]:
    """Values of the source words that were left out, and of the others."""
    spans = translator.codec.source_spans(each.case["source"])
    bad, good = list[float](), list[float]()
    for start, value in each.word_values.items():
        place = spans[start]
        inside = place is not None and any(first <= place[0] < last for first, last in each.case["omitted"])
        (bad if inside else good).append(value)
    return bad, good


def main() -> int:
    """Print the tables; return 1 if a floor is missed."""
    parser = ratios.parser(__doc__)
    parser.add_argument("--made", type=Path, required=True)
    parser.add_argument("--natural", type=Path)
    parser.add_argument("--checkpoint", type=Path, default=SHIPPED, help="instead of the shipped one")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--most", type=int, help="pairs of each kind: shows that it works")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    translator = Translator.from_checkpoint(arguments.checkpoint)
    thresholds = load_thresholds(thresholds_beside(arguments.checkpoint), file_digest(arguments.checkpoint))
    print(f"{arguments.checkpoint.name}, {ratios.processor()}; thresholds from {thresholds.sentences} sentences")
    by_kind: dict[str, list[Measured]] = defaultdict(list)
    leave_out = ("correct_europarl", "correct_wikipedia", "omission")
    for each in measured(translator, read(arguments.made, arguments.most), leave_out):
        by_kind[each.case["kind"]].append(each)
    missed: list[str] = []

    print("\nsign | damaged pairs | AUROC | floor | fires on them")
    for name, kind in PAIRS:
        bad = by_kind[kind]
        origins = {UNDAMAGED.get(each.case["origin"], "correct_wikipedia") for each in bad}
        good = [each for origin in sorted(origins) for each in by_kind[origin]]
        value = auroc([each.signs[name].value for each in bad], [each.signs[name].value for each in good])
        floor = FLOORS.get((name, kind))
        fires = sum(each.signs[name].fires(thresholds[name]) for each in bad) / len(bad)
        print(f"{name} | {kind}, {len(bad)} | {value:.3f} | {floor or ''} | {fires:.0%}")
        if floor and value < floor:
            missed.append(f"{name}, {kind}")
    words = [omitted_words(translator, each) for each in by_kind["omission"]]
    value = auroc([each for bad, _ in words for each in bad], [each for _, good in words for each in good])
    print(f"left_out | source words of omissions, {sum(len(bad) for bad, _ in words)} | {value:.3f} | {WORD_FLOOR} |")
    if value < WORD_FLOOR:
        missed.append("left_out, words")

    print(f"\nsign | threshold | fires on undamaged pairs: wikipedia (at most {MOST_FALSE:.0%}) | tatoeba | europarl")
    for name in SIGNS:
        shares = {
            kind: sum(each.signs[name].fires(thresholds[name]) for each in by_kind[kind]) / len(by_kind[kind])
            for kind in CORRECT
            if all(name in each.signs for each in by_kind[kind])
        }
        shown = " | ".join(f"{shares[kind]:.1%}" if kind in shares else "" for kind in CORRECT)
        print(f"{name} | {thresholds[name]:.3f} | {shown}")
        if shares["correct_wikipedia"] > MOST_FALSE:
            missed.append(f"{name}, undamaged")

    if arguments.natural:
        natural = list(measured(translator, read(arguments.natural, arguments.most), ()))
        print("\nordinary errors: sign | AUROC of sentences with an edit | fires with an edit | without")
        bad, good = ([each for each in natural if (each.case["hter"] > 0) == wrong] for wrong in (True, False))
        for name in SIGNS[:-1]:
            values = [[each.signs[name].value for each in part] for part in (bad, good)]
            fires = [sum(each.signs[name].fires(thresholds[name]) for each in part) / len(part) for part in (bad, good)]
            print(f"{name} | {auroc(*values):.3f} | {fires[0]:.1%} | {fires[1]:.1%}")
        means = [[-sum(each.pair.log_probs) / len(each.pair.log_probs) for each in part] for part in (bad, good)]
        print(f"(mean log-probability alone | {auroc(*means):.3f} | |)")
    print(f"\n{'missed: ' + '; '.join(missed) if missed else 'no floor is missed'}")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
