"""Count the source words that are reported as left out, on made omissions and on correct translations.

python docs/measurements/left_out.py made-errors.en-de.jsonl

A line of the file has `kind` (`correct`, `omission` or others that begin so), `source`, `translation`, and `omitted`:
spans of characters of the source whose translation was cut out. For each threshold and each half of the sentences it
prints the share of correct sentences with a reported word, and recall and precision of content words in the omissions.
See `core.analysis.alignment.left_out`.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from core import Translator
from core.analysis.alignment import left_out
from core.analysis.alignment.left_out import is_content, left_out_words
from core.analysis.tokens.words import text_word_groups, word
from core.results import Explanation

THRESHOLDS = (0.08, 0.1, 0.12, 0.15, 0.2)


def cut_words(translator: Translator, case: dict[str, Any], explanation: Explanation) -> Iterator[range]:
    """Content words of the source whose translation was cut out."""
    spans, tokens = translator.source_spans(case["source"]), explanation.source_tokens
    for place, group in enumerate(text_word_groups(tokens)):
        known = [span for position in group if (span := spans[position]) is not None]
        text = word(tokens[group.start : group.stop])
        if known and is_content(text, place == 0):
            start, stop = known[0][0], known[-1][1]
            if any(first <= start + 1 and stop <= last + 1 for first, last in case["omitted"]):  # a space before it
                yield group


def main() -> None:
    """Print a line for each half and threshold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-de.safetensors"))
    arguments = parser.parse_args()
    translator = Translator.from_checkpoint(arguments.checkpoint)
    halves: list[list[tuple[str, set[range], Explanation]]] = [[], []]
    for line in arguments.cases.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        kind, number = case["kind"].split("_")[0], int(case["id"].rsplit("-", 1)[1])
        if kind in ("correct", "omission") and translator.fits(case["source"]):
            explanation = translator.explain(case["source"], case["translation"])
            cut = set(cut_words(translator, case, explanation))
            halves[number % 2].append((case["kind"], cut, explanation))
    for half, cases in zip(("even", "odd"), halves, strict=True):
        for threshold in THRESHOLDS:
            with patch.object(left_out, "LEAST", threshold):
                reported = [(kind, cut, set(left_out_words(each.maps["cross"]))) for kind, cut, each in cases]
            parts = [f"{half:<4} {threshold:.2f}"]
            for name in ("correct", "correct_wikipedia", "correct_europarl"):
                marked = [bool(found) for kind, _, found in reported if kind == name]
                parts.append(f"{name} {sum(marked) / len(marked):.1%} of {len(marked)}")
            made = [(cut, found) for kind, cut, found in reported if kind.startswith("omission")]
            hits, words = sum(len(cut & found) for cut, found in made), sum(len(cut) for cut, _ in made)
            precision = hits / max(1, sum(len(found) for _, found in made))
            parts.append(f"omissions: recall {hits / words:.0%} of {words} words, precision {precision:.0%}")
            print(", ".join(parts), flush=True)


if __name__ == "__main__":
    main()
