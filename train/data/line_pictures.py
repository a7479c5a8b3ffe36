"""Pictures of lines of text with their characters, for a model that reads (7).

Everything is drawn from the seed: the same command makes the same data with the same versions of Matplotlib's fonts and
of Pillow.
"""

import shutil
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from core.files.file_writing import write_text, writing
from core.files.number_range import FROM_1
from core.files.strict_json import readable_json
from core.formats.checkpoint import load_checkpoint
from core.images import rendering
from core.images.patches import Pixels, to_patches
from core.images.picture import PictureError, ink
from core.text.tokenizer import SPACE_MARK, SentencePieceTokenizer, Tokenizer
from train.data.shard_writer import ShardWriter
from train.data.token_shards import MANIFEST, DataError, TokenShards, read_manifest, verify_checksums, write_checksums

CHUNK = 5_000  # lines in memory at once
SAMPLES = ("source", "target")


@dataclass(frozen=True)
class PicturePart:
    """Lines of a folder: their number, fonts, and the words of their texts."""

    name: str
    lines: int
    fonts: tuple[str, ...]
    held_out_words: bool


def parts_of(train: int, held_out: int) -> tuple[PicturePart, ...]:
    """Return the parts of the data; the last two are test sets, of seen and of unseen fonts."""
    return (
        PicturePart("train", train, rendering.TRAINING_FONTS, False),
        PicturePart("valid", held_out, rendering.TRAINING_FONTS, True),
        PicturePart("test", held_out, rendering.TRAINING_FONTS, True),
        PicturePart("test-font", held_out, rendering.HELD_OUT_FONTS, True),
    )


def prepare_lines(
    folder: Path, words_from: Path, lines: int, held_out: int, patch_size: int, seed: int = 1, overwrite: bool = False
) -> dict[str, Any]:
    """Write the tokenizer, the shards and the texts of all parts into `folder`, and return the manifest.

    Files: tokenizer.model, a folder of shards for each part, the validation texts and manifest.json. Words are taken
    from the vocabulary of a checkpoint; those of the `held_out` lines of validation and of each test set are in no
    training line.

    Raises:
        DataError: the folder holds other data, which is not to be overwritten, or a number is out of range.
        NotWrittenError: the folder cannot be written.
        CheckpointError: `words_from` cannot be read.
    """
    FROM_1.check("lines", lines)
    FROM_1.check("held_out", held_out)
    if rendering.LINE_HEIGHT % patch_size:
        raise DataError(f"patches of {patch_size} pixels do not divide the {rendering.LINE_HEIGHT} of a line")
    tokenizer = SentencePieceTokenizer.of_characters(rendering.CHARACTERS)
    words = words_of(load_checkpoint(words_from).tokenizer)
    settings = {"words_from": words_from.name, "words": len(words), "lines": lines}
    settings |= {"held_out": held_out, "patch_size": patch_size, "seed": seed}
    if (manifest := _same_data(folder, settings, overwrite)) is not None:
        return manifest
    counts: dict[str, list[int]] = {}
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MANIFEST).unlink(missing_ok=True)
        (folder / "tokenizer.model").write_bytes(tokenizer.to_bytes())
        for number, part in enumerate(parts_of(lines, held_out)):
            random = np.random.default_rng((seed, number))
            shutil.rmtree(folder / part.name, ignore_errors=True)
            counts[part.name] = _write(folder, part, draw_lines(part, words, random), tokenizer, patch_size)
    manifest = {
        "vocab_size": tokenizer.vocab_size,
        "settings": settings,
        "fonts": {"train": rendering.TRAINING_FONTS, "held_out": rendering.HELD_OUT_FONTS},
        "train": dict(zip(("pairs", "source_tokens", "target_tokens"), counts["train"], strict=True)),
    }
    text = readable_json(manifest)
    texts = sorted(path.name for path in folder.glob("*.txt"))
    write_checksums(folder, ["tokenizer.model", *texts], {MANIFEST: text.encode()})
    write_text(folder / MANIFEST, text)
    return read_manifest(folder)


def _same_data(folder: Path, settings: dict[str, Any], overwrite: bool) -> dict[str, Any] | None:
    """Return the manifest of the same data, if the folder holds them undamaged."""
    if overwrite or not (folder / MANIFEST).exists():
        return None
    manifest = read_manifest(folder)
    if manifest.get("settings") != settings:
        raise DataError(f"{folder} holds other data: give another folder, or --overwrite to replace them")
    with suppress(DataError):  # damaged data are prepared again
        verify_checksums(folder)
        for part in parts_of(1, 1):
            TokenShards(folder / part.name)
        return manifest
    return None


def draw_lines(
    part: PicturePart, words: Sequence[str], random: np.random.Generator
) -> Iterator[tuple[str, str, Pixels]]:
    """Yield the font, the text and the ink of each line of a part."""
    mine = [word for word in words if is_held_out(word) == part.held_out_words]
    texts = cache(lambda characters: LineTexts(mine, characters))
    for _ in range(part.lines):
        while True:
            style = rendering.random_style(random, part.fonts)
            text = texts(rendering.characters_of(style.font)).draw(random)
            try:
                yield style.font, text, ink(rendering.render(text, style))
            except PictureError:  # pale dots may vanish
                continue
            break


def _write(
    folder: Path,
    part: PicturePart,
    lines: Iterator[tuple[str, str, Pixels]],
    tokenizer: SentencePieceTokenizer,
    patch_size: int,
) -> list[int]:
    """Write the shards of a part, with its fonts and texts unless it is for training, and return their counts."""
    drawn: list[list[str]] = [[], []]
    with ShardWriter(folder / part.name, tokenizer.vocab_size, patch_pixels=patch_size**2) as writer:
        progress = tqdm(lines, desc=part.name, total=part.lines, unit=" lines", disable=None)
        chunk: list[tuple[Pixels, list[int]]] = []
        for number, (font, text, image) in enumerate(progress, 1):
            chunk.append((to_patches(image, patch_size), tokenizer.encode(text)))
            if part.name != "train":
                drawn[0].append(font)
                drawn[1].append(text)
            if len(chunk) == CHUNK or number == part.lines:
                patches, ids = zip(*chunk, strict=True)
                writer.append(patches, ids)
                chunk = []
    for side, texts in zip(SAMPLES, drawn, strict=True):
        if texts:
            (folder / f"{part.name}.{side}.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return writer.counts


# --- Texts ----------------------------------------------------------------------------------------------------------


MAX_CHARACTERS = 20
HELD_OUT = 10  # one word of so many is kept for validation and test
MARKS = ".,:;!?"
PAIRS = ("()", '""', "''")


def words_of(tokenizer: Tokenizer) -> list[str]:
    """Return the pieces that begin a word and have two or more letters, sorted."""
    pieces = (tokenizer.piece(token_id) for token_id in range(tokenizer.vocab_size))
    words = {piece[1:] for piece in pieces if piece.startswith(SPACE_MARK)}
    return sorted(word for word in words if len(word) > 1 and word.isalpha())


def is_held_out(word: str) -> bool:
    """Whether a word, in any case, is kept for validation and test."""
    return zlib.crc32(word.lower().encode()) % HELD_OUT == 0


class LineTexts:
    """Random texts of at most `MAX_CHARACTERS` of these characters.

    A half are of these words, with punctuation, a quarter single words or a few random characters, from which a model
    learns first, and the others numbers, dates and random characters.

    Raises:
        ValueError: no word consists of these characters.
    """

    def __init__(self, words: Iterable[str], characters: str) -> None:
        self.words = [word for word in words if set(word) <= set(characters) and len(word) <= MAX_CHARACTERS]
        if not self.words:
            raise ValueError("there are no words of the characters that can be drawn: give a checkpoint with others")
        self.characters = characters
        self.visible = characters.replace(" ", "")

    def draw(self, random: np.random.Generator) -> str:
        """Return one text, without spaces at its ends."""
        kind = random.random()
        if kind < 0.5:
            return self._phrase(random)
        if kind < 0.6:
            return self._number(random)
        if kind < 0.65:
            return _choice(self.words, random)
        count = int(random.integers(1, 4 if kind < 0.85 else 13))
        text = "".join(_choice(self.characters, random) for _ in range(count))
        return " ".join(text.split()) or _choice(self.visible, random)

    def _phrase(self, random: np.random.Generator) -> str:
        words = [_choice(self.words, random)]
        for _ in range(int(random.integers(0, 4))):
            word = _choice(self.words, random)
            if len(" ".join([*words, word])) > MAX_CHARACTERS - 3:
                break
            words.append(word + (_choice(MARKS, random) if random.random() < 0.15 else ""))
        case = random.random()
        text = " ".join(words)
        if case < 0.15:
            upper = text.upper()
            text = upper if set(upper) <= set(self.characters) and len(upper) <= MAX_CHARACTERS else text
        elif case < 0.4:
            text = text[0].upper() + text[1:]
        extra = random.random()
        pairs = [pair for pair in PAIRS if set(pair) <= set(self.characters)]
        if extra < 0.25 and len(text) < MAX_CHARACTERS:
            return text + _choice(MARKS, random)
        if extra < 0.35 and len(text) < MAX_CHARACTERS - 1:
            pair = _choice(pairs, random)
            return pair[0] + text + pair[1]
        return text

    def _number(self, random: np.random.Generator) -> str:
        number = int(random.integers(0, 10 ** int(random.integers(1, 7))))
        a, b, c = (int(random.integers(1, limit)) for limit in (32, 13, 100))
        forms = [f"{number}", f"{number:,}", f"{number / 100:.2f}", f"{a}.{b}.{1950 + c}", f"{1950 + c}-{b:02}-{a:02}"]
        forms += [f"{a % 24}:{c % 60:02}", f"{c} %", f"+{c} {number}", f"{a}/{b}", f"{a} + {b} = {a + b}", f"({c})"]
        forms += [f"{sign}{number}" for sign in "$€§#" if sign in self.characters]
        return _choice(forms, random)[:MAX_CHARACTERS]


def _choice(options: Sequence[str], random: np.random.Generator) -> str:
    return options[int(random.integers(len(options)))]
