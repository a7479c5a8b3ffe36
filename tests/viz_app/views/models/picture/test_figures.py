"""Attention on a picture: which patch, and which colour."""

import base64
import io
import re

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from core.capture import AttentionMap
from core.images.line_reader import SPACE, attention_table
from core.images.patches import patch_name
from core.results import Explanation
from viz_app.drawing.theme import DARK, LIGHT, Theme
from viz_app.views.models.picture.figures import character_attention, characters_html, tinted_picture

ROWS, COLUMNS = 2, 3


@pytest.fixture
def explanation() -> Explanation:
    """A picture of 3 columns of 2 patches, read as `a` and a space by two layers of two heads."""
    weights = torch.rand(2, 2, 3, ROWS * COLUMNS, generator=torch.Generator().manual_seed(1)).softmax(-1)
    names = tuple(patch_name(index, ROWS) for index in range(ROWS * COLUMNS))
    fed, predicted = ("<s>", "a", "\u2581"), ("a", "\u2581", "</s>")
    maps = tuple(AttentionMap("cross", layer, weights[layer], fed, names, predicted) for layer in range(2))
    return Explanation("", "a ", names, fed, predicted, (-0.1, -0.2, -0.3), (), {"cross": maps})


def test_weights_are_at_the_places_of_their_patches(explanation: Explanation) -> None:
    found = character_attention(explanation, ROWS, 1, 0)
    assert [each.character for each in found] == ["a", SPACE, "</s>"]
    assert [each.probability for each in found] == pytest.approx(np.exp([-0.1, -0.2, -0.3]))
    weights = explanation.maps["cross"][1].weights
    for position, each in enumerate(found):
        for index, name in enumerate(explanation.source_tokens):
            column, row = map(int, name.split("."))
            assert each.weights[row - 1, column - 1] == pytest.approx(float(weights[0, position, index]))
    mean = character_attention(explanation, ROWS, -1, -1)
    everything = torch.stack([each.weights for each in explanation.maps["cross"]]).mean((0, 1))
    assert mean[0].weights.T.flatten().tolist() == pytest.approx(everything[0].tolist())
    assert all(each.weights.sum() == pytest.approx(1) for each in [*found, *mean])


def test_the_table_has_every_weight(explanation: Explanation) -> None:
    table = pd.DataFrame(attention_table(explanation))
    assert len(table) == 3 * 2 * 2 * ROWS * COLUMNS
    row = table[(table.position == 1) & (table.layer == 0) & (table["head"] == 1)]
    one = row[(row.patch_row == 1) & (row.patch_column == 2)].iloc[0]
    assert one.weight == pytest.approx(float(explanation.maps["cross"][0].weights[1, 1, 5]))
    assert (one.character, one.probability) == (SPACE, pytest.approx(np.exp(-0.2)))


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_paper_has_the_colour_of_the_weight_and_ink_can_be_read(theme: Theme) -> None:
    image = np.zeros((4, 5), np.uint8)
    image[0, 0] = image[0, 4] = 255
    weights = np.array([[0, 0, 1], [0, 0.5, 0]], np.float32)
    tinted = tinted_picture(image, weights, 2, theme)
    shades = theme.shades(256)
    assert tinted.shape == (4, 6, 3)
    assert (tinted[1, 5] == shades[255]).all()
    assert (tinted[2, 2] == shades[128]).all()
    assert (tinted[3, 0] == shades[0]).all()
    light, dark = (0, 255) if theme is LIGHT else (255, 0)
    assert (tinted[0, 0] == light).all()
    assert (tinted[0, 4] == dark).all()


def test_every_character_has_its_picture(explanation: Explanation) -> None:
    image = np.random.default_rng(1).integers(0, 256, (4, 6), dtype=np.uint8)
    characters = character_attention(explanation, ROWS, 0, 1)
    drawn = characters_html(image, characters, 2, LIGHT, "<all>")
    assert 'aria-label="&lt;all&gt;"' in drawn
    assert "<b>&lt;/s&gt;</b><span>0.74</span>" in drawn
    addresses = re.findall(r'src="data:image/png;base64,([^"]+)"', drawn)
    assert len(addresses) == 3
    with Image.open(io.BytesIO(base64.b64decode(addresses[1]))) as picture:
        assert (np.asarray(picture) == tinted_picture(image, characters[1].weights, 2, LIGHT)).all()
