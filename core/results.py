"""Return types of `Translator`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from core.capture import AttentionMap
from core.text.sentences import missing_sentences
from core.trace import Kind

WIDGETS: dict[str, Callable[..., Any]] = {}
"""The widgets of `core.notebook` by name. That package draws these results: `core/__init__.py` enters them here."""


@dataclass(frozen=True)
class ScoredText:
    """One hypothesis of a search, as text.

    Attributes:
        text: the translation.
        token_ids: its tokens, `</s>` included unless the search reached its limit.
        tokens: the same as pieces.
        token_log_probs: log-probability of each token given the tokens before it, in nats.
        score: log-probability divided by the length penalty; hypotheses are ranked by it.
        finished: whether it ends with `</s>`.
        fed_ids: of mask-predict, the decoder's input in the last iteration; else None. Then log-probabilities are those
            of each token when it was last predicted, that of `</s>` is that of the length, and the score is the mean of
            the others.
    """

    text: str
    token_ids: tuple[int, ...]
    tokens: tuple[str, ...]
    token_log_probs: tuple[float, ...]
    score: float
    finished: bool = True
    fed_ids: tuple[int, ...] | None = None

    @property
    def log_prob(self) -> float:
        """Log-probability of the whole hypothesis, in nats."""
        return sum(self.token_log_probs)


@dataclass(frozen=True)
class Translation:
    """Result of a search: the hypotheses, best first.

    Attributes:
        source_tokens: with `</s>`.
        by_modules: whether the modules of `core.model` searched, as the results of the faster search differed.
    """

    source: str
    source_tokens: tuple[str, ...]
    hypotheses: tuple[ScoredText, ...]
    by_modules: bool = False

    @property
    def text(self) -> str:
        return self.hypotheses[0].text

    @property
    def log_prob(self) -> float:
        return self.hypotheses[0].log_prob

    @property
    def missing_sentences(self) -> int:
        """Number of sentences that the best hypothesis lacks, for a source of several.

        `Translator.translate_text` translates them one by one.
        """
        return missing_sentences(self.source, self.text)

    def show(self) -> Any:
        """Draw the hypotheses in a notebook, as a `core.notebook.HypothesisView`.

        Raises:
            ImportError: the extra `notebook` is not installed.
        """
        return WIDGETS["HypothesisView"](self)


@dataclass(frozen=True)
class TextTranslation:
    """A text translated sentence by sentence.

    Attributes:
        sentences: the translation of each sentence.
        separators: white space before the first sentence, between sentences, and after the last.
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
    """Log-probabilities and attention of one teacher-forced pass.

    Attributes:
        source_tokens: S tokens, `</s>` last.
        fed_tokens: T tokens fed to the decoder, `<s>` first.
        predicted_tokens: T tokens predicted at the same positions, `</s>` last.
        log_probs: [T] log-probability of each predicted token, in nats; empty if unknown, see
            `core.export.attention_arrays`.
        alternatives: the most probable tokens at each of the T positions with their log-probabilities, best first; as
            many as `log_probs`.
        maps: the attention of each kind, one `AttentionMap` per layer.
        num_forced: number of forced tokens at the start, see `TextCodec.num_forced`; 0 if unknown.
    """

    source: str
    target: str
    source_tokens: tuple[str, ...]
    fed_tokens: tuple[str, ...]
    predicted_tokens: tuple[str, ...]
    log_probs: tuple[float, ...]
    alternatives: tuple[tuple[tuple[str, float], ...], ...]
    maps: dict[Kind, tuple[AttentionMap, ...]]
    num_forced: int = 0

    def show(self, head: tuple[Kind, int, int] | None = None, view: Literal["Lines", "Map", "Table"] = "Lines") -> Any:
        """Draw the heads in a notebook, as a `core.notebook.HeadView`.

        Args:
            head: the selected head, counted from 0; by default `first_head` of cross-attention.
            view: "Lines", "Map" or "Table".

        Raises:
            ImportError: the extra `notebook` is not installed.
        """
        return WIDGETS["HeadView"](self, head, view)
