"""Count how often a source gets the note that it is unlike the model's language.

python docs/measurements/unfamiliar_source.py test.en.xz test.de.xz

Prints the share of noted sentences for each file. See `core.analysis.unfamiliar_source`.
"""

import argparse
from itertools import islice
from pathlib import Path

from core.analysis.corpus.index_file import index_beside
from core.analysis.unfamiliar_source import language_by_index
from core.files.file_writing import file_digest
from core.translator import Translator
from train.data.parallel_text import read_lines


def main() -> None:
    """Print a line for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="sentences, one per line")
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-de.safetensors"))
    parser.add_argument("--count", type=int, default=1500, help="use the first of each file (default: %(default)s)")
    arguments = parser.parse_args()
    checkpoint: Path = arguments.checkpoint
    translator = Translator.from_checkpoint(checkpoint)
    language = language_by_index(index_beside(checkpoint), file_digest(checkpoint), translator)
    assert language is not None
    print(f"strangest: {language.strangest:.2f} nats per letter")
    for path in arguments.files:
        texts = list(islice((line for line in read_lines(path) if line.strip()), arguments.count))
        print(f"{path.name} {len(texts)} sentences: {sum(map(language.is_other, texts)) / len(texts):.1%}", flush=True)


if __name__ == "__main__":
    main()
