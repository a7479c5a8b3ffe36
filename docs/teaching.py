"""The answers of docs/teaching.md for the shipped model: python -m docs.teaching [SENTENCE ...]"""

import sys
from collections.abc import Iterable

from core.analysis.exercises import EXERCISES, Opened
from core.translator import Translator

SENTENCES = (
    "The animal didn't cross the street because it was too tired.",
    "We could not find the key that you had given us.",
)


def answers(translator: Translator, sentences: Iterable[str]) -> str:
    """A table of right answers for each sentence, with the numbers that decide, in Markdown."""
    parts = list[str]()
    for sentence in sentences:
        hypothesis = translator.translate(sentence).hypotheses[0]
        opened = Opened(translator.explain(sentence, hypothesis), translator, hypothesis.token_ids)
        rows = [f"**{sentence}** {hypothesis.text}", "", "| | exercise | right | because |", "|---|---|---|---|"]
        for number, each in enumerate(EXERCISES.values(), 1):
            right, because = "\u2013", each.refusal(opened)
            if because is None:
                measured, options = each.measure(opened), each.options(opened)
                right, because = ", ".join(options[name] for name in measured.right), measured.says
            rows.append(f"| {number} | {each.title} | {right} | {because} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(answers(Translator.from_checkpoint("en-de"), sys.argv[1:] or SENTENCES))
