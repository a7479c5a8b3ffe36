"""A model that threads share, one running it at a time.

Searches may use the model packed for this CPU. What is shown is computed by the modules of `core.model`.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from core.capture import capture_attention
from core.decoding import ChainLogits, Length, MaskedLogits, NextLogits, NonFiniteError
from core.decoding.cache import cached_decoder, chain_decoder
from core.decoding.limits import batches_by_length
from core.decoding.text_codec import DecoderPass, PassIds
from core.files.budget import pass_bytes
from core.files.number_range import NumberRange
from core.files.process_memory import PROCESS
from core.inference.cpu_inference import PackedTransformer, packable
from core.inference.cpu_products import onednn_products
from core.inference.device import Precision
from core.inference.fair_lock import FairLock
from core.model import MAX_LENGTH_DIFFERENCE, PAD_PIXEL, Transformer
from core.model.pass_size import numbers_per_token
from core.trace import explicit_attention


@contextmanager
def reserved_passes(model: Transformer) -> Generator[None]:
    """Reserve the memory of passes inside the block, that of the largest one, until its end.

    Raises:
        NoRoomError: in a pass, if the process may not have as much.
    """
    config, taken = model.config, {"encoder": 0, "decoder": 0}
    layers = config.num_encoder_layers + config.num_decoder_layers
    encoder_heads = config.num_encoder_layers * config.encoder_heads.num_heads
    decoder_heads = config.num_decoder_layers * config.decoder_heads.num_heads
    with PROCESS.reserved() as reserve:

        def note(stack: str, states: Tensor, pairs: int, numbers: int) -> None:
            size = pass_bytes(pairs, numbers, states.size(0), 1 if torch.is_grad_enabled() else layers)
            if size > taken[stack]:
                taken[stack] = size
                reserve(sum(taken.values()))

        def before_encoder(_module: nn.Module, arguments: tuple[Any, ...]) -> None:
            states: Tensor = arguments[0]
            note("encoder", states, encoder_heads * states.size(1) ** 2, 0)

        def before_decoder(_module: nn.Module, arguments: tuple[Any, ...]) -> None:
            states, memory = arguments[:2]
            length, keys = states.size(1), memory.size(1)
            numbers = numbers_per_token(config) * max(length, keys)
            note("decoder", states, decoder_heads * length * (length + keys), numbers)

        with (
            model.encoder.register_forward_pre_hook(before_encoder),
            model.decoder.register_forward_pre_hook(before_decoder),
        ):
            yield


SCORED_TOKENS = 4096  # tokens a side of a batch of given targets, padding included
CHUNK_LOGITS = 2**23  # in memory at once for `log_probs`: 32 MiB
MANY_ROWS = 100  # from which oneDNN multiplies faster: with 30 as fast, with 186 in 0.7 of the time (AMD EPYC, Zen 4)
Source = Sequence[int] | Tensor  # token ids, or image patches [S, P]


class SharedModel:
    """A model behind a lock, with the precision of searches, see `Translator`; everything else is exact."""

    def __init__(self, model: Transformer, precision: Precision) -> None:
        if precision not in get_args(Precision):
            raise ValueError(f"precision ({precision!r}) must be one of {', '.join(get_args(Precision))}")
        self.model = model.eval()
        self.precision: Precision = precision
        self._lock = FairLock()
        self._reserves = False  # whether the thread that holds the lock reserves the memory of its passes
        self._packed: PackedTransformer | None = None

    @contextmanager
    def held(self) -> Generator[Transformer]:
        """Hold the model for this thread, which may also call the other methods inside the block.

        Raises:
            NoRoomError: in a pass, if the process may not have its memory (`core.files.process_memory`).
        """
        with self._lock:
            if self._reserves or PROCESS.limit is None:
                yield self.model
                return
            self._reserves = True
            try:
                with reserved_passes(self.model):
                    yield self.model
            finally:
                self._reserves = False

    def pass_log_probs(self, passes: Sequence[PassIds]) -> Iterator[tuple[int, list[float]]]:
        """Index of each pass, and its `log_probs`, batched by length, the longest first.

        Between two batches, other threads may use the model.
        """
        for batch in batches_by_length([max(len(ids.source), len(ids.fed)) for ids in passes], SCORED_TOKENS):
            yield from zip(batch, self.log_probs([passes[index] for index in batch]), strict=True)

    @torch.inference_mode()
    def log_probs(self, passes: Sequence[PassIds]) -> list[list[float]]:
        """Log-probabilities of the predicted tokens of given targets.

        By one teacher-forced pass of the model's modules, which encodes equal sources once. The matrix products of many
        rows are computed by oneDNN, which is faster. The logits of a few tokens at a time are in memory.
        """
        sources, fed, predicted = zip(*passes, strict=True)
        lengths = [len(ids) for ids in predicted]
        numbers = {source: number for number, source in enumerate(dict.fromkeys(map(tuple, sources)))}
        places = [numbers[tuple(source)] for source in sources]
        products = onednn_products() if sum(map(len, fed)) >= MANY_ROWS else nullcontext()
        with self.held() as model, explicit_attention(model), products:
            source_ids = self.batch(list(numbers))
            memory, memory_mask = model.encode(source_ids)[places], model.source_mask(source_ids)[places]
            states = model.decode(self.batch(fed), memory, memory_mask)  # [B, T, D]
            states = torch.cat([row[:length] for row, length in zip(states, lengths, strict=True)])  # [N, D]
            labels = torch.tensor([token_id for ids in predicted for token_id in ids], dtype=torch.long)
            rows = max(1, CHUNK_LOGITS // model.config.target_size)
            part_log_probs = [
                -F.cross_entropy(model.project(part).float(), label, reduction="none")
                for part, label in zip(states.split(rows), labels.to(states.device).split(rows), strict=True)
            ]
        return [values.tolist() for values in torch.cat(part_log_probs).cpu().split(lengths)]

    @torch.inference_mode()
    def decoder_pass(self, source: Source, fed: Sequence[int], predicted: Sequence[int], num_best: int) -> DecoderPass:
        """Attention, log-probabilities and most probable tokens of one target, from one pass of the modules.

        The pass is teacher-forced, with attention captured.

        Raises:
            NonFiniteError: a log-probability is not finite.
        """
        NumberRange(int).check("num_alternatives", num_best)
        with self.held(), capture_attention(self.model) as captured:
            logits = self.model(self.batch([source]), self.batch([fed]))[0]
        log_probs = logits.float().log_softmax(-1).cpu()  # [T, V]
        if not log_probs.isfinite().all():
            raise NonFiniteError("for this target")
        top = log_probs.topk(min(num_best, log_probs.size(-1)))
        of_predicted = log_probs.gather(1, torch.tensor(predicted)[:, None]).squeeze(1)
        return DecoderPass(captured, of_predicted.tolist(), top.indices.tolist(), top.values.tolist())

    def batch(self, rows: Sequence[Source]) -> Tensor:
        """Pad sources or targets on the right, on the model's device: [B, longest] or [B, longest, P]."""
        are_patches = any(isinstance(row, Tensor) for row in rows)
        padding = PAD_PIXEL if are_patches else self.model.config.pad_id
        padded = pad_sequence([torch.as_tensor(row) for row in rows], batch_first=True, padding_value=padding)
        return padded.to(self.model.device)

    @torch.inference_mode()
    def next_logits(self, sources: Sequence[Source], packed: bool = True) -> NextLogits:
        """Encode sources and return a scorer of next tokens.

        It serves one search over their translations, caches keys and values, and locks the model a position at a time.

        Args:
            sources: token ids of each sentence, `</s>` included, or patches of each image.
            packed: whether the model may be packed for this CPU; if not, its modules compute as in `decoder_pass`.
        """
        source_ids, attention = self.batch(sources), self._attention(packed)
        with self._lock, attention():
            decoder = cached_decoder(self._searching_model(packed), source_ids)

        def next_logits(token_ids: Tensor, parents: Tensor, sentences: Tensor | None) -> Tensor:
            with self._lock, attention():
                return decoder(token_ids, parents, sentences)

        return next_logits

    @torch.inference_mode()
    def chain_logits(self, source: Sequence[int], packed: bool = True) -> ChainLogits:
        """Encode a source and return a scorer along one translation, which holds the model's lock for each call."""
        source_ids, attention = self.batch([source]), self._attention(packed)
        with self._lock, attention():
            decoder = chain_decoder(self._searching_model(packed), source_ids)

        def logits(token_ids: Sequence[int], start: int) -> Tensor:
            with self._lock, attention():
                return decoder(token_ids, start)

        return logits

    @torch.inference_mode()
    def masked_logits(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], candidates: int, packed: bool = True
    ) -> tuple[MaskedLogits, list[list[Length]]]:
        """Encode sources, and return a scorer of masked tokens and the most probable lengths of each target.

        The scorer serves one mask-predict of these lengths, and holds the model's lock for one iteration at a time.

        Args:
            sources: token ids of each sentence, `</s>` included.
            limits: largest length of each target.
            candidates: number of lengths of a sentence; fewer where its limit allows no more.
            packed: as for `next_logits`.
        """
        source_ids, attention = self.batch(sources), self._attention(packed)
        with self._lock, attention():
            model = self._searching_model(packed)
            memory, memory_mask = model.encode(source_ids), model.source_mask(source_ids)
            log_probs = model.length_logits(memory, memory_mask).float().log_softmax(-1).cpu()
        if not log_probs.isfinite().all():
            raise NonFiniteError("for this source")
        lengths: list[list[Length]] = []
        for row, (source, limit) in enumerate(zip(sources, limits, strict=True)):
            shortest = len(source) - MAX_LENGTH_DIFFERENCE
            first = max(2 - shortest, 0)  # a token and `</s>`
            allowed = log_probs[row, first : limit + 1 - shortest]
            best = allowed.topk(min(candidates, len(allowed)))
            likely = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            lengths.append([Length(first + shortest + number, log_prob) for number, log_prob in likely])
        sentences = torch.tensor([row for row, of in enumerate(lengths) for _ in of], device=source_ids.device)

        def masked_logits(fed: Tensor, masked: Tensor, rows: Tensor) -> Tensor:
            with self._lock, attention():
                places = sentences[rows]
                return model.project(model.decode(fed, memory[places], memory_mask[places])[masked])

        return masked_logits, lengths

    def _attention(self, packed: bool) -> Callable[[], AbstractContextManager[object]]:
        """A context for each call of the model in which its own softmax computes, unless it is packed."""
        return nullcontext if packed else partial(explicit_attention, self.model)

    def _searching_model(self, packed: bool) -> Transformer:
        """The model, packed for this CPU if that is requested and possible; the caller holds the lock."""
        if packed and not (self._packed and self._packed.packs(self.model)):
            self._packed = PackedTransformer(self.model, self.precision) if packable(self.model) else None
        return (packed and self._packed) or self.model
