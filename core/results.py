"""Return types of `Translator`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from typing import Any, Literal

from core.capture import AttentionMap, KindMaps
from core.files.tabular import Tabular, as_columns, stacked
from core.text.sentences import missing_sentences
from core.trace import Kind

WIDGETS: dict[str, Callable[..., Any]] = {}
"""The widgets of `core.notebook` by name. That package draws these results: `core/__init__.py` enters them here."""


@dataclass(frozen=True)
class ScoredText:
    """One hypothesis of a search, as text."""

    text: str  # the translation
    token_ids: tuple[int, ...]  # its tokens, `</s>` included unless the search reached its limit
    tokens: tuple[str, ...]  # the same as pieces
    token_log_probs: tuple[float, ...]  # log-probability of each token given the tokens before it, in nats
    score: float  # log-probability divided by the length penalty; hypotheses are ranked by it
    finished: bool = True  # whether it ends with `</s>`
    # of mask-predict, the decoder's input in the last iteration; else None. Then log-probabilities are those of each
    # token when it was last predicted, that of `</s>` is that of the length, and the score is the mean of the others.
    fed_ids: tuple[int, ...] | None = None

    @property
    def log_prob(self) -> float:
        """Log-probability of the whole hypothesis, in nats."""
        return sum(self.token_log_probs)

    def __repr__(self) -> str:
        return f"<ScoredText {self.text!r:.60}: {len(self.tokens)} tokens, score {self.score:.3f}>"


@dataclass(frozen=True)
class Translation(Tabular):
    """Result of a search: the hypotheses, best first."""

    source: str
    source_tokens: tuple[str, ...]  # with `</s>`
    hypotheses: tuple[ScoredText, ...]
    # whether the modules of `core.model` searched, as the results of the faster search differed
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

    def __repr__(self) -> str:
        return f"<Translation of {self.source!r:.60}: {self.text!r:.60}, hypotheses: {len(self.hypotheses)}>"

    def _repr_html_(self) -> str:
        rows = (f"<td>{each.score:.3f}<td>{each.log_prob:.3f}<td>{escape(each.text)}" for each in self.hypotheses)
        return f"<table><tr><th>score<th>log_prob<th>{escape(self.source)}<tr>{'<tr>'.join(rows)}</table>"

    def table(self) -> dict[str, list[Any]]:
        """A row for each token of each hypothesis; both are counted from 0, and log-probabilities are in nats."""
        rows = [
            (number, each.text, each.score, position, *token)
            for number, each in enumerate(self.hypotheses)
            for position, token in enumerate(zip(each.token_ids, each.tokens, each.token_log_probs, strict=True))
        ]
        names = ("hypothesis", "text", "score", "position", "token_id", "token", "log_prob")
        return as_columns(names, rows)

    def show(self) -> Any:
        """Draw the hypotheses in a notebook, as a `core.notebook.HypothesisView`.

        Raises:
            MissingPackageError: the extra `notebook` is not installed.
        """
        return WIDGETS["HypothesisView"](self)


@dataclass(frozen=True)
class TextTranslation:
    """A text translated sentence by sentence."""

    sentences: tuple[Translation, ...]  # the translation of each sentence
    separators: tuple[str, ...]  # white space before the first sentence, between sentences, and after the last

    @property
    def text(self) -> str:
        sentences = (
            sentence.text + separator for sentence, separator in zip(self.sentences, self.separators[1:], strict=True)
        )
        return self.separators[0] + "".join(sentences)

    def __repr__(self) -> str:
        return f"<TextTranslation {self.text!r:.60}: {len(self.sentences)} sentences>"


Target = str | Sequence[int] | ScoredText | Translation
"""Of a pass over given tokens: a text, token ids, a hypothesis, or the best one of a translation."""


@dataclass(frozen=True)
class Explanation(Tabular):
    """Log-probabilities and attention of one teacher-forced pass."""

    source: str
    target: str
    source_tokens: tuple[str, ...]  # S tokens, `</s>` last
    fed_tokens: tuple[str, ...]  # T tokens fed to the decoder, `<s>` first
    predicted_tokens: tuple[str, ...]  # T tokens predicted at the same positions, `</s>` last
    # [T] log-probability of each predicted token, in nats; empty if unknown, see `core.export.attention_arrays`
    log_probs: tuple[float, ...]
    # the most probable tokens at each of the T positions with their log-probabilities, best first; as many as
    # `log_probs`
    alternatives: tuple[tuple[tuple[str, float], ...], ...]
    # the attention of each kind, one `AttentionMap` per layer, counted from 0
    maps: dict[Kind, tuple[AttentionMap, ...]]
    num_forced: int = 0  # number of forced tokens at the start, see `TextCodec.num_forced`; 0 if unknown

    def __post_init__(self) -> None:
        object.__setattr__(self, "maps", KindMaps(self.maps))

    def __repr__(self) -> str:
        heads = (f"{kind} {len(maps)} x {maps[0].num_heads}" for kind, maps in self.maps.items())
        tokens = f"{len(self.source_tokens)} and {len(self.predicted_tokens)} tokens"
        return f"<Explanation of {self.source!r:.60}, {self.target!r:.60}: {tokens}, heads: {', '.join(heads)}>"

    def _repr_html_(self) -> str:
        return WIDGETS["explanation_html"](self)

    def table(self) -> dict[str, list[Any]]:
        """A row for each weight, see `AttentionMap.table`; in the encoder `predicted` is None."""
        return stacked([each.table() for each in chain(*self.maps.values())])

    def show(self, head: tuple[Kind, int, int] | None = None, view: Literal["Lines", "Map", "Table"] = "Lines") -> Any:
        """Draw the heads in a notebook, as a `core.notebook.HeadView`.

        Args:
            head: the selected head, counted from 0; by default `first_head` of cross-attention.
            view: "Lines", "Map" or "Table".

        Raises:
            MissingPackageError: the extra `notebook` is not installed.
        """
        return WIDGETS["HeadView"](self, head, view)
