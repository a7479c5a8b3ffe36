"""Translator: text to translations and explanations, for many threads."""

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from core.byte_pieces import alternative_piece, resolve_bytes
from core.cache import cached_decoder
from core.capture import attention_maps, capture_attention
from core.checkpoint import load_checkpoint
from core.cpu_inference import PackedTransformer, Precision, all_modules, packable
from core.decoding import (
    BeamState,
    Hypothesis,
    NextLogits,
    NonFiniteError,
    Progress,
    SearchOptions,
    beam_search,
    beam_steps,
    check_prefix,
    run_search,
)
from core.device import best_device
from core.fair_lock import FairLock
from core.model import PAD_PIXEL, AttentionWeights, Transformer
from core.recorded_search import DecoderPass, RecordedSearch, records
from core.results import Explanation, ScoredText, TextTranslation, Translation
from core.sentences import split_sentences
from core.tokenizer import SPACE_MARK, Tokenizer

if TYPE_CHECKING:
    from core.notebook import TranslatorView

MAX_SOURCE_TOKENS = 512  # with `</s>`
MAX_EXTRA_TOKENS = 50  # of a translation, beyond the length of its source (6.1)
MAX_TARGET_TOKENS = MAX_SOURCE_TOKENS + MAX_EXTRA_TOKENS  # with `</s>`, of a given target
BATCH_TOKENS = 1024  # source tokens of a batch, padding included
RECORDED_SEARCHES = 4  # that are kept for `explain`
Source = Sequence[int] | Tensor  # token ids, or image patches [S, P]


class Translator:
    """A model with its tokenizer, safe to share between threads.

    Args:
        precision: of the search. `exact` is float32: search, `score` and `explain` agree to rounding. `fast` uses 8-bit
            integers or bfloat16 where measured to be faster on this CPU (`core.cpu_inference`): translations and scores
            may differ, and may depend on the batch and on the measurement. Equivalent on a GPU.

    Raises:
        ValueError: from every method, for a text that is blank or longer than `MAX_SOURCE_TOKENS` tokens, and for a
            target that is longer than `MAX_TARGET_TOKENS` or has unknown token ids.
        NonFiniteError: a ValueError, if the model's outputs are not finite.
    """

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        training: dict[str, Any] | None = None,
        precision: Precision = "exact",
    ) -> None:
        if precision not in get_args(Precision):
            raise ValueError(f"precision ({precision!r}) must be one of {', '.join(get_args(Precision))}")
        self.precision: Precision = precision
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.training = training or {}
        self._lock = FairLock()
        self._packed: dict[Precision, PackedTransformer] = {}
        self._records: dict[tuple[int, ...], RecordedSearch] = {}  # by source, the oldest first

    @classmethod
    def from_checkpoint(
        cls, path: str | Path, device: str | torch.device | None = None, precision: Precision = "exact"
    ) -> "Translator":
        """Load a checkpoint to `device`, or to the best available one.

        Raises:
            CheckpointError, FileNotFoundError: see `load_checkpoint`.
            ValueError: see `best_device`.
        """
        checkpoint = load_checkpoint(path)
        return cls(checkpoint.model.to(best_device(device)), checkpoint.tokenizer, checkpoint.training, precision)

    @contextmanager
    def inspect(self) -> Generator[Transformer]:
        """Hold the model for this thread, to hook and run it.

        Inside the block, this thread may also call the translator's methods.
        """
        with self._lock:
            yield self.model

    def translate(
        self,
        text: str,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_hypotheses: int | None = None,
        progress: Progress | None = None,
        prefix: str | Sequence[int] = (),
    ) -> Translation:
        """Translate a text as one sentence.

        Args:
            beam_size: number of live hypotheses; 1 is greedy search.
            length_penalty: alpha of `core.decoding`.
            num_hypotheses: number of hypotheses to return, `beam_size` by default. The best does not depend on it.
            progress: called after each position with the position and the limit.
            prefix: forced beginning of the translation, as text or as token ids (which keep the exact pieces); scores
                include it.

        Raises:
            ValueError: the text is blank or too long, a value is out of range, or no translation of this text can begin
                with the prefix.
        """
        options = self.search_options(beam_size, length_penalty, num_hypotheses)
        states = self.search(text, beam_size, length_penalty, num_hypotheses, prefix)
        return self._translation(text, self._source_ids(text), run_search(states, options, progress))

    def search(
        self,
        text: str,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_hypotheses: int | None = None,
        prefix: str | Sequence[int] = (),
    ) -> Iterator[BeamState]:
        """The search of `translate`, as one state per position.

        Other threads may use the model between two positions.
        """
        options = self.search_options(beam_size, length_penalty, num_hypotheses)
        source_ids = self._source_ids(text)
        limit = self._limit(source_ids)
        forced = self._prefix_ids(text, prefix, limit)
        steps = beam_steps(self._search_scorer(source_ids), [limit], options, self.model.device, [forced])
        return (state for (state,) in steps)

    def translate_batch(
        self,
        texts: Sequence[str],
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_hypotheses: int = 1,
        progress: Progress | None = None,
        prefixes: Sequence[str | Sequence[int]] | None = None,
    ) -> list[Translation]:
        """Translate many texts, each as one sentence, batched by length.

        Scores equal those of `translate` up to rounding, as matrix products of few and of many rows may sum in a
        different order (`core.cpu_products`). So where candidates tie to rounding, the result may differ.

        Args:
            progress: called after each batch with the number of texts done and their total.
            prefixes: forced beginning of each translation, as for `translate`.

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
            hypotheses = beam_search(self.next_logits(source_ids), limits, options, self.model.device, begun)
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

        Line breaks and spaces between sentences are kept.

        Raises:
            ValueError: as `translate_batch`, if a single sentence is too long.
        """
        _require_text(text)
        sentences = split_sentences(text)
        before = sentences.pop(0)[1] if not sentences[0][0] else ""
        translations = self.translate_batch(
            [sentence for sentence, _ in sentences], beam_size, length_penalty, num_hypotheses, progress
        )
        return TextTranslation(tuple(translations), (before, *(separator for _, separator in sentences)))

    @torch.inference_mode()
    def score(self, source: str, target: str | Sequence[int], length_penalty: float = 0.6) -> ScoredText:
        """Forced decoding: the log-probability of a given target.

        Args:
            source: the source text.
            target: text, which is a whole translation (may be empty), or token ids, which are whole if they end with
                `</s>`.

        Returns:
            The target with the log-probabilities and the score that a search would assign.
        """
        ids = [*self.target_ids(target, source), self.model.config.eos_id] if isinstance(target, str) else list(target)
        source_ids, fed, _ = self.token_ids(source, ids)
        with self._lock:
            logits = self._packed_model("exact")(self.batch([source_ids]), self.batch([fed]))[0]
        log_probs = (
            logits.float()
            .log_softmax(-1)
            .cpu()[: len(ids)]
            .gather(1, torch.tensor(ids, dtype=torch.long)[:, None])
            .squeeze(1)
            .tolist()
        )
        log_probs = self._with_certain_first(log_probs, ids, source)
        total = sum(log_probs)
        if not math.isfinite(total):
            raise NonFiniteError("for this target")
        score = self.search_options(1, length_penalty).score(total, len(ids))
        return self.scored_text(
            Hypothesis(tuple(ids), tuple(log_probs), total, score, ids[-1:] == [self.model.config.eos_id])
        )

    @torch.inference_mode()
    def explain(self, source: str, target: str | Sequence[int], num_alternatives: int = 5) -> Explanation:
        """Log-probabilities, alternatives and the attention of all heads for a translation.

        If one of the last `RECORDED_SEARCHES` searches of `translate` or `search` found it, and the model has not
        changed since, they are what the search computed. Otherwise a replay computes them, in one teacher-forced pass
        with attention captured. The two agree to rounding.

        Args:
            source: the source text.
            target: text, or the token ids of a hypothesis (a final `</s>` is optional): ids keep the exact pieces of a
                search, text may be tokenized otherwise.
            num_alternatives: number of most probable tokens to return at each position.
        """
        ids = self.token_ids(source, target)
        num_best = min(num_alternatives, self.model.config.target_size)
        found = self._recorded_pass(*ids, num_best) or self._replayed_pass(*ids, num_best)
        source_tokens, (fed_tokens, predicted_tokens) = self.source_pieces(ids[0]), map(self.pieces, ids[1:])
        target_pieces = self.tokenizer.target.pieces

        def name(position: int, token_id: int) -> str:
            """Piece of an alternative after the token fed at a position."""
            if token_id == ids[2][position]:
                return predicted_tokens[position]
            found = alternative_piece(predicted_tokens, position, target_pieces([ids[1][position], token_id])[-1])
            # A whole word may be spelled like the predicted beginning of a word.
            return found + SPACE_MARK if found == predicted_tokens[position] else found

        return Explanation(
            source=source,
            target=self.tokenizer.target.decode(ids[1][1:]),
            source_tokens=source_tokens,
            fed_tokens=fed_tokens,
            predicted_tokens=predicted_tokens,
            log_probs=tuple(self._with_certain_first(found.log_probs, ids[2], source)),
            alternatives=tuple(
                tuple((name(position, token_id), value) for token_id, value in zip(*best, strict=True))
                for position, best in enumerate(zip(found.top_ids, found.top_log_probs, strict=True))
            ),
            maps=attention_maps(found.weights, self.model.config, source_tokens, fed_tokens, predicted_tokens),
        )

    def _recorded_pass(
        self, source_ids: list[int], fed: list[int], predicted: list[int], num_best: int
    ) -> DecoderPass | None:
        """What the last search for this source computed for a target; None if it did not, or the model has changed."""
        with self._lock:
            record = self._records.get(tuple(source_ids))
            if record is None or _is_watched(self.model) or not record.model.is_plain:
                return None
            if record.model is not self._packed_model("exact"):
                return None
            return record.decoder_pass(fed, predicted, num_best)

    def _replayed_pass(self, source_ids: list[int], fed: list[int], predicted: list[int], num_best: int) -> DecoderPass:
        """One teacher-forced pass with attention captured.

        Raises:
            NonFiniteError: a log-probability is not finite.
        """
        with self._lock, capture_attention(self.model) as captured:
            model = self.model if _is_watched(self.model) else self._packed_model("exact")
            logits = model(self.batch([source_ids]), self.batch([fed]))[0]
        log_probs = logits.float().log_softmax(-1).cpu()  # [T, V]
        if not log_probs.isfinite().all():
            raise NonFiniteError("for this target")
        top = log_probs.topk(num_best)
        of_predicted = log_probs.gather(1, torch.tensor(predicted)[:, None]).squeeze(1)
        return DecoderPass(captured, of_predicted.tolist(), top.indices.tolist(), top.values.tolist())

    def show(self, text: str, beam_size: int = 4, length_penalty: float = 0.6) -> "TranslatorView":
        """Translate a sentence and draw it in a notebook: its hypotheses, and the heads of the selected one.

        Args:
            beam_size, length_penalty: those of `translate`.

        Raises:
            ImportError: the extra `notebook` is not installed.
        """
        from core.notebook import TranslatorView

        return TranslatorView(self, self.translate(text, beam_size, length_penalty))

    def fits(self, text: str) -> bool:
        """Whether a text is short enough to be translated as one sentence."""
        return self.num_tokens(text) <= self._fit(MAX_SOURCE_TOKENS)

    def num_tokens(self, text: str) -> int:
        """Number of tokens of a source, `</s>` included."""
        return len(self._encode(text))

    def token_ids(self, source: str, target: str | Sequence[int]) -> tuple[list[int], list[int], list[int]]:
        """Ids of S source tokens, of T tokens fed to the decoder, and of T predicted ones."""
        source_ids = self._source_ids(source)
        target_ids = (
            self._begun(self.tokenizer.target.encode(target), source) if isinstance(target, str) else list(target)
        )
        if target_ids and target_ids[-1] == self.model.config.eos_id:
            target_ids.pop()
        self._require_target(target_ids)
        return source_ids, [self.model.config.bos_id, *target_ids], [*target_ids, self.model.config.eos_id]

    def target_ids(self, text: str, source: str = "") -> list[int]:
        """Tokens of a target text, without `</s>`, with white space normalised.

        Args:
            source: whose target it is, which some tokenizers need to know its language.
        """
        _require_encodable(text)
        return self._begun(self.tokenizer.target.encode(" ".join(text.split())), source)

    def _begun(self, token_ids: list[int], source: str) -> list[int]:
        """A target that begins with the forced first token, if there is one."""
        first = self.tokenizer.first_target_id(" ".join(source.split()))
        first = self.model.config.forced_first_id if first is None else first
        return token_ids if first is None or token_ids[:1] == [first] else [first, *token_ids]

    def _with_certain_first(self, log_probs: list[float], token_ids: Sequence[int], source: str) -> list[float]:
        """Log-probabilities of a target, 0 for a first token that the model or the text forces."""
        first = self._begun([], source)
        return [0.0, *log_probs[1:]] if first and list(token_ids[:1]) == first else log_probs

    def _require_target(self, token_ids: Sequence[int]) -> None:
        """Check target ids, without `</s>`.

        Raises:
            ValueError: an id is not in the vocabulary, or there are too many.
        """
        vocab_size, limit = self.model.config.target_size, self._fit(MAX_TARGET_TOKENS)
        strange = next((token_id for token_id in token_ids if not 0 <= token_id < vocab_size), None)
        if strange is not None:
            raise ValueError(
                f"the target has the token id {strange}, this model has 0 to {vocab_size - 1}: it belongs to another "
                f"model"
            )
        if len(token_ids) >= limit:
            raise ValueError(f"the target has {len(token_ids) + 1} tokens, at most {limit} can be scored: shorten it")

    def prefix_ids(self, source: str, prefix: str | Sequence[int]) -> list[int]:
        """Tokens of a prefix for `translate`.

        Raises:
            ValueError: no translation of the text can begin with it.
        """
        return self._prefix_ids(source, prefix, self._limit(self._source_ids(source)))

    def length_limit(self, source: str) -> int:
        """Largest number of tokens of a translation of a text, `</s>` included."""
        return self._limit(self._source_ids(source))

    def _prefix_ids(self, source: str, prefix: str | Sequence[int], limit: int) -> list[int]:
        """As `prefix_ids`, with the limit of the translation's length."""
        token_ids = self.target_ids(prefix, source) if isinstance(prefix, str) else self._begun(list(prefix), source)
        options = self.search_options(1, 0.0)
        check_prefix(token_ids, limit, options)
        self._require_target(token_ids[:-1] if token_ids[-1:] == [options.eos_id] else token_ids)
        return token_ids

    def _source_ids(self, source: str) -> list[int]:
        """Tokens of a source, `</s>` included.

        Raises:
            ValueError: the text is blank or too long, or the model reads images.
        """
        if self.model.config.patch_size:
            raise ValueError(
                "this model reads pictures of text, not text: use core.images.line_reader.LineReader, or a checkpoint "
                "that translates"
            )
        _require_text(source)
        token_ids = self._encode(source)
        limit = self._fit(MAX_SOURCE_TOKENS)
        if len(token_ids) > limit:
            raise ValueError(
                f"the text has {len(token_ids)} tokens, at most {limit} can be translated at once: shorten or split it"
            )
        return token_ids

    def _encode(self, source: str) -> list[int]:
        """Tokens of a source; white space is normalised to single spaces, as in training."""
        config, token_ids = self.model.config, self.tokenizer.encode(" ".join(source.split()))
        return [*config.source_prefix, *token_ids, config.eos_id, *config.source_suffix]

    def _limit(self, source_ids: Sequence[int]) -> int:
        """Largest number of tokens of a translation, `</s>` included.

        Leaves room for a `</s>` in the replay of a translation that reached the limit.
        """
        return self._fit(len(source_ids) + MAX_EXTRA_TOKENS + 1) - 1

    def _fit(self, length: int) -> int:
        config = self.model.config
        return min(length, config.max_positions) if config.positions == "learned" else length

    def search_options(
        self, beam_size: int = 4, length_penalty: float = 0.6, num_hypotheses: int | None = None
    ) -> SearchOptions:
        """Search options with this model's special tokens.

        Args:
            num_hypotheses: `beam_size` by default.

        Raises:
            ValueError: a value is out of range.
        """
        config = self.model.config
        return SearchOptions(
            bos_id=config.bos_id,
            eos_id=config.eos_id,
            never=(config.pad_id, *config.never_ids),
            beam_size=beam_size,
            length_penalty=length_penalty,
            num_hypotheses=beam_size if num_hypotheses is None else num_hypotheses,
            penalty_formula=config.penalty_formula,
            early_stopping=config.early_stopping,
            first_is_certain=bool(self._begun([], "")),
        )

    def batch(self, rows: Sequence[Source]) -> Tensor:
        """Sources, or targets, padded on the right: [B, longest] or [B, longest, P], on the model's device."""
        are_patches = any(isinstance(row, Tensor) for row in rows)
        padding = PAD_PIXEL if are_patches else self.model.config.pad_id
        padded = pad_sequence([torch.as_tensor(row) for row in rows], batch_first=True, padding_value=padding)
        return padded.to(self.model.device)

    @torch.inference_mode()
    def next_logits(self, sources: Sequence[Source]) -> NextLogits:
        """Encode sources and return a scorer of next tokens.

        The scorer serves one search over their translations. It caches keys and values, and holds the model's lock for
        one position at a time.

        Args:
            sources: token ids of each sentence, `</s>` included, or patches of each image.
        """
        source_ids = self.batch(sources)
        with self._lock:
            return self._locking(cached_decoder(self._packed_model(self.precision), source_ids))

    @torch.inference_mode()
    def _search_scorer(self, source: list[int]) -> NextLogits:
        """As `next_logits`, for one sentence. The search is recorded, if possible, for `explain`."""
        source_ids = self.batch([source])
        with self._lock:
            model = self._packed_model(self.precision)
            if self.precision != "exact" or not isinstance(model, PackedTransformer) or not records(model, source_ids):
                return self._locking(cached_decoder(model, source_ids))
            record = RecordedSearch(model, source_ids)
            self._records.pop(tuple(source), None)
            self._records[tuple(source)] = record  # as the newest
            if len(self._records) > RECORDED_SEARCHES:
                del self._records[next(iter(self._records))]
            return self._locking(record)

    def _locking(self, decoder: NextLogits) -> NextLogits:
        """The scorer, holding the model's lock for each position."""

        def next_logits(token_ids: Tensor, parents: Tensor, sentences: Tensor | None) -> Tensor:
            with self._lock:
                return decoder(token_ids, parents, sentences)

        return next_logits

    def _packed_model(self, precision: Precision) -> Transformer:
        """The model packed for this CPU, if possible. Needs the lock."""
        if not packable(self.model):
            return self.model
        if precision not in self._packed or not self._packed[precision].packs(self.model):
            self._packed[precision] = PackedTransformer(self.model, precision)
        return self._packed[precision]

    def _translation(self, source: str, source_ids: Sequence[int], hypotheses: Sequence[Hypothesis]) -> Translation:
        return Translation(
            source, self.source_pieces(source_ids), tuple(self.scored_text(hypothesis) for hypothesis in hypotheses)
        )

    def scored_text(self, hypothesis: Hypothesis) -> ScoredText:
        """Decode a hypothesis of a search."""
        token_ids = hypothesis.token_ids
        return ScoredText(
            text=self.tokenizer.target.decode(token_ids[:-1] if hypothesis.finished else token_ids),
            token_ids=token_ids,
            tokens=self.pieces(token_ids),
            token_log_probs=hypothesis.token_log_probs,
            score=hypothesis.score,
            finished=hypothesis.finished,
        )

    def pieces(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        """Tokens of a target as pieces, byte tokens as `BytePiece`."""
        return resolve_bytes(self.tokenizer.target.pieces(token_ids))

    def source_pieces(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        """Tokens of a source as pieces, byte tokens as `BytePiece`."""
        return resolve_bytes(self.tokenizer.pieces(token_ids))


def _is_watched(model: Transformer) -> bool:
    """Whether a module is hooked that a packed model does not share."""
    return any(
        module._forward_hooks or module._forward_pre_hooks  # pyright: ignore[reportPrivateUsage]
        for module in all_modules(model)
        if not isinstance(module, AttentionWeights)
    )


@contextmanager
def naming_sentence(number: int) -> Generator[None]:
    """Prefix the message of a `ValueError` inside the block with a sentence number."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"sentence {number}: {error}") from error


def _require_text(text: str) -> None:
    if not text.strip():
        raise ValueError("there is nothing to translate: the text is empty or only white space")
    _require_encodable(text)


def _require_encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the text has a lone surrogate ({text[error.start]!r} at {error.start}), which cannot be encoded: "
            f"remove it"
        ) from error


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
