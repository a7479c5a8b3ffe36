"""PARSEVAL: labelled precision, recall and F1 of trees (6.3).

PYEVALB computes them as EVALB does. Papers on parsing use EVALB with COLLINS.prm: the node TOP does not count, words
tagged as punctuation are removed together with constituents of punctuation only, and ADVP and PRT are the same label.
PYEVALB counts every bracket, so trees are normalised accordingly first.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from PYEVALB import parser as pyevalb_parser
from PYEVALB import scorer as pyevalb_scorer
from PYEVALB import summary as pyevalb_summary

from core.parsing.parser import Parse, Parser
from core.parsing.trees import ROOT, Tree
from train.data.token_shards import DataError
from train.data.treebank import Treebank
from train.eval.progress_bar import sentence_bar
from train.runs.provenance import now

PUNCTUATION = frozenset({",", ":", "``", "''", "."})  # tags
SAME_LABEL = {"PRT": "ADVP"}


@dataclass(frozen=True)
class TreeScore:
    """The score of a parser with one search setting on a set of trees."""

    test_set: str
    sentences: int
    f1: float  # of the labelled brackets of all sentences, in per cent, as precision and recall
    precision: float
    recall: float
    exact: float  # sentences with exactly the gold brackets, in per cent
    evaluator: str
    beam_size: int
    length_penalty: float
    seconds: float  # search time
    date: str

    def __str__(self) -> str:
        search = f"beam {self.beam_size}, length penalty {self.length_penalty}, {self.seconds:.1f} s"
        numbers = (
            f"F1 {self.f1:.2f}  precision {self.precision:.2f}  recall {self.recall:.2f}  exact match {self.exact:.2f}"
        )
        return f"{self.test_set}: {self.sentences} sentences, {search}\n  {numbers}\n  {self.evaluator}"

    def facts(self) -> dict[str, object]:
        """Return the score as checkpoints record it, with rounded numbers."""
        return {name: round(value, 2) if isinstance(value, float) else value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Parseval:
    """Labelled bracket scores of all sentences, in per cent; see `TreeScore`."""

    f1: float
    precision: float
    recall: float
    exact: float


def parseval(gold: Sequence[Tree], predicted: Sequence[Tree]) -> Parseval:
    """Score predicted trees against gold trees.

    Both sides use the gold tags, so that the same punctuation is removed from both, and parsers need not predict tags.
    Sentences of punctuation only do not count.

    Raises:
        ValueError: the numbers of trees or their words differ, or no gold tree has a bracket to count.
    """
    if len(gold) != len(predicted):
        raise ValueError(f"there are {len(predicted)} predicted trees for {len(gold)} gold trees")
    results = [_scored(number, *trees) for number, trees in enumerate(zip(gold, predicted, strict=True), 1)]
    counted = [result for result in results if result is not None]
    if not any(result.gold_brackets for result in counted):
        raise ValueError("no gold tree has a bracket around a word that is not punctuation: there is nothing to score")
    if not any(result.matched_brackets for result in counted):
        return Parseval(0.0, 0.0, 0.0, 0.0)  # PYEVALB would divide by zero
    total: Any = pyevalb_summary.summary(counted)
    return Parseval(total.bracker_fmeasure, total.bracket_prec, total.bracket_recall, total.complete_match)


def _scored(number: int, gold: Tree, predicted: Tree) -> Any:
    """Return PYEVALB's counts for one sentence; None if it consists of punctuation."""
    if gold.words() != predicted.words():
        raise ValueError(
            f"tree {number} has the words {' '.join(predicted.words()):.80}, expected {' '.join(gold.words()):.80}"
        )
    tags = [leaf.label for leaf in gold.leaves()]
    lines = [_normalised(tree, tags) for tree in (gold, predicted)]
    if not all(lines):
        return None
    result: Any = pyevalb_scorer.Scorer().score_trees(
        *(pyevalb_parser.create_from_bracket_string(line) for line in lines)
    )
    # the bracket TOP over all words, which EVALB does not count
    for count in ("matched_brackets", "gold_brackets", "test_brackets"):
        setattr(result, count, getattr(result, count) - 1)
    return result


def _normalised(tree: Tree, tags: Sequence[str]) -> str:
    """Write a tree with the brackets that EVALB counts.

    Words are written as numbers, as PYEVALB reserves some characters. Of two brackets with one label over the same
    words, which PYEVALB counts once and EVALB twice, the inner one gets a new label.
    """
    seen: dict[tuple[str, int, int], int] = {}
    numbers = iter(range(len(tags)))

    def written(node: Tree) -> tuple[str, list[int]]:
        if node.word is not None:
            number = next(numbers)
            return ("", []) if tags[number] in PUNCTUATION else (f"(XX {number})", [number])
        parts = [part for part in map(written, node.children) if part[1]]
        words = [word for _, part_words in parts for word in part_words]
        inside = " ".join(text for text, _ in parts)
        if not words or node.label == ROOT:
            return inside, words
        label = SAME_LABEL.get(node.label, node.label)
        span = (label, words[0], words[-1])
        seen[span] = seen.get(span, 0) + 1
        return f"({label}{'' if seen[span] == 1 else f'#{seen[span]}'} {inside})", words

    text, words = written(tree)
    return f"({ROOT} {text})" if words else ""


def evaluate_trees(
    parser: Parser, name: str, gold: Sequence[Tree], beam_size: int, length_penalty: float
) -> tuple[TreeScore, list[Parse]]:
    """Parse the sentences of gold trees, and return the score and the parses in the same order."""
    began = time.perf_counter()
    with sentence_bar(name, len(gold)) as show:
        parses = parser.parse_batch([tree.words() for tree in gold], beam_size, length_penalty, show)
    seconds = time.perf_counter() - began
    score = parseval(gold, [parse.tree for parse in parses])
    evaluator = f"PYEVALB {version('PYEVALB')}, as EVALB with COLLINS.prm"
    return TreeScore(name, len(gold), **asdict(score), evaluator=evaluator, beam_size=beam_size,
                     length_penalty=length_penalty, seconds=seconds, date=now()), parses  # fmt: skip


def read_gold(path: Path) -> list[Tree]:
    """Read gold trees, cleaned.

    Raises:
        DataError: the file cannot be read, or has no trees.
    """
    trees = list(Treebank([path]))
    if not trees:
        raise DataError(f"{path} has no trees: give the gold trees")
    return trees


def with_tags(parses: Sequence[Parse], gold: Sequence[Tree]) -> Iterator[str]:
    """Yield the predicted trees with the gold tags, one line each, as input for EVALB."""
    for parse, tree in zip(parses, gold, strict=True):
        tags = iter([leaf.label for leaf in tree.leaves()])
        yield f"({ROOT} {_tagged(parse.tree, tags)})"


def _tagged(tree: Tree, tags: Iterator[str]) -> Tree:
    if tree.word is not None:
        return Tree(next(tags), word=tree.word)
    return Tree(tree.label, tuple(_tagged(child, tags) for child in tree.children))
