"""Signs that a source is not in the language that a model translates from.

Everything is computed from the model itself, so there is nothing to calibrate for another checkpoint. For a source that
is not in its language, a model mostly copies the source, as far as its target side can spell it. So the
measure is a ratio of two likelihoods under the same model, which needs no sample of ordinary sentences:

    margin = (1/T) sum_t log P(y_t | y_<t, x) - (1/S) sum_s log P(x_s | x_<s, x)    in nats per token,

the best translation y against the source x as its own translation. An untrained model, to which both are improbable,
has small margins too, so the source must also be probable. The second sign is a source mostly of characters
that the tokenizer does not know and spells as bytes.

`docs/measurements/unfamiliar_source.py` counts the notes; the thresholds were set on other sentences than these:

    python docs/measurements/unfamiliar_source.py --ordinary test_2017_flickr.en.gz newstest2013.en.xz \\
        TED.tst2015.en.xz --other test_2017_flickr.de.gz newstest2013.de.xz TED.tst2015.de.xz en-fr.dev.fr.xz

    noted                                                after 12 epochs     the first one shipped (3bb11de)
    ordinary English (Multi30k 2017, newstest, TED)      0.3, 0.7, 0.7 %     0.0, 0.0, 0.7 %
    German (the same texts)                              97.7, 96.3, 94.7 %  99.3, 94.7, 95.3 %
    French (Tatoeba)                                     83.7 %              25.3 %
    emoji                                                100 %               100 %
    random letters                                       99.5 %              24.0 %

of 300 sentences a file, and of 150 (`--count 150`) for the first checkpoint, which has 8.73 BLEU on newstest2014 and
copies less. A shuffled English sentence is not noted: it has the words of the language.
"""

import math
from dataclasses import dataclass

from core.analysis.tokens.words import is_special, word_groups
from core.results import Translation
from core.text.byte_pieces import UNKNOWN, bytes_of, grapheme_groups
from core.text.tokenizer import SPACE_MARK
from core.translator import Translator

MARGIN = 1.5  # nats per token; below it, copying the source is nearly as probable as translating it
PROBABLE = -4.0  # nats per token; below it, the source is improbable as a translation, however weak the model is
UNKNOWN_SHARE = 0.5  # of the characters
MIN_WORDS = 3  # a name or a loanword is its own translation: shorter sources are not judged by the margin


@dataclass(frozen=True)
class SourceFamiliarity:
    """Resemblance of a source to the language that a model translates from.

    Attributes:
        unknown_share: share of the characters, spaces left out, that the tokenizer does not know.
        margin: see the module docstring; infinite for sources of fewer than `MIN_WORDS` words.
        log_prob: mean log-probability of a token of the source as its own translation; NaN for such sources.
    """

    unknown_share: float
    margin: float
    log_prob: float

    @property
    def is_unknown(self) -> bool:
        """Whether most characters are unknown to the tokenizer."""
        return self.unknown_share > UNKNOWN_SHARE

    @property
    def is_copied(self) -> bool:
        """Whether copying the source is nearly as probable as translating it."""
        return self.margin < MARGIN and self.log_prob > PROBABLE


def source_familiarity(translator: Translator, translation: Translation) -> SourceFamiliarity:
    """Compare a translation with the source as its own translation, by one more pass of the model.

    Raises:
        ValueError: as `Translator.score`.
    """
    tokens = [token for token in translation.source_tokens if not is_special(token)]
    characters = [[tokens[position] for position in group] for group in grapheme_groups(tokens)]
    seen = [pieces for pieces in characters if "".join(pieces).strip(SPACE_MARK)]
    are_bytes = {token: bytes_of(token) is not None for token in tokens}
    are_unknown = [any(piece == UNKNOWN or are_bytes[piece] for piece in pieces) for pieces in seen]
    lengths = [
        1 if is_unknown else sum(len(piece.strip(SPACE_MARK)) for piece in pieces)
        for pieces, is_unknown in zip(seen, are_unknown, strict=True)
    ]
    unknown = sum(are_unknown) / max(1, sum(lengths))
    lettered = {token for token, is_byte in are_bytes.items() if any(map(str.isalnum, token)) and not is_byte}
    words = [group for group in word_groups(tokens) if not lettered.isdisjoint(tokens[group.start : group.stop])]
    if len(words) < MIN_WORDS:
        return SourceFamiliarity(unknown, math.inf, math.nan)
    copied = translator.score(translation.source, translation.source)
    best, log_prob = (
        translator.mean_log_prob(each, translation.source) for each in (translation.hypotheses[0], copied)
    )
    return SourceFamiliarity(unknown, best - log_prob, log_prob)
