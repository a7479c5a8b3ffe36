import re
from pathlib import Path

from train.__main__ import main
from train.cli.synthesize import synthetic_pairs

NAMED = "Tom bought 3 cats.", "Tom kaufte 3 Katzen."


def test_what_is_copied_is_the_same_on_both_sides_and_the_rest_stays() -> None:
    in_place = 0
    for source, target in synthetic_pairs([NAMED] * 400, copying=1, capitals=0, seed=1):
        found = re.fullmatch(r"(.+) bought (.+) cats\.", source), re.fullmatch(r"(.+) kaufte (.+) Katzen\.", target)
        ended = re.fullmatch(r"Tom bought 3 cats (.+)\.", source), re.fullmatch(r"Tom kaufte 3 Katzen (.+)\.", target)
        english, german = ended if all(ended) else found
        assert english
        assert german
        assert english.groups() == german.groups()
        in_place += not all(ended) and english.groups() != ("Tom", "3")
    assert in_place > 200


def test_a_word_that_differs_or_stands_twice_stays() -> None:
    """The name is another one in German, the number stands twice in English."""
    pairs = [("Mary has 3 of 3.", "Maria hat alle 3.")] * 50
    for source, target in synthetic_pairs(pairs, copying=1, capitals=0, seed=1):
        thing = source.removeprefix("Mary has 3 of 3 ").removesuffix(".")
        assert target == f"Maria hat alle 3 {thing}."


def test_capitals_come_on_both_sides_and_lower_case_only_in_the_source() -> None:
    made = set(synthetic_pairs([NAMED] * 50, copying=0, capitals=1, seed=1))
    assert made == {(NAMED[0].upper(), NAMED[1].upper()), (NAMED[0].lower(), NAMED[1])}


def test_the_command_makes_the_shares_it_was_given_and_the_same_each_time(tmp_path: Path) -> None:
    texts = [tmp_path / "en", tmp_path / "de"]
    for path, text in zip(texts, NAMED, strict=True):
        path.write_text(f"{text}\n" * 2_000, encoding="utf-8")
    given = ["synthesize", "--source", str(texts[0]), "--target", str(texts[1]), "--copying", ".1", "--capitals", "0"]
    outputs = [[tmp_path / f"{run}.{side}" for side in ("en", "de")] for run in (1, 2)]
    for output in outputs:
        assert main([*given, "-o", *map(str, output)]) == 0
    english, german = ([path.read_text(encoding="utf-8") for path in output] for output in outputs)
    assert english == german
    assert english[0].count("\n") == english[1].count("\n")
    assert 150 < english[0].count("\n") < 250
