"""Penn Treebank tokenization.

The conventions of the treebank's own tokenizer (R. MacIntyre, tokenizer.sed, 1995): punctuation and clitics are words
(`did` `n't`, `dog` `'s`), double quotes are ``` `` ``` and `''`, brackets are `-LRB-` and `-RRB-`.
Implemented here because sacremoses, the only dependency with these rules, fails: in 0.2.0 `penn_tokenize` raises
AttributeError for any text.
"""

import re

from core.parsing.trees import ESCAPED
from core.text.text_normalization import normalized

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
