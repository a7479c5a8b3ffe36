"""How good trees are: labelled precision, recall and F1 as EVALB counts them, by PYEVALB (6.3).

EVALB's parameter file COLLINS.prm, which gives the numbers that papers on parsing report, says: the node TOP does not
count, words tagged as punctuation are left out, with the constituents that hold nothing else, and ADVP and PRT are the
same label. PYEVALB counts every bracket of the trees that it is given, so these are brought into that form first.
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
from train.runs.run_folder import now

PUNCTUATION = frozenset({",", ":", "``", "''", "."})  # tags
SAME_LABEL = {"PRT": "ADVP"}


@dataclass(frozen=True)
class TreeScore:
    """What one search setting reaches on one set of trees.

    Attributes:
        f1, precision, recall: of the labelled brackets of all sentences together, in per cent.
        exact: how many of the sentences have every bracket right and none besides, in per cent.
        seconds: of the search alone.
    """

    test_set: str
    sentences: int
    f1: float
    precision: float
    recall: float
    exact: float
    evaluator: str
    beam_size: int
    length_penalty: float
    seconds: float
    date: str

    def __str__(self) -> str:
        search = f"beam {self.beam_size}, length penalty {self.length_penalty}, {self.seconds:.1f} s"
        numbers = (
            f"F1 {self.f1:.2f}  precision {self.precision:.2f}  recall {self.recall:.2f}  exact match {self.exact:.2f}"
        )
        return f"{self.test_set}: {self.sentences} sentences, {search}\n  {numbers}\n  {self.evaluator}"

    def facts(self) -> dict[str, object]:
        """As it stands in a checkpoint: numbers rounded to what they mean."""
        return {name: round(value, 2) if isinstance(value, float) else value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Parseval:
    """Labelled brackets of all sentences together, in per cent: see `TreeScore`."""

    f1: float
    precision: float
    recall: float
    exact: float


def parseval(gold: Sequence[Tree], found: Sequence[Tree]) -> Parseval:
    """Score trees against the right ones.

    The words' tags are those of the right trees, for both: so the same punctuation is left out of both, and nothing
    depends on tags that a parser may not give. What holds nothing but punctuation does not count at all.

    Raises:
        ValueError: the trees are not as many, or not over the same words, or there is nothing to count.
    """
    if len(gold) != len(found):
        raise ValueError(f"{len(found)} trees were found for {len(gold)} sentences")
    results = [_scored(number, *trees) for number, trees in enumerate(zip(gold, found, strict=True), 1)]
    counted = [result for result in results if result is not None]
    if not any(result.gold_brackets for result in counted):
        raise ValueError("there is nothing to count: no tree has a bracket around a word that is not punctuation")
    if not any(result.matched_brackets for result in counted):
        return Parseval(0.0, 0.0, 0.0, 0.0)  # PYEVALB would divide by zero
    total: Any = pyevalb_summary.summary(counted)
    return Parseval(total.bracker_fmeasure, total.bracket_prec, total.bracket_recall, total.complete_match)


def _scored(number: int, gold: Tree, found: Tree) -> Any:
    """What PYEVALB counts of one sentence; None if nothing is left of it to count."""
    if gold.words() != found.words():
        raise ValueError(f"tree {number} is over {' '.join(found.words()):.80}, expected {' '.join(gold.words()):.80}")
    tags = [leaf.label for leaf in gold.leaves()]
    lines = [_comparable(tree, tags) for tree in (gold, found)]
    if not all(lines):
        return None
    result: Any = pyevalb_scorer.Scorer().score_trees(
        *(pyevalb_parser.create_from_bracket_string(line) for line in lines)
    )
    # both have TOP over all words, which EVALB does not count
    for count in ("matched_brackets", "gold_brackets", "test_brackets"):
        setattr(result, count, getattr(result, count) - 1)
    return result


def _comparable(tree: Tree, tags: Sequence[str]) -> str:
    """A tree whose brackets are those that EVALB counts. Words are their numbers: PYEVALB takes some characters for its
    own.

    PYEVALB counts two brackets of one label over the same words once, EVALB twice: the inner one gets a label of its
    own.
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
    """Parse the sentences of some trees and score what comes out.

    Returns:
        The score, and the parses in the order of the trees.
    """
    began = time.perf_counter()
    with sentence_bar(name, len(gold)) as show:
        parses = parser.parse_batch([tree.words() for tree in gold], beam_size, length_penalty, show)
    seconds = time.perf_counter() - began
    score = parseval(gold, [parse.tree for parse in parses])
    evaluator = f"PYEVALB {version('PYEVALB')}, as EVALB with COLLINS.prm"
    return TreeScore(name, len(gold), **asdict(score), evaluator=evaluator, beam_size=beam_size,
                     length_penalty=length_penalty, seconds=seconds, date=now()), parses  # fmt: skip


def read_gold(path: Path) -> list[Tree]:
    """The trees to score against, cleaned.

    Raises:
        DataError: there are none, or they cannot be read.
    """
    trees = list(Treebank([path]))
    if not trees:
        raise DataError(f"{path} has no trees to score against")
    return trees


def with_tags(parses: Sequence[Parse], gold: Sequence[Tree]) -> Iterator[str]:
    """The trees that were found, a line each, with the tags of the right ones: what EVALB itself can be given."""
    for parse, tree in zip(parses, gold, strict=True):
        tags = iter([leaf.label for leaf in tree.leaves()])
        yield f"({ROOT} {_tagged(parse.tree, tags)})"


def _tagged(tree: Tree, tags: Iterator[str]) -> Tree:
    if tree.word is not None:
        return Tree(next(tags), word=tree.word)
    return Tree(tree.label, tuple(_tagged(child, tags) for child in tree.children))
