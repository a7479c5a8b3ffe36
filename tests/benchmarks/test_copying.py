import pytest

from benchmarks.copying import KINDS, is_right, sentences


def test_sentences_are_those_of_their_seed() -> None:
    for kind in KINDS:
        cases = list(sentences(kind, 30, seed=1))
        assert cases == list(sentences(kind, 30, seed=1)) != list(sentences(kind, 30, seed=2))
        assert all(item in source for source, item in cases)
        assert all(source.isupper() == (kind == "capitals") for source, _ in cases)


@pytest.mark.parametrize(
    ("source", "translation", "item", "expected"),
    [
        ("He won 45474 euros.", "Er gewann 45.474 Euro.", "", True),
        ("He won 45474 euros.", "Er gewann 4574 Euro.", "", False),
        ("Use --all or {name}.", "Nutze --all oder {name}.", "--all", True),
        ("Use --all or {name}.", "Nutze --all oder name.", "--all", False),
        ("Read 🚲 again.", "Lies noch einmal.", "🚲", False),
        ("PLEASE CLOSE THE DOOR.", "BITTE SCHLIESSEN SIE DIE TÜR.", "", True),
        ("PLEASE CLOSE THE DOOR.", "PLEASE CLOSE THE DOR.", "", False),
    ],
)
def test_a_translation_is_right_if_nothing_is_lost_and_it_is_none_of_the_source(
    source: str, translation: str, item: str, expected: bool
) -> None:
    assert is_right(source, translation, item) is expected
