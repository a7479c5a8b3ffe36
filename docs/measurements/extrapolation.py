"""Train small models to reverse letters, and ask them for longer texts than they were trained on (3.5).

    python docs/measurements/extrapolation.py FOLDER -o docs/measurements/extrapolation.csv
    python docs/measurements/extrapolation.py --score checkpoints/reverse-learned.safetensors --record

"We chose the sinusoidal version because it may allow the model to extrapolate to sequence lengths longer than the ones
encountered during training" (3.5): the presets `reverse`, with sinusoids, and `reverse-learned` see 1 to 10 letters,
and are asked for 1 to 20; `reverse-r4` has sinusoids, and self-attention to the 4 nearest positions (4). The texts and
the runs of `train` lie in FOLDER, so that a second call goes on. One run takes one core a minute and a half.
"""

import argparse
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from core.analysis.csv_output import write_csv
from core.model.preset_configs import PRESETS
from core.translator import Translator
from train.card import record_scores

LETTERS = "abcdefghij"
TRAINED, ASKED = 10, 20  # letters, at most
PAIRS = {"train": 20_000, "valid": 200}
TEXTS = 200  # of each length that the models are asked for
KINDS = ("reverse", "reverse-learned", "reverse-r4")


@dataclass(frozen=True)
class ExactScore:
    """Share of texts that a model reversed without an error, in per cent."""

    test_set: str
    sentences: int
    exact_texts: float
    beam_size: int = 1

    def facts(self) -> dict[str, object]:
        """Return the score as checkpoints record it."""
        return vars(self)


def texts_of(length: int, count: int, draw: random.Random) -> list[str]:
    """Return random letters with spaces between them, so that each is one token."""
    return [" ".join(draw.choices(LETTERS, k=length)) for _ in range(count)]


def prepare(folder: Path) -> None:
    """Write the texts and what `train prepare` makes of them."""
    folder.mkdir(parents=True, exist_ok=True)
    files: list[str | Path] = []
    draw = random.Random(0)
    for part, count in PAIRS.items():
        texts = [texts_of(draw.randint(1, TRAINED), 1, draw)[0] for _ in range(count)]
        for side, lines in (("source", texts), ("target", [text[::-1] for text in texts])):
            path = folder / f"{part}.{side}"
            path.write_text("\n".join(lines) + "\n", "utf-8")
            files += [f"--{'valid-' * (part == 'valid')}{side}", path]
    run("prepare", folder / "data", "--vocab-size", PRESETS["reverse"].vocab_size, *files)


def run(*arguments: object) -> None:
    """Run a command of `train`."""
    subprocess.run([sys.executable, "-m", "train", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def trained(folder: Path, preset: str, seed: int) -> Path:
    """Return a checkpoint, trained unless it is there."""
    name = f"{preset}-{seed}"
    path = folder / f"{name}.safetensors"
    if not path.exists():
        run("fit", preset, "--data", folder / "data", "--run", folder / name, "--seed", seed)
        run("average", folder / name, "--last", 1, "--half", "-o", path)
    return path


def exact(path: Path, lengths: Sequence[int]) -> list[float]:
    """Return the share of texts of each length that a model reverses without an error, by greedy search."""
    model, shares = Translator.from_checkpoint(path, "cpu"), list[float]()
    for length in lengths:
        texts = texts_of(length, TEXTS, random.Random(length))
        found = model.translate_batch(texts, beam_size=1)
        shares.append(sum(each.text == text[::-1] for each, text in zip(found, texts, strict=True)) / TEXTS)
    return shares


def main() -> None:
    """Train and measure, or score one checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("folder", type=Path, nargs="?", help="of texts and runs")
    what.add_argument("--score", type=Path, metavar="FILE", help="a checkpoint, to count its exact answers")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("-o", "--output", type=Path, help="the CSV file (default: standard output)")
    parser.add_argument("--record", action="store_true", help="add the scores to the checkpoint's training facts")
    options = parser.parse_args()
    lengths = range(1, ASKED + 1)
    if options.score:
        shares = exact(options.score, lengths)
        parts = {f"1 to {TRAINED} letters": shares[:TRAINED], f"{TRAINED + 1} to {ASKED} letters": shares[TRAINED:]}
        scores = [ExactScore(name, TEXTS * len(part), round(100 * mean(part), 1)) for name, part in parts.items()]
        print(*scores, sep="\n")
        if options.record:
            record_scores(options.score, scores)
        return
    prepare(options.folder)
    rows = [
        (preset, seed, length, length <= TRAINED, share)
        for seed in options.seeds
        for preset in KINDS
        for length, share in zip(lengths, exact(trained(options.folder, preset, seed), lengths), strict=True)
    ]
    table = dict(zip(("preset", "seed", "letters", "in_training", "exact"), zip(*rows, strict=True), strict=True))
    if options.output:
        with options.output.open("w", encoding="utf-8") as output:
            write_csv(table, output)
    else:
        write_csv(table)


if __name__ == "__main__":
    main()
