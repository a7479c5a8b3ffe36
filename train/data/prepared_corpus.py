"""The output folder of `prepare`, checked before training starts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.formats.checkpoint import text_version
from core.model.config import TransformerConfig
from core.text.text_normalization import VERSION
from core.text.tokenizer import SentencePieceTokenizer
from train.data.parallel_text import read_parallel
from train.data.token_shards import DataError, TokenShards, read_manifest, verify_checksums

NUM_SAMPLES = 3
MAX_SAMPLE_CHARACTERS = 300


@dataclass(frozen=True)
class Corpus:
    """The contents of a prepared folder."""

    manifest: dict[str, Any]
    tokenizer: SentencePieceTokenizer
    train: TokenShards
    valid: TokenShards
    samples: dict[int, tuple[str, str]]  # validation pairs whose translations are logged, by their number

    @classmethod
    def open(cls, folder: Path, config: TransformerConfig) -> "Corpus":
        """Open a folder for a model of this configuration.

        Raises:
            DataError: `prepare` did not finish, a file is missing or has changed, or the model has another vocabulary.
        """
        manifest = read_manifest(folder)
        if (version := text_version({"manifest": manifest})) not in range(VERSION + 1):
            raise DataError(
                f"{folder} holds text of text_normalization {version!r:.60}, this Headlight knows up to {VERSION}: "
                f"prepare it again, or use a newer version of Headlight"
            )
        verify_checksums(folder)
        try:
            tokenizer = SentencePieceTokenizer.from_file(folder / "tokenizer.model")
        except (OSError, ValueError) as error:
            raise DataError(f"{folder}/tokenizer.model cannot be read ({error}): prepare it again") from error
        sizes = {
            "the manifest": manifest.get("vocab_size"),
            "the tokenizer": tokenizer.vocab_size,
            "the model": config.vocab_size,
        }
        if len(set(sizes.values())) > 1:
            raise DataError(
                f"vocabularies differ: {', '.join(f'{name} of {folder} has {size}' for name, size in sizes.items())}: "
                f"prepare it again"
            )
        shards = [TokenShards(folder / part) for part in ("train", "valid")]
        for part in shards:
            if part.largest_id() >= config.vocab_size:
                raise DataError(
                    f"{part.folder} has token {part.largest_id()}, but the vocabulary only {config.vocab_size}: "
                    f"prepare it again"
                )
            if part.patch_pixels != (config.patch_size and config.patch_size**2):
                kinds = [
                    f"patches of {pixels} pixels" if pixels else "text"
                    for pixels in (part.patch_pixels, config.patch_size and config.patch_size**2)
                ]
                raise DataError(
                    f"the source of {part.folder} is {kinds[0]}, the model takes {kinds[1]}: train the preset that the "
                    f"data were prepared for"
                )
        return cls(manifest, tokenizer, *shards, samples=_samples(folder, len(shards[1])))

    def note(self) -> str:
        """Return a line on text that is not as a `Translator` encodes it, or nothing."""
        if self.train.patch_pixels or text_version({"manifest": self.manifest}) == VERSION:
            return ""
        return (
            "the data were prepared with white space as it stands in the text, of which translation makes single "
            "spaces: prepare them again, unless there are none at the ends of lines and no double ones"
        )


def _samples(folder: Path, count: int) -> dict[int, tuple[str, str]]:
    """Return a few short ones of `count` validation pairs by their number, evenly spaced over the text."""
    pairs = list(read_parallel([folder / "valid.source.txt"], [folder / "valid.target.txt"]))
    if len(pairs) != count:
        raise DataError(
            f"{folder}/valid.source.txt has {len(pairs)} lines, but {folder}/valid {count} pairs: prepare it again"
        )
    short = [(number, pair) for number, pair in enumerate(pairs) if len(pair[0]) <= MAX_SAMPLE_CHARACTERS]
    return dict(short[:: max(1, len(short) // NUM_SAMPLES)][:NUM_SAMPLES])
