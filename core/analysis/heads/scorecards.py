"""Score-cards: what a head does, in numbers."""

import math
from dataclasses import dataclass, replace

from core.analysis.heads.head import Head


@dataclass(frozen=True)
class ScoreCard:
    """One head in numbers. Shares and scores go from 0 to 1; NaN is what could not be measured.

    Attributes:
        num_tokens: queries the numbers are means over.
        entropy: -sum_j a ln a over ln(number of visible keys): 0 looks at one token, 1 at all alike (Ghader & Monz
            2017; Clark et al. 2019).
        confidence: mean of max_j a, `</s>` left out (Voita et al. 2019).
        offset: key position minus query position of the greatest weight, most often; in cross-attention the query's is
            that of the predicted token.
        offset_share: of the tokens, those whose greatest weight is at that offset.
        sink_end, sink_start, sink_punctuation: weight on `</s>`, on `<s>` or the first token, and on other punctuation.
        previous, same_position, following: weight at offset -1, 0, +1, the pattern score sum(a P) / sum(a).
        same_token: weight on tokens equal to the query's, itself excepted; in cross-attention to the predicted one.
        rare_token: how often the greatest weight is on the rarest visible token (Voita et al. 2019).
        alignment_error_rate: as a word aligner, from `alignment.head_error_rates`.
    """

    head: Head
    num_tokens: int
    entropy: float
    confidence: float
    offset: int
    offset_share: float
    sink_end: float
    sink_start: float
    sink_punctuation: float
    previous: float
    same_position: float
    following: float
    same_token: float
    rare_token: float = math.nan
    alignment_error_rate: float = math.nan

    @property
    def sink_share(self) -> float:
        """Weight on tokens that say little: `</s>`, `<s>`, the first token, punctuation."""
        return self.sink_end + self.sink_start + self.sink_punctuation

    def with_error_rate(self, error_rate: float) -> "ScoreCard":
        """The same head, of which it is now known how well it aligns words."""
        return replace(self, alignment_error_rate=error_rate)
