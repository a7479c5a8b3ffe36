"""Check the sentence that the app opens with: `python docs/measurements/default_sentence.py`; --search tries others.

A student meets it first, so its translation by the shipped model has, all of it measured here:

1. a doubt between words: at its least probable word, this word and another one have at least `DOUBT` each, and both are
   single pieces;
2. a head without which the translation is another one: of those `TRIED` whose absence costs it the most;
3. a pronoun, in whose row a head of the encoder gives the noun that it stands for at least `LINK`, and most of all
   tokens.

The exit status is 1 if the sentence of the app does not have all three. Whether a translation is right is left to the
reader of what is printed.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import islice, product

from core import Translator
from core.analysis.heads.ablation import head_changes
from core.analysis.heads.gated_translation import translate_gated
from core.analysis.tokens.next_words import WordOption, next_words
from core.analysis.tokens.words import spelled_words
from core.analysis.word_scores.least_probable import least_probable_token
from core.results import Explanation, ScoredText
from core.trace import Head
from viz_app.session.address import FIRST_EXAMPLE

DOUBT, LINK, TRIED = 0.1, 0.4, 12
PRONOUN, NOUN = "it", "horse"  # of the app's sentence
PEOPLE = "The man", "The boy", "The woman", "My brother"
ACTIONS = "is feeding the", "is looking for the", "carries the", "likes the"
NOUNS = "horse", "animal", "child", "car", "book", "house"  # none of them is he or she in German
REASONS = "is too old", "is dirty", "was too old"
CANDIDATES = [
    (f"{person} {action} {noun} because it {reason}.", "it", noun)
    for person, action, noun, reason in product(PEOPLE, ACTIONS, NOUNS, REASONS)
]


def doubt(translator: Translator, explanation: Explanation) -> Sequence[WordOption]:
    """Return the least probable word and its strongest rival, if both are single pieces and probable enough."""
    position = least_probable_token(explanation)
    places = next_words(translator, explanation.source, explanation.target, 2)
    options = next(options for positions, options in places.items() if position in positions)
    written = [each for each in options if each.is_written]
    pair = (*written, *islice((each for each in options if not each.is_written), 1))
    are_words = all(each.probability >= DOUBT and len(each.token_ids) == 1 and each.text.isalpha() for each in pair)
    return pair if len(pair) == 2 and are_words else ()


def links(explanation: Explanation, pronoun: str, noun: str) -> list[tuple[float, Head]]:
    """Return the heads of the encoder that attend from the pronoun to the noun, the strongest first."""
    positions = {word: group.start for group, word in reversed(spelled_words(explanation.source_tokens))}
    if not {pronoun, noun} <= positions.keys():
        return []
    query, key = positions[pronoun], positions[noun]
    rows = {
        Head("encoder_self", layer, head): each.weights[head, query]
        for layer, each in enumerate(explanation.maps["encoder_self"])
        for head in range(each.num_heads)
    }
    found = [(float(row[key]), head) for head, row in rows.items() if row[key] >= max(LINK, float(row.max()))]
    return sorted(found, key=lambda each: -each[0])


def without_a_head(translator: Translator, text: str, translation: ScoredText) -> dict[Head, str]:
    """Return the translations that differ from this one, each by the head that was turned off."""
    changes = head_changes(translator, text, translation.token_ids)
    tried = sorted(changes, key=changes.__getitem__)[:TRIED]
    other = {head: translate_gated(translator, text, {head: 0.0}).text for head in tried}
    return {head: each for head, each in other.items() if each != translation.text}


def qualifies(translator: Translator, text: str, pronoun: str, noun: str) -> bool:
    """Print what is found of a sentence, and return whether it has everything."""
    translation = translator.translate(text)
    explanation = translator.explain(text, translation)
    pair, linked = doubt(translator, explanation), links(explanation, pronoun, noun)
    if not (pair and linked):
        return False
    changed = without_a_head(translator, text, translation.hypotheses[0])
    print(f"\n{text}\n{translation.text}")
    print("  " + " or ".join(f"{each.text} {each.probability:.2f}" for each in pair))
    print("  " + ", ".join(f"{head} attends from {pronoun} to {noun}: {weight:.2f}" for weight, head in linked[:3]))
    for head, other in changed.items():
        print(f"  without {head}: {other}")
    return bool(changed)


def main() -> int:
    """Check the sentence of the app or, with --search, print all candidates that have everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", default="checkpoints/en-de.safetensors")
    parser.add_argument("--search", action="store_true", help="try the candidates of this script instead")
    arguments = parser.parse_args()
    translator = Translator.from_checkpoint(arguments.checkpoint)
    tried = CANDIDATES if arguments.search else [(FIRST_EXAMPLE, PRONOUN, NOUN)]
    found = sum(qualifies(translator, *each) for each in tried)
    print(f"\n{found} of {len(tried)} have a doubt between words, a head that decides, and a pronoun with its noun")
    return int(not found)


if __name__ == "__main__":
    sys.exit(main())
