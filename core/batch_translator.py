"""Translation of many sentences at once, batched by length."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor

from core.cpu_inference import Precision
from core.decoding import Hypothesis, NextLogits, Progress, SearchOptions, beam_search, mask_predict
from core.model import Transformer
from core.results import TextTranslation, Translation
from core.sentences import split_sentences, with_language_codes
from core.shared_model import SharedModel, Source
from core.text_codec import TextCodec, require_text
from core.tokenizer import Tokenizer

BATCH_TOKENS = 1024  # source tokens of a batch, padding included


class BatchTranslator(TextCodec):
    """A model with its tokenizer, behind a lock, that translates many sentences.

    See `Translator`.
    """

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        training: dict[str, Any] | None = None,
        precision: Precision = "exact",
    ) -> None:
        super().__init__(model.config, tokenizer)
        self.model = model
        self.training = training or {}
        self._shared = SharedModel(model, precision)

    @property
    def precision(self) -> Precision:
        """Precision of the search."""
        return self._shared.precision

    def inspect(self) -> AbstractContextManager[Transformer]:
        """Hold the model for this thread, to hook and run it.

        Inside the block, this thread may also call the translator's methods.
        """
        return self._shared.held()

    def batch(self, rows: Sequence[Source]) -> Tensor:
        """Pad sources or targets on the right: [B, longest] or [B, longest, P].

        The result is on the model's device.
        """
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

    def next_logits(self, sources: Sequence[Source]) -> NextLogits:
        """Encode sources and return a scorer of next tokens.

        See `SharedModel.next_logits`.
        """
        return self._shared.next_logits(sources)

    def translate_batch(
        self,
        texts: Sequence[str],
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_hypotheses: int = 1,
        progress: Progress | None = None,
        prefixes: Sequence[str | Sequence[int]] | None = None,
        iterations: int = 10,
    ) -> list[Translation]:
        """Translate many texts, each as one sentence, batched by length.

        Scores equal those of `translate` up to rounding, as matrix products of few and of many rows may sum in a
        different order (`core.cpu_products`). So where candidates tie to rounding, the result may differ.

        Args:
            progress: called after each batch with the number of texts done and their total.
            prefixes: forced beginning of each translation, as for `translate`.
            iterations: as for `translate`.

        Returns:
            One translation per text, in order.

        Raises:
            ValueError: as `translate`, naming the text.
        """
        options = self.search_options(beam_size, length_penalty, num_hypotheses)
        sources: list[list[int]] = []
        for number, text in enumerate(texts, start=1):
            with naming_sentence(number):
                sources.append(self._source_ids(text))
        if prefixes is not None:
            self.require_autoregressive("a forced beginning")
        forced = [
            self._prefix_ids(text, prefix, self._limit(source_ids))
            for text, prefix, source_ids in zip(
                texts, [()] * len(sources) if prefixes is None else prefixes, sources, strict=True
            )
        ]
        found: dict[int, Translation] = {}
        for batch in batches_by_length([len(source_ids) for source_ids in sources], BATCH_TOKENS):
            source_ids = [sources[index] for index in batch]
            limits = [self._limit(ids) for ids in source_ids]
            begun = [forced[index] for index in batch]
            if self.config.autoregressive:
                hypotheses = beam_search(self.next_logits(source_ids), limits, options, self.model.device, begun)
            else:
                hypotheses = self._mask_predicted(source_ids, limits, options, iterations)
            found.update(
                (index, self._translation(texts[index], sources[index], best))
                for index, best in zip(batch, hypotheses, strict=True)
            )
            if progress:
                progress(len(found), len(texts))
        return [found[index] for index in range(len(texts))]

    def translate_text(
        self,
        text: str,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_hypotheses: int = 1,
        progress: Progress | None = None,
    ) -> TextTranslation:
        """Translate a text of any length sentence by sentence, see `core.sentences`.

        Line breaks and spaces between sentences are kept. Codes of languages such as `>>fra<<` are for all sentences
        up to the next ones.

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
        )
        return TextTranslation(tuple(translations), (before, *(separator for _, separator in sentences)))

    def _mask_predicted(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], options: SearchOptions, iterations: int
    ) -> list[tuple[Hypothesis, ...]]:
        """The best length candidates of each sentence."""
        masked_logits, lengths = self._shared.masked_logits(sources, limits, options.beam_size)
        refined = self.mask_predict_options(iterations, options.beam_size)
        found = mask_predict(masked_logits, lengths, refined, self.model.device)
        return [hypotheses[: options.num_hypotheses] for hypotheses in found]


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
