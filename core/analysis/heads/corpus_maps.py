"""Attention maps of many sentences, computed in batches."""

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from core.analysis.heads.head import Maps
from core.capture import attention_maps, capture_attention
from core.decoding.text_codec import PassIds
from core.text.sentences import naming_sentence
from core.translator import Translator

BATCH_SIZE = 8  # sentences; other threads may use the model between two batches


Pair = tuple[str, Sequence[int]]  # a source, and the token ids of its translation


def translated_batches(translator: Translator, sources: Sequence[str]) -> Iterator[list[Pair]]:
    """Translate sentences greedily, in batches of similar length, the longest first.

    Raises:
        ValueError: a sentence cannot be translated; raised before anything is computed.
    """
    for number, source in enumerate(sources, start=1):
        with naming_sentence(number):
            translator.codec.source_ids(source)
    return _batches(translator, sources)


def _batches(translator: Translator, sources: Sequence[str]) -> Iterator[list[Pair]]:
    by_length = sorted(sources, key=len, reverse=True)
    for start in range(0, len(by_length), BATCH_SIZE):
        batch = by_length[start : start + BATCH_SIZE]
        translations = translator.translate_batch(batch, beam_size=1)
        yield [(source, each.hypotheses[0].token_ids) for source, each in zip(batch, translations, strict=True)]


@torch.inference_mode()
def batch_maps(translator: Translator, pairs: Sequence[tuple[str, str | Sequence[int]]]) -> list[Maps]:
    """Attention maps of pairs of a source and a target, in one forward pass.

    Returns:
        The maps of each pair as `Translator.explain` has them, without padding.
    """
    ids = [translator.token_ids(source, target) for source, target in pairs]
    with translator.inspect() as model, capture_attention(model) as captured:
        model(translator.batch([each.source for each in ids]), translator.batch([each.fed for each in ids]))
    return [_maps(translator, captured, row, each) for row, each in enumerate(ids)]


def _maps(translator: Translator, captured: Mapping[str, Tensor], row: int, ids: PassIds) -> Maps:
    """Maps of one row of a batch."""
    source, fed, predicted = (
        translator.codec.source_pieces(ids.source),
        translator.codec.fed_pieces(ids.fed),
        translator.codec.pieces(ids.predicted),
    )
    return attention_maps(captured, translator.model.config, source, fed, predicted, row)
