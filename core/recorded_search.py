"""A search that records the attention and the most probable tokens of each step.

They explain its hypotheses. The compiled functions compute the weights of every head anyway, so recording them costs
almost nothing, where a replay of the finished translation takes a third of the search's time. The weights of a
hypothesis are those of its ancestors' rows; a replay in one pass has the same, to rounding.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from core.cache import DecoderCache
from core.capture import Kind, attention_path
from core.cpu_inference import PackedTransformer
from core.native import library as native

MOST_BYTES = 2**24  # of one search; beyond, nothing is kept
NUM_BEST = 10  # most probable tokens kept for each row; a beam of 4 continues with the best 8 that may be generated


class DecoderPass(NamedTuple):
    """Decoder outputs for T given tokens of one target.

    Attributes:
        weights: module path -> attention weights [1, H, Q, K], see `capture_attention`.
        log_probs: [T] of the predicted tokens, in nats.
        top_ids, top_log_probs: [T, n] the most probable tokens, best first.
    """

    weights: dict[str, Tensor]
    log_probs: list[float]
    top_ids: list[list[int]]
    top_log_probs: list[list[float]]


class _Position(NamedTuple):
    token_ids: list[int]  # [W] fed
    parents: list[int]  # [W] rows of the position before
    own: Tensor  # [layers, 1, W, H, position + 1] weights of self-attention
    cross: Tensor  # [layers, 1, W, H, S]
    best_ids: Tensor  # [1, W, `NUM_BEST`]
    best_log_probs: Tensor


class RecordedSearch:
    """Scorer of next tokens (`NextLogits`) for one search of one sentence.

    Args:
        model: for which `records` is true.
        source_ids: [1, S]
    """

    def __init__(self, model: PackedTransformer, source_ids: Tensor) -> None:
        self.model = model
        config, length = model.config, source_ids.size(1)
        heads = config.encoder_heads.num_heads
        self._encoder = torch.zeros(config.num_encoder_layers, 1, length, heads, length)
        memory = model.encode(source_ids, self._encoder)
        self._cache = DecoderCache(memory, model.source_mask(source_ids), config.num_decoder_layers)
        self._positions: list[_Position] = []
        self._num_bytes = 0

    def __call__(self, token_ids: Tensor, parents: Tensor, sentences: Tensor | None) -> Tensor:
        mask, position = self._cache.extend(parents), self._cache.length
        if position > len(self._positions) or not self.model.compiles_step(token_ids):
            return self.model.step(token_ids, self._cache, mask)
        config = self.model.config
        shape = config.num_decoder_layers, 1, token_ids.size(1), config.decoder_heads.num_heads
        own, cross = torch.empty(*shape, position + 1), torch.empty(*shape, self._encoder.size(-1))
        logits = self.model.step(token_ids, self._cache, mask, (own, cross))
        self._num_bytes += 4 * (own.numel() + cross.numel())
        if self._num_bytes <= MOST_BYTES and (compiled := native.library()):
            best = native.best_tokens(compiled, logits, min(NUM_BEST, config.target_size), ())
            self._positions.append(_Position(token_ids[0].tolist(), parents[0].tolist(), own, cross, *best))
        return logits

    def decoder_pass(self, fed: Sequence[int], predicted: Sequence[int], num_best: int) -> DecoderPass | None:
        """Return what the search computed for a target.

        Args:
            fed, predicted: T tokens, see `Translator.token_ids`.
            num_best: number of most probable tokens at each position.

        Returns:
            None if the search did not get there, or not all is kept.
        """
        rows = self._rows(fed)
        if rows is None or num_best > min(NUM_BEST, self.model.config.target_size):
            return None
        along = list(zip(self._positions, rows, strict=False))  # the search may have gone on
        best_ids = torch.stack([position.best_ids[0, row] for position, row in along])  # [T, NUM_BEST]
        best_log_probs = torch.stack([position.best_log_probs[0, row] for position, row in along])
        found = best_ids == torch.tensor(predicted)[:, None]
        if not found.any(1).all() or not best_log_probs.isfinite().all():
            return None
        length, (num_layers, _, _, heads, _) = len(fed), along[0][0].own.shape
        own = torch.zeros(num_layers, length, heads, length)
        for number, (position, row) in enumerate(along):
            own[:, number, :, : number + 1] = position.own[:, 0, row]
        cross = torch.stack([position.cross[:, 0, row] for position, row in along], 1)
        kinds: dict[Kind, Tensor] = {"encoder_self": self._encoder[:, 0], "decoder_self": own, "cross": cross}
        return DecoderPass(
            {
                attention_path(kind, layer): weights.transpose(0, 1).contiguous()[None]
                for kind, layers in kinds.items()
                for layer, weights in enumerate(layers)
            },
            best_log_probs[found].tolist(),
            best_ids[:, :num_best].tolist(),
            best_log_probs[:, :num_best].tolist(),
        )

    def _rows(self, fed: Sequence[int]) -> list[int] | None:
        """The row of each position at which these tokens were fed.

        None if they never were.
        """
        rows: list[int] = []
        for token_id, position in zip(fed, self._positions, strict=False):
            links = zip(position.token_ids, position.parents, strict=True)
            row = next((row for row, link in enumerate(links) if link == (token_id, rows[-1] if rows else 0)), None)
            if row is None:
                return None
            rows.append(row)
        return rows if len(rows) == len(fed) else None


def records(model: PackedTransformer, source_ids: Tensor) -> bool:
    """Whether a search with the model can be recorded."""
    return source_ids.size(0) == 1 and model.compiles_encoder(source_ids)
