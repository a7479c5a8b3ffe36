"""The constrained search returns trees, for random scores and for an untrained model."""

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import Tensor

from core.decoding import NonFiniteError, SearchOptions, beam_search
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.parsing.parser import Brackets, NotAParserError, Parse, Parser, constrain_to_trees
from core.parsing.trees import linearise, read_trees, restore, spell
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.fixtures import TREES

SYMBOLS = ("<pad>", "<s>", "</s>", "XX/NN", "XX", "(S", ")S", "(NP", ")NP", "do", "g")
PAD, BOS, EOS = 0, 1, 2
BRACKETS = Brackets(words=(4,), closing={5: 6, 7: 8})
TAGGED = Brackets(words=(3, 4), closing={5: 6, 7: 8})
SPELLED = Brackets(words=(3, 4), closing={5: 6, 7: 8}, spelled=True)


class RandomScores:
    """Random but fixed logits for every prefix of every sentence's tree."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self.beginnings: list[list[tuple[int, ...]]] = [[(seed,)] for seed in seeds]
        self.is_first = True

    @staticmethod
    @cache
    def log_probs(beginning: tuple[int, ...]) -> Tensor:
        return (
            2 * torch.randn(len(SYMBOLS), generator=torch.Generator().manual_seed(hash(beginning) % 2**31))
        ).log_softmax(-1)

    def __call__(self, token_ids: Tensor, parents: Tensor, sentences: Tensor | None) -> Tensor:
        rows = range(len(self.beginnings)) if sentences is None else sentences.tolist()
        before = [self.beginnings[row] for row in rows]
        if self.is_first:
            self.beginnings = before
        else:
            self.beginnings = [
                [(*row[parent], token) for token, parent in zip(tokens, origins, strict=True)]
                for row, tokens, origins in zip(before, token_ids.tolist(), parents.tolist(), strict=True)
            ]
        self.is_first = False
        return torch.stack([torch.stack([self.log_probs(beginning) for beginning in row]) for row in self.beginnings])


def searched(
    seeds: Sequence[int], num_words: Sequence[int], limits: Sequence[int], beam_size: int, brackets: Brackets = BRACKETS
) -> list[list[int]]:
    options = SearchOptions(bos_id=BOS, eos_id=EOS, never=(PAD,), beam_size=beam_size, length_penalty=0.3)
    words = [[()] * number for number in num_words]
    scores = constrain_to_trees(RandomScores(seeds), brackets, words, limits, PAD, EOS)
    found = beam_search(scores, limits, options)
    assert all(hypotheses[0].finished for hypotheses in found)
    return [list(hypotheses[0].token_ids) for hypotheses in found]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("beam_size", "brackets"), [(1, BRACKETS), (5, BRACKETS), (5, TAGGED)])
def test_any_scores_give_trees_over_the_sentences(seed: int, beam_size: int, brackets: Brackets) -> None:
    num_words, limits = [1, 4, 9], [4, 12, 40]  # 4 has room for one bracket and one word only
    found = searched([seed, seed + 100, seed + 200], num_words, limits, beam_size, brackets)
    for words, limit, token_ids in zip(num_words, limits, found, strict=True):
        assert len(token_ids) <= limit
        # raises if it is none
        restore([SYMBOLS[token_id] for token_id in token_ids[:-1]], [str(word) for word in range(words)])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("beam_size", [1, 5])
def test_every_word_is_spelled_before_its_brackets(seed: int, beam_size: int) -> None:
    words, limit = [(9, 10), (9,), ()], 14  # 3 tags, 3 tokens of words, </s>: 7 are left for brackets
    options = SearchOptions(bos_id=BOS, eos_id=EOS, never=(PAD,), beam_size=beam_size, length_penalty=0.3)
    scores = constrain_to_trees(RandomScores([seed]), SPELLED, [words], [limit], PAD, EOS)
    token_ids = list(beam_search(scores, [limit], options)[0][0].token_ids)
    assert len(token_ids) <= limit
    text = " ".join(SYMBOLS[token_id] for token_id in token_ids)
    assert re.fullmatch(r"do g ([()]\S+ )+XX\S* do ([()]\S+ )*XX\S* ([()]\S+ )*XX\S* (\)\S+ )+</s>", text)
    restore([symbol for symbol in text.split()[:-1] if symbol not in ("do", "g")], ["dog", "do", ""])


def test_the_answer_names_the_least_certain_bracket() -> None:
    symbols = ["(S", "(NP", "XX", ")NP", "XX", ")S"]
    log_probs = [0.0, math.log(0.5), 0.0, math.log(0.25), math.log(0.125), 0.0, 0.0]
    tree = restore(symbols, ["It", "rains"])
    parse = Parse("It rains", ("It", "rains"), tree, tuple(range(7)), tuple(log_probs), tuple(range(6)), 0.0)
    assert parse.answer() == (
        "The sentence is S of NP, with the probability 0.02; least certain is the bracket )NP of \u201cIt\u201d, 0.25."
    )


@cache
def all_trees(words: int, room: int) -> list[list[int]]:
    """Oracle: every tree over so many words with at most `room` tokens, by enumeration of all sequences."""
    found: list[list[int]] = []
    for length in range(words + 2, room + 1):
        for symbols in itertools.product([4, 5, 6, 7, 8], repeat=length):
            try:
                restore([SYMBOLS[symbol] for symbol in symbols], ["word"] * words)
            except ValueError:
                continue
            found.append(list(symbols))
    return found


def as_written(symbols: list[int], tags: Sequence[int], words: Sequence[tuple[int, ...]]) -> list[int]:
    """A tree of `all_trees` with its tags, each word in front of the brackets before its tag, and `</s>`."""
    spelled, rest = list(words[0]), iter(zip(tags, (*words[1:], ()), strict=True))
    for symbol in symbols:
        tag, next_word = next(rest) if symbol == 4 else (symbol, ())
        spelled += [tag, *next_word]
    return [*spelled, EOS]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("brackets", "words"), [(BRACKETS, [(), ()]), (TAGGED, [(), ()]), (SPELLED, [(9,), (10, 9, 10)])]
)
def test_a_wide_beam_finds_the_tree_that_the_model_scores_highest(
    seed: int, brackets: Brackets, words: list[tuple[int, ...]]
) -> None:
    """Hypotheses are ranked by the model's log-probabilities, not renormalised over allowed tokens."""
    options = SearchOptions(bos_id=BOS, eos_id=EOS, never=(PAD,), beam_size=64, length_penalty=0.3)

    def score(tokens: list[int]) -> float:
        log_prob = sum(
            float(RandomScores.log_probs((seed, *tokens[:index]))[token])
            for index, token in enumerate(tokens)
            if token not in (9, 10)  # the words are given
        )
        return options.score(log_prob, len(tokens))

    all_tags = itertools.product(brackets.words, repeat=2)
    best = max((as_written(*each, words) for each in itertools.product(all_trees(2, room=6), all_tags)), key=score)
    limit = 6 + sum(map(len, words)) + 1
    scores = constrain_to_trees(RandomScores([seed]), brackets, [words], [limit], PAD, EOS)
    assert list(beam_search(scores, [limit], options)[0][0].token_ids) == best


def test_probabilities_sum_to_one_and_those_of_allowed_tokens_stay() -> None:
    scores = constrain_to_trees(RandomScores([3]), BRACKETS, [[(), ()]], [10], PAD, EOS)
    log_probs = scores(torch.tensor([[BOS]]), torch.zeros(1, 1, dtype=torch.long), None)[0, 0]
    own = RandomScores.log_probs((3,))
    assert float(log_probs.exp().sum()) == pytest.approx(1)
    assert log_probs[[5, 7]].tolist() == pytest.approx(own[[5, 7]].tolist())
    assert log_probs[[1, 2, 3, 4, 6, 8]].tolist() == [-math.inf] * 6


def test_the_preset_has_the_shape_of_section_6_3() -> None:
    config = PRESETS["parsing"]
    assert (config.num_encoder_layers, config.num_decoder_layers, config.d_model, config.vocab_size) == (
        4,
        4,
        1024,
        16_000,
    )


def test_brackets_are_found_in_a_vocabulary(tree_tokenizer: SentencePieceTokenizer) -> None:
    brackets = Brackets.of(tree_tokenizer)
    pairs = {
        (tree_tokenizer.piece(opening), tree_tokenizer.piece(closing)) for opening, closing in brackets.closing.items()
    }
    assert {("\u2581(S", "\u2581)S"), ("\u2581(NP", "\u2581)NP")} <= pairs
    assert [tree_tokenizer.piece(word) for word in brackets.words] == ["\u2581XX"]


def test_a_vocabulary_with_bare_tags_spells_its_words(parallel_text: list[tuple[str, str]]) -> None:
    symbols = [f"\u2581{symbol}" for symbol in ("(S", ")S", "/NN", "/,")]
    text = [sentence for pair in parallel_text for sentence in pair]
    tokenizer = SentencePieceTokenizer.train(text, vocab_size=400, num_threads=1, symbols=symbols)
    brackets = Brackets.of(tokenizer)
    assert brackets.spelled
    assert {tokenizer.piece(token_id) for token_id in brackets.words} == {"\u2581/NN", "\u2581/,"}


def test_a_translation_model_says_that_it_writes_no_trees(tiny_checkpoint: str) -> None:
    with pytest.raises(NotAParserError, match="cannot write trees: its vocabulary has no labelled brackets"):
        Parser(Translator.from_checkpoint(tiny_checkpoint))


@pytest.fixture(scope="module")
def parser(tree_checkpoint: str) -> Parser:
    return Parser(Translator.from_checkpoint(tree_checkpoint))


def test_the_tree_holds_the_words_of_the_sentence(parser: Parser) -> None:
    parse = parser.parse("The dog's (old) toy isn't here.", beam_size=3)
    assert (
        parse.tree.words()
        == ["The", "dog", "'s", "-LRB-", "old", "-RRB-", "toy", "is", "n't", "here", "."]
        == list(parse.words)
    )
    assert [parser.translator.tokenizer.piece(token) for token in parse.token_ids] == [
        *("\u2581" + symbol for symbol in linearise(parse.tree)),
        "</s>",
    ]
    assert len(parse.token_log_probs) == len(parse.token_ids)
    assert parse.positions == tuple(range(len(parse.token_ids) - 1))


@pytest.fixture(scope="module")
def spelling_tokenizer() -> SentencePieceTokenizer:
    trees = list(read_trees(TREES))
    symbols = sorted({f"\u2581{symbol}" for tree in trees for symbol in linearise(tree, "words")})
    text = [" ".join(tree.words()) for tree in trees]
    return SentencePieceTokenizer.train(text, vocab_size=340, num_threads=1, symbols=symbols)


def test_the_shortest_tree_fits_a_model_with_just_as_many_positions(spelling_tokenizer: SentencePieceTokenizer) -> None:
    sentence = ["The", "old", "man", "sleeps", "."]
    shortest = len(spelling_tokenizer.encode(" ".join(sentence))) + len(sentence) + len(("(S", ")S", "</s>"))
    shape = replace(PRESETS["tiny"], vocab_size=spelling_tokenizer.vocab_size, positions="learned")
    fitting, short = (
        Parser(Translator(Transformer(replace(shape, max_positions=number)).eval(), spelling_tokenizer))
        for number in (shortest, shortest - 1)
    )
    assert len(fitting.parse(sentence, beam_size=2).token_ids) == shortest
    message = rf"^a tree over 5 words has at least {shortest} tokens, this model has {shortest - 1} positions: shorten"
    with pytest.raises(ValueError, match=message):
        short.parse(sentence)


def test_words_are_spelled_between_the_symbols(
    spelling_tokenizer: SentencePieceTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.parsing.parser.MAX_EXTRA_TOKENS", 20)  # an untrained model opens brackets to the limit
    tokenizer = spelling_tokenizer
    model = Transformer(replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size)).eval()
    translator = Translator(model, tokenizer)
    parse = Parser(translator).parse("The old man sleeps .", beam_size=2)
    assert parse.tree.words() == ["The", "old", "man", "sleeps", "."]
    pieces = [tokenizer.piece(token_id) for token_id in parse.token_ids]
    assert [pieces[position][1:] for position in parse.positions] == linearise(parse.tree, "words")
    others = [token_id for place, token_id in enumerate(parse.token_ids[:-1]) if place not in parse.positions]
    assert others == tokenizer.encode(parse.text)
    assert [*tokenizer.encode(" ".join(spell(parse.tree))), tokenizer.eos_id] == list(parse.token_ids)
    replayed = translator.explain(parse.text, parse.token_ids).log_probs
    for place, log_prob in enumerate(parse.token_log_probs):
        is_predicted = place in parse.positions or place == len(parse.token_ids) - 1
        assert log_prob == (pytest.approx(replayed[place], abs=1e-4) if is_predicted else 0.0)


def test_side_by_side_is_as_one_by_one(parser: Parser) -> None:
    sentences = ["The dog runs.", "It", ["A", "cat", "(", "sees", "it"]]
    together = parser.parse_batch(sentences, beam_size=2)
    alone = [parser.parse(sentence, beam_size=2) for sentence in sentences]
    assert [parse.token_ids for parse in together] == [parse.token_ids for parse in alone]
    assert together[2].words == ("A", "cat", "-LRB-", "sees", "it")


def test_the_log_probabilities_are_those_of_a_replay(parser: Parser) -> None:
    parse = parser.parse("The dog runs.", beam_size=2)
    replayed = parser.translator.explain(parse.text, parse.token_ids)
    assert parse.token_log_probs == pytest.approx(replayed.log_probs, abs=1e-4)


@pytest.mark.parametrize(
    ("sentence", "message"),
    [("  ", "the sentence is empty"), (["two words"], "'two words' is not one word"), ([""], "'' is not one word")],
)
def test_invalid_sentences_are_refused(parser: Parser, sentence: str | list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parser.parse(sentence)
    with pytest.raises(ValueError, match=f"sentence 2: {message}"):
        parser.parse_batch(["It runs", sentence])


def test_a_model_that_computes_nothing_finite_is_an_error(tree_checkpoint: Path) -> None:
    translator = Translator.from_checkpoint(tree_checkpoint)
    translator.model.decoder.layers[1].feed_forward.outer.weight.fill_(math.inf)
    for parse in (
        lambda: Parser(translator).parse("The dogs run.", beam_size=2),
        lambda: Parser(translator).parse_batch(["The dogs run."]),
    ):
        with pytest.raises(
            NonFiniteError, match=r"^the model's outputs are not finite \(NaN or infinite\) at position 1: its weights"
        ):
            parse()
