"""The attention of many sentences, in batches: what score-cards of a sample are made of."""

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from core.analysis.heads.head import Maps
from core.capture import capture_attention
from core.translator import Translator, attention_maps

BATCH_SIZE = 8  # sentences; between two batches others get their turn at the model


def sample_maps(translator: Translator, sources: Sequence[str]) -> Iterator[list[Maps]]:
    """Translate sentences greedily and look at every head while the model reads source and translation again.

    Args:
        sources: sentences, each of a length that `Translator.fits`.

    Yields:
        The maps of some sentences more, those of like length together, the longest first.

    Raises:
        ValueError: a sentence cannot be translated; nothing has been computed then.
    """
    for number, source in enumerate(sources, start=1):
        if not source.strip():
            raise ValueError(f"sentence {number} is empty: leave it out")
        if not translator.fits(source):
            raise ValueError(f"sentence {number} is too long to be translated at once: shorten or split it")
    return _batches(translator, sources)


def _batches(translator: Translator, sources: Sequence[str]) -> Iterator[list[Maps]]:
    by_length = sorted(sources, key=len, reverse=True)
    for start in range(0, len(by_length), BATCH_SIZE):
        batch = by_length[start : start + BATCH_SIZE]
        translations = translator.translate_batch(batch, beam_size=1)
        yield batch_maps(
            translator,
            [(source, each.hypotheses[0].token_ids) for source, each in zip(batch, translations, strict=True)],
        )


@torch.inference_mode()
def batch_maps(translator: Translator, pairs: Sequence[tuple[str, str | Sequence[int]]]) -> list[Maps]:
    """What `Translator.explain` finds for each pair of a source and its target, in one padded pass.

    Returns:
        The maps of each pair, padding cut away.
    """
    ids = [translator.token_ids(source, target) for source, target in pairs]
    with translator.inspect() as model, capture_attention(model) as captured:
        model(translator.batch([source for source, _, _ in ids]), translator.batch([fed for _, fed, _ in ids]))
    return [_maps(translator, captured, row, *tokens) for row, tokens in enumerate(ids)]


def _maps(translator: Translator, captured: Mapping[str, Tensor], row: int, *ids: Sequence[int]) -> Maps:
    """The maps of one row of a batch; `ids` as from `Translator.token_ids`."""
    source, fed, predicted = map(translator.pieces, ids)
    return attention_maps(captured, translator.model.config, source, fed, predicted, row)
