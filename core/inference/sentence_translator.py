"""The searches for the translation of one sentence: the faster search, checked with the model's own modules."""

from collections.abc import Callable, Iterator, Sequence

from core.decoding import (
    FREE,
    BeamState,
    Beginning,
    Constraints,
    Hypothesis,
    MaskPredictState,
    Progress,
    Sampling,
    SearchOptions,
    SpeculativeStep,
    beam_steps,
    mask_predict_steps,
    run_search,
    sample_search,
    speculative_steps,
)
from core.decoding.sampling import PLAIN
from core.inference.batch_translator import BatchTranslator
from core.results import ScoredText, Translation


class SentenceTranslator(BatchTranslator):
    """Searches for one sentence: beam, greedy, sampled, speculative and mask-predict.

    The results of the faster search (`core.inference`) are kept if its log-probabilities are those of the modules of
    `core.model`, up to `LOG_PROB_TOLERANCE`; otherwise the modules search (`Translation.by_modules`). The states of
    `search`, `translate_speculatively` and `mask_predict` are always theirs.
    """

    def translate(
        self,
        text: str,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_hypotheses: int | None = None,
        progress: Progress | None = None,
        prefix: str | Sequence[int] | Beginning = (),
        iterations: int = 10,
        constraints: Constraints = FREE,
    ) -> Translation:
        """Translate a text as one sentence.

        Args:
            beam_size: number of live hypotheses; 1 is greedy search. In mask-predict, number of length candidates.
            length_penalty: alpha of `core.decoding`; without effect in mask-predict.
            num_hypotheses: number of hypotheses to return, `beam_size` by default. The best does not depend on it.
            progress: called after each position with the position and the limit.
            prefix: forced beginning of the translation, as token ids or as text; scores include it. A text may end
                inside a word, which the translation completes with whatever pieces; white space at its end ends the
                word. The words before the last one keep the pieces that the tokenizer gives them.
            iterations: of mask-predict, for a model without causal mask.
            constraints: a minimum length and forbidden tokens; what they leave keeps its log-probabilities.

        Raises:
            ValueError: the text is blank or too long, a value is out of range, or no translation of this text can begin
                with the prefix or comply with the constraints.
        """
        options = self.search_options(beam_size, length_penalty, num_hypotheses, constraints)
        source_ids = self._source_ids(text)
        if not self.config.autoregressive:
            if prefix:
                self.require_autoregressive("a forced beginning")
            limit = self._limit(source_ids)
            self.check_search(beam_size, limit)
            [hypotheses] = self._searched([source_ids], [limit], options, [()], iterations, packed=False)
            if progress:
                progress(1, 1)
            return self._translation(text, source_ids, hypotheses)

        def searched(packed: bool) -> Sequence[Hypothesis]:
            return run_search(self._beam_steps(text, source_ids, options, prefix, packed), options, progress)

        return self._checked(text, source_ids, options, searched)

    def _checked(
        self,
        text: str,
        source_ids: list[int],
        options: SearchOptions,
        searched: Callable[[bool], Sequence[Hypothesis]],
    ) -> Translation:
        """The hypotheses of a search with log-probabilities by the model's modules.

        Args:
            searched: searches; called with False, by these modules, if the results of the faster search differ.
        """
        hypotheses, agrees = self._of_model(text, source_ids, searched(True), options)
        if not agrees:
            hypotheses, _ = self._of_model(text, source_ids, searched(False), options)
        return self._translation(text, source_ids, hypotheses, by_modules=not agrees)

    def sample(
        self,
        text: str,
        sampling: Sampling = PLAIN,
        length_penalty: float = 0.6,
        prefix: Sequence[int] = (),
        constraints: Constraints = FREE,
    ) -> tuple[ScoredText, ...]:
        """Draw translations of a text at random, see `core.decoding.sampling`.

        Args:
            length_penalty, constraints: as for `translate`.
            prefix: whole tokens that all samples begin with.

        Returns:
            The samples in the order in which they were drawn, with the model's own log-probabilities.

        Raises:
            ValueError: as `translate`, or the model is not autoregressive.
        """
        self.require_autoregressive("sampling one token after the other")
        if isinstance(prefix, str | Beginning):
            raise ValueError(
                "samples begin with whole tokens, and a text may end inside a word, which beam and greedy search alone "
                "complete: give token ids, such as those of prefix_ids"
            )
        options = self.search_options(1, length_penalty, constraints=constraints)
        source_ids = self._source_ids(text)
        limit = self._limit(source_ids)
        self.check_search(sampling.num_samples, limit)
        forced = self._beginning(text, prefix, limit, constraints).token_ids

        def searched(packed: bool) -> Sequence[Hypothesis]:
            next_logits, numbers = self._shared.next_logits([source_ids], packed), sampling.random_numbers(text)
            return sample_search(next_logits, limit, options, sampling, numbers, self.model.device, forced)

        return self._checked(text, source_ids, options, searched).hypotheses

    def search(
        self,
        text: str,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_hypotheses: int | None = None,
        prefix: str | Sequence[int] | Beginning = (),
        constraints: Constraints = FREE,
    ) -> Iterator[BeamState]:
        """The search of `translate` by the model's modules, as one state per position.

        Other threads may use the model between two positions.
        """
        self.require_autoregressive("a search for one token after the other")
        options = self.search_options(beam_size, length_penalty, num_hypotheses, constraints)
        return self._beam_steps(text, self._source_ids(text), options, prefix, packed=False)

    def _beam_steps(
        self,
        text: str,
        source_ids: list[int],
        options: SearchOptions,
        prefix: str | Sequence[int] | Beginning,
        packed: bool = True,
    ) -> Iterator[BeamState]:
        """As `search`; `packed` as for `SharedModel.next_logits`."""
        limit = self._limit(source_ids)
        self.check_search(options.beam_size, limit)
        begun = self._beginning(text, prefix, limit, options.constraints)
        next_logits = self._shared.next_logits([source_ids], packed)
        return (state for (state,) in beam_steps(next_logits, [limit], options, self.model.device, [begun]))

    def translate_with_draft(
        self, text: str, draft: "SentenceTranslator", draft_tokens: int = 4, constraints: Constraints = FREE
    ) -> Translation:
        """Translate as `translate` with a beam of one, by speculative decoding.

        The translation is the same; where two tokens tie to rounding, matrix products of one and of several rows may
        decide otherwise (`core.inference.cpu_products`).

        Args:
            draft: a small model with the same vocabulary.
            draft_tokens: largest number of tokens that it drafts for a check.
            constraints: as for `translate`.

        Raises:
            ValueError: as `translate_speculatively`.
        """
        options = self.search_options(1, constraints=constraints)

        def searched(packed: bool) -> Sequence[Hypothesis]:
            *_, last = self._speculative_steps(text, draft, draft_tokens, options, packed)
            return [last.hypothesis]

        return self._checked(text, self._source_ids(text), options, searched)

    def translate_speculatively(
        self, text: str, draft: "SentenceTranslator", draft_tokens: int = 4
    ) -> Iterator[SpeculativeStep]:
        """The steps of `translate_with_draft`, by the models' modules.

        Raises:
            ValueError: as `translate`, one of the models is not autoregressive, their vocabularies differ, or their
                translations begin with a forced token.
        """
        return self._speculative_steps(text, draft, draft_tokens, self.search_options(1), packed=False)

    def _speculative_steps(
        self, text: str, draft: "SentenceTranslator", draft_tokens: int, options: SearchOptions, packed: bool = True
    ) -> Iterator[SpeculativeStep]:
        """As `translate_speculatively`; `packed` as for `SharedModel.next_logits`."""
        self.check_draft(draft)
        limit = min(self.length_limit(text), draft.length_limit(text))
        large, small = (each._shared.chain_logits(each.source_ids(text), packed) for each in (self, draft))
        return speculative_steps(large, small, limit, options, draft_tokens)

    def check_draft(self, draft: "SentenceTranslator") -> None:
        """Check that a model can draft for this one.

        Raises:
            ValueError: as `translate_speculatively`.
        """
        for model in (self, draft):
            model.require_autoregressive("speculative decoding")
        if self.tokenizer.to_bytes() != draft.tokenizer.to_bytes():
            raise ValueError(
                "the draft model has another vocabulary: train one with `python -m train prepare --tokenizer` and this "
                "checkpoint, such as en-de-draft for en-de"
            )
        if self.search_options(1).first_is_certain:
            raise ValueError("speculative decoding is not possible with a forced first token: use translate")

    def mask_predict(
        self, text: str, iterations: int = 10, length_candidates: int = 5
    ) -> Iterator[tuple[MaskPredictState, ...]]:
        """The mask-predict of `translate`, by the model's modules: a state per iteration and length candidate.

        Other threads may use the model between two iterations.

        Raises:
            ValueError: as `translate`, or the model is autoregressive.
        """
        return self._mask_predict_steps(text, iterations, length_candidates, packed=False)

    def _mask_predict_steps(
        self, text: str, iterations: int, length_candidates: int, packed: bool = True
    ) -> Iterator[tuple[MaskPredictState, ...]]:
        """As `mask_predict`; `packed` as for `SharedModel.next_logits`."""
        options = self.mask_predict_options(iterations, length_candidates)
        source_ids = self._source_ids(text)
        limits = [self._limit(source_ids)]
        self.check_search(length_candidates, limits[0])
        masked_logits, lengths = self._shared.masked_logits([source_ids], limits, length_candidates, packed)
        return mask_predict_steps(masked_logits, lengths, options, self.model.device)
