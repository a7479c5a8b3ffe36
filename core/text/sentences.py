"""Sentence splitting by a simple rule that loses no text."""

import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager

LANGUAGE_CODES = re.compile(r"(>>[^<>\s]+<<\s*)+")  # such as `>>fra<<`, at the start of a source
ENDS = (".", "!", "?", "…", "‼", "⁇", "⁈", "⁉")
# Ends of sentences in scripts without spaces, or that have no other use: Chinese and Japanese, Hindi, Arabic and Urdu,
# Armenian, Amharic, Burmese and Khmer.
STOPS = "。｡！？।॥؟۔։።፧။។"
# allowed between the end of a sentence and white space; German closing quotes are the English opening ones
CLOSERS = "\"')]}»”’“‘）］｝」』】》〉〕〗｣"
OPENERS = "\"'([{«“„‘‚"
QUOTING = "と"  # after a quotation in Japanese, whose sentence goes on
ABBREVIATIONS = {
    *("Mr.", "Mrs.", "Ms.", "Dr.", "Prof.", "St.", "Rep.", "Sen.", "Gen.", "Gov."),
    *("Mme.", "Mlle.", "Hr.", "Fr.", "Nr.", "bzw.", "ca.", "vs."),
}
_INITIALS_OR_ORDINAL = re.compile(r"([^\W\d_]\.){2,}|\d\d?\.")  # the U.S. Senate, am 3. Mai
MARKS = f"{''.join(ENDS)}{STOPS}"
_MARK = re.compile(rf"[{MARKS}\n]")
_UNSPACED_CLOSERS = CLOSERS.translate(str.maketrans("", "", "“‘"))
_ITEM = re.compile(r"([-*\u2022\u2023\u2013\u2014]|\(?[0-9a-z]{1,2}[.)])\s")  # at the start of an item of a list
_GAP = re.compile(rf"\s+|[{STOPS}]+[{re.escape(_UNSPACED_CLOSERS)}]*")


def split_sentences(text: str) -> list[tuple[str, str]]:
    """Split at empty lines and after the ends of sentences.

    A sentence ends with . ! ? or an ellipsis before white space, or with a stop such as 。 which needs none. No split
    is made before a lower-case letter, "e.g. this", unless it begins a line, nor after titles, initials and ordinals:
    "Mr. J. Smith", "3. Mai". A line break inside a sentence, as in text that was broken to fit a width, is a space;
    a line that begins like an item of a list, with a dash or a number, begins a sentence.

    Returns:
        Pairs of a sentence and the white space after it, which may be none after a stop; joined, they are the text. The
        first sentence is empty if the text begins with white space; no other is.
    """
    pairs: list[tuple[str, str]] = []
    start = word = 0  # start of the sentence, and of its last word
    for gap in _GAP.finditer(text):
        following = text[gap.end() : gap.end() + 1]
        if not gap[0].isspace():
            if following and not following.isspace() and not following.islower() and following != QUOTING:
                pairs.append((text[start : gap.end()], ""))
                start = word = gap.end()
            continue
        breaks = gap[0].count("\n")
        ended = _is_end(text[word : gap.start()]) and (breaks or not following.islower())
        if breaks and not ended:
            ended = breaks > 1 or _ITEM.match(text, gap.end())
        if gap.start() == 0 or not following or ended:
            pairs.append((text[start : gap.start()], gap[0]))
            start = gap.end()
        word = gap.end()
    if start < len(text):
        pairs.append((text[start:], ""))
    return pairs


def one_per_line(text: str) -> str:
    """The sentences of a text, each on a line of its own, with an empty line where the text has some."""
    lines = ((" ".join(sentence.split()), gap.count("\n") > 1) for sentence, gap in split_sentences(text))
    return "".join(f"{sentence}\n" + "\n" * is_last for sentence, is_last in lines if sentence)


def _is_end(word: str) -> bool:
    """Whether a word ends a sentence, if no lower-case letter follows."""
    word = word.rstrip(CLOSERS)
    bare = word.lstrip(OPENERS)
    is_initial = len(bare) == 2 and bare[0].isupper() and bare[1] == "."  # J. Smith
    is_abbreviation = bare in ABBREVIATIONS or _INITIALS_OR_ORDINAL.fullmatch(bare) is not None
    return word.endswith((*ENDS, *STOPS)) and not is_initial and not is_abbreviation


def num_sentences(text: str) -> int:
    """Number of sentences that have a letter or a digit."""
    if not _MARK.search(text.strip().rstrip(f"{CLOSERS}{MARKS}")):  # one or none, and counted faster
        return int(any(map(str.isalnum, text)))
    return sum(any(map(str.isalnum, sentence)) for sentence, _ in split_sentences(text))


def missing_sentences(source: str, target: str) -> int:
    """Number of sentences that a translation lacks, for a source of several.

    Models learn from single sentences, and may leave out some of several.
    """
    of_source = num_sentences(source)
    return max(0, of_source - num_sentences(target)) if of_source > 1 else 0


def space_after(sentence: str) -> str:
    """The space to put between a sentence and the next, empty after a stop such as 。."""
    return "" if sentence.rstrip(CLOSERS).endswith(tuple(STOPS)) else " "


def with_language_codes(sentences: Iterable[str]) -> list[str]:
    """Begin every sentence with its own language codes, or else those of the last sentence with any."""
    coded: list[str] = []
    codes = ""
    for sentence in sentences:
        own = LANGUAGE_CODES.match(sentence)
        coded.append(sentence if own else codes + sentence)
        codes = own[0] if own else codes
    return coded


@contextmanager
def naming_sentence(number: int, what: str = "sentence") -> Generator[None]:
    """Prefix the message of a `ValueError` or a `TypeError` with a sentence number, or that of a line."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise (TypeError if isinstance(error, TypeError) else ValueError)(f"{what} {number}: {error}") from error
