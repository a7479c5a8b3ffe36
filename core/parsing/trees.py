"""Constituency trees: read from and written in brackets, and as the sequence that a Transformer reads and writes (6.3).

The sequence is that of Vinyals et al. 2015, section 3.1 (Grammar as a Foreign Language): the tree is walked depth
first, each constituent is an opening and a closing bracket that both bear its label, and each word is `XX`, whatever
its tag.
The words themselves are not in it: there are as many `XX` as words, in their order. With tags a word is `XX/NN`, so
that
what was written tells which word comes next: where trees are few, a model loses count without.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

WORD = "XX"  # stands for every word, and for the tag that a parser does not give
ROOT = "TOP"  # what evaluators call the node above the sentence, and leave out
# as the Penn Treebank has them
ESCAPED = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}


@dataclass(frozen=True)
class Tree:
    """A constituent with its parts, or a word with its tag.

    Attributes:
        label: the constituent's, or the word's tag; empty for the outermost bracket of Penn Treebank files.
        children: the parts of a constituent, in order; none of a word.
        word: None for a constituent.
    """

    label: str
    children: tuple["Tree", ...] = ()
    word: str | None = None

    def __str__(self) -> str:
        """In brackets, on one line."""
        return f"({self.label} {self.word if self.word is not None else ' '.join(map(str, self.children))})"

    def leaves(self) -> Iterator["Tree"]:
        """The words with their tags, from left to right."""
        if self.word is not None:
            yield self
        for child in self.children:
            yield from child.leaves()

    def words(self) -> list[str]:
        """The sentence."""
        return [leaf.word for leaf in self.leaves() if leaf.word is not None]


@dataclass(frozen=True)
class Constituent:
    """A constituent of a tree, and where it stands.

    Attributes:
        depth: 0 for the root.
        start, end: the first word, and the one behind the last.
        opened, closed: the positions of its brackets in the sequence.
    """

    label: str
    depth: int
    start: int
    end: int
    opened: int
    closed: int


def read_trees(text: str) -> Iterator[Tree]:
    """Trees in brackets, such as `(S (NP (PRP It)) (VP (VBZ works)))`, on one line or on many.

    Raises:
        ValueError: the brackets are not those of trees; it says in which tree.
    """
    number = 1
    stack: list[tuple[str, list[Tree | str]]] = []
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()
    for index, token in enumerate(tokens):
        if token == "(":
            label = tokens[index + 1] if tokens[index + 1 : index + 2] not in ([], ["("], [")"]) else ""
            stack.append((label, []))
        elif not stack:
            raise ValueError(f"tree {number} begins with {token!r}: expected an opening bracket")
        elif token == ")":
            tree = _node(*stack.pop(), number)
            if stack:
                stack[-1][1].append(tree)
            else:
                yield tree
                number += 1
        elif tokens[index - 1] != "(":  # else it is the label, which is already there
            stack[-1][1].append(token)
    if stack:
        raise ValueError(f"tree {number} is cut off: {len(stack)} of its brackets are not closed")


def _node(label: str, parts: list[Tree | str], number: int) -> Tree:
    children = tuple(part for part in parts if isinstance(part, Tree))
    words = [part for part in parts if isinstance(part, str)]
    if len(words) > 1 or (words and children) or not parts:
        found = " ".join(map(str, parts)) or "nothing"
        raise ValueError(
            f"tree {number}: {label or 'a bracket without a label'} holds {found:.60}: expected one word, or "
            f"constituents"
        )
    return Tree(label, word=words[0]) if words else Tree(label, children)


def linearise(tree: Tree, with_tags: bool = False) -> list[str]:
    """The sequence of a tree: `(S`, `(NP`, `XX`, `)NP`, ..., `)S`; with tags `XX/NN` for `XX`."""
    if tree.word is not None:
        return [f"{WORD}/{tree.label}" if with_tags else WORD]
    return [
        f"({tree.label}",
        *(symbol for child in tree.children for symbol in linearise(child, with_tags)),
        f"){tree.label}",
    ]


def tag_of(symbol: str) -> str | None:
    """The tag that a word's symbol bears, `XX` where it bears none; None for a bracket."""
    return symbol.removeprefix(f"{WORD}/") if symbol == WORD or symbol.startswith(f"{WORD}/") else None


def restore(symbols: Sequence[str], words: Sequence[str]) -> Tree:
    """The tree of a sequence and a sentence: what `linearise` undid, save for tags that it left out, which are `XX`.

    Raises:
        ValueError: the sequence is not that of one whole tree over these words.
    """
    rest = iter(words)
    stack: list[tuple[str, list[Tree]]] = [("", [])]
    for position, symbol in enumerate(symbols):
        if (tag := tag_of(symbol)) is not None:
            word = next(rest, None)
            if word is None:
                raise ValueError(f"the sequence has more than the {len(words)} words of the sentence")
            stack[-1][1].append(Tree(tag, word=word))
        elif symbol.startswith("("):
            stack.append((symbol[1:], []))
        elif len(stack) < 2 or symbol != f"){stack[-1][0]}" or not stack[-1][1]:
            raise ValueError(
                f"symbol {position + 1} of the sequence is {symbol!r}, which does not close what was opened last"
            )
        else:
            label, children = stack.pop()
            stack[-1][1].append(Tree(label, tuple(children)))
    left = len(list(rest))
    if len(stack) > 1 or left or len(stack[0][1]) != 1:
        raise ValueError(
            f"{len(stack) - 1} brackets are open at the end of the sequence and {left} words are left: expected one "
            f"whole tree"
        )
    return stack[0][1][0]


def constituents(tree: Tree) -> list[Constituent]:
    """Every constituent, in the order in which the sequence opens them."""
    found: list[Constituent | None] = []

    def walk(node: Tree, depth: int, start: int, position: int) -> tuple[int, int]:
        """The word and the position behind this node."""
        if node.word is not None:
            return start + 1, position + 1
        index, word, next_position = len(found), start, position + 1
        found.append(None)
        for child in node.children:
            word, next_position = walk(child, depth + 1, word, next_position)
        found[index] = Constituent(node.label, depth, start, word, position, next_position)
        return word, next_position + 1

    walk(tree, 0, 0, 0)
    return [constituent for constituent in found if constituent]
