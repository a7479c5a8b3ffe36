"""What a newcomer's first minutes of training come to: BLEU, and translations that repeat themselves.

    python -m benchmarks.first_training --data FOLDER --source FILE --target FILE [--preset multi30k] [--minutes 10]
        [FIT OPTION ...]

Runs `fit` for some minutes on text of `prepare`, from random parameters, then translates a test set with the last
snapshot. Prints the steps, sacreBLEU with its signature, and the share of translations in which three words in a row
occur twice. More options are those of `fit`, such as `--schedule constant --seed 2`; with `--steps` and `--minutes 0` a
busy machine comes to the same.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import ratios
from core.files.strict_json import json_object


def repeats_a_trigram(text: str) -> bool:
    """Whether three words in a row occur twice."""
    words = text.split()
    trigrams = list(zip(words, words[1:], words[2:], strict=False))
    return len(set(trigrams)) < len(trigrams)


def main() -> None:
    """Train, translate and print."""
    parser = ratios.parser(__doc__)
    for name in ("data", "source", "target"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--preset", default="multi30k")
    parser.add_argument("--minutes", type=float, default=10.0, help="of training")
    arguments, fit_options = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        run, train = Path(folder), [sys.executable, "-m", "train"]
        minutes = ["--minutes", str(arguments.minutes)] if arguments.minutes else []
        text = ["--data", str(arguments.data), "--run", str(run), *minutes, *fit_options]
        subprocess.run([*train, "fit", arguments.preset, *text], check=True)
        snapshot = max(run.glob("snapshots/*.safetensors"))
        test = ["--source", str(arguments.source), "--target", str(arguments.target), "--name", "test"]
        command = [*train, "evaluate", str(snapshot), *test, "--write", str(run / "texts"), "--json"]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        texts = (run / "texts" / "test.txt").read_text(encoding="utf-8").splitlines()
    repeated = sum(map(repeats_a_trigram, texts)) / len(texts)
    scores = json_object(f'{{"scores": {output[output.index("[") :]}}}'.encode())["scores"][0]
    print(f"{snapshot.stem}: BLEU {scores['bleu']} ({scores['bleu_signature']}), {repeated:.1%} repeat a trigram")


if __name__ == "__main__":
    main()
