"""What a `Translator` hands out."""

from dataclasses import dataclass

from core.capture import AttentionMap, Kind


@dataclass(frozen=True)
class ScoredText:
    """One hypothesis of a search, as text.

    Attributes:
        text: the translation.
        token_ids: its tokens, `</s>` included unless the search ran into its limit.
        tokens: the same as pieces.
        token_log_probs: log-probability of each token given those before it, in nats.
        score: log-probability over the length penalty; what hypotheses are ranked by.
        finished: whether it ended with `</s>`, and not at the search's limit.
    """

    text: str
    token_ids: tuple[int, ...]
    tokens: tuple[str, ...]
    token_log_probs: tuple[float, ...]
    score: float
    finished: bool = True

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
class TextTranslation:
    """A text translated sentence by sentence.

    Attributes:
        sentences: what was found for each.
        separators: the white space before the first, between them, and after the last.
    """

    sentences: tuple[Translation, ...]
    separators: tuple[str, ...]

    @property
    def text(self) -> str:
        sentences = (
            sentence.text + separator for sentence, separator in zip(self.sentences, self.separators[1:], strict=True)
        )
        return self.separators[0] + "".join(sentences)


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
