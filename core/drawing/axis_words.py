"""Names of the kinds of attention, and the words along the axes of a drawn map."""

from typing import Any

from core.capture import AttentionMap, Kind
from core.drawing.token_spans import FED_ARROW, label_spans

KIND_NAMES: dict[Kind, str] = {"encoder_self": "Encoder", "decoder_self": "Decoder", "cross": "Cross"}
KIND_TEXTS: dict[Kind, str] = {
    "encoder_self": "each source token attends to the source",
    "decoder_self": "each target token attends to the target before it",
    "cross": "each target token attends to the source",
}
TITLES: dict[Kind, tuple[str, str]] = {
    "encoder_self": ("source", "attends to source"),
    "decoder_self": (f"fed {FED_ARROW} predicts", "attends to fed tokens"),
    "cross": (f"fed {FED_ARROW} predicts", "attends to source"),
}


def axis_words(attention: AttentionMap) -> dict[str, Any]:
    """Return a drawing's data made from tokens, see `AxisData` in types.d.ts.

    Returns:
        `query` and `key`: the spans of each row's and each column's word; `predicted`: in the decoder, the spans of
        the word that each row predicts, else None; `titles`: what each axis holds.
    """
    query_title, key_title = TITLES[attention.kind]
    return {
        "query": [label_spans(token) for token in attention.query_tokens],
        "key": [label_spans(token) for token in attention.key_tokens],
        "predicted": attention.predicted_tokens and [label_spans(token) for token in attention.predicted_tokens],
        "titles": {"query": query_title, "key": key_title},
    }
