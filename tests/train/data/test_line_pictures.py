"""Pictures of lines: texts, shards, and held-out words."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.formats.checkpoint import load_checkpoint, save_checkpoint
from core.images.patches import from_patches, to_patches
from core.images.rendering import CHARACTERS, COMMON_CHARACTERS, HELD_OUT_FONTS, TRAINING_FONTS
from core.model import PAD_PIXEL, Transformer
from core.model.preset_configs import PRESETS
from core.text.tokenizer import SPACE_MARK, SentencePieceTokenizer
from train.data.line_pictures import (
    MAX_CHARACTERS,
    LineTexts,
    PicturePart,
    draw_lines,
    is_held_out,
    prepare_lines,
    words_of,
)
from train.data.token_shards import DataError, TokenShards, make_batch_of

WORDS = ["house", "Wasser", "schön", "tree", "sieben", "window", "green", "Berg", "old", "new", "Stadt", "sea"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint whose vocabulary has `WORDS`."""
    symbols = [SPACE_MARK + word for word in WORDS]
    pieces = SentencePieceTokenizer.train([" ".join(WORDS)] * 20, vocab_size=272, num_threads=1, symbols=symbols)
    path = tmp_path_factory.mktemp("words") / "words.safetensors"
    save_checkpoint(path, Transformer(replace(PRESETS["tiny"], vocab_size=pieces.vocab_size)), pieces)
    return path


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory, checkpoint: Path) -> Path:
    folder = tmp_path_factory.mktemp("lines")
    prepare_lines(folder, checkpoint, lines=30, held_out=5, patch_size=8)
    return folder


def test_texts_consist_of_the_characters_and_are_short() -> None:
    for characters in (CHARACTERS, COMMON_CHARACTERS):
        texts, random = LineTexts(WORDS, characters), np.random.default_rng(1)
        drawn = [texts.draw(random) for _ in range(2000)]
        assert all(set(text) <= set(characters) and 0 < len(text) <= MAX_CHARACTERS for text in drawn)
        assert all(text == text.strip() for text in drawn)
        assert set("".join(drawn)) == set(characters)
    with pytest.raises(ValueError, match=r"^there are no words of the characters that can be drawn: give a checkpoint"):
        LineTexts(["schön"], COMMON_CHARACTERS)


def test_words_for_training_and_test_are_different() -> None:
    random = np.random.default_rng(1)
    spoken: list[set[str]] = []
    for held_out in (False, True):
        texts = [text for _, text, _ in draw_lines(PicturePart("", 100, TRAINING_FONTS, held_out), WORDS, random)]
        spoken.append({word for word in WORDS if any(word.lower() in text.lower().split() for text in texts)})
    assert spoken[0] == {word for word in WORDS if not is_held_out(word)}
    assert spoken[1] == {word for word in WORDS if is_held_out(word)} != set()


def test_words_are_pieces_that_begin_a_word(tokenizer: SentencePieceTokenizer) -> None:
    words = words_of(tokenizer)
    pieces = [tokenizer.piece(token_id) for token_id in range(tokenizer.vocab_size)]
    assert len(words) == len(set(words)) > 10
    assert all(SPACE_MARK + word in pieces and word.isalpha() and len(word) > 1 for word in words)


def test_shards_have_the_pictures_and_their_characters(lines: Path, checkpoint: Path) -> None:
    words = words_of(load_checkpoint(checkpoint).tokenizer)
    shards = TokenShards(lines / "test")
    texts = (lines / "test.target.txt").read_text(encoding="utf-8").splitlines()
    fonts = (lines / "test-font.source.txt").read_text(encoding="utf-8").splitlines()
    assert set(fonts) == set(HELD_OUT_FONTS)
    assert len(shards) == len(texts) == 5
    drawn = draw_lines(PicturePart("test", 5, TRAINING_FONTS, True), words, np.random.default_rng((1, 2)))
    for index, (_, text, image) in enumerate(drawn):
        patches, count = shards.side(0, np.array([index]))
        assert text == texts[index]
        assert (patches == to_patches(image, 8)).all()
        assert count == [len(patches)] == [shards.lengths()[index, 0]]
        assert len(shards.pair(index)[1]) == len(text) == shards.lengths()[index, 1] - 1
        width = image.shape[1]
        assert (from_patches(patches, 8, 3)[:, :width] == image).all()


def test_batches_pad_patches_on_the_right(lines: Path) -> None:
    shards = TokenShards(lines / "train")
    batch = shards.batch(np.arange(4))
    lengths = shards.lengths()[:4]
    assert batch.source.shape == (4, lengths[:, 0].max(), 64)
    for row, length in enumerate(lengths[:, 0]):
        patches, _ = shards.side(0, np.array([row]))
        np.testing.assert_allclose(batch.source[row, :length].numpy() * 255, patches, atol=1e-4)
        assert (batch.source[row, length:] == PAD_PIXEL).all()
    assert batch.num_tokens == lengths[:, 1].sum()
    assert batch.target_in[:, 0].tolist() == [1] * 4
    ids = make_batch_of((np.array([5, 6, 7]), np.array([2, 1])), (np.array([8, 9]), np.array([1, 1])))
    assert ids.source.tolist() == [[5, 6, 2], [7, 2, 0]]
    assert ids.target_out.tolist() == [[8, 2], [9, 2]]


def test_the_same_command_makes_the_same_data(lines: Path, checkpoint: Path, tmp_path: Path) -> None:
    prepare_lines(tmp_path, checkpoint, lines=30, held_out=5, patch_size=8)
    for name in ("train/source.tokens.npy", "test-font/source.tokens.npy", "valid.target.txt", "manifest.json"):
        assert (tmp_path / name).read_bytes() == (lines / name).read_bytes()


def test_other_data_are_not_replaced(lines: Path, checkpoint: Path) -> None:
    with pytest.raises(DataError, match=r"holds other data: give another folder, or --overwrite to replace them$"):
        prepare_lines(lines, checkpoint, lines=31, held_out=5, patch_size=8)
    with pytest.raises(ValueError, match=r"^lines \(0\) must be an integer from 1"):
        prepare_lines(lines, checkpoint, lines=0, held_out=5, patch_size=8)
    with pytest.raises(DataError, match=r"^patches of 7 pixels do not divide the 24 of a line$"):
        prepare_lines(lines, checkpoint, lines=1, held_out=5, patch_size=7)
