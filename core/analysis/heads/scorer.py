"""Score-cards of all heads, from the attention maps of one sentence or many.

Rows with a single visible key, such as the first row of masked self-attention, have weight 1 on it by definition, and
are not counted. `AttentionMap.visible` tells which keys are visible: with restricted self-attention (section 4), the
neighbourhood. Means are over tokens, so long sentences weigh more.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from core.analysis.heads.attention_distance import counted_spans, distance_sums
from core.analysis.heads.head import Maps
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.tokens.words import is_punctuation
from core.capture import AttentionMap
from core.text.byte_pieces import token_kinds
from core.text.text_normalization import normalized
from core.text.tokenizer import Role, Tokenizer
from core.trace import Head, Kind

Frequencies = Mapping[str, float]
STARTS = ("start", "language")  # roles of the tokens before those of the text


def score_cards(
    sentences: Iterable[Maps],
    frequencies: Frequencies | None = None,
    alignment_error_rates: Mapping[Head, float] | None = None,
) -> list[ScoreCard]:
    """Score every head.

    Args:
        sentences: maps of one sentence or more, such as `[explanation.maps]`; all of the same model.
        frequencies: frequency of each piece, see `piece_counts`; pieces not in it count as the rarest. None: rare
            tokens are not scored.
        alignment_error_rates: if known, see `alignment.head_error_rates`.

    Returns:
        One card per head, by kind, then by layer.
    """
    scorer = Scorer(frequencies)
    for maps in sentences:
        scorer.add(maps)
    return scorer.cards(alignment_error_rates)


class Scorer:
    """`score_cards`, incrementally, so that callers can show progress."""

    def __init__(self, frequencies: Frequencies | None = None) -> None:
        self._frequencies = frequencies
        self._tallies: dict[tuple[Kind, int], _Tally] = {}

    def add(self, maps: Maps) -> None:
        """Count one more sentence of the same model."""
        for layers in maps.values():
            spans = counted_spans(layers[0])
            for layer in layers:
                tally = self._tallies.setdefault((layer.kind, layer.layer), _Tally(layer))
                tally.add(layer, self._frequencies, spans)

    def cards(self, alignment_error_rates: Mapping[Head, float] | None = None) -> list[ScoreCard]:
        """One card per head, over all sentences added so far."""
        known = alignment_error_rates or {}
        return [tally.card(head, known) for tally in self._tallies.values() for head in range(tally.num_heads)]


def piece_counts(tokenizer: Tokenizer, texts: Iterable[str]) -> Counter[str]:
    """Number of occurrences of each piece in texts, for `score_cards`."""
    return Counter(piece for text in texts for piece in tokenizer.pieces(tokenizer.encode(normalized(text))))


def piece_frequencies(tokenizer: Tokenizer, texts: Iterable[str]) -> dict[str, float]:
    """Frequencies of all pieces, estimated from little text, for `score_cards`.

    Pieces are ordered by their number of occurrences in the texts. Ties, such as pieces that do not occur, are broken
    in favour of the smaller id: byte-pair encoding learns frequent pairs first (Sennrich et al. 2016).
    """
    counts, size = piece_counts(tokenizer, texts), tokenizer.vocab_size
    return {
        **counts,  # whose pieces depend on their neighbours for some tokenizers
        **{
            piece: counts[piece] + 1 - token_id / size
            for token_id in range(size)
            for piece in tokenizer.pieces([token_id])
        },
    }


class _Tally:
    """Sums over the tokens of all sentences, for the heads of one layer."""

    def __init__(self, like: AttentionMap) -> None:
        self.kind: Kind = like.kind
        self.layer, self.num_heads = like.layer, like.num_heads
        self.num_tokens = 0
        self._sums: defaultdict[str, Tensor] = defaultdict(lambda: torch.zeros(self.num_heads))
        self._counts: Counter[str] = Counter()
        self._distances = torch.zeros(2, like.num_heads, dtype=torch.float64)  # as `distance_sums`
        self._offsets: list[Counter[int]] = [Counter() for _ in range(like.num_heads)]

    def add(self, layer: AttentionMap, frequencies: Frequencies | None, spans: Tensor) -> None:
        self._distances += distance_sums(layer, spans)
        seen = MeasuredRows(layer)
        self.num_tokens += len(seen.rows)
        for name, values in seen.measures(frequencies).items():
            self._sums[name] += values.sum(-1)
            self._counts[name] += values.size(-1)
        for counter, offsets in zip(self._offsets, seen.strongest_key - seen.rows, strict=True):
            counter.update(int(offset) for offset in offsets.numpy())

    def card(self, head: int, alignment_error_rates: Mapping[Head, float]) -> ScoreCard:
        means: dict[str, Any] = {
            name: float(total[head]) / self._counts[name] if self._counts[name] else math.nan
            for name, total in self._sums.items()
        }
        offsets, name = self._offsets[head], Head(self.kind, self.layer, head)
        offset = max(offsets, key=lambda offset: (offsets[offset], -abs(offset)), default=0)
        weighted, counted = self._distances[:, head].tolist()
        return ScoreCard(
            head=name,
            num_tokens=self.num_tokens,
            offset=offset,
            offset_share=offsets[offset] / self.num_tokens if self.num_tokens else math.nan,
            alignment_error_rate=alignment_error_rates.get(name, math.nan),
            distance=weighted / counted if counted else math.nan,
            **means,
        )


class MeasuredRows:
    """Rows of one map with at least two visible keys.

    Attributes:
        rows: [R] positions of the queries.
        weights: [H, R, K]
        visible: [R, K] keys that each query may attend to.
        strongest_key: [H, R] the key with the largest weight.
    """

    def __init__(self, layer: AttentionMap) -> None:
        self.layer = layer
        self.rows = (layer.visible.sum(1) > 1).nonzero().squeeze(1)
        self.visible = layer.visible[self.rows]
        self.weights = layer.weights[:, self.rows]
        self.strongest_key = (
            self.weights.argmax(-1) if len(self.rows) else torch.zeros(layer.num_heads, 0, dtype=torch.long)
        )

    def measures(self, frequencies: Frequencies | None) -> dict[str, Tensor]:
        """Value of each measure for every row it is defined for: [H, rows]."""
        measures = {
            "entropy": -torch.xlogy(self.weights, self.weights).sum(-1) / self.visible.sum(1).log(),
            "confidence": self._confidence(),
            **{name: (self.weights * place).sum(-1) for name, place in self.places.items()},
        }
        return (
            measures
            if frequencies is None
            else {**measures, "rare_token": (self.strongest_key == self._rarest(frequencies)).float()}
        )

    @cached_property
    def places(self) -> dict[str, Tensor]:
        """Keys at the place that a measure of `ScoreCard` is named after: boolean [R, K]."""
        keys = self.layer.key_tokens
        end = self._is_end
        roles = enumerate(self._key_roles)
        start = torch.tensor([position == 0 or role in STARTS for position, role in roles]) & ~end
        punctuation = torch.tensor([is_punctuation(token) for token in keys]) & ~start & ~end
        offset = torch.arange(len(keys)) - self.rows[:, None]  # [R, K]
        return {
            "sink_end": end.expand_as(offset),
            "sink_start": start.expand_as(offset),
            "sink_punctuation": punctuation.expand_as(offset),
            "previous": offset == -1,
            "same_position": offset == 0,
            "following": offset == 1,
            "same_token": self._same_token(offset),
        }

    @cached_property
    def _is_end(self) -> Tensor:
        """[K] boolean."""
        return torch.tensor([role == "end" for role in self._key_roles])

    @cached_property
    def _key_roles(self) -> list[Role]:
        return _roles(self.layer.key_tokens, is_fed=self.layer.kind == "decoder_self")

    def _confidence(self) -> Tensor:
        end = self._is_end
        roles = _roles(self.layer.query_tokens, is_fed=self.layer.kind != "encoder_self")
        real = [index for index, row in enumerate(self.rows) if roles[int(row)] != "end"]
        return self.weights[:, real][..., ~end].amax(-1) if bool((~end).any()) else self.weights[:, :0, 0]

    def _same_token(self, offset: Tensor) -> Tensor:
        """Keys equal to the query token, or the predicted one: [R, K]."""
        cross = self.layer.kind == "cross"
        query_tokens = self.layer.row_tokens if cross else self.layer.query_tokens
        ids = {token: number for number, token in enumerate({*query_tokens, *self.layer.key_tokens})}
        queries, keys = (
            torch.tensor([ids[token] for token in tokens]) for tokens in (query_tokens, self.layer.key_tokens)
        )
        same = queries[self.rows][:, None] == keys
        return same if cross else same & (offset != 0)

    def _rarest(self, frequencies: Frequencies) -> Tensor:
        """Rarest visible key of each row, special tokens excluded: [R]."""
        counts = torch.tensor(
            [
                float(frequencies.get(token, 0)) if role == "text" else math.inf
                for token, (_, role) in zip(self.layer.key_tokens, token_kinds(self.layer.key_tokens), strict=True)
            ]
        )
        return counts.expand(self.visible.shape).masked_fill(~self.visible, math.inf).min(-1).indices


def _roles(tokens: Sequence[str], is_fed: bool) -> list[Role]:
    """Roles of tokens; a decoder is fed its start first, which may be called `</s>`."""
    roles: list[Role] = [role for _, role in token_kinds(tokens)]
    if is_fed and roles[0] == "end" and len(roles) > 1:
        roles[0] = "start"
    return roles
