"""Score-card of one head: measurements of its behaviour."""

import math
from dataclasses import dataclass
from functools import cached_property

from core.trace import Head


@dataclass(frozen=True)
class ScoreCard:
    """Measurements of one head; shares and scores are from 0 to 1, NaN if not measured.

    Attributes:
        entropy: -sum_j a ln a / ln(number of visible keys): 0 for weight on a single key, 1 for uniform weights (Ghader
            & Monz 2017; Clark et al. 2019).
        offset: most frequent distance (key position minus query position) of the largest weight; the query position of
            cross-attention is the position of the predicted token.
        sink_end, sink_start, sink_punctuation: weight on the end mark; on the start mark, codes of languages and the
            first token; and on other punctuation. Marks are known by their place (`core.text.byte_pieces.token_role`).
        previous, same_position, following: weight at offset -1, 0, +1, the pattern score sum(a P) / sum(a).
        rare_token: share of tokens whose largest weight is on the rarest visible token (Voita et al. 2019).
        agreement: share of the target words that a head of cross-attention links like the other heads, from
            `alignment.first_head.AgreementScorer`.
        copies, translates: weight on tokens for which the head promotes the token itself, or the predicted token, from
            `corpus.promotion`.
        distance: mean distance over which the head attends, in tokens, special ones left out, see `attention_distance`.
        chances: the largest shares of heads with random weights, by behaviour, see `corpus.head_description`.
    """

    head: Head
    num_tokens: int  # number of query tokens that the values are means over
    entropy: float
    confidence: float  # mean of max_j a, without `</s>` (Voita et al. 2019)
    offset: int
    offset_share: float  # share of tokens whose largest weight is at `offset`
    sink_end: float
    sink_start: float
    sink_punctuation: float
    previous: float
    same_position: float
    following: float
    same_token: float  # weight on other occurrences of the query token; in cross-attention of the predicted token
    rare_token: float = math.nan
    alignment_error_rate: float = math.nan  # as a word aligner, from `alignment.head_error_rates`
    agreement: float = math.nan
    copies: float = math.nan
    translates: float = math.nan
    distance: float = math.nan
    chances: tuple[tuple[str, float], ...] = ()

    @property
    def offset_text(self) -> str:
        """`-1`, `0` or `+2`."""
        return f"{self.offset:+d}" if self.offset else "0"

    @cached_property
    def sink_share(self) -> float:
        """Weight on the marks, codes of languages, the first token and punctuation."""
        return self.sink_end + self.sink_start + self.sink_punctuation
