"""Translation with gated heads."""

from collections.abc import Iterator

from core.analysis.heads.gating import Gates, gated
from core.decoding import FREE, BeamState, Constraints, Progress, run_search
from core.results import ScoredText
from core.translator import Translator


def translate_gated(
    translator: Translator,
    text: str,
    gates: Gates,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    num_hypotheses: int | None = None,
    progress: Progress | None = None,
    constraints: Constraints = FREE,
) -> ScoredText:
    """Find the best translation under gates, one number for each head, by the search of `Translator.translate`.

    Between two positions, other threads may use the model ungated; `progress` gets the position and the limit.

    Raises:
        ValueError: as `Translator.translate`, and as `head_gates`.
    """

    def states() -> Iterator[BeamState]:
        with gated(translator, gates):
            sizes = beam_size, length_penalty, num_hypotheses
            search = translator.search(text, *sizes, constraints=constraints)  # encodes the source
        while True:
            with gated(translator, gates):
                state = next(search, None)
            if state is None:
                return
            yield state

    options = translator.setup.options(beam_size, length_penalty, num_hypotheses, constraints)
    return translator.codec.scored_text(run_search(states(), options, progress)[0])
