"""The iterations of a translation by mask-predict, and what one of them computes."""

from collections.abc import Iterator
from dataclasses import replace

from core.decoding import MaskPredictState, mask_predict_steps
from core.decoding.text_codec import PassIds
from core.results import Explanation, ScoredText
from core.translator import Translator


def mask_predict_states(
    translator: Translator, text: str, iterations: int = 10, length_candidates: int = 5, packed: bool = False
) -> Iterator[tuple[MaskPredictState, ...]]:
    """The mask-predict of `Translator.translate`: a state per iteration and length candidate.

    By the model's modules unless `packed`, see `SharedModel.masked_logits`. Others may use it between iterations.

    Raises:
        ValueError: as `Translator.translate`, or the model is autoregressive.
    """
    options = translator.setup.mask_predict(iterations, length_candidates)
    source_ids = translator.codec.source_ids(text)
    limit = translator.limits.of_translation(source_ids)
    translator.limits.check_search(length_candidates, limit)
    masked_logits, lengths = translator.shared.masked_logits([source_ids], [limit], length_candidates, packed)
    return mask_predict_steps(masked_logits, lengths, options, translator.model.device)


def explain_iteration(
    translator: Translator, source: str, iteration: MaskPredictState | ScoredText, num_alternatives: int = 5
) -> Explanation:
    """As `Translator.explain`, for an iteration of mask-predict, or the last one of a hypothesis of
    `Translator.translate`.

    It replays the input of that iteration under the model's own mask: target tokens attend to all others. `fed_tokens`
    are the input, masks included, and `predicted_tokens` those after the iteration; the log-probability of each is that
    of when it was last predicted. Alternatives of tokens that were not masked are predicted from themselves too.

    Raises:
        ValueError: the hypothesis is not of mask-predict.
    """
    if iteration.fed_ids is None:
        raise ValueError("the hypothesis has no fed_ids: explain_iteration is for hypotheses of mask-predict")
    translator.setup.mask_predict()
    codec = translator.codec
    for token_ids in (iteration.fed_ids, iteration.token_ids):
        codec.require_target(token_ids[:-1])
    ids = PassIds(codec.source_ids(source), list(iteration.fed_ids), list(iteration.token_ids))
    outputs = translator.shared.decoder_pass(*ids, num_alternatives)
    explanation = codec.explanation(outputs, ids, source, codec.source_pieces(ids.source))
    return replace(explanation, log_probs=iteration.token_log_probs)
