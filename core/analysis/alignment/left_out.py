"""Source words that a translation has probably left out.

A content word is reported if it is linked to punctuation, special tokens or nothing. That is: no word of the
translation is linked to it, and the row that attends to it most is that of a mark or of `</s>`, or attends to it with
less than `LEAST`. Links and attention are those of the consensus of the heads in the upper half of the layers, see
`core.analysis.alignment.first_head`.

Content words are told from function words by their form, so that no list of words of a language is needed: at least
five letters (frequent words, with little content, are short: Zipf 1935), a digit, or a capital inside a sentence; in
scripts without spaces, where pieces stand for words, two letters.

`docs/measurements/left_out.py` counts reported words where words were cut from the translation together with what they
are linked to, and in correct translations. `LEAST` is the largest of five values that reports a word in at most one of
twenty correct everyday sentences, on those of even number. On those of odd number, for the shipped checkpoint,

    python docs/measurements/left_out.py made-errors.en-de.jsonl

    correct sentences with a reported word   Tatoeba 4 %, Wikipedia 6 %, Europarl in lower case 32 %
    content words that were cut out          34 % of 79 are reported, and 60 % of the reported ones are among them

So most of what is left out is not reported, and a report is a reason to look, never a verdict: a word may also be left
out rightly.
"""

from collections.abc import Sequence

import torch

from core.analysis.alignment.aligners import shown_words_of
from core.analysis.alignment.sentence_alignment import shown_words
from core.analysis.tokens.words import UNSPACED_SCRIPTS, is_special, text_word_groups, word_groups, word_labels
from core.capture import AttentionMap

LEAST = 0.12  # of the attention of one target word; a source word that gets more from some word is not left out
LONG = 5  # letters of a content word
LONG_UNSPACED = 2  # in scripts without spaces between words


def is_content(text: str, is_first: bool = False) -> bool:
    """Whether a word is one with content, by its form.

    Args:
        is_first: whether it is the first of its sentence, where a capital means nothing.
    """
    letters = sum(map(str.isalnum, text))
    if letters == 0:
        return False
    if any(map(str.isdigit, text)) or (letters > 1 and text[0].isupper() and not is_first):
        return True
    return letters >= (LONG_UNSPACED if UNSPACED_SCRIPTS.search(text) else LONG)


def left_out_words(cross: Sequence[AttentionMap]) -> list[range]:
    """Positions of the tokens of each source word that is probably left out, see the module docstring.

    Args:
        cross: cross-attention of all layers, with all tokens.

    Raises:
        ValueError: the maps are not of cross-attention.
    """
    words = shown_words_of(cross[0])  # the same of all layers
    source, groups = shown_words(cross[0].key_tokens), text_word_groups(cross[0].key_tokens)
    target = word_groups(cross[0].row_tokens)
    mean = torch.cat([layer.weights for layer in cross[len(cross) // 2 :]]).mean(0) @ words.source  # [T, words]
    mean = torch.stack([mean[group.start : group.stop].mean(0) for group in target])
    texts = zip(target, word_labels(cross[0].row_tokens), strict=True)
    is_word = [
        any(map(str.isalnum, text)) and not is_special(cross[0].row_tokens[group.start]) for group, text in texts
    ]
    if not any(is_word) or not groups:  # that nothing is translated is visible without marks
        return []
    links = (mean / mean.sum(0).clamp_min(torch.finfo(mean.dtype).tiny).sqrt()).argmax(1).tolist()
    linked = {link for link, has_letters in zip(links, is_word, strict=True) if has_letters}
    largest, rows = (each.tolist() for each in mean.max(0))
    return [
        group
        for place, group in enumerate(groups)
        if place not in linked
        and (largest[place] < LEAST or not is_word[rows[place]])
        and is_content(source[place], place == 0)
    ]
