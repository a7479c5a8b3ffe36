"""DecoderLens: translations from the states of each encoder layer.

Langedijk et al. 2023 (arXiv 2310.03686): stop the encoder after layer l and let the decoder attend to those states, so
that the search is for argmax_y p(y | memory = x_l), with the encoder's final norm, if it has one, applied to x_l. The
decoder was trained on the last layer, so information that it cannot read in a lower one may be there in another form.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from core.analysis.declaration import FIRST, Columns, PicturedResult
from core.decoding import FREE, BeamState, Constraints, NextLogits, Progress, beam_steps, best_hypotheses
from core.decoding.cache import empty_cache
from core.model import Transformer
from core.results import ScoredText
from core.text.phrases import Number, Phrase, marked
from core.trace import Head, Stack, record
from core.translator import Translator


@dataclass(frozen=True)
class EncoderLens(PicturedResult):
    """Translations from the states of every encoder layer, see `encoder_translations`."""

    translations: tuple[ScoredText, ...]

    def table(self) -> Columns:
        """A row for each level."""
        return {
            "level": range(len(self.translations)),
            "log_prob": [translation.log_prob for translation in self.translations],
            "translation": [translation.text for translation in self.translations],
        }

    def answer(self, at: Head = FIRST) -> str:
        """From which layer on the translation stays the model's own."""
        texts = [each.text for each in self.translations]
        others = [level for level, text in enumerate(texts) if text != texts[-1]]
        level = others[-1] + 1 if others else 0
        return Phrase(marked("From layer {level} on the translation is the model's own."), level=Number(level, ","))


def encoder_translations(
    translator: Translator,
    text: str,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    progress: Progress | None = None,
    constraints: Constraints = FREE,
) -> tuple[ScoredText, ...]:
    """Best translation from the states of every encoder layer.

    All levels are one batch: L + 1 searches take little longer than one. Other threads may use the model in between.

    Args:
        text, beam_size, length_penalty, constraints: as for `Translator.translate`.
        progress: called after each position with the position and the limit.

    Returns:
        One translation for each level: 0 is the embedding, l the states after layer l from 1; the last is the model's.

    Raises:
        ValueError: as `Translator.translate`.
    """
    options = translator.setup.options(beam_size, length_penalty, 1, constraints)
    source_ids = translator.token_ids(text, "").source
    limit = translator.limits.of_translation(source_ids)
    begun = translator.setup.beginning(text, (), limit)
    memories = encoder_levels(translator, source_ids)
    limits, prefixes = [limit] * len(memories), [begun] * len(memories)
    last: dict[int, BeamState] = {}
    for states in beam_steps(memory_logits(translator, memories), limits, options, memories.device, prefixes):
        last.update((state.sentence, state) for state in states)
        if progress:
            progress(states[0].position, limit)
    return tuple(
        translator.codec.scored_text(best_hypotheses(last[level], options)[0]) for level in range(len(memories))
    )


def memory_logits(translator: Translator, memories: Tensor) -> NextLogits:
    """Scorer of next tokens for given encoder outputs, in place of `SharedModel.next_logits`.

    It holds the model's lock for one position at a time.

    Args:
        memories: [B, S, D] without padding.
    """
    mask = torch.ones(len(memories), 1, 1, memories.size(1), dtype=torch.bool, device=memories.device)
    cache = empty_cache(translator.model.config, memories, mask)

    @torch.inference_mode()
    def next_logits(token_ids: Tensor, parents: Tensor, sentences: Tensor | None) -> Tensor:
        with translator.inspect() as model:
            if sentences is not None:
                cache.keep(sentences)
            return model.step(token_ids, cache, cache.extend(parents))

    return next_logits


@torch.inference_mode()
def encoder_levels(translator: Translator, source_ids: list[int]) -> Tensor:
    """Encoder states of one sentence at every level, as memories of the decoder: [L + 1, S, D].

    The states of a pre-norm encoder pass its final norm.
    """
    with translator.inspect() as model:
        with record(model, level_places(model, "encoder")) as states:
            model.encode(translator.batch([source_ids]))
        return model.encoder.output_norm(torch.cat(list(states.values())))


def level_places(model: Transformer, stack: Stack) -> list[str]:
    """Places of the stack's input, then of the state after each layer, before a final norm (see `core.trace`)."""
    layers = (model.encoder if stack == "encoder" else model.decoder).layers
    return [
        f"{stack}.0.self_attention.residual_before",
        *(f"{stack}.{layer}.feed_forward.residual_after" for layer in range(len(layers))),
    ]
