"""Constituency trees: bracketed notation, and linearised for a Transformer (6.3).

The linearised form is that of Vinyals et al. 2015, section 3.1 (Grammar as a Foreign Language): a depth-first traversal
in which each constituent is an opening and a closing bracket with its label, and each word is `XX`, whatever its tag.
The words themselves are left out: there is one `XX` per word, in order. Trained on few trees, a model loses count of
them. With tags a word is `XX/NN`, which says more about its place in the sentence. With words its tag is `/NN`, and the
word itself stands in front of the brackets before it: the model is given the next word and writes the brackets up to
that word and its tag, as a shift-reduce parser does, and need not count.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from core.text.text_normalization import normalized

WORD = "XX"  # symbol of every word, and of unknown tags
Leaves = Literal["placeholders", "tags", "words"]  # of a linearised tree: `XX`, `XX/NN`, or `/NN` and the word
ROOT = "TOP"  # node above the sentence, which evaluators ignore
# bracket tokens of the Penn Treebank
ESCAPED = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}


@dataclass(frozen=True)
class Tree:
    """A constituent with its children, or a word with its tag."""

    label: str  # of the constituent, or the word's tag; empty for the outermost bracket of Penn Treebank files
    children: tuple["Tree", ...] = ()  # of a constituent, in order; empty for a word
    word: str | None = None  # None for a constituent

    def __str__(self) -> str:
        """Bracketed notation on one line."""
        return f"({self.label} {self.word if self.word is not None else ' '.join(map(str, self.children))})"

    def leaves(self) -> Iterator["Tree"]:
        """Words with their tags, from left to right."""
        if self.word is not None:
            yield self
        for child in self.children:
            yield from child.leaves()

    def words(self) -> list[str]:
        """Words of the sentence."""
        return [leaf.word for leaf in self.leaves() if leaf.word is not None]


@dataclass(frozen=True)
class Constituent:
    """A constituent and its span."""

    label: str
    depth: int  # 0 for the root
    start: int  # the first word
    end: int  # the one after the last
    opened: int  # position of its bracket in the linearised tree
    closed: int  # of the closing one


def read_trees(text: str) -> Iterator[Tree]:
    """Parse bracketed trees such as `(S (NP (PRP It)) (VP (VBZ works)))`, which may span lines.

    Raises:
        ValueError: the brackets are malformed; the message has the number of the tree.
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
        elif tokens[index - 1] != "(":  # otherwise it is the label, read above
            stack[-1][1].append(token)
    if stack:
        raise ValueError(f"tree {number} is cut off: {len(stack)} of its brackets are not closed")


def _node(label: str, parts: list[Tree | str], number: int) -> Tree:
    children = tuple(part for part in parts if isinstance(part, Tree))
    words = [part for part in parts if isinstance(part, str)]
    if len(words) > 1 or (words and children) or not parts:
        content = " ".join(map(str, parts)) or "nothing"
        raise ValueError(
            f"tree {number}: {label or 'a bracket without a label'} contains {content:.60}: expected one word, or "
            f"constituents"
        )
    return Tree(label, word=words[0]) if words else Tree(label, children)


def linearise(tree: Tree, leaves: Leaves = "placeholders") -> list[str]:
    """Linearised tree, one symbol for each bracket and each word: `(S`, `(NP`, `XX`, `)NP`, ..., `)S`.

    With words as leaves the words themselves are left out; `spell` inserts them.
    """
    if tree.word is not None:
        return [{"placeholders": WORD, "tags": f"{WORD}/{tree.label}", "words": f"/{tree.label}"}[leaves]]
    return [
        f"({tree.label}",
        *(symbol for child in tree.children for symbol in linearise(child, leaves)),
        f"){tree.label}",
    ]


def spell(tree: Tree) -> list[str]:
    """Linearised tree with words: `It`, `(S`, `(NP`, `/PRP`, `works`, `)NP`, `(VP`, `/VBZ`, `)VP`, `)S`."""
    words = iter(tree.words())
    parts = [next(words)]
    for symbol in linearise(tree, "words"):
        parts.append(symbol)
        if tag_of(symbol) is not None:
            parts.extend(islice(words, 1))
    return parts


def tag_of(symbol: str) -> str | None:
    """Tag of a word's symbol, `XX` if it has none; None for a bracket or a word."""
    if symbol == WORD:
        return WORD
    mark, slash, tag = symbol.partition("/")
    return tag or None if slash and mark in ("", WORD) else None


def restore(symbols: Sequence[str], words: Sequence[str]) -> Tree:
    """Inverse of `linearise`: rebuild a tree from its symbols and the words, with `XX` for tags that were left out.

    Raises:
        ValueError: the symbols are not one whole tree over these words.
    """
    rest = iter(words)
    stack: list[tuple[str, list[Tree]]] = [("", [])]
    for position, symbol in enumerate(symbols):
        if (tag := tag_of(symbol)) is not None:
            word = next(rest, None)
            if word is None:
                raise ValueError(f"the sequence has more words than the {len(words)} of the sentence")
            stack[-1][1].append(Tree(tag, word=word))
        elif symbol.startswith("("):
            stack.append((symbol[1:], []))
        elif len(stack) < 2 or symbol != f"){stack[-1][0]}" or not stack[-1][1]:
            raise ValueError(
                f"symbol {position + 1} of the sequence is {symbol!r}, which does not close the innermost constituent"
            )
        else:
            label, children = stack.pop()
            stack[-1][1].append(Tree(label, tuple(children)))
    left = len(list(rest))
    if len(stack) > 1 or left or len(stack[0][1]) != 1:
        raise ValueError(
            f"the sequence ends with {len(stack) - 1} open brackets and {left} words left: expected one whole tree"
        )
    return stack[0][1][0]


def constituents(tree: Tree) -> list[Constituent]:
    """Constituents in the order of their opening brackets."""
    opened: list[Constituent | None] = []

    def walk(node: Tree, depth: int, start: int, position: int) -> tuple[int, int]:
        """Return the index of the word, and the position, after this node."""
        if node.word is not None:
            return start + 1, position + 1
        index, word, next_position = len(opened), start, position + 1
        opened.append(None)
        for child in node.children:
            word, next_position = walk(child, depth + 1, word, next_position)
        opened[index] = Constituent(node.label, depth, start, word, position, next_position)
        return word, next_position + 1

    walk(tree, 0, 0, 0)
    return [constituent for constituent in opened if constituent]


# --- Words of the Penn Treebank -------------------------------------------------------------------------------------
# The conventions of the treebank's own tokenizer (R. MacIntyre, tokenizer.sed, 1995): punctuation and clitics are words
# (`did` `n't`, `dog` `'s`), double quotes are ``` `` ``` and `''`, brackets are `-LRB-` and `-RRB-`. Implemented here
# because sacremoses, the only dependency with these rules, fails: in 0.2.0 `penn_tokenize` raises AttributeError for
# any text.
_QUOTES = {"\u201c": " `` ", "\u201d": " '' ", "\u2018": " ` ", "\u2019": "'"}
_OTHERS = {"\u2013": " -- ", "\u2014": " -- ", "\u2026": " ... ", "\u2581": " "}
_PLAIN = str.maketrans(_QUOTES | _OTHERS)
_RULES = [
    (r"``|''(?!\w)|\.{3,}|--+", r" \g<0> "),
    (r'(^|[\s(\[{<`-])"', r"\1 `` "),  # a double quote opens after a space or a bracket
    (r'"', " '' "),
    (r"[;@#$%&?!()\[\]{}<>]", r" \g<0> "),
    (r"([,:])(?!\d)|(?<!\d)([,:])", r" \1\2 "),  # not in 1,000 and 10:30
    (r"(?<=[^.\s])\.(?=[\s\])}>'`]*$)", " . "),  # only the last full stop; others belong to abbreviations
    (r"(?i)(?<=\w)(n't|'(?:s|m|d|ll|re|ve))(?=\W|$)", r" \1 "),
    (r"(?<=\w)'(?=\s|$)", " ' "),
    (r"(?i)\b(can)(not)\b", r"\1 \2"),
    (r"(?i)\b(gon|wan)(na)\b", r"\1 \2"),
    (r"(?i)\b(got)(ta)\b", r"\1 \2"),
]


def treebank_words(text: str) -> list[str]:
    """Split one sentence into words; tokenized text is unchanged.

    "He said, \\"It's (not) here.\\"" -> He said , `` It 's -LRB- not -RRB- here . ''
    """
    text = normalized(text.translate(_PLAIN))
    for pattern, replacement in _RULES:
        text = re.sub(pattern, replacement, text)
    return [escape_brackets(word) for word in text.split()]


def escape_brackets(word: str) -> str:
    """Escape brackets in a word for use in a tree: `-LRB-` for a bracket alone."""
    return "".join(
        ESCAPED.get(character, character) if word in ESCAPED or character in "()" else character for character in word
    )
