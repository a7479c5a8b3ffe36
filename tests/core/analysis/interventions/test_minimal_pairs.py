import pytest

from core.analysis.interventions.minimal_pairs import CONTRASTS, MAX_FOR_WORD, MinimalPair, minimal_pairs
from core.analysis.interventions.word_list import ADJECTIVES, NOUNS, PRONOUNS, VERBS
from core.analysis.tokens.words import word_groups
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator

SENTENCES = [
    "The old house is cold.",
    "A little girl in a pink dress is climbing up a set of stairs.",
    "She knows that he lives in a small town.",
    "Two men run, and their dogs run too.",
    "I don't know where he lives.",
    "Where is the STATION?",
]


@pytest.fixture(scope="module")
def by_letters(translator: Translator) -> Translator:
    """The model with a tokenizer of single letters: words of equal length have equally many tokens."""
    tokenizer = SentencePieceTokenizer.train(["abcdefghijklmnopqrstuvwxyz " * 3], vocab_size=290, num_threads=1)
    return Translator(translator.model, tokenizer)


@pytest.mark.parametrize("text", SENTENCES)
def test_every_proposal_has_as_many_tokens_in_the_same_words(translator: Translator, text: str):
    ids = translator.token_ids(text, "").source
    pieces = translator.codec.source_pieces(ids)
    for pair in minimal_pairs(translator, text):
        other = translator.token_ids(pair.text, "").source
        assert len(other) == len(ids) == pair.num_tokens
        assert word_groups(translator.codec.source_pieces(other)) == word_groups(pieces)
        assert [index for index in range(len(ids)) if ids[index] != other[index]] == list(pair.positions)
        assert pair.text != text
        assert pair.reason.startswith(f"Of {len(ids)} tokens these differ")


def changes(pairs: list[MinimalPair], name: str) -> list[tuple[tuple[str, str], ...]]:
    return [pair.changes for pair in pairs if pair.contrast == name]


def test_the_contrasts_of_a_sentence(by_letters: Translator):
    found = minimal_pairs(by_letters, "She sees that the man ran.")
    assert (("She", "It"),) not in changes(found, "pronoun")  # another number of letters
    assert (("man", "son"),) not in changes(found, "noun")  # of another group
    assert (("man", "men"),) in changes(found, "number")
    assert minimal_pairs(by_letters, "The cow is old.")[0].changes == (("cow", "cat"),)
    assert changes(minimal_pairs(by_letters, "He was here, she has it."), "tense") == [(("has", "had"),)]
    assert changes(minimal_pairs(by_letters, "We see him."), "tense") == [(("see", "saw"),)]
    assert changes(minimal_pairs(by_letters, "The boat is new."), "adjective") == [(("new", "old"),)]


def test_a_plural_takes_its_determiner_and_its_verb_along(by_letters: Translator):
    found = changes(minimal_pairs(by_letters, "One man has the red car."), "number")
    assert found == []  # `has` and `have` differ in length
    found = changes(
        minimal_pairs(by_letters, "We know that the man came in the boat and that the foot left."), "number"
    )
    assert found == [(("man", "men"),), (("foot", "feet"),)]
    assert changes(minimal_pairs(by_letters, "One man said it."), "number") == [(("One", "Two"), ("man", "men"))]
    assert changes(minimal_pairs(by_letters, "The man came."), "number") == [(("man", "men"),)]
    assert changes(minimal_pairs(by_letters, "He saw the foot."), "number") == [(("foot", "feet"),)]
    assert not changes(minimal_pairs(by_letters, "My man came."), "number")  # no determiner that is known
    assert not changes(minimal_pairs(by_letters, "The man shouts."), "number")  # no verb that is known


def test_capitals_are_kept(by_letters: Translator):
    assert changes(minimal_pairs(by_letters, "Dog eats bird."), "noun")[0] == (("Dog", "Cat"),)
    assert changes(minimal_pairs(by_letters, "Our man: I saw him."), "pronoun") == [
        (("Our", "Its"),),
        (("Our", "Her"),),
        (("Our", "His"),),
        (("him", "her"),),
    ]


def test_words_that_must_agree_are_left_alone(by_letters: Translator):
    """An article with the sound after it, and a verb with its auxiliary."""
    assert not changes(minimal_pairs(by_letters, "An old man did not run."), "adjective")
    assert changes(minimal_pairs(by_letters, "The old man did not run."), "adjective") == [(("old", "new"),)]
    assert not changes(minimal_pairs(by_letters, "We did not run, we can sing and have come to see it."), "tense")


def test_a_word_has_few_proposals_of_a_kind(by_letters: Translator):
    found = minimal_pairs(by_letters, "The red cat.")
    assert all(pair.contrast in CONTRASTS for pair in found)
    for name in CONTRASTS:
        words = [each[0][0] for each in changes(found, name)]
        assert all(words.count(word) <= MAX_FOR_WORD for word in words)


def test_what_has_no_known_word_has_no_proposal(translator: Translator):
    assert minimal_pairs(translator, "\u0645\u0631\u062d\u0628\u0627 <b>") == []
    with pytest.raises(ValueError, match="there is nothing to translate"):
        minimal_pairs(translator, " ")


def test_the_word_list_has_no_word_twice_in_a_group():
    for group in [*(sum(nouns, ()) for nouns in NOUNS), *ADJECTIVES, *PRONOUNS]:
        forms = [word for word in group if word not in ("sheep", "fish")]
        assert len(set(forms)) == len(forms)
    assert len({verb[0] for verb in VERBS}) == len(VERBS)
