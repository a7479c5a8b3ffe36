"""What the searches of one model start from: its special tokens, and the beginnings of its translations."""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from core.decoding import FREE, Beginning, Constraints, MaskPredictOptions, SearchOptions, check_beginning
from core.decoding.constraints import Surfaces
from core.decoding.text_codec import TextCodec
from core.files.argument_types import integers, require_type


class SearchSetup:
    """Options and beginnings of the searches of one model."""

    def __init__(self, codec: TextCodec) -> None:
        self._codec, self._config = codec, codec.config

    def options(
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
        config = self._config
        require_type("constraints", constraints, Constraints, "core.decoding.Constraints, such as of a min_length")
        if constraints != FREE:
            self._codec.require_autoregressive("a minimum length or a forbidden token")
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
            first_is_certain=bool(self._codec.begun([], "")),
            constraints=constraints,
            ends=self._codec.ends,
        )

    def mask_predict(self, iterations: int = 10, length_candidates: int = 5) -> MaskPredictOptions:
        """Options of mask-predict with this model's special tokens.

        Raises:
            ValueError: a value is out of range, or the model is autoregressive.
        """
        config = self._config
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

    def beginning(
        self, source: str, prefix: str | Sequence[int] | Beginning, limit: int, constraints: Constraints = FREE
    ) -> Beginning:
        """What a translation begins with.

        Args:
            prefix: text, which may end inside a word unless it ends with white space, or whole tokens.
            limit: largest number of tokens of the translation.

        Raises:
            ValueError: no translation of the text can begin with it.
        """
        if isinstance(prefix, str):
            prefix = self.open_beginning(self._codec.target_ids(prefix, source), is_ended=prefix[-1:].isspace())
        elif not isinstance(prefix, Beginning):
            token_ids = integers("the prefix", prefix, "a text or token ids")
            prefix = Beginning(tuple(self._codec.begun(token_ids, source)))
        check_beginning(prefix, limit, self.options(1, 0.0, constraints=constraints))
        token_ids = prefix.token_ids
        self._codec.require_target(token_ids[:-1] if token_ids[-1:] == (self._config.eos_id,) else token_ids)
        return prefix

    def prefix_ids(self, source: str, prefix: str | Sequence[int], constraints: Constraints = FREE) -> list[int]:
        """Whole tokens of a prefix, as the tokenizer splits it.

        Raises:
            ValueError: no translation of the text can begin with it.
        """
        token_ids = self._codec.target_ids(prefix, source) if isinstance(prefix, str) else prefix
        limit = self._codec.limits.of_translation(self._codec.source_ids(source))
        return list(self.beginning(source, token_ids, limit, constraints).token_ids)

    def open_beginning(self, token_ids: Sequence[int], is_ended: bool = False) -> Beginning:
        """The text of some tokens as a beginning, whose last word goes on, unless it `is_ended`."""
        return Beginning.of_text(token_ids, self.surfaces, is_ended)

    @cached_property
    def surfaces(self) -> Surfaces:
        return Surfaces(self._codec.tokenizer.target)

    def generated(self, logits: Tensor) -> Tensor:
        """Logits [..., V] in float32, minus infinity for tokens that a search may not generate."""
        never = torch.tensor(self.options().excluded, dtype=torch.long, device=logits.device)
        return logits.float().index_fill(-1, never, -torch.inf)

    def best_other(self, logits: Tensor, token: int) -> int:
        """Most probable token of logits [V] that a search may generate, other than `token`."""
        return next(each for each in self.generated(logits).topk(2).indices.tolist() if each != token)
