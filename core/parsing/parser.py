"""Constituency parsing (6.3): a sentence to its tree, by a Transformer that was trained to write trees.

The search is over trees alone: at each position only the tokens are allowed with which the brackets can still be closed
and every word of the sentence still finds its place, in order, within the limit. What the model thinks of them stays as
it is, so hypotheses compete by the model's own log-probabilities.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.decoding import Hypothesis, NextLogits, Progress, beam_search, beam_steps, run_search
from core.parsing.treebank_words import escaped, treebank_words
from core.parsing.trees import Tree, restore, tag_of
from core.tokenizer import SPACE_MARK, Tokenizer
from core.translator import Translator, batches_by_length, naming_sentence

BEAM_SIZE = 21
LENGTH_PENALTY = 0.3
MAX_EXTRA_TOKENS = 300  # that a tree may have more than its sentence
BATCH_TOKENS = 256  # source tokens, padding included, that are parsed side by side


class NotAParserError(ValueError):
    """A model whose vocabulary has no brackets, so that it cannot write trees."""


@dataclass(frozen=True)
class Brackets:
    """The tokens that a tree is written with.

    Attributes:
        words: each stands for a word: one for all, or one for each tag.
        closing: of each opening bracket the closing one.
    """

    words: tuple[int, ...]
    closing: dict[int, int]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "Brackets":
        """Those of a vocabulary.

        Raises:
            NotAParserError: it has none.
        """
        pieces = (tokenizer.piece(token_id) for token_id in range(tokenizer.vocab_size))
        ids = {piece[1:]: token_id for token_id, piece in enumerate(pieces) if piece.startswith(SPACE_MARK)}
        words = tuple(token_id for symbol, token_id in ids.items() if tag_of(symbol))
        labels = [symbol[1:] for symbol in ids if symbol.startswith("(") and f"){symbol[1:]}" in ids]
        if not words or not any(labels):
            raise NotAParserError(
                "this model writes no trees: its vocabulary has no brackets with labels, such as (NP and )NP. "
                "Choose a checkpoint that was trained on what `python -m train prepare-trees` made."
            )
        return cls(words, {ids[f"({label}"]: ids[f"){label}"] for label in labels if label})


@dataclass(frozen=True)
class Prefix:
    """What the beginning of a tree leaves to be written.

    Attributes:
        words: that have no place yet.
        to_close: the closing brackets that are due, the next one last.
        is_empty: whether nothing stands in the innermost constituent, or in the whole tree, yet.
    """

    words: int
    to_close: tuple[int, ...] = ()
    is_empty: bool = True

    def followed_by(self, token_id: int, brackets: Brackets) -> "Prefix":
        """After one more token, which must be an allowed one."""
        if token_id in brackets.closing:
            return Prefix(self.words, (*self.to_close, brackets.closing[token_id]))
        if token_id in brackets.words:
            return replace(self, words=self.words - 1, is_empty=False)
        return replace(self, to_close=self.to_close[:-1], is_empty=False)

    def allowed(self, room: int, brackets: Brackets, eos_id: int) -> list[int]:
        """The tokens that may come next, where `room` is left for them, for what follows, and for `</s>`."""
        if not self.to_close and not self.is_empty:
            return [eos_id]
        needed = self.words + len(self.to_close) + 1
        opening = list(brackets.closing) if self.words and needed + 2 <= room else []
        if not self.to_close:
            return opening
        word = list(brackets.words) if self.words else []
        closing = list(self.to_close[-1:]) if not self.is_empty and (len(self.to_close) > 1 or not self.words) else []
        return opening + word + closing


def only_trees(
    next_logits: NextLogits,
    brackets: Brackets,
    num_words: Sequence[int],
    limits: Sequence[int],
    pad_id: int,
    eos_id: int,
) -> NextLogits:
    """The same model, as a search sees it that may write nothing but trees over these sentences. For one search only.

    Allowed tokens keep their log-probabilities. The probability of all others goes to padding, which no search
    generates, so that they still sum to 1.

    Args:
        num_words: of each sentence.
        limits: of each sentence, as the search has them; at least `num_words` + 3.
    """
    position = 0
    rows = [([Prefix(words)], limit) for words, limit in zip(num_words, limits, strict=True)]

    def constrained(token_ids: Tensor, parents: Tensor, sentences: Tensor | None) -> Tensor:
        nonlocal position, rows
        logits = next_logits(token_ids, parents, sentences)
        if sentences is not None:
            rows = [rows[row] for row in sentences.tolist()]
        if position:
            steps = zip(rows, token_ids.tolist(), parents.tolist(), strict=True)
            rows = [
                (
                    [
                        _followed(before[parent], token, brackets, eos_id)
                        for token, parent in zip(tokens, origins, strict=True)
                    ],
                    limit,
                )
                for (before, limit), tokens, origins in steps
            ]
        disallowed = torch.ones_like(logits, dtype=torch.bool)
        for row, (prefixes, limit) in enumerate(rows):
            for column, prefix in enumerate(prefixes):
                disallowed[row, column, prefix.allowed(limit - position, brackets, eos_id)] = False
        position += 1
        log_probs = logits.float().log_softmax(-1).masked_fill(disallowed, -torch.inf)
        log_probs[..., pad_id] = (1 - log_probs.exp().sum(-1)).clamp_min(0).log()
        return log_probs

    return constrained


def _followed(prefix: Prefix, token_id: int, brackets: Brackets, eos_id: int) -> Prefix:
    """A search fills rows that have fewer hypotheses than others up with `</s>`: what follows those is never used."""
    return prefix if token_id == eos_id else prefix.followed_by(token_id, brackets)


@dataclass(frozen=True)
class Parse:
    """A sentence and its tree.

    Attributes:
        text: the words with spaces between them, which is what the model read.
        tree: the words' tags are all `XX` where the model gives none.
        token_ids: what the model wrote, `</s>` last: a token for each bracket and each word.
        token_log_probs: log-probability of each token given those before it, in nats.
        score: log-probability over the length penalty.
    """

    text: str
    words: tuple[str, ...]
    tree: Tree
    token_ids: tuple[int, ...]
    token_log_probs: tuple[float, ...]
    score: float

    @property
    def log_prob(self) -> float:
        """Of the whole tree, in nats."""
        return sum(self.token_log_probs)


class Parser:
    """A translator whose target language is trees.

    Raises:
        NotAParserError: its model does not write any.
    """

    def __init__(self, translator: Translator) -> None:
        self.translator = translator
        self.brackets = Brackets.of(translator.tokenizer)

    def parse(
        self,
        sentence: str | Sequence[str],
        beam_size: int = BEAM_SIZE,
        length_penalty: float = LENGTH_PENALTY,
        progress: Progress | None = None,
    ) -> Parse:
        """Parse one sentence.

        Args:
            sentence: a text, which is cut into words as the treebank is, or its words.
            progress: called after each position with it and the last one that there may be.

        Raises:
            ValueError: there is nothing to parse or too much, or a value is out of range.
        """
        options = self.translator.search_options(beam_size, length_penalty, 1)
        words, source_ids, limit = self._read(sentence)
        next_logits = self._next_logits([words], [source_ids], [limit])
        steps = beam_steps(next_logits, [limit], options, self.translator.model.device)
        return self._parse(words, run_search((state for (state,) in steps), options, progress)[0])

    def parse_batch(
        self,
        sentences: Sequence[str | Sequence[str]],
        beam_size: int = BEAM_SIZE,
        length_penalty: float = LENGTH_PENALTY,
        progress: Progress | None = None,
    ) -> list[Parse]:
        """Parse many sentences, those of like length side by side; in their order.

        Raises:
            ValueError: as `parse`, naming the sentence.
        """
        options = self.translator.search_options(beam_size, length_penalty, 1)
        read: list[tuple[list[str], list[int], int]] = []
        for number, sentence in enumerate(sentences, start=1):
            with naming_sentence(number):
                read.append(self._read(sentence))
        found: dict[int, Parse] = {}
        for batch in batches_by_length([len(source_ids) for _, source_ids, _ in read], BATCH_TOKENS):
            words, source_ids, limits = zip(*(read[index] for index in batch), strict=True)
            best = beam_search(
                self._next_logits(words, source_ids, limits), limits, options, self.translator.model.device
            )
            found.update(
                (index, self._parse(read[index][0], hypotheses[0]))
                for index, hypotheses in zip(batch, best, strict=True)
            )
            if progress:
                progress(len(found), len(read))
        return [found[index] for index in range(len(read))]

    def _read(self, sentence: str | Sequence[str]) -> tuple[list[str], list[int], int]:
        """The words, their source token ids, and the largest number of tokens of the tree, `</s>` included."""
        words = treebank_words(sentence) if isinstance(sentence, str) else [escaped(word) for word in sentence]
        if not words:
            raise ValueError("there is nothing to parse: the sentence has no words")
        strange = next((word for word in words if len(word.split()) != 1), None)
        if strange is not None:
            raise ValueError(f"{strange!r} is not one word: it has white space in it, or nothing")
        source_ids = self.translator.token_ids(" ".join(words), "")[0]
        config = self.translator.model.config
        limit = len(source_ids) + MAX_EXTRA_TOKENS
        if config.positions == "learned":
            limit = min(limit, config.max_positions)
        if limit < len(words) + 3:
            raise ValueError(
                f"a tree over {len(words)} words has at least {len(words) + 3} tokens, this model knows {limit} "
                f"positions: shorten it"
            )
        return words, source_ids, limit

    def _next_logits(
        self, words: Sequence[Sequence[str]], sources: Sequence[Sequence[int]], limits: Sequence[int]
    ) -> NextLogits:
        """Scorer of next tokens for a search over trees of these sentences."""
        config, num_words = self.translator.model.config, list(map(len, words))
        next_logits = self.translator.next_logits(sources)
        return only_trees(next_logits, self.brackets, num_words, limits, config.pad_id, config.eos_id)

    def _parse(self, words: Sequence[str], hypothesis: Hypothesis) -> Parse:
        symbols = [
            self.translator.tokenizer.piece(token_id).removeprefix(SPACE_MARK) for token_id in hypothesis.token_ids[:-1]
        ]
        tree = restore(symbols, words)
        return Parse(
            " ".join(words), tuple(words), tree, hypothesis.token_ids, hypothesis.token_log_probs, hypothesis.score
        )
