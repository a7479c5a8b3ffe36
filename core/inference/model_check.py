"""The faster search checked: its log-probabilities are compared with those of the model's own modules."""

import math
from collections.abc import Callable, Sequence

from core.decoding import Hypothesis, NonFiniteError, SearchOptions
from core.decoding.text_codec import PassIds, TextCodec
from core.inference.shared_model import SharedModel
from core.results import Translation

# Absolute, between two computations of a token's log-probability, in nats. Sums in float32 in another order differed by
# 7e-6 at most in the hypotheses of 36 sentences by three shipped models; a changed module differs by far more.
LOG_PROB_TOLERANCE = 1e-3


class ModelCheck:
    """Hypotheses with the log-probabilities of the modules of `core.model`."""

    def __init__(self, shared: SharedModel, codec: TextCodec) -> None:
        self._shared, self._codec = shared, codec

    def translation(
        self, text: str, source_ids: list[int], options: SearchOptions, searched: Callable[[bool], Sequence[Hypothesis]]
    ) -> Translation:
        """The faster search's hypotheses if they `agree` with the modules, else those of the modules (False)."""
        hypotheses, agrees = self.of_model(text, source_ids, searched(True), options)
        if not agrees:
            hypotheses, _ = self.of_model(text, source_ids, searched(False), options)
        return self._codec.translation(text, source_ids, hypotheses, by_modules=not agrees)

    def translations(
        self,
        texts: Sequence[str],
        sources: Sequence[list[int]],
        options: SearchOptions,
        searched: Callable[[bool], Sequence[Sequence[Hypothesis]]],
    ) -> list[Translation]:
        """As `translation` for a batch, comparing the last text alone, with the search's log-probabilities."""
        hypotheses = searched(True)
        _, agrees = self.of_model(texts[-1], sources[-1], hypotheses[-1][:1], options)
        if not agrees:
            hypotheses = searched(False)
        found = zip(texts, sources, hypotheses, strict=True)
        return [self._codec.translation(*each, by_modules=not agrees) for each in found]

    def of_model(
        self, source: str, source_ids: list[int], hypotheses: Sequence[Hypothesis], options: SearchOptions
    ) -> tuple[tuple[Hypothesis, ...], bool]:
        """Hypotheses with the log-probabilities of a teacher-forced pass of the model's modules.

        Those of mask-predict, which each iteration changes, are returned as they are; the last iteration is compared.

        Returns:
            The hypotheses in their order, and whether they `agree` with the search.

        Raises:
            NonFiniteError: a log-probability of the pass is not finite.
        """
        passes = [
            PassIds(source_ids, [*(each.fed_ids or (options.bos_id, *each.token_ids[:-1]))], [*each.token_ids])
            for each in hypotheses
        ]
        rescored, agrees = list(hypotheses), True
        for index, log_probs in self._shared.pass_log_probs(passes):
            searched, fed = hypotheses[index], passes[index].fed
            found = self.hypothesis(source, passes[index], log_probs, options)
            if searched.fed_ids is None:
                rescored[index] = found
            mask_id = self._codec.config.mask_id
            compared = [at for at in range(len(fed)) if searched.fed_ids is None or fed[at] == mask_id]
            agrees &= self.agree(*([each.token_log_probs[at] for at in compared] for each in (searched, found)))
        return tuple(rescored), agrees

    def hypothesis(self, source: str, ids: PassIds, log_probs: list[float], options: SearchOptions) -> Hypothesis:
        """A target as a search returns it, with log-probabilities by the modules, which must be finite."""
        log_probs = self._codec.with_certain_first(log_probs, ids.predicted, source)
        total, is_ended = sum(log_probs), ids.predicted[-1:] == [options.eos_id]
        if not math.isfinite(total):
            raise NonFiniteError("for this target")
        return Hypothesis(tuple(ids.predicted), tuple(log_probs), total, options.score(total, len(log_probs)), is_ended)

    def agree(self, searched: Sequence[float], of_model: Sequence[float]) -> bool:
        """Whether the log-probabilities of a search are those of the model's modules, to `LOG_PROB_TOLERANCE`.

        In precision `fast`, which rounds more, every search counts as agreeing.
        """
        pairs = zip(searched, of_model, strict=True)
        exact = self._shared.precision == "exact"
        return not exact or all(abs(ours - theirs) <= LOG_PROB_TOLERANCE for ours, theirs in pairs)
