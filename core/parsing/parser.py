"""Constituency parsing (6.3) by a Transformer trained to write linearised trees.

The search is constrained to trees: at each position the only tokens allowed are those after which all brackets can
still be closed and all words of the sentence placed, in order, within the limit. The model's log-probabilities are not
renormalised, so hypotheses are ranked by the probabilities that the model assigns to them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from core.decoding import Hypothesis, NextLogits, Progress, SearchOptions, beam_search, beam_steps, run_search
from core.decoding.text_codec import PassIds
from core.files.tabular import Tabular
from core.parsing.trees import Tree, constituents, escape_brackets, restore, tag_of, treebank_words
from core.results import Translation
from core.text.phrases import Number, Phrase, listed, marked
from core.text.sentences import naming_sentence
from core.text.tokenizer import SPACE_MARK, Tokenizer
from core.translator import Translator

BEAM_SIZE = 21
LENGTH_PENALTY = 0.3
MAX_EXTRA_TOKENS = 300  # of a tree, beyond the length of its sentence
BATCH_TOKENS = 256  # source tokens of a batch, padding included
TokenIds = tuple[int, ...]


class NotAParserError(ValueError):
    """The model cannot write trees: its vocabulary has no labelled brackets."""


@dataclass(frozen=True)
class Brackets:
    """Token ids of linearised trees."""

    words: tuple[int, ...]  # tokens that stand for a word: one for all words, or one per tag
    closing: dict[int, int]  # the closing bracket of each opening one
    spelled: bool = False  # whether the words themselves are written too, each before the brackets in front of it

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "Brackets":
        """Find the tree tokens of a vocabulary.

        Raises:
            NotAParserError: there are none.
        """
        pieces = (tokenizer.piece(token_id) for token_id in range(tokenizer.vocab_size))
        ids = {piece[1:]: token_id for token_id, piece in enumerate(pieces) if piece.startswith(SPACE_MARK)}
        words = tuple(token_id for symbol, token_id in ids.items() if tag_of(symbol))
        labels = [symbol[1:] for symbol in ids if symbol.startswith("(") and f"){symbol[1:]}" in ids]
        if not words or not any(labels):
            raise NotAParserError(
                "this model cannot write trees: its vocabulary has no labelled brackets such as (NP and )NP. "
                "Choose a checkpoint that was trained on the output of `python -m train prepare-trees`."
            )
        spelled = all(tokenizer.piece(token_id).startswith(f"{SPACE_MARK}/") for token_id in words)
        return cls(words, {ids[f"({label}"]: ids[f"){label}"] for label in labels if label}, spelled)


@dataclass(frozen=True)
class Prefix:
    """State of an unfinished tree."""

    # tokens of each word not yet placed, whose next one is written; empty unless words are spelled
    words: tuple[TokenIds, ...]
    to_close: TokenIds = ()  # closing brackets of the open constituents, innermost last
    is_empty: bool = True  # whether the innermost constituent, or the whole tree, is still empty
    to_spell: TokenIds = ()  # tokens of the next word that are not written yet

    @classmethod
    def of(cls, words: Sequence[TokenIds]) -> "Prefix":
        """State before the first token."""
        return cls(tuple(words), to_spell=words[0])

    def with_token(self, token_id: int, brackets: Brackets) -> "Prefix":
        """State after one more token, which must be allowed."""
        if self.to_spell:
            return replace(self, to_spell=self.to_spell[1:])
        if token_id in brackets.closing:
            return Prefix(self.words, (*self.to_close, brackets.closing[token_id]))
        if token_id in brackets.words:
            left = self.words[1:]
            return replace(self, words=left, is_empty=False, to_spell=left[0] if left else ())
        return replace(self, to_close=self.to_close[:-1], is_empty=False)

    def allowed(self, room: int, brackets: Brackets, eos_id: int) -> list[int]:
        """Tokens that may come next where `room` tokens may still be written, `</s>` included."""
        if self.to_spell:
            return [self.to_spell[0]]
        if not self.to_close and not self.is_empty:
            return [eos_id]
        needed = len(self.words) + sum(map(len, self.words[1:])) + len(self.to_close) + 1
        opening = list(brackets.closing) if self.words and needed + 2 <= room else []
        if not self.to_close:
            return opening
        word = list(brackets.words) if self.words else []
        closing = list(self.to_close[-1:]) if not self.is_empty and (len(self.to_close) > 1 or not self.words) else []
        return opening + word + closing


def constrain_to_trees(
    next_logits: NextLogits,
    brackets: Brackets,
    words: Sequence[Sequence[TokenIds]],
    limits: Sequence[int],
    pad_id: int,
    eos_id: int,
) -> NextLogits:
    """Restrict a scorer of next tokens to trees over the given sentences.

    Allowed tokens keep their log-probabilities. The probability of all others is assigned to padding, which a search
    never generates, so rows still sum to 1. The tokens of words have probability 1, as the words are given: trees are
    ranked by the brackets and tags that the model predicts. For one search only: the result keeps state.

    Args:
        words: tokens of each word of each sentence; empty unless words are spelled.
        limits: largest number of tokens of each tree, as in the search; at least 3 and those of its words.
    """
    position = 0
    rows = [([Prefix.of(of_sentence)], limit) for of_sentence, limit in zip(words, limits, strict=True)]

    def continued(prefix: Prefix, token: int) -> Prefix:
        return prefix if token == eos_id else prefix.with_token(token, brackets)  # `</s>` pads rows of the search

    def constrained(token_ids: Tensor, parents: Tensor, sentences: Tensor | None) -> Tensor:
        nonlocal position, rows
        logits = next_logits(token_ids, parents, sentences)
        if sentences is not None:
            rows = [rows[row] for row in sentences.tolist()]
        if position:
            steps = zip(rows, token_ids.tolist(), parents.tolist(), strict=True)
            rows = [
                ([continued(before[parent], token) for token, parent in zip(tokens, origins, strict=True)], limit)
                for (before, limit), tokens, origins in steps
            ]
        disallowed = torch.ones_like(logits, dtype=torch.bool)
        given = torch.zeros_like(disallowed)
        for row, (prefixes, limit) in enumerate(rows):
            for column, prefix in enumerate(prefixes):
                disallowed[row, column, prefix.allowed(limit - position, brackets, eos_id)] = False
                given[row, column, prefix.to_spell[:1]] = True
        position += 1
        log_probs = logits.float().log_softmax(-1).masked_fill(disallowed, -torch.inf).masked_fill(given, 0.0)
        log_probs[..., pad_id] = (1 - log_probs.exp().sum(-1)).clamp_min(0).log()
        return log_probs

    return constrained


@dataclass(frozen=True)
class Parse(Tabular):
    """A sentence and its tree."""

    text: str  # the words joined by spaces, which is the model's input
    words: tuple[str, ...]
    tree: Tree  # all tags are `XX` if the model predicts none
    # the linearised tree, `</s>` last: a token for each bracket and tag, and those of words where the model spells them
    token_ids: tuple[int, ...]
    # log-probability of each token given the tokens before it, in nats; 0 for tokens of words
    token_log_probs: tuple[float, ...]
    positions: tuple[int, ...]  # in `token_ids`, of each symbol of the linearised tree
    score: float  # log-probability divided by the length penalty
    by_modules: bool = False  # see `Translation`

    @property
    def log_prob(self) -> float:
        """Log-probability of the whole tree given its words, in nats."""
        return sum(self.token_log_probs)

    def answer(self) -> Phrase:
        """What the sentence consists of, the probability of the tree, and its least certain bracket."""
        spans = constituents(self.tree)
        brackets = {each.opened: (f"({each.label}", each) for each in spans}
        brackets |= {each.closed: (f"){each.label}", each) for each in spans}
        log_prob, least = min((self.token_log_probs[self.positions[at]], at) for at in brackets)
        bracket, over = brackets[least]
        words = marked(
            "The sentence is {root} of {parts}, with the probability {probability}; least certain is the bracket "
            "{bracket} of \u201c{words}\u201d, {least}."
        )
        parts = [each.label for each in self.tree.children if not each.word] or [Phrase(marked("words"))]
        values = {"root": self.tree.label, "parts": listed(parts), "least": Number(math.exp(log_prob), ".2f")}
        values |= {"bracket": bracket, "words": " ".join(self.words[over.start : over.end])}
        return Phrase(words, probability=Number(math.exp(self.log_prob), ".2f"), **values)

    def table(self) -> dict[str, list[Any]]:
        """A row for each pair of brackets, with their log-probabilities; words are counted from 1."""
        spans = constituents(self.tree)
        return {
            "label": [each.label for each in spans],
            "depth": [each.depth for each in spans],
            "first_word": [each.start + 1 for each in spans],
            "last_word": [each.end for each in spans],
            "text": [" ".join(self.words[each.start : each.end]) for each in spans],
            "opening_log_prob": [self.token_log_probs[self.positions[each.opened]] for each in spans],
            "closing_log_prob": [self.token_log_probs[self.positions[each.closed]] for each in spans],
        }


class Parser:
    """Parser on top of a translator whose target language is trees.

    Raises:
        NotAParserError: its model cannot write trees.
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
        """Parse one sentence: a text, which is split by `treebank_words`, or a sequence of words.

        Raises:
            ValueError: the sentence is empty or too long, or a value is out of range.
        """
        options = self.translator.setup.options(beam_size, length_penalty, 1)
        words, source_ids, limit = self._read(sentence)
        self.translator.limits.check_search(beam_size, limit)
        arguments = [words], [source_ids], [limit], options, progress
        parse, agrees = self._of_model(self._parsed(*arguments)[0], source_ids, options)
        if not agrees:
            parse, _ = self._of_model(self._parsed(*arguments, packed=False)[0], source_ids, options)
        return replace(parse, by_modules=not agrees)

    def _of_model(self, parse: Parse, source_ids: list[int], options: SearchOptions) -> tuple[Parse, bool]:
        """A tree with the log-probabilities of the model's own pass, and whether they `agree` with the search."""
        ids = PassIds(source_ids, [options.bos_id, *parse.token_ids[:-1]], [*parse.token_ids])
        [all_log_probs] = self.translator.shared.log_probs([ids])
        predicted = {*parse.positions, len(parse.token_ids) - 1}
        log_probs = tuple(value if at in predicted else 0.0 for at, value in enumerate(all_log_probs))
        score = options.score(sum(log_probs), len(log_probs))
        agrees = self.translator.check.agree(parse.token_log_probs, log_probs)
        return replace(parse, token_log_probs=log_probs, score=score), agrees

    def parse_batch(
        self,
        sentences: Sequence[str | Sequence[str]],
        beam_size: int = BEAM_SIZE,
        length_penalty: float = LENGTH_PENALTY,
        progress: Progress | None = None,
    ) -> list[Parse]:
        """Parse many sentences, batched by length; results are in input order.

        Raises:
            ValueError: as `parse`, naming the sentence.
        """
        options = self.translator.setup.options(beam_size, length_penalty, 1)
        read: list[tuple[list[str], list[int], int]] = []
        for number, sentence in enumerate(sentences, start=1):
            with naming_sentence(number):
                read.append(self._read(sentence))
        parsed: dict[int, Parse] = {}
        lengths, limit_of = [len(source_ids) for _, source_ids, _ in read], [limit for *_, limit in read]
        for batch in self.translator.limits.batches(lengths, limit_of, beam_size, BATCH_TOKENS):
            words, source_ids, limits = zip(*(read[index] for index in batch), strict=True)
            parses = self._parsed(words, source_ids, limits, options)
            if not self._of_model(parses[-1], source_ids[-1], options)[1]:  # the shortest sentence
                parses = self._parsed(words, source_ids, limits, options, packed=False)
            parsed.update(zip(batch, parses, strict=True))
            if progress:
                progress(len(parsed), len(read))
        return [parsed[index] for index in range(len(read))]

    def _parsed(
        self,
        words: Sequence[Sequence[str]],
        sources: Sequence[list[int]],
        limits: Sequence[int],
        options: SearchOptions,
        progress: Progress | None = None,
        packed: bool = True,
    ) -> list[Parse]:
        """Search for the trees of some sentences; `progress` is of a single one."""
        config, device = self.translator.model.config, self.translator.model.device
        next_logits, spelled = self.translator.shared.next_logits(sources, packed), list(map(self._spelled, words))
        next_logits = constrain_to_trees(next_logits, self.brackets, spelled, limits, config.pad_id, config.eos_id)
        if progress:
            steps = beam_steps(next_logits, limits, options, device)
            best = [run_search((state for (state,) in steps), options, progress)]
        else:
            best = beam_search(next_logits, limits, options, device)
        return [self._parse(of_one, hypotheses[0]) for of_one, hypotheses in zip(words, best, strict=True)]

    def as_translation(self, parse: Parse) -> Translation:
        """The tree as a translation of its sentence, for tools that explain translations."""
        source_ids = self.translator.token_ids(parse.text, parse.token_ids).source
        hypothesis = Hypothesis(parse.token_ids, parse.token_log_probs, parse.log_prob, parse.score, finished=True)
        return self.translator.codec.translation(parse.text, source_ids, [hypothesis], parse.by_modules)

    def _read(self, sentence: str | Sequence[str]) -> tuple[list[str], list[int], int]:
        """Words, source token ids, and the largest number of tokens of the tree."""
        words = treebank_words(sentence) if isinstance(sentence, str) else [escape_brackets(word) for word in sentence]
        if not words:
            raise ValueError("the sentence is empty: give at least one word")
        strange = next((word for word in words if len(word.split()) != 1), None)
        if strange is not None:
            raise ValueError(f"{strange!r} is not one word: it is empty or has white space")
        source_ids = self.translator.token_ids(" ".join(words), "").source
        limit = self.translator.limits.fit(len(source_ids) + MAX_EXTRA_TOKENS)
        shortest = sum(1 + len(tokens) for tokens in self._spelled(words)) + 3
        if limit < shortest:
            raise ValueError(
                f"a tree over {len(words)} words has at least {shortest} tokens, this model has {limit} positions: "
                f"shorten the sentence"
            )
        return words, source_ids, limit

    def _spelled(self, words: Sequence[str]) -> list[TokenIds]:
        """Tokens of each word in the tree; empty unless words are spelled."""
        return [tuple(self.translator.tokenizer.encode(word)) if self.brackets.spelled else () for word in words]

    def _parse(self, words: Sequence[str], hypothesis: Hypothesis) -> Parse:
        prefix, positions = Prefix.of(self._spelled(words)), list[int]()
        for position, token_id in enumerate(hypothesis.token_ids[:-1]):
            if not prefix.to_spell:
                positions.append(position)
            prefix = prefix.with_token(token_id, self.brackets)
        pieces = (self.translator.tokenizer.piece(hypothesis.token_ids[position]) for position in positions)
        symbols = [piece.removeprefix(SPACE_MARK) for piece in pieces]
        return Parse(
            " ".join(words),
            tuple(words),
            restore(symbols, words),
            hypothesis.token_ids,
            hypothesis.token_log_probs,
            tuple(positions),
            hypothesis.score,
        )
