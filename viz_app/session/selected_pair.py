"""The two selected words, and the heads that link them."""

from typing import TYPE_CHECKING

from core.analysis.heads.word_pair import PairHeads, PairOptions, pair_heads, rank_heads, word_number, word_pair
from core.analysis.recorded_call import Call
from viz_app.session import python_code, readings
from viz_app.session.attributions import MethodChoice
from viz_app.session.readings import Reading

if TYPE_CHECKING:
    from core.analysis.heads.word_pair import WordPair

WEIGHTS = MethodChoice()


def selected_pair(about: Reading) -> "WordPair | None":
    """Return the two selected words, if two are and one kind of attention links them."""
    words = readings.selected_words(about)
    return word_pair(about.explain(), *words) if len(words) == 2 else None


def linking_heads(about: Reading, pair: "WordPair", weights: MethodChoice = WEIGHTS) -> PairHeads:
    """Order the heads by their weight between two words, by any attribution method.

    Raises:
        ValueError: as `Reading.method_maps`.
    """
    if weights.method == "attention":
        return rank_heads(about.explain(), pair)
    return rank_heads(about.explain(), pair, about.method_maps(weights.method, weights.output)[pair.kind])


def linking_call(about: Reading, pair: "WordPair") -> Call:
    """Return the call that orders the heads by their attention weight between two words."""
    explanation = about.explain()
    options = PairOptions(query=word_number(explanation, pair.query), key=word_number(explanation, pair.key))
    return Call("heads", pair_heads, (*python_code.sentence(about), options))
