"""Byte tokens: the characters they spell, and grapheme clusters."""

import pickle
import random

import pytest

from core.analysis.tokens.words import JOINT, readable
from core.text import byte_pieces

PIZZA = "\U0001f355"
ASTRONAUT = "\U0001f469\u200d\U0001f680"  # a woman, a joiner and a rocket


def as_bytes(text: str) -> list[str]:
    return [f"<0x{byte:02X}>" for byte in text.encode()]


def labels(*tokens: str) -> list[str]:
    return [readable(token) for token in byte_pieces.resolve_bytes(tokens)]


def test_accents_joined_emoji_and_flags_are_one_with_what_they_stand_on() -> None:
    tokens = ["\u2581", "e", "<0xCC>", "<0x81>", "t", *"\U0001f469\u200d\U0001f467\u0643\u064f"]
    tokens += "\U0001f1e9\U0001f1ea\U0001f1eb"
    groups = [range(1), range(1, 4), range(4, 5), range(5, 8), range(8, 10), range(10, 12), range(12, 13)]
    assert list(byte_pieces.grapheme_groups(tokens)) == groups
    assert readable("\u064f") == f"{JOINT}\u25cc\u064f"  # with no letter of its own: on a dotted circle


@pytest.mark.parametrize("text", ["\u00e4", "\u6771", PIZZA, ASTRONAUT, "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea"])
def test_every_byte_of_what_reads_as_one_character_names_it(text: str) -> None:
    count = len(text.encode())
    assert labels("\u2581a", *as_bytes(text), ".") == [
        "a",
        *(f"{text} {number}/{count}" for number in range(1, count + 1)),
        ".",
    ]


def test_neighbours_keep_their_own_characters() -> None:
    assert labels(*as_bytes("\u6771\u4eac"))[2:4] == ["\u6771 3/3", "\u4eac 1/3"]
    assert labels("\u2581e", *as_bytes("\u0301")) == ["e", "\u25cc\u0301 1/2", "\u25cc\u0301 2/2"]
    assert labels(*as_bytes("`\n")) == ["`", "\u240a"]


def test_a_number_stays_behind_a_letter_that_is_read_from_the_right() -> None:
    assert labels(*as_bytes("\u05d0")) == ["\u05d0\u200e 1/2", "\u05d0\u200e 2/2"]


def test_a_byte_short_of_a_character_says_what_it_may_become() -> None:
    assert labels("<0xC3>") == ["\u00c0\u2013\u00ff 1/2"]  # U+00C0 to U+00FF have this first byte
    assert labels(*as_bytes(PIZZA)[:2]) == ["0xF0 1/4", "0x9F 2/4"]


def test_an_alternative_is_named_behind_what_stands_before_it() -> None:
    tokens = byte_pieces.resolve_bytes(["\u2581a", *as_bytes(PIZZA), "b"])
    assert readable(byte_pieces.alternative_piece(tokens, 4, "<0x96>")) == "\U0001f356 4/4"
    assert readable(byte_pieces.alternative_piece(tokens, 1, "<0xC3>")) == "\u00c0\u2013\u00ff 1/2"
    assert byte_pieces.alternative_piece(tokens, 1, "<0xF0>") is tokens[1]
    assert byte_pieces.alternative_piece(tokens, 4, "b") == "b"


def test_an_alternative_is_that_of_the_whole_beginning() -> None:
    draw = random.Random(0)
    characters = [*"\u2581ae\u0301\u200d\u00e4\U0001f1e9\U0001f1ea", PIZZA, ASTRONAUT]
    pieces = [*characters, "\u2581a", "\u2581\u0301", "</s>", ">>de<<", *map(as_bytes, characters)]
    for _ in range(300):
        chosen = [draw.choice(pieces) for _ in range(12)]
        tokens = [token for each in chosen for token in ([each] if isinstance(each, str) else each)]
        position = draw.randrange(len(tokens))
        for byte in draw.choices(as_bytes("".join(characters)), k=3):
            found = byte_pieces.alternative_piece(tokens, position, byte)
            expected = byte_pieces.resolve_bytes((*tokens[:position], byte))[-1]
            assert found == expected
            if found != tokens[position]:
                assert vars(found) == vars(expected)


@pytest.mark.parametrize(
    "tokens",
    [("<0x80>",), ("<0xFF>", "a"), ("<0xC3>", "a"), ("<0xC3>", "<0xA4>", "<0xA4>"), ("<0xE0>", "<0x80>", "<0x80>")],
)
def test_bytes_that_spell_nothing_stay_numbers(tokens: tuple[str, ...]) -> None:
    assert all(label.startswith("0x") and "/" not in label for label in labels(*tokens)[:1])


def test_to_a_program_a_byte_is_the_token_that_it_was() -> None:
    tokens = as_bytes(PIZZA)
    known = byte_pieces.resolve_bytes(tokens)
    assert (known, hash(known[0])) == (tuple(tokens), hash(tokens[0]))
    copied = pickle.loads(pickle.dumps(known[1]))
    assert isinstance(copied, byte_pieces.BytePiece)
    assert (copied, copied.spells, copied.number, copied.num_bytes) == (tokens[1], PIZZA, 2, 4)


@pytest.mark.parametrize("text", ["", " ", "\u200d", "\u00ad"])
def test_invisible_text_is_marked(text: str) -> None:
    assert byte_pieces.visible(text) == "\u2423"


def test_tokens_of_several_bytes():
    """As byte-level tokenizers have them: a space and two of three bytes, then the last."""
    tokens = byte_pieces.resolve_bytes(("a", "\u2581<0xE6><0xBC>", "<0xA2>", "b"))
    assert byte_pieces.decode_pieces(tokens) == "a\u2581漢b"
    assert [
        (each.spells, each.number, each.num_bytes) for each in tokens if isinstance(each, byte_pieces.BytePiece)
    ] == [("漢", 1, 3), ("漢", 3, 3)]
    assert byte_pieces.byte_label(tokens[2]) == "漢 3/3"
    assert byte_pieces.bytes_of("<0xE6>b") is byte_pieces.bytes_of("b") is None
