"""Texts to the token ids that one model takes, and back."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from core.decoding import (
    FREE,
    Beginning,
    Constraints,
    Hypothesis,
    MaskPredictOptions,
    SearchOptions,
    check_beginning,
)
from core.decoding.constraints import Surfaces
from core.files.budget import computation_bytes, longest_pass, most_hypotheses
from core.model.config import TransformerConfig
from core.results import ScoredText, Translation
from core.text.byte_pieces import MASK, resolve_bytes, with_roles
from core.text.text_normalization import normalized
from core.text.tokenizer import Role, Tokenizer
from core.text.traced_text import Span, TracedText

MAX_SOURCE_TOKENS = 512  # with `</s>`
MAX_EXTRA_TOKENS = 50  # of a translation, beyond the length of its source (6.1)
MAX_TARGET_TOKENS = MAX_SOURCE_TOKENS + MAX_EXTRA_TOKENS  # with `</s>`, of a given target


class PassIds(NamedTuple):
    """Token ids of a source and a target, for one teacher-forced pass.

    Attributes:
        source: S tokens of the source.
        fed: T tokens fed to the decoder.
        predicted: T tokens predicted at the same positions.
    """

    source: list[int]
    fed: list[int]
    predicted: list[int]


class TextCodec:
    """The tokenizer of a model, with the model's conventions: special tokens, a forced first token, limits of length.

    Args:
        weights: bytes of the model's parameters, on which the limits depend (`core.files.budget`).
    """

    def __init__(self, config: TransformerConfig, tokenizer: Tokenizer, weights: int) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self._weights = weights
        self._longest = longest_pass(config.numbers_per_pair, config.numbers_per_token, weights)
        if config.positions == "learned":
            self._longest = min(self._longest, config.max_positions)

    def fits(self, text: str) -> bool:
        """Whether a text is short enough to be translated as one sentence."""
        return self.num_tokens(text) <= self.fit(MAX_SOURCE_TOKENS)

    def num_tokens(self, text: str) -> int:
        """Number of tokens of a source, `</s>` included."""
        return len(self._encode(text))

    def token_ids(self, source: str, target: str | Sequence[int]) -> PassIds:
        """Token ids of a source and a target.

        Raises:
            ValueError: the model is not autoregressive; or see `Translator`.
        """
        self.require_autoregressive("predicting each token of a given target from those before it")
        source_ids = self._source_ids(source)
        target_ids = self.target_ids(target, source) if isinstance(target, str) else list(target)
        if target_ids and target_ids[-1] == self.config.eos_id:
            target_ids.pop()
        self._require_target(target_ids)
        return PassIds(source_ids, [self.config.bos_id, *target_ids], [*target_ids, self.config.eos_id])

    def scored_ids(self, source: str, target: str | Sequence[int]) -> PassIds:
        """Token ids of a source and a target to score; a text is a whole target, given ids may be a beginning.

        Raises:
            ValueError: as `token_ids`.
        """
        self.require_autoregressive("scoring a given target")
        ids = [*self.target_ids(target, source), self.config.eos_id] if isinstance(target, str) else list(target)
        return self.token_ids(source, ids)._replace(predicted=ids)

    def target_ids(self, text: str, source: str = "") -> list[int]:
        """Tokens of a target text, `normalized`, without `</s>`.

        Args:
            source: whose target it is, which some tokenizers need to know its language.
        """
        _require_encodable(text)
        return self._begun(self.tokenizer.target.encode(normalized(text)), source)

    def source_spans(self, source: str) -> list[Span | None]:
        """Characters of a source that each of its `source_ids` comes from.

        None for tokens that are not of the text: codes of languages, prefixes and `</s>`. White space around a token's
        characters is left out; a token of white space alone keeps it.
        """
        config = self.config
        ending = [None] * (config.source_end + len(config.source_suffix))
        return [*[None] * len(config.source_prefix), *_spans(self.tokenizer, source), *ending]

    def target_spans(self, text: str, source: str = "") -> list[Span | None]:
        """Characters of a target that each predicted token comes from, `</s>` included; as `source_spans`, for
        `target_ids`.
        """
        spans = _spans(self.tokenizer.target, text)
        forced = len(self.target_ids(text, source)) - len(spans)
        return [*[None] * forced, *spans, None]

    def prefix_ids(self, source: str, prefix: str | Sequence[int], constraints: Constraints = FREE) -> list[int]:
        """Whole tokens of a prefix, as the tokenizer splits it.

        Raises:
            ValueError: no translation of the text can begin with it.
        """
        token_ids = self.target_ids(prefix, source) if isinstance(prefix, str) else prefix
        return list(self.beginning(source, token_ids, constraints).token_ids)

    def beginning(
        self, source: str, prefix: str | Sequence[int] | Beginning, constraints: Constraints = FREE
    ) -> Beginning:
        """What `translate` makes a translation begin with.

        Args:
            prefix: text, which may end inside a word unless it ends with white space, or whole tokens.

        Raises:
            ValueError: no translation of the text can begin with it.
        """
        return self._beginning(source, prefix, self._limit(self._source_ids(source)), constraints)

    def open_beginning(self, token_ids: Sequence[int], is_ended: bool = False) -> Beginning:
        """The text of some tokens as a beginning, whose last word goes on, unless it `is_ended`."""
        return Beginning.of_text(token_ids, self._surfaces, is_ended)

    @cached_property
    def _surfaces(self) -> Surfaces:
        return Surfaces(self.tokenizer.target)

    def source_ids(self, source: str) -> list[int]:
        """Tokens of a source, `</s>` included.

        Raises:
            ValueError: it cannot be translated.
        """
        return self._source_ids(source)

    def length_limit(self, source: str) -> int:
        """Largest number of tokens of a translation of a text, `</s>` included."""
        return self._limit(self._source_ids(source))

    def search_options(
        self,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_hypotheses: int | None = None,
        constraints: Constraints = FREE,
    ) -> SearchOptions:
        """Search options with this model's special tokens.

        Args:
            num_hypotheses: `beam_size` by default.
            constraints: only for a model that predicts one token after the other.

        Raises:
            ValueError: a value is out of range.
        """
        config = self.config
        if constraints != FREE:
            self.require_autoregressive("a minimum length or a forbidden token")
            constraints.check(config.target_size)
        return SearchOptions(
            bos_id=config.bos_id,
            eos_id=config.eos_id,
            never=(config.pad_id, *config.never_ids),
            beam_size=beam_size,
            length_penalty=length_penalty,
            num_hypotheses=beam_size if num_hypotheses is None else num_hypotheses,
            penalty_formula=config.penalty_formula,
            early_stopping=config.early_stopping,
            first_is_certain=bool(self._begun([], "")),
            constraints=constraints,
        )

    def mask_predict_options(self, iterations: int = 10, length_candidates: int = 5) -> MaskPredictOptions:
        """Options of mask-predict with this model's special tokens.

        Raises:
            ValueError: a value is out of range, or the model is autoregressive.
        """
        config = self.config
        if config.mask_id is None:
            raise ValueError(
                "this model predicts one token after the other and has no mask token: use a mask-predict checkpoint, "
                "such as en-de-mask-predict"
            )
        return MaskPredictOptions(
            mask_id=config.mask_id,
            eos_id=config.eos_id,
            pad_id=config.pad_id,
            never=(config.bos_id, *config.never_ids),
            iterations=iterations,
            length_candidates=length_candidates,
        )

    def require_autoregressive(self, what: str) -> None:
        """Check that a model predicts one token after the other.

        Raises:
            ValueError: it does not.
        """
        if not self.config.autoregressive:
            raise ValueError(
                f"{what} does not apply to this model, which predicts all tokens at once (mask-predict): use an "
                f"autoregressive checkpoint, such as en-de"
            )

    def _translation(
        self, source: str, source_ids: Sequence[int], hypotheses: Sequence[Hypothesis], by_modules: bool = False
    ) -> Translation:
        """Decode the hypotheses of a search, best first."""
        return Translation(source, self.source_pieces(source_ids), tuple(map(self.scored_text, hypotheses)), by_modules)

    def scored_text(self, hypothesis: Hypothesis) -> ScoredText:
        """Decode a hypothesis of a search."""
        token_ids = hypothesis.token_ids
        return ScoredText(
            text=self.tokenizer.target.decode(token_ids[:-1] if hypothesis.finished else token_ids),
            token_ids=token_ids,
            tokens=self.pieces(token_ids),
            token_log_probs=hypothesis.token_log_probs,
            score=hypothesis.score,
            finished=hypothesis.finished,
            fed_ids=hypothesis.fed_ids,
        )

    def pieces(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        """Tokens of a target as pieces, from its first on, as predicted or as fed in mask-predict.

        Byte tokens are `BytePiece`; the mask token of mask-predict is `<mask>`. Special tokens are known by their place
        (`core.text.byte_pieces.token_role`), however they are spelled.
        """
        ends = int(list(token_ids[-1:]) == [self.config.eos_id])
        leading = self.tokenizer.target.leading_roles(token_ids)
        return self._target_pieces(token_ids, _roles(leading, len(token_ids), ends))

    def piece(self, token_id: int) -> str:
        """A predicted token as a piece, by itself."""
        return self.pieces([token_id])[0]

    def fed_pieces(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        """Tokens fed to the decoder as pieces, as in `pieces`, the start first unless the model is of mask-predict."""
        if not self.config.autoregressive or not token_ids:
            return self.pieces(token_ids)
        leading = self.tokenizer.target.leading_roles(token_ids[1:])
        return self._target_pieces(token_ids, _roles(["start", *leading], len(token_ids), 0))

    def source_pieces(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        """Tokens of a source as pieces; byte tokens and special ones as in `pieces`."""
        config = self.config
        before, after = len(config.source_prefix), config.source_end + len(config.source_suffix)
        leading: list[Role] = ["start"] * before
        leading += self.tokenizer.leading_roles(token_ids[before : len(token_ids) - after])
        return with_roles(resolve_bytes(self.tokenizer.pieces(token_ids)), _roles(leading, len(token_ids), after))

    def _target_pieces(self, token_ids: Sequence[int], roles: Sequence[Role]) -> tuple[str, ...]:
        pieces = resolve_bytes(self.tokenizer.target.pieces(token_ids))
        mask_id = self.config.mask_id
        if mask_id is not None:
            pieces = tuple(MASK if each == mask_id else piece for each, piece in zip(token_ids, pieces, strict=True))
        return with_roles(pieces, roles)

    def _begun(self, token_ids: list[int], source: str) -> list[int]:
        """A target that begins with the forced first token, if there is one."""
        first = self.tokenizer.first_target_id(normalized(source))
        first = self.config.forced_first_id if first is None else first
        return token_ids if first is None or token_ids[:1] == [first] else [first, *token_ids]

    def num_forced(self, token_ids: Sequence[int], source: str) -> int:
        """Number of tokens, 0 or 1, that the model or the text forces at the start of a target.

        A forced token is no prediction: its log-probability is 0 whatever the logits are, and no mean over predicted
        tokens counts it.
        """
        first = self._begun([], source)
        return len(first) if list(token_ids[: len(first)]) == first else 0

    def with_certain_first(self, log_probs: list[float], token_ids: Sequence[int], source: str) -> list[float]:
        """Log-probabilities of a target, 0 for a forced first token."""
        forced = self.num_forced(token_ids, source)
        return [0.0] * forced + log_probs[forced:]

    def mean_log_prob(self, target: ScoredText, source: str) -> float:
        """Mean log-probability of the predicted tokens of a target, in nats."""
        predicted = target.token_log_probs[self.num_forced(target.token_ids, source) :]
        return sum(predicted) / len(predicted)

    def _require_target(self, token_ids: Sequence[int]) -> None:
        """Check target ids, without `</s>`.

        Raises:
            ValueError: an id is not in the vocabulary, or there are too many.
        """
        vocab_size, limit = self.config.target_size, self.fit(MAX_TARGET_TOKENS)
        strange = next((token_id for token_id in token_ids if not 0 <= token_id < vocab_size), None)
        if strange is not None:
            raise ValueError(
                f"the target has the token id {strange}, this model has 0 to {vocab_size - 1}: it belongs to another "
                f"model"
            )
        if len(token_ids) >= limit:
            raise ValueError(f"the target has {len(token_ids) + 1} tokens, at most {limit} can be scored: shorten it")

    def _beginning(
        self, source: str, prefix: str | Sequence[int] | Beginning, limit: int, constraints: Constraints = FREE
    ) -> Beginning:
        """As `beginning`, for a given limit of the translation's length."""
        if isinstance(prefix, str):
            prefix = self.open_beginning(self.target_ids(prefix, source), is_ended=prefix[-1:].isspace())
        elif not isinstance(prefix, Beginning):
            prefix = Beginning(tuple(self._begun(list(prefix), source)))
        options = self.search_options(1, 0.0, constraints=constraints)
        check_beginning(prefix, limit, options)
        token_ids = prefix.token_ids
        self._require_target(token_ids[:-1] if token_ids[-1:] == (options.eos_id,) else token_ids)
        return prefix

    def _source_ids(self, source: str) -> list[int]:
        """Tokens of a source, `</s>` included.

        Raises:
            ValueError: the text is blank, too long or without tokens, or the model reads images.
        """
        if self.config.patch_size:
            raise ValueError(
                "this model reads pictures of text, not text: use core.images.line_reader.LineReader, or a checkpoint "
                "that translates"
            )
        require_text(source)
        token_ids = self._encode(source)
        if not token_ids:
            raise ValueError(f"the text {source!r:.60} has no tokens for this model: write words in it")
        limit = self.fit(MAX_SOURCE_TOKENS)
        if len(token_ids) > limit:
            raise ValueError(
                f"the text has {len(token_ids)} tokens, at most {limit} can be translated at once: shorten or split it"
            )
        return token_ids

    def _encode(self, source: str) -> list[int]:
        """Tokens of a source, `normalized`."""
        config, token_ids = self.config, self.tokenizer.encode(normalized(source))
        end = [config.eos_id] if config.source_end else []
        return [*config.source_prefix, *token_ids, *end, *config.source_suffix]

    def _limit(self, source_ids: Sequence[int]) -> int:
        """Largest number of tokens of a translation, `</s>` included.

        It leaves room for a `</s>` in the replay of a translation that reached the limit.
        """
        return self.fit(len(source_ids) + MAX_EXTRA_TOKENS + 1) - 1

    def fit(self, length: int) -> int:
        """The length, or that of the longest text of this model if it is less.

        The longest text is limited by the number of learned positions and by `core.files.budget`.
        """
        return min(length, self._longest)

    def most_hypotheses(self, positions: int) -> int:
        """Largest number of hypotheses in a search over so many positions, those of all its sentences together."""
        config = self.config
        sizes = config.numbers_per_pair, config.numbers_per_hypothesis(positions), positions
        return most_hypotheses(*sizes, self._weights)

    def check_search(self, hypotheses: int, positions: int) -> None:
        """Check that a search of one sentence stays within the budget.

        Args:
            hypotheses: beam size, or number of length candidates.
            positions: of the longest translation.

        Raises:
            ValueError: it has too many hypotheses for translations of this length.
        """
        if hypotheses > (most := self.most_hypotheses(positions)):
            raise ValueError(
                f"{hypotheses} hypotheses of {positions} tokens are more than this model can have in "
                f"{computation_bytes(self._weights) // 2**20:,} MB: reduce the beam size to {most}, or shorten the text"
            )


def _roles(leading: Sequence[Role], count: int, ends: int) -> list[Role]:
    """Roles of tokens, of which some at the start and some at the end are not of the text."""
    text: list[Role] = ["text"] * (count - len(leading) - ends)
    ending: list[Role] = ["end"] * ends
    return [*leading, *text, *ending]


def _spans(tokenizer: Tokenizer, text: str) -> list[Span | None]:
    """Characters of a text that each token comes from; None for special tokens."""
    traced = TracedText.of(text).rewritten(normalized(text))
    return [span and traced.span(*span) for span in tokenizer.spans(traced.text)]


def require_text(text: str) -> None:
    """Check a source text.

    Raises:
        ValueError: it is blank, or has a lone surrogate, which cannot be encoded.
    """
    if not normalized(text):
        raise ValueError("there is nothing to translate: the text is empty or only white space")
    _require_encodable(text)


def _require_encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the text has a lone surrogate ({text[error.start]!r} at {error.start}), which cannot be encoded: "
            f"remove it"
        ) from error
