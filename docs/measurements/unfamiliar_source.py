"""Count how often a source gets the note that it is unlike the model's language.

python docs/measurements/unfamiliar_source.py test.en.xz test.de.xz

Prints the share of noted sentences for each file. See `core.analysis.unfamiliar_source`.
"""

import argparse
from itertools import islice
from pathlib import Path

from core.analysis.corpus.cli import index_beside
from core.analysis.corpus.index_file import load_index
from core.analysis.unfamiliar_source import SourceLanguage
from core.formats.checkpoint import load_checkpoint
from train.data.parallel_text import read_lines


def source_language(checkpoint: Path) -> SourceLanguage:
    """The language of a checkpoint's sources, by the index beside it."""
    sentences = load_index(index_beside(checkpoint)).sentences
    decode = load_checkpoint(checkpoint).tokenizer.target.decode
    return SourceLanguage([each.source for each in sentences], (decode(list(each.target)) for each in sentences))


def main() -> None:
    """Print a line for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="sentences, one per line")
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-de.safetensors"))
    parser.add_argument("--count", type=int, default=1500, help="use the first of each file (default: %(default)s)")
    arguments = parser.parse_args()
    language = source_language(arguments.checkpoint)
    print(f"strangest: {language.strangest:.2f} nats per letter")
    for path in arguments.files:
        texts = list(islice((line for line in read_lines(path) if line.strip()), arguments.count))
        print(f"{path.name} {len(texts)} sentences: {sum(map(language.is_other, texts)) / len(texts):.1%}", flush=True)


if __name__ == "__main__":
    main()
