"""Penn Treebank trees as parallel text: sentences and linearised trees (6.3)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from core.files.file_writing import write_text
from core.parsing.trees import ROOT, Leaves, Tree, linearise, read_trees, spell
from core.text.tokenizer import SPACE_MARK
from train.data.parallel_text import ParallelText, read_lines
from train.data.preparation import prepare
from train.data.preparation_settings import Preparation
from train.data.token_shards import MANIFEST, DataError

EMPTY = "-NONE-"
ROOTS = ("", ROOT, "ROOT", "S1")  # labels of the node above the sentence
PURPOSES = {"train": "training", "valid": "validation", "test": "test"}
PARTS = tuple(PURPOSES)


@dataclass(frozen=True)
class Treebank:
    """A selection of the trees in some files.

    Attributes:
        ids: a file with one id for each tree, such as the name of its document; without it, all trees are selected.
        first, last: range of the selected ids, both included, in alphabetical order.
    """

    files: Sequence[Path]  # bracketed trees; plain, .gz, .xz, .bz2 or .zst
    ids: Path | None = None
    first: str = ""
    last: str = ""

    def __iter__(self) -> Iterator[Tree]:
        """Yield the selected trees, cleaned.

        Raises:
            DataError: a file cannot be read, or the numbers of ids and trees differ.
        """
        trees = (tree for path in self.files for tree in _read(path))
        if self.ids is None:
            yield from filter(None, map(clean, trees))
            return
        for number, (tree, name) in enumerate(zip_longest(trees, read_lines(self.ids)), 1):
            if tree is None or name is None:
                raise DataError(
                    f"{self.ids} has {'more' if tree is None else 'fewer'} ids than there are trees: give one id for "
                    f"each tree (number {number} has no {'tree' if tree is None else 'id'})"
                )
            if self.first <= name <= self.last and (cleaned := clean(tree)):
                yield cleaned


def _read(path: Path) -> Iterator[Tree]:
    try:
        yield from read_trees("\n".join(read_lines(path)))
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{path}: {error}") from error


def clean(tree: Tree) -> Tree | None:
    """Normalise a tree for training and scoring parsers; None if it is empty.

    Removes traces and constituents of traces only, function tags and indices of labels (NP-SBJ-1 becomes NP), and the
    node above the sentence, unless it has several children or a word as its only child.
    """
    cleaned = _cleaned(tree)
    if cleaned is None:
        return None
    while cleaned.label in ROOTS and len(cleaned.children) == 1 and cleaned.children[0].word is None:
        cleaned = cleaned.children[0]
    if cleaned.word is not None:
        return Tree(ROOT, (cleaned,))
    return Tree(ROOT, cleaned.children) if cleaned.label in ROOTS else cleaned


def _cleaned(tree: Tree) -> Tree | None:
    if tree.word is not None:
        return None if tree.label == EMPTY else tree
    children = tuple(filter(None, map(_cleaned, tree.children)))
    bare = re.split(r"[-=|]", tree.label)[0]  # without functions and indices
    return Tree(bare or tree.label, children) if children else None


def phrases(tree: Tree) -> Iterator[Tree]:
    """Yield the constituents of more than one word below the root, in pre-order."""
    for child in tree.children:
        if len(child.words()) > 1:
            yield child
        yield from phrases(child)


def prepare_trees(
    folder: Path,
    parts: dict[str, Treebank],
    vocab_size: int,
    with_phrases: bool = False,
    leaves: Leaves = "placeholders",
    overwrite: bool = False,
) -> dict[str, Any]:
    """Write sentences, trees and linearised trees into `folder/trees`, prepare them in `folder`, and return the
    manifest.

    The vocabulary has one piece for each labelled bracket, and one for `XX` or for each tag; `leaves` are as in
    `core.parsing.trees`. Of the part `test`, only the trees are written. With few trees, distinct phrases of the
    training trees help as sentences to learn to count words and match brackets.

    Raises:
        DataError: the trees cannot be read, a part has none, or the folder was prepared from others.
        ValueError: the text is too small for the vocabulary.
    """
    text = folder / "trees"
    trees = {part: _trees_of(part, treebank) for part, treebank in parts.items()}
    contents: dict[str, str] = {}  # by file
    for part, own in trees.items():
        contents[f"{part}.mrg"] = _lines(f"(TOP {tree})" if tree.label != ROOT else str(tree) for tree in own)
        if part == "train" and with_phrases:
            own = [*own, *dict.fromkeys(phrase for tree in own for phrase in phrases(tree))]
        contents[f"{part}.source"] = _lines(" ".join(tree.words()) for tree in own)
        contents[f"{part}.target"] = _lines(
            " ".join(spell(tree) if leaves == "words" else linearise(tree, leaves)) for tree in own
        )
    existing = {path.name: path.read_text(encoding="utf-8") for path in text.glob("*.*")}
    other = [name for name, lines in contents.items() if existing.get(name, lines) != lines]
    if other and (folder / MANIFEST).exists() and not overwrite:
        advice = "give another folder, or --overwrite to replace them"
        raise DataError(f"{folder} holds other trees ({', '.join(other)} would change): {advice}")
    text.mkdir(parents=True, exist_ok=True)
    for name, lines in contents.items():
        write_text(text / name, lines)
    train, valid = (ParallelText([text / f"{part}.source"], [text / f"{part}.target"]) for part in ("train", "valid"))
    symbols = {symbol for tree in trees["train"] for symbol in linearise(tree, leaves)}
    pieces = [SPACE_MARK + symbol for symbol in sorted(symbols)]
    return prepare(folder, Preparation(train, valid, vocab_size, symbols=pieces), overwrite=overwrite)


def _trees_of(part: str, treebank: Treebank) -> list[Tree]:
    """Return the trees of a part, of which there must be some."""
    if trees := list(treebank):
        return trees
    raise DataError(f"there is no {PURPOSES[part]} tree in {', '.join(map(str, treebank.files)) or 'no files'}")


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
