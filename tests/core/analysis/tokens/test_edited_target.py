import pytest

from core.analysis.tokens.edited_target import align_targets, begun_word, replace_token
from core.text.tokenizer import SentencePieceTokenizer

TARGET = "Ein Hund läuft durch das grüne Gras."


def begun(tokenizer: SentencePieceTokenizer, before: str, text: str, target: str = TARGET) -> str:
    """The beginning of a target after inserting a text after `before`."""
    ids = tokenizer.encode(target)
    position = next(index for index in range(len(ids) + 1) if tokenizer.decode(ids[:index]) == before)
    return tokenizer.decode(replace_token(tokenizer, [*ids, 2], position, text))


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        ("", "Eine", "Eine"),
        ("Ein Hund", "schläft", "Ein Hund schläft"),
        ("Ein Hund", "  bellt   laut ", "Ein Hund bellt laut"),
        ("Ein Hund", ", der", "Ein Hund, der"),
        ("Ein Hund", "(klein", "Ein Hund (klein"),
        ("Ein Hund läuft durch das grüne Gras", "!", "Ein Hund läuft durch das grüne Gras!"),
        # in place of the full stop
        ("Ein Hund läuft durch das grüne Gras", "hier", "Ein Hund läuft durch das grüne Gras hier"),
        (TARGET, "Er bellt.", f"{TARGET} Er bellt."),  # in place of the end
    ],
)
def test_a_word_stands_where_the_token_stood(tokenizer: SentencePieceTokenizer, before: str, text: str, expected: str):
    assert begun(tokenizer, before, text) == expected


def test_inside_a_word_the_letters_before_stay(tokenizer: SentencePieceTokenizer) -> None:
    ids = tokenizer.encode("Ein Zyklop")
    pieces = [tokenizer.piece(token_id) for token_id in ids]
    inside = next(index for index in range(2, len(ids)) if not pieces[index].startswith("\u2581"))
    before = tokenizer.decode(ids[:inside])
    glued = replace_token(tokenizer, ids, inside, "linder")
    assert tokenizer.decode(glued) == f"{before}linder"
    assert glued == tokenizer.encode(f"{before}linder")  # in the pieces that the tokenizer would choose
    assert tokenizer.decode(replace_token(tokenizer, ids, inside, " linder")) == f"{before} linder"


def test_the_letters_that_a_word_goes_on_from() -> None:
    tokens = ["\u2581Ein", "\u2581brau", "ner", "\u2581", "<0xF0>", "<0x9F>", ".", "</s>"]
    assert [list(begun_word(tokens, position)) for position in range(9)] == [[], [], [1], [], [3], [3], [], [], []]
    assert begun_word(tokens, 5).stop == 4  # the bytes of a character are not parted
    assert begun_word(["ner"], 0) == range(0)


def test_a_new_word_leaves_the_tokens_before_as_the_search_chose_them(tokenizer: SentencePieceTokenizer) -> None:
    # not how the tokenizer would split it
    spelled = [tokenizer.token_id(piece) for piece in ("\u2581", "E", "i", "n", "\u2581H")]
    assert replace_token(tokenizer, spelled, 4, "Mann")[:4] == spelled[:4]


def test_a_character_is_never_cut(tokenizer: SentencePieceTokenizer) -> None:
    ids = tokenizer.encode("a \U0001f415")
    assert len(ids) > 4  # the dog is four bytes
    for position in range(len(ids) - 4, len(ids)):
        assert tokenizer.decode(replace_token(tokenizer, ids, position, "dog")) == "a dog"


@pytest.mark.parametrize("text", ["", " \n\u00a0"])
def test_nothing_typed(tokenizer: SentencePieceTokenizer, text: str) -> None:
    with pytest.raises(ValueError, match="the text is blank: type a word, or choose one of the alternatives"):
        replace_token(tokenizer, [5, 6], 1, text)


def test_targets_side_by_side() -> None:
    assert align_targets([5, 6, 7, 2], [5, 9, 10, 7, 2]) == [(0, 0), (1, 1), (None, 2), (2, 3), (3, 4)]
    assert align_targets([5, 6, 2], [5, 2]) == [(0, 0), (1, None), (2, 1)]
    # not its second 5: what they begin with is the same
    assert align_targets([5, 6, 7, 2], [5, 5, 6, 7, 2]) == [(0, 0), (None, 1), (1, 2), (2, 3), (3, 4)]
    assert align_targets([2], [2]) == [(0, 0)]
    assert align_targets([], [2]) == [(None, 0)]
