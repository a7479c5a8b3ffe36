"""Translating with heads turned down or off."""

from core.analysis.heads.gating import Gates, gated
from core.results import ScoredText
from core.translator import MAX_EXTRA_TOKENS, Progress, Translator


def translate_gated(
    translator: Translator,
    text: str,
    gates: Gates,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    num_hypotheses: int | None = None,
    progress: Progress | None = None,
) -> ScoredText:
    """The best translation under gates, by the search that `Translator.translate` makes.

    Others may use the model, without the gates, between two positions of the search.

    Args:
        gates: as for `head_gates`, one number a head.
        progress: called after each position with it and what it cannot exceed.

    Raises:
        ValueError: as `Translator.translate`, and as `head_gates`.
    """
    with gated(translator, gates):
        states = translator.search(text, beam_size, length_penalty, num_hypotheses)  # encodes the source
    state, most = None, len(translator.token_ids(text, ())[0]) + MAX_EXTRA_TOKENS
    while True:
        with gated(translator, gates):
            following = next(states, None)
        if following is None:
            break
        state = following
        if progress:
            progress(state.position, most)
    assert state is not None  # a search has at least one position
    best = (state.finished + state.live)[0]  # as `best_hypotheses`: those that finished first, each best first
    return ScoredText(
        text=translator.tokenizer.decode(best.token_ids[:-1] if best.finished else best.token_ids),
        token_ids=best.token_ids,
        tokens=tuple(map(translator.tokenizer.piece, best.token_ids)),
        token_log_probs=best.token_log_probs,
        score=best.score,
        finished=best.finished,
    )
