"""Attention of every head while one symbol of a tree was written."""

import pandas as pd

from core.analysis.heads.bracket_attention import SymbolAttention
from core.capture import AttentionMap
from core.text.byte_pieces import Word, is_special
from viz_app.drawing.theme import head_name


def bracket_map(attention: SymbolAttention) -> AttentionMap:
    """Return a map with a row for each head and a column for each key.

    Heads come layer by layer.
    """
    layers, heads, _ = attention.weights.shape
    names = tuple(Word(head_name(layer, head)) for layer in range(layers) for head in range(heads))
    keys = tuple(key if is_special(key) else Word(key) for key in attention.keys)
    return AttentionMap("cross", 0, attention.weights.flatten(0, 1)[None], names, keys)


def bracket_table(attention: SymbolAttention) -> pd.DataFrame:
    """Return a row for each head and key; layers, heads and keys are counted from 0."""
    layers, heads, keys = attention.weights.shape
    rows = [
        (attention.symbol, layer, head, key, attention.keys[key], attention.weights[layer, head, key].item())
        for layer in range(layers)
        for head in range(heads)
        for key in range(keys)
    ]
    return pd.DataFrame(rows, columns=["symbol", "layer", "head", "key", "attends_to", "weight"])
