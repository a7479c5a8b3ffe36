"""How long the texts of one model may be, and how many hypotheses its searches may have."""

from collections.abc import Iterator, Sequence

from core.files.budget import computation_bytes, longest_pass, most_hypotheses
from core.model.config import TransformerConfig
from core.model.pass_size import numbers_per_hypothesis, numbers_per_pair, numbers_per_token

MAX_SOURCE_TOKENS = 512  # with `</s>`
MAX_EXTRA_TOKENS = 50  # of a translation, beyond the length of its source (6.1)
MAX_TARGET_TOKENS = MAX_SOURCE_TOKENS + MAX_EXTRA_TOKENS  # with `</s>`, of a given target


class Limits:
    """Limits of one model: its learned positions, and `core.files.budget`, which depends on its parameters' bytes."""

    def __init__(self, config: TransformerConfig, weights: int, target_tokens: int | None = None) -> None:
        self._config, self._weights, self._target_tokens = config, weights, target_tokens
        self._longest = longest_pass(numbers_per_pair(config), numbers_per_token(config), weights)
        if config.positions == "learned":
            self._longest = min(self._longest, config.max_positions)

    def fit(self, length: int) -> int:
        """The length, or that of the longest text of this model if it is less."""
        return min(length, self._longest)

    def of_translation(self, source_ids: Sequence[int]) -> int:
        """Largest number of tokens of a translation, `</s>` included, or the number that all have.

        It leaves room for a `</s>` in the replay of a translation that reached the limit.
        """
        return self._target_tokens or self.fit(len(source_ids) + MAX_EXTRA_TOKENS + 1) - 1

    def most_hypotheses(self, positions: int) -> int:
        """Largest number of hypotheses in a search over so many positions, those of all its sentences together."""
        config = self._config
        sizes = numbers_per_pair(config), numbers_per_hypothesis(config, positions), positions
        return most_hypotheses(*sizes, self._weights)

    def check_search(self, hypotheses: int, positions: int) -> None:
        """Check that a search of one sentence, of so many hypotheses or length candidates, stays within the budget.

        Raises:
            ValueError: it has too many hypotheses for translations of this length.
        """
        if hypotheses > (most := self.most_hypotheses(positions)):
            raise ValueError(
                f"{hypotheses} hypotheses of {positions} tokens are more than this model can have in "
                f"{computation_bytes(self._weights) // 2**20:,} MB: reduce the beam size to {most}, or shorten the text"
            )

    def batches(
        self, lengths: Sequence[int], limits: Sequence[int], hypotheses: int, max_tokens: int
    ) -> Iterator[list[int]]:
        """As `batches_by_length`, with no more sentences, of so many hypotheses each, than the budget admits.

        Raises:
            ValueError: as `check_search`.
        """
        for batch in batches_by_length(lengths, max_tokens):
            positions = max(limits[index] for index in batch)
            self.check_search(hypotheses, positions)
            rows = self.most_hypotheses(positions) // hypotheses
            yield from (batch[first : first + rows] for first in range(0, len(batch), rows))


def batches_by_length(lengths: Sequence[int], max_tokens: int) -> Iterator[list[int]]:
    """Group indices by similar length, longest first: up to `max_tokens` with padding in a batch, or one sequence."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
