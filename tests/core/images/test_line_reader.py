"""The reader of pictures: search, explanation, errors."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from core.formats.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from core.images.line_reader import LineReader, NotALineReaderError
from core.images.patches import to_patches
from core.images.picture import line_image
from core.images.rendering import Style, render
from core.model import Transformer
from core.translator import Translator


def image(text: str) -> np.ndarray:
    return line_image(render(text, Style()), 24)


def test_the_search_is_what_one_pass_computes(line_reader: LineReader) -> None:
    picture = image("Hello")
    line = line_reader.read(picture, beam_size=2)
    explanation = line_reader.explain(picture, line.token_ids)
    written = len(line.token_ids)
    torch.testing.assert_close(
        torch.tensor(explanation.log_probs[:written]), torch.tensor(line.token_log_probs), rtol=0, atol=1e-4
    )
    assert explanation.predicted_tokens[:written] == line.tokens
    for cross in explanation.maps["cross"]:
        assert cross.weights.shape == (4, len(explanation.fed_tokens), len(to_patches(picture, 8)))
        torch.testing.assert_close(cross.weights.sum(-1), torch.ones(cross.weights.shape[:2]))
    assert explanation.source_tokens[:4] == ("1.1", "1.2", "1.3", "2.1")
    assert all(len(best) == 5 and best[0][1] >= best[1][1] for best in explanation.alternatives)


def test_the_answer_names_the_least_certain_character_and_where_the_heads_look(line_reader: LineReader) -> None:
    explanation = line_reader.explain(image("Hi"), line_reader.translator.tokenizer.encode("Hi"))
    weights = torch.zeros_like(explanation.maps["cross"][0].weights)
    weights[:, 1, [3, 5]], weights[:, [0, 2], 0] = 0.5, 1.0  # the second character on column 2, others on column 1
    maps = {"cross": tuple(replace(each, weights=weights) for each in explanation.maps["cross"])}
    said = line_reader.answer(replace(explanation, log_probs=(0.0, math.log(0.5), 0.0), maps=maps))
    assert said.startswith("It reads \u201cHi\u201d; least certain is character 2, \u201ci\u201d, 0.50, where ")
    assert " most to column 2 of 3: 100% (evenly 33%)." in said


def test_pictures_of_different_widths_are_read_together_as_alone(line_reader: LineReader) -> None:
    pictures = [image(text) for text in ("a", "some more text", "abc")]
    together = line_reader.read_batch(pictures)
    for picture, line in zip(pictures, together, strict=True):
        alone = line_reader.read(picture)
        assert alone.token_ids == line.token_ids
        assert alone.score == pytest.approx(line.score, abs=1e-4)


def test_a_checkpoint_keeps_the_reader(line_reader: LineReader, tmp_path: Path) -> None:
    path = tmp_path / "lines.safetensors"
    save_checkpoint(path, line_reader.translator.model, line_reader.translator.tokenizer, {"steps": 3})
    loaded = LineReader(Translator.from_checkpoint(path))
    assert loaded.read(image("Hi")) == line_reader.read(image("Hi"))
    assert loaded.height == 24


def test_damaged_pixel_weights_are_found(line_reader: LineReader, tmp_path: Path) -> None:
    model = Transformer(replace(line_reader.translator.model.config, positions="learned", max_positions=5))
    with torch.no_grad():
        model.patch_embedding.pixels.weight.fill_(3e38)
    save_checkpoint(tmp_path / "damaged.safetensors", model, line_reader.translator.tokenizer)
    with pytest.raises(CheckpointError, match=r"patch_embedding\.pixels\.weight holds the weight 3e\+38"):
        load_checkpoint(tmp_path / "damaged.safetensors")


def test_text_and_pictures_are_not_confused(line_reader: LineReader, tiny_checkpoint: Path) -> None:
    with pytest.raises(NotALineReaderError, match=r"^this model reads text, not pictures: choose a checkpoint"):
        LineReader(Translator.from_checkpoint(tiny_checkpoint))
    with pytest.raises(ValueError, match=r"^this model reads pictures of text, not text: use core\.images"):
        line_reader.translator.translate("Hello")


def test_pictures_of_another_size_are_refused(line_reader: LineReader) -> None:
    with pytest.raises(ValueError, match=r"^the image is 16 pixels high, this model reads 24: scale it with"):
        line_reader.read(np.zeros((16, 40), np.uint8))
    with pytest.raises(ValueError, match=r"^the image is 1400 pixels wide, at most 1360 can be read at once: shorten"):
        line_reader.read(np.zeros((24, 1400), np.uint8))


def test_only_tokens_of_the_model_are_explained(line_reader: LineReader) -> None:
    with pytest.raises(ValueError, match=r"^the text has the token id 999, this model has ids from 0 to 95 and writes"):
        line_reader.explain(image("a"), [5, 999])
    with pytest.raises(ValueError, match=r"^the text has 100 characters, .* at most 17 characters for this picture$"):
        line_reader.explain(image("abc"), [5] * 100)
