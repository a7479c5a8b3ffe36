"""Texts to the token ids that one model takes, and back."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor, inference_mode

from core.capture import attention_maps
from core.decoding import Hypothesis
from core.decoding.limits import MAX_SOURCE_TOKENS, MAX_TARGET_TOKENS, Limits
from core.files.argument_types import integers
from core.model.config import TransformerConfig
from core.results import Explanation, ScoredText, Target, Translation
from core.text.byte_pieces import MASK, alternative_pieces, resolve_bytes, with_roles
from core.text.text_normalization import normalized
from core.text.tokenizer import SPACE_MARK, Role, Tokenizer
from core.text.traced_text import Span, TracedText


class PassIds(NamedTuple):
    """Token ids of a source and a target, for one teacher-forced pass."""

    source: list[int]  # S tokens of the source
    fed: list[int]  # T tokens fed to the decoder
    predicted: list[int]  # T tokens predicted at the same positions


class DecoderPass(NamedTuple):
    """Decoder outputs for T given tokens of one target."""

    weights: dict[str, Tensor]  # module path -> attention weights [1, H, Q, K], see `capture_attention`
    log_probs: list[float]  # [T] of the predicted tokens, in nats
    top_ids: list[list[int]]  # [T, n] the most probable tokens, best first, as `top_log_probs`
    top_log_probs: list[list[float]]


class TextCodec:
    """The tokenizer of a model, with the model's conventions: special tokens, and a forced first token."""

    def __init__(self, config: TransformerConfig, tokenizer: Tokenizer, limits: Limits) -> None:
        self.config, self.tokenizer, self.limits = config, tokenizer, limits
        self.ends = tokenizer.target_tokens is None  # whether `</s>` ends a target
        self._end = [config.eos_id] * self.ends

    def fits(self, text: str) -> bool:
        """Whether a text is short enough to be translated as one sentence."""
        return self.num_tokens(text) <= self.limits.fit(MAX_SOURCE_TOKENS)

    def num_tokens(self, text: str) -> int:
        """Number of tokens of a source, `</s>` included."""
        return len(self._encode(text))

    def source_ids(self, source: str) -> list[int]:
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
        limit = self.limits.fit(MAX_SOURCE_TOKENS)
        if len(token_ids) > limit:
            raise ValueError(
                f"the text has {len(token_ids)} tokens, at most {limit} can be translated at once: shorten or split it"
            )
        return token_ids

    def token_ids(self, source: str, target: Target) -> PassIds:
        """Token ids of a source and a target.

        Raises:
            ValueError: the model is not autoregressive; or see `Translator`.
        """
        self.require_autoregressive("predicting each token of a given target from those before it")
        source_ids = self.source_ids(source)
        target_ids = self.target_ids(target, source) if isinstance(target, str) else given_ids(target)
        if self.ends and target_ids[-1:] == self._end:
            target_ids.pop()
        self.require_target(target_ids)
        predicted = [*target_ids, *self._end]
        if not predicted:
            raise ValueError("the target is empty, and this model's targets have no end: write a token")
        return PassIds(source_ids, [self.config.bos_id, *predicted[:-1]], predicted)

    def scored_ids(self, source: str, target: Target) -> PassIds:
        """Token ids of a source and a target to score; a text is a whole target, given ids may be a beginning.

        Raises:
            ValueError: as `token_ids`.
        """
        self.require_autoregressive("scoring a given target")
        is_text = isinstance(target, str)
        ids = [*self.target_ids(target, source), *self._end] if is_text else given_ids(target)
        return self.token_ids(source, ids)._replace(predicted=ids)

    def target_ids(self, text: str, source: str = "") -> list[int]:
        """Tokens of a target text, `normalized`, without `</s>`; some tokenizers know its language by its source."""
        written = normalized(text)
        _require_encodable(text)
        return self.begun(self.tokenizer.target.encode(written), source)

    def source_spans(self, source: str) -> list[Span | None]:
        """Characters of a source that each of its `source_ids` comes from.

        None for tokens that are not of the text: codes of languages, prefixes and `</s>`. White space around a token's
        characters is left out; a token of white space alone keeps it.
        """
        config = self.config
        ending = [None] * (config.source_end + len(config.source_suffix))
        return [*[None] * len(config.source_prefix), *_spans(self.tokenizer, source), *ending]

    def target_spans(self, text: str, source: str = "") -> list[Span | None]:
        """Characters of a target that each predicted token comes from, `</s>` too; as `source_spans`."""
        spans = _spans(self.tokenizer.target, text)
        forced = len(self.target_ids(text, source)) - len(spans)
        return [*[None] * forced, *spans, *[None] * self.ends]

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

    def translation(
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

    @inference_mode()
    def explanation(
        self, outputs: DecoderPass, ids: PassIds, source: str, source_tokens: tuple[str, ...]
    ) -> Explanation:
        """Name what a pass has computed for the fed and predicted ids."""
        tokens = source_tokens, self.fed_pieces(ids.fed), self.pieces(ids.predicted)
        named = zip(self.alternatives(ids, outputs.top_ids), outputs.top_log_probs, strict=True)
        return Explanation(
            source,
            self.tokenizer.target.decode(ids.predicted[:-1] if self.ends else ids.predicted),
            *tokens,
            log_probs=tuple(self.with_certain_first(outputs.log_probs, ids.predicted, source)),
            alternatives=tuple(tuple(zip(pieces, log_probs, strict=True)) for pieces, log_probs in named),
            maps=attention_maps(outputs.weights, self.config, *tokens),
            num_forced=self.num_forced(ids.predicted, source),
        )

    def pieces(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        """Tokens of a target as pieces, from its first on, as predicted or as fed in mask-predict.

        Byte tokens are `BytePiece`; the mask token of mask-predict is `<mask>`. Special tokens are known by their place
        (`core.text.byte_pieces.token_role`), however they are spelled.
        """
        ends = int(self.ends and list(token_ids[-1:]) == self._end)
        leading = self.tokenizer.target.leading_roles(token_ids)
        return self._target_pieces(token_ids, _roles(leading, len(token_ids), ends))

    def piece(self, token_id: int) -> str:
        """A predicted token as a piece, by itself."""
        return self.pieces([token_id])[0]

    def alternatives(self, ids: PassIds, others: Sequence[Sequence[int]]) -> list[list[str]]:
        """Pieces of some tokens in place of the predicted one, at each of T positions."""
        predicted, target_pieces = self.pieces(ids.predicted), self.tokenizer.target.pieces
        end = {self.config.eos_id: self.piece(self.config.eos_id)}
        found: list[list[str]] = []
        for position, (fed, token_ids) in enumerate(zip(ids.fed, others, strict=True)):
            own, known = predicted[position], {ids.predicted[position]: predicted[position], **end}
            spelled = [target_pieces([fed, token_id])[-1] for token_id in token_ids]
            pieces = zip(token_ids, alternative_pieces(predicted, position, spelled), strict=True)
            # A whole word may be spelled like the predicted beginning of a word.
            found.append([known.get(each, piece + SPACE_MARK if piece == own else piece) for each, piece in pieces])
        return found

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

    def begun(self, token_ids: Sequence[int], source: str) -> list[int]:
        """A target that begins with the forced first token, if there is one."""
        first = self.tokenizer.first_target_id(normalized(source))
        first = self.config.forced_first_id if first is None else first
        return [*token_ids] if first is None or first in token_ids[:1] else [first, *token_ids]

    def num_forced(self, token_ids: Sequence[int], source: str) -> int:
        """Number of tokens, 0 or 1, that the model or the text forces at the start of a target.

        A forced token is no prediction: its log-probability is 0 whatever the logits are, and no mean counts it.
        """
        first = self.begun([], source)
        return len(first) if list(token_ids[: len(first)]) == first else 0

    def with_certain_first(self, log_probs: list[float], token_ids: Sequence[int], source: str) -> list[float]:
        """Log-probabilities of a target, 0 for a forced first token."""
        forced = self.num_forced(token_ids, source)
        return [0.0] * forced + log_probs[forced:]

    def mean_log_prob(self, target: ScoredText, source: str) -> float:
        """Mean log-probability of the predicted tokens of a target, in nats."""
        predicted = target.token_log_probs[self.num_forced(target.token_ids, source) :]
        return sum(predicted) / len(predicted)

    def require_target(self, token_ids: Sequence[int]) -> None:
        """Check target ids, without `</s>`.

        Raises:
            ValueError: an id is not in the vocabulary, or there are too many.
        """
        vocab_size, limit = self.config.target_size, self.limits.fit(MAX_TARGET_TOKENS)
        strange = next((token_id for token_id in token_ids if not 0 <= token_id < vocab_size), None)
        if strange is not None:
            raise ValueError(
                f"the target has the token id {strange}, this model has 0 to {vocab_size - 1}: it belongs to another "
                f"model"
            )
        if len(token_ids) >= limit:
            raise ValueError(f"the target has {len(token_ids) + 1} tokens, at most {limit} can be scored: shorten it")

    def _encode(self, source: str) -> list[int]:
        """Tokens of a source, `normalized`."""
        config, token_ids = self.config, self.tokenizer.encode(normalized(source))
        end = [config.eos_id] if config.source_end else []
        return [*config.source_prefix, *token_ids, *end, *config.source_suffix]


def given_ids(target: Sequence[int] | ScoredText | Translation) -> list[int]:
    """Token ids of a target that is no text.

    Raises:
        TypeError: it is none.
    """
    best = target.hypotheses[0] if isinstance(target, Translation) else target
    ids = best.token_ids if isinstance(best, ScoredText) else best
    return integers("the target", ids, "a text, token ids, or a Translation, whose best hypothesis is taken")


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
