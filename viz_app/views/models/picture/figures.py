"""Cross-attention of characters to the patches of a picture."""

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from core.capture import AttentionMap
from core.images.line_reader import shown_character
from core.images.patches import Pixels
from core.results import Explanation
from core.text.byte_pieces import Word, is_special
from viz_app.drawing.display_text import decimal
from viz_app.drawing.head_grid import readable_on
from viz_app.drawing.theme import Theme
from viz_app.language import tr

LEVELS = 256
SCALE = 3  # pixels of the page to one of the picture


@dataclass(frozen=True)
class CharacterAttention:
    """Attention of one head, or the mean of all, when a character was written."""

    character: str  # as text, `</s>` for the end
    probability: float  # of the character given those before it
    weights: NDArray[np.float32]  # [rows, columns] of the patches; they sum to 1


def character_attention(explanation: Explanation, rows: int, layer: int, head: int) -> list[CharacterAttention]:
    """Return the attention of every character in order, the end last.

    Args:
        rows: patches of a column.
        layer, head: counted from 0; a negative layer is the mean of all heads.
    """
    maps = explanation.maps["cross"]
    if layer < 0:
        weights = np.mean([each.weights.mean(0).numpy() for each in maps], axis=0)
    else:
        weights = maps[layer].weights[head].numpy()
    shaped = weights.reshape(len(weights), -1, rows).transpose(0, 2, 1)  # patches are in the order of columns
    return [
        CharacterAttention(shown_character(token), float(np.exp(log_prob)), each.astype(np.float32))
        for token, log_prob, each in zip(explanation.predicted_tokens, explanation.log_probs, shaped, strict=True)
    ]


def named_maps(explanation: Explanation) -> list[AttentionMap]:
    """Return cross-attention with characters and places of patches as whole words."""
    fed, predicted = (
        tuple(token if is_special(token) else Word(shown_character(token)) for token in tokens)
        for tokens in (explanation.fed_tokens, explanation.predicted_tokens)
    )
    patches = tuple(map(Word, explanation.source_tokens))
    return [
        replace(each, query_tokens=fed, predicted_tokens=predicted, key_tokens=patches)
        for each in explanation.maps["cross"]
    ]


def head_map(explanation: Explanation, layer: int, head: int) -> tuple[AttentionMap, int]:
    """Return the map of a head, or of the mean of all for a negative layer, and the number of the head in it.

    A row for each character, a column for each patch, named by its column and row.
    """
    maps = named_maps(explanation)
    if layer >= 0:
        return maps[layer], head
    mean = torch.cat([each.weights for each in maps]).mean(0, keepdim=True)
    return replace(maps[0], weights=mean), 0


def tinted_picture(image: Pixels, weights: NDArray[np.float32], patch_size: int, theme: Theme) -> NDArray[np.uint8]:
    """Return a picture of coloured patches: [height, columns * size, 3].

    Each has the colour of its weight, from 0 to 1, and black or white ink, whichever is readable on it.
    """
    shades, inks = _shades_and_inks(theme)
    level = np.repeat(np.repeat((weights.clip(0, 1) * (LEVELS - 1)).round().astype(int), patch_size, 0), patch_size, 1)
    ink = np.pad(image, ((0, 0), (0, level.shape[1] - image.shape[1])))[..., None] / 255
    return (shades[level] * (1 - ink) + inks[level] * ink).round().astype(np.uint8)


@cache
def _shades_and_inks(theme: Theme) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return the colours, and the ink that is readable on each: both [`LEVELS`, 3]."""
    shades = theme.shades(LEVELS)
    inks = (readable_on(f"#{shade.tobytes().hex()}") for shade in shades)
    return shades, np.array([[int(ink[1:3], 16)] * 3 for ink in inks], dtype=np.float64)


def characters_html(
    image: Pixels, characters: Sequence[CharacterAttention], patch_size: int, theme: Theme, name: str
) -> str:
    """Return the picture for each character, the first on top, with its probability, and the scale of the colours."""
    rows = "".join(_character_html(image, each, patch_size, theme) for each in characters)
    scale = f'<i style="background: linear-gradient(to right, {", ".join(theme.sequential)})"></i>'
    about = html.escape(tr("attention weight of a patch"))
    legend = f'<p class="scale"><span>0</span>{scale}<span>1</span>{about}</p>'
    return f'<div class="characters" role="img" aria-label="{html.escape(name)}">{rows}{legend}</div>'


def _character_html(image: Pixels, character: CharacterAttention, patch_size: int, theme: Theme) -> str:
    tinted = tinted_picture(image, character.weights, patch_size, theme)
    file = io.BytesIO()
    Image.fromarray(tinted).save(file, "PNG")
    address = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    patches, columns = character.weights.shape
    size = f"--patches: {patches}; --columns: {columns}; width: {SCALE * tinted.shape[1]}px"
    label = f"<b>{html.escape(character.character)}</b><span>{decimal(character.probability, 2)}</span>"
    return f'<p>{label}<i style="{size}"><img src="{address}" alt=""></i></p>'
