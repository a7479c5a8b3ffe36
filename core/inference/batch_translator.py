"""Translation and scoring of many sentences at once, batched by length."""

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from core.decoding import (
    FREE,
    Beginning,
    Constraints,
    Hypothesis,
    NextLogits,
    NonFiniteError,
    Progress,
    SearchOptions,
    beam_search,
    mask_predict,
)
from core.decoding.text_codec import PassIds, TextCodec, require_text
from core.files.process_memory import PROCESS
from core.inference.device import Precision
from core.inference.shared_model import SharedModel, Source
from core.model import Transformer
from core.model.half_precision import is_large, weight_bytes
from core.results import ScoredText, TextTranslation, Translation
from core.text.sentences import space_after, split_sentences, with_language_codes
from core.text.tokenizer import Tokenizer
from core.trace import explicit_attention

BATCH_TOKENS = 1024  # source tokens of a batch, padding included
SCORED_TOKENS = 4096  # tokens a side of a batch of given targets, padding included
# Absolute, between two computations of a token's log-probability, in nats. Sums in float32 in another order differed by
# 7e-6 at most in the hypotheses of 36 sentences by three shipped models; a changed module differs by far more.
LOG_PROB_TOLERANCE = 1e-3


class BatchTranslator(TextCodec):
    """A model with its tokenizer, behind a lock, for many sentences; see `Translator`."""

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        training: dict[str, Any] | None = None,
        precision: Precision = "exact",
    ) -> None:
        super().__init__(model.config, tokenizer, weight_bytes(model))
        self.model = model
        self.training = training or {}
        self._shared = SharedModel(model, precision)
        PROCESS.hold(self, weight_bytes(model) * (1 if is_large(model) else 2))  # a small one is also packed

    @property
    def precision(self) -> Precision:
        """Precision of the search."""
        return self._shared.precision

    @contextmanager
    def inspect(self) -> Generator[Transformer]:
        """Hold the model for this thread, to hook and run it, with all attention explicit (`core.trace`).

        Inside the block, this thread may also call the translator's methods.
        """
        with self.held() as model, explicit_attention(model):
            yield model

    def held(self) -> AbstractContextManager[Transformer]:
        """As `inspect`, with the model as it is for others: fused kernels compute attention."""
        return self._shared.held()

    def batch(self, rows: Sequence[Source]) -> Tensor:
        """Pad sources or targets on the right, on the model's device: [B, longest] or [B, longest, P]."""
        return self._shared.batch(rows)

    def generated(self, logits: Tensor) -> Tensor:
        """Logits of the tokens that a search may generate.

        Args:
            logits: [..., V]

        Returns:
            [..., V] in float32, minus infinity for other tokens.
        """
        never = torch.tensor(self.search_options().excluded, dtype=torch.long, device=logits.device)
        return logits.float().index_fill(-1, never, -torch.inf)

    def best_other(self, logits: Tensor, token: int) -> int:
        """Most probable token that a search may generate, other than `token`.

        Args:
            logits: [V]
        """
        return next(each for each in self.generated(logits).topk(2).indices.tolist() if each != token)

    def next_logits(self, sources: Sequence[Source], packed: bool = True) -> NextLogits:
        """Encode sources and return a scorer of next tokens; see `SharedModel.next_logits`."""
        return self._shared.next_logits(sources, packed)

    def model_log_probs(self, source_ids: list[int], token_ids: Sequence[int]) -> list[float]:
        """Log-probabilities of a hypothesis' tokens by a teacher-forced pass of the model's modules; see
        `SharedModel.log_probs`.
        """
        fed = [self.config.bos_id, *token_ids[:-1]]
        return self._shared.log_probs([source_ids], [fed], [token_ids])[0]

    def agree(self, searched: Sequence[float], of_model: Sequence[float]) -> bool:
        """Whether the log-probabilities of a search are those of the model's modules, to `LOG_PROB_TOLERANCE`.

        In precision `fast`, which rounds more, every search counts as agreeing.
        """
        pairs = zip(searched, of_model, strict=True)
        return self.precision != "exact" or all(abs(ours - theirs) <= LOG_PROB_TOLERANCE for ours, theirs in pairs)

    def translate_batch(
        self,
        texts: Sequence[str],
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_hypotheses: int = 1,
        progress: Progress | None = None,
        prefixes: Sequence[str | Sequence[int] | Beginning] | None = None,
        iterations: int = 10,
        constraints: Constraints = FREE,
    ) -> list[Translation]:
        """Translate many texts, each as one sentence, batched by length.

        Scores are those of the search. They equal those of `translate` up to rounding, as matrix products of few and of
        many rows may sum in a different order (`core.inference.cpu_products`), so where candidates tie to rounding, the
        result may differ. In precision `exact`, a pass of the model's modules checks one sentence of each batch: if it
        differs by more than `LOG_PROB_TOLERANCE`, these modules search for the whole batch.

        Args:
            progress: called after each batch with the number of texts done and their total.
            prefixes: forced beginning of each translation, as for `translate`.
            iterations, constraints: as for `translate`.

        Returns:
            One translation per text, in order.

        Raises:
            ValueError: as `translate`, naming the text.
        """
        options = self.search_options(beam_size, length_penalty, num_hypotheses, constraints)
        sources: list[list[int]] = []
        for number, text in enumerate(texts, start=1):
            with naming_sentence(number):
                sources.append(self._source_ids(text))
        if prefixes is not None:
            self.require_autoregressive("a forced beginning")
        begun = [()] * len(sources) if prefixes is None else prefixes
        forced: list[Beginning] = []
        for number, (text, prefix, source_ids) in enumerate(zip(texts, begun, sources, strict=True), start=1):
            with naming_sentence(number):
                forced.append(self._beginning(text, prefix, self._limit(source_ids), constraints))
        translated: dict[int, Translation] = {}
        limit_of = [self._limit(ids) for ids in sources]
        for batch in self.batches([len(ids) for ids in sources], limit_of, options.beam_size, BATCH_TOKENS):
            source_ids, limits = [sources[index] for index in batch], [limit_of[index] for index in batch]
            begun = [forced[index] for index in batch]
            arguments = source_ids, limits, options, begun, iterations
            hypotheses = self._searched(*arguments)
            _, agrees = self._of_model(texts[batch[-1]], source_ids[-1], hypotheses[-1][:1], options)  # the shortest
            if not agrees:
                hypotheses = self._searched(*arguments, packed=False)
            translated.update(
                (index, self._translation(texts[index], sources[index], best, by_modules=not agrees))
                for index, best in zip(batch, hypotheses, strict=True)
            )
            if progress:
                progress(len(translated), len(texts))
        return [translated[index] for index in range(len(texts))]

    def score_batch(
        self, pairs: Sequence[tuple[str, str | Sequence[int]]], length_penalty: float = 0.6
    ) -> list[ScoredText]:
        """Forced decoding of many given targets, batched by length, with the log-probabilities of `Translator.score` up
        to rounding.

        Args:
            pairs: sources and targets, as for `Translator.score`.

        Returns:
            One scored target per pair, in order.

        Raises:
            ValueError: as `Translator.score`, naming the sentence.
        """
        options = self.search_options(1, length_penalty)
        passes: list[PassIds] = []
        for number, (source, target) in enumerate(pairs, start=1):
            with naming_sentence(number):
                passes.append(self.scored_ids(source, target))
        scored: dict[int, ScoredText] = {}
        for index, log_probs in self.pass_log_probs(passes):
            with naming_sentence(index + 1):
                scored[index] = self._scored(pairs[index][0], passes[index].predicted, log_probs, options)
        return [scored[index] for index in range(len(pairs))]

    def pass_log_probs(self, passes: Sequence[PassIds]) -> Iterator[tuple[int, list[float]]]:
        """Index of each pass, and log-probabilities of its predicted tokens, batched by length, the longest first.

        Between two batches, other threads may use the model.
        """
        for batch in batches_by_length([max(len(ids.source), len(ids.fed)) for ids in passes], SCORED_TOKENS):
            sources, fed, predicted = zip(*(passes[index] for index in batch), strict=True)
            yield from zip(batch, self._shared.log_probs(sources, fed, predicted), strict=True)

    def _of_model(
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
        for index, log_probs in self.pass_log_probs(passes):
            searched, log_probs = hypotheses[index], self.with_certain_first(log_probs, passes[index].predicted, source)
            total = sum(log_probs)
            if not math.isfinite(total):
                raise NonFiniteError("for this target")
            if searched.fed_ids is None:
                score = options.score(total, len(log_probs))
                rescored[index] = replace(searched, token_log_probs=tuple(log_probs), log_prob=total, score=score)
            fed = passes[index].fed
            compared = [at for at in range(len(fed)) if searched.fed_ids is None or fed[at] == self.config.mask_id]
            agrees &= self.agree([searched.token_log_probs[at] for at in compared], [log_probs[at] for at in compared])
        return tuple(rescored), agrees

    def batches(
        self, lengths: Sequence[int], limits: Sequence[int], hypotheses: int, max_tokens: int
    ) -> Iterator[list[int]]:
        """As `batches_by_length`, with no more sentences than the budget admits.

        Args:
            limits: largest number of tokens of each translation.
            hypotheses: of each sentence.

        Raises:
            ValueError: as `check_search`.
        """
        for batch in batches_by_length(lengths, max_tokens):
            positions = max(limits[index] for index in batch)
            self.check_search(hypotheses, positions)
            rows = self.most_hypotheses(positions) // hypotheses
            yield from (batch[first : first + rows] for first in range(0, len(batch), rows))

    def translate_text(
        self,
        text: str,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_hypotheses: int = 1,
        progress: Progress | None = None,
        constraints: Constraints = FREE,
    ) -> TextTranslation:
        """Translate a text of any length sentence by sentence, see `core.text.sentences`.

        Line breaks and spaces between sentences are kept; inside a sentence they are single spaces. Where a source has
        none, a space is put between translations that need one. Codes of languages such as `>>fra<<` apply to all
        sentences up to the next codes, and constraints to each sentence.

        Raises:
            ValueError: as `translate_batch`, if a single sentence is too long.
        """
        require_text(text)
        sentences = split_sentences(text)
        before = sentences.pop(0)[1] if not sentences[0][0] else ""
        texts = [sentence for sentence, _ in sentences]
        translations = self.translate_batch(
            with_language_codes(texts) if self.tokenizer.language_codes else texts,
            beam_size,
            length_penalty,
            num_hypotheses,
            progress,
            constraints=constraints,
        )
        gaps = [
            separator or space_after(translation.text)
            for (_, separator), translation in zip(sentences[:-1], translations[:-1], strict=True)
        ]
        return TextTranslation(tuple(translations), (before, *gaps, sentences[-1][1]))

    def _scored(
        self, source: str, token_ids: Sequence[int], log_probs: list[float], options: SearchOptions
    ) -> ScoredText:
        """A given target with the log-probabilities of its tokens.

        Raises:
            NonFiniteError: one is not finite.
        """
        log_probs = self.with_certain_first(log_probs, token_ids, source)
        total, ended = sum(log_probs), token_ids[-1:] == [self.config.eos_id]
        if not math.isfinite(total):
            raise NonFiniteError("for this target")
        score = options.score(total, len(token_ids))
        return self.scored_text(Hypothesis(tuple(token_ids), tuple(log_probs), total, score, ended))

    def _searched(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchOptions,
        begun: Sequence[Beginning | Sequence[int]],
        iterations: int,
        packed: bool = True,
    ) -> list[tuple[Hypothesis, ...]]:
        """The best hypotheses of each sentence or, in mask-predict, the best length candidates.

        Args:
            begun: forced beginning of each sentence.
            packed: as for `SharedModel.next_logits`.
        """
        if self.config.autoregressive:
            return beam_search(self._shared.next_logits(sources, packed), limits, options, self.model.device, begun)
        masked_logits, lengths = self._shared.masked_logits(sources, limits, options.beam_size, packed)
        refined = self.mask_predict_options(iterations, options.beam_size)
        candidates = mask_predict(masked_logits, lengths, refined, self.model.device)
        return [hypotheses[: options.num_hypotheses] for hypotheses in candidates]


@contextmanager
def naming_sentence(number: int) -> Generator[None]:
    """Prefix the message of a `ValueError` inside the block with a sentence number."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"sentence {number}: {error}") from error


def batches_by_length(lengths: Sequence[int], max_tokens: int) -> Iterator[list[int]]:
    """Group indices by similar length, longest first.

    Args:
        lengths: number of tokens of each sequence.
        max_tokens: most tokens of a batch, padding included; a longer sequence is a batch of its own.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
