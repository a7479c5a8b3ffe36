"""Translation under cuts."""

from collections.abc import Sequence

import torch
from torch import Tensor

from core.analysis.interventions.cuts import Cut, cut_translator
from core.decoding import FREE, Constraints, Progress, beam_steps, run_search
from core.results import ScoredText
from core.translator import Translator


def translate_cut(
    translator: Translator,
    text: str,
    cuts: Sequence[Cut],
    beam_size: int = 4,
    length_penalty: float = 0.6,
    progress: Progress | None = None,
    constraints: Constraints = FREE,
) -> ScoredText:
    """Find the best translation under cuts.

    The search is that of `Translator.translate`, but every step is a whole pass over the prefix, where rows and columns
    are positions. A row of the decoder is a step of the search, whatever token has been fed there. Between two steps,
    other threads may use the model. `progress` is called after each position with the position and the limit.

    Raises:
        ValueError: as `Translator.translate` and `cut_attention`.
    """
    options = translator.setup.options(beam_size, length_penalty, 1, constraints)
    source_ids = translator.token_ids(text, "").source
    ids = translator.batch([source_ids])
    with torch.inference_mode(), cut_translator(translator, cuts) as model:
        memory, mask = model.encode(ids), model.source_mask(ids)
    prefixes = ids.new_empty(1, 0)  # [W, t]

    @torch.inference_mode()
    def next_logits(token_ids: Tensor, parents: Tensor, _sentences: Tensor | None) -> Tensor:
        nonlocal prefixes
        prefixes = torch.cat((prefixes[parents[0]], token_ids.T), dim=1)
        with cut_translator(translator, cuts) as model:
            states = model.decode(prefixes, memory.expand(len(prefixes), -1, -1), mask)
            return model.project(states[:, -1])[None]

    limit = translator.limits.of_translation(source_ids)
    begun = translator.setup.beginning(text, (), limit)
    steps = beam_steps(next_logits, [limit], options, ids.device, [begun])
    return translator.codec.scored_text(run_search((state for (state,) in steps), options, progress)[0])
