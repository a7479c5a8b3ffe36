"""The facade: text in, translation out, and what every head looked at. One lock, so that threads may share a model."""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from core.capture import AttentionMap, Kind, attention_path, capture_attention
from core.checkpoint import load_checkpoint
from core.model import Transformer
from core.tokenizer import Tokenizer

MAX_SOURCE_TOKENS = 512


@dataclass(frozen=True)
class ScoredText:
    """One hypothesis of a search, as text.

    Attributes:
        text: the translation.
        token_ids: its tokens, `</s>` included unless the search ran into its limit.
        tokens: the same as pieces.
        token_log_probs: log-probability of each token given those before it, in nats.
        score: log-probability over the length penalty; what hypotheses are ranked by.
    """

    text: str
    token_ids: tuple[int, ...]
    tokens: tuple[str, ...]
    token_log_probs: tuple[float, ...]
    score: float

    @property
    def log_prob(self) -> float:
        """Of the whole hypothesis, in nats."""
        return sum(self.token_log_probs)


@dataclass(frozen=True)
class Translation:
    """What a search found: the hypotheses, best first."""

    source: str
    source_tokens: tuple[str, ...]  # with `</s>`
    hypotheses: tuple[ScoredText, ...]

    @property
    def text(self) -> str:
        return self.hypotheses[0].text

    @property
    def log_prob(self) -> float:
        return self.hypotheses[0].log_prob


@dataclass(frozen=True)
class Explanation:
    """One teacher-forced pass over a source and a target, seen from inside.

    Attributes:
        source_tokens: S tokens, `</s>` last.
        fed_tokens: T tokens that went into the decoder, `<s>` first.
        predicted_tokens: T tokens that the same positions were to put out, `</s>` last.
        log_probs: [T] log-probability of each predicted token, in nats.
        alternatives: for each of the T positions the most probable tokens with their log-probabilities, best first.
        maps: the attention of each kind, one `AttentionMap` a layer.
    """

    source: str
    target: str
    source_tokens: tuple[str, ...]
    fed_tokens: tuple[str, ...]
    predicted_tokens: tuple[str, ...]
    log_probs: tuple[float, ...]
    alternatives: tuple[tuple[tuple[str, float], ...], ...]
    maps: dict[Kind, tuple[AttentionMap, ...]]


class Translator:
    """A model with its tokenizer, safe to share between threads.

    Raises:
        ValueError: from every method, for text that is empty, blank or longer than `MAX_SOURCE_TOKENS` tokens.
    """

    def __init__(self, model: Transformer, tokenizer: Tokenizer, training: dict[str, Any] | None = None) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.training = training or {}
        self._lock = threading.RLock()

    @classmethod
    def from_checkpoint(cls, path: str | Path, device: str | torch.device = "cpu") -> "Translator":
        """Raises: CheckpointError, FileNotFoundError; see `load_checkpoint`."""
        checkpoint = load_checkpoint(path)
        return cls(checkpoint.model.to(device), checkpoint.tokenizer, checkpoint.training)

    @contextmanager
    def inspect(self) -> Generator[Transformer]:
        """The model for one thread alone, to hook it and run it. Inside, that thread may call the translator's methods too."""
        with self._lock:
            yield self.model

    @torch.inference_mode()
    def explain(self, source: str, target: str | Sequence[int], num_alternatives: int = 5) -> Explanation:
        """Replay a translation in one pass and look at everything.

        Args:
            source: the text that was translated.
            target: text, or the token ids of a hypothesis (a closing `</s>` is optional): the ids keep the exact
                pieces that a search chose, which text need not.
            num_alternatives: how many of the most probable tokens to name at each position.
        """
        config = self.model.config
        source_ids, fed, predicted = self.token_ids(source, target)
        device = self.model.device
        with self._lock, capture_attention(self.model) as captured:
            logits = self.model(torch.tensor([source_ids], device=device), torch.tensor([fed], device=device))[0]
        log_probs = logits.float().log_softmax(-1).cpu()  # [T, V]
        top = log_probs.topk(min(num_alternatives, config.vocab_size))
        source_tokens, fed_tokens, predicted_tokens = self._pieces(source_ids), self._pieces(fed), self._pieces(predicted)
        return Explanation(
            source=source,
            target=self.tokenizer.decode(fed[1:]),
            source_tokens=source_tokens,
            fed_tokens=fed_tokens,
            predicted_tokens=predicted_tokens,
            log_probs=tuple(log_probs.gather(1, torch.tensor(predicted)[:, None]).squeeze(1).tolist()),
            alternatives=tuple(
                tuple(zip(self._pieces(ids), values, strict=True)) for ids, values in zip(top.indices.tolist(), top.values.tolist(), strict=True)
            ),
            maps=_attention_maps(captured, config.num_encoder_layers, config.num_decoder_layers, source_tokens, fed_tokens, predicted_tokens),
        )

    def token_ids(self, source: str, target: str | Sequence[int]) -> tuple[list[int], list[int], list[int]]:
        """The ids of S source tokens, of the T that go into the decoder, and of the T that it is to put out."""
        source_ids = self._source_ids(source)
        target_ids = self.tokenizer.encode(target) if isinstance(target, str) else list(target)
        if target_ids and target_ids[-1] == self.model.config.eos_id:
            target_ids.pop()
        return source_ids, [self.model.config.bos_id, *target_ids], [*target_ids, self.model.config.eos_id]

    def _source_ids(self, source: str) -> list[int]:
        """Raises: ValueError, if there is nothing to translate or too much."""
        if not source.strip():
            raise ValueError("there is nothing to translate: the text is empty or only white space")
        token_ids = [*self.tokenizer.encode(source), self.model.config.eos_id]
        if len(token_ids) > MAX_SOURCE_TOKENS:
            raise ValueError(f"the text has {len(token_ids)} tokens, at most {MAX_SOURCE_TOKENS} can be translated at once: shorten or split it")
        return token_ids

    def _pieces(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.tokenizer.piece(token_id) for token_id in token_ids)


def _attention_maps(
    captured: dict[str, Tensor],
    num_encoder_layers: int,
    num_decoder_layers: int,
    source_tokens: tuple[str, ...],
    fed_tokens: tuple[str, ...],
    predicted_tokens: tuple[str, ...],
) -> dict[Kind, tuple[AttentionMap, ...]]:
    def layers(
        kind: Kind, count: int, queries: tuple[str, ...], keys: tuple[str, ...], predicted: tuple[str, ...] | None
    ) -> tuple[AttentionMap, ...]:
        weights = (captured[attention_path(kind, layer)][0].float().cpu() for layer in range(count))
        return tuple(AttentionMap(kind, layer, matrix, queries, keys, predicted) for layer, matrix in enumerate(weights))

    return {
        "encoder_self": layers("encoder_self", num_encoder_layers, source_tokens, source_tokens, None),
        "decoder_self": layers("decoder_self", num_decoder_layers, fed_tokens, fed_tokens, predicted_tokens),
        "cross": layers("cross", num_decoder_layers, fed_tokens, source_tokens, predicted_tokens),
    }
