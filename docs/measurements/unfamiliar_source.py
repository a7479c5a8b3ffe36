"""Count how often a source gets the note that it is unlike the model's language.

python docs/measurements/unfamiliar_source.py --ordinary test.en.xz --other test.de.xz

Prints the share of noted sentences for each file, and for emoji and random letters. See
`core.analysis.unfamiliar_source`.
"""

import argparse
import random
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from string import ascii_lowercase

from core import Translator
from core.analysis.unfamiliar_source import source_familiarity
from train.data.parallel_text import read_lines

EMOJI = [chr(code) for code in (*range(0x1F600, 0x1F640), *range(0x1F400, 0x1F440))]


def noted(translator: Translator, texts: Sequence[str]) -> float:
    """Share of texts with a note."""
    notes = [source_familiarity(translator, each) for each in translator.translate_batch(texts)]
    return sum(each.is_unknown or each.is_copied for each in notes) / len(notes)


def main() -> None:
    """Print a line for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-de.safetensors"))
    parser.add_argument("--ordinary", type=Path, nargs="+", required=True, help="sentences of the source language")
    parser.add_argument("--other", type=Path, nargs="+", required=True, help="sentences of other languages")
    parser.add_argument("--count", type=int, default=300, help="use the first of each file (default: %(default)s)")
    arguments = parser.parse_args()
    translator = Translator.from_checkpoint(arguments.checkpoint)
    for name in ("ordinary", "other"):
        for path in getattr(arguments, name):
            lines = (line for line in read_lines(path) if line.strip() and translator.fits(line))
            texts = list(islice(lines, arguments.count))
            print(f"{name} {path.name} {len(texts)} sentences: {noted(translator, texts):.1%}", flush=True)
    draw = random.Random(1)
    emoji = ["".join(draw.choices(EMOJI, k=draw.randint(1, 8))) for _ in range(100)]
    letters = [
        " ".join("".join(draw.choices(ascii_lowercase, k=draw.randint(2, 9))) for _ in range(draw.randint(3, 9)))
        for _ in range(200)
    ]
    print(f"noise emoji: {noted(translator, emoji):.1%}")
    print(f"noise random letters: {noted(translator, letters):.1%}")


if __name__ == "__main__":
    main()
