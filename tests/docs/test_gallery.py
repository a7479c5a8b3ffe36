"""The gallery says only what is so."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from core.results import Explanation
from core.trace import HEAD_PATTERN, parse_head
from docs.gallery import __main__ as command
from docs.gallery.exhibits import EXHIBITS, Exhibit
from docs.gallery.pages import FalseClaimError, card, checked, standalone_page

BY_NAME = {exhibit.name: exhibit for exhibit in EXHIBITS}


Explained = Callable[[str], Explanation]


@pytest.fixture(scope="module")
def explained() -> Explained:
    """The explanation of an exhibit, made once."""
    return cache(lambda name: checked(BY_NAME[name]))


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_said_is_so(name: str, explained: Explained) -> None:
    exhibit, explanation = BY_NAME[name], explained(name)
    assert explanation.target == exhibit.translation
    if exhibit.off:
        head = parse_head(exhibit.off)
        assert not explanation.maps[head.kind][head.layer].weights[head.head].any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"translation": "Der Hund."},
            "capitals: the translation is 'DOG SLEPS.'; correct the exhibit, text and field",
        ),
        ({"others": ("Der Hund.",)}, "capitals: 'Der Hund.' is not among"),
        ({"rivals": (("G", "Hund"),)}, "capitals: 'Hund' is not among the alternatives of 'G'"),
        ({"links": ("cross L4 H5: G > L",)}, "capitals: 'cross L4 H5: G > L' is not the largest weight by 0.05"),
        ({"links": ("cross L4 H5: G > cat",)}, "capitals: there is no such row or key for 'cross L4 H5: G > cat'"),
        ({"variants": (("A dog.", "Nein."),)}, "capitals: the translation of 'A dog.' is"),
    ],
)
def test_what_is_not_so_is_refused(change: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(FalseClaimError, match=re.escape(message)):
        checked(replace(BY_NAME["capitals"], **change))


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_every_head_of_a_text_has_a_link_that_is_checked(exhibit: Exhibit) -> None:
    assert set(re.findall(r"L\d H\d", exhibit.text)) <= set(
        re.findall(r"L\d H\d", " ".join(exhibit.links) + exhibit.off)
    )
    assert all(re.match(HEAD_PATTERN, link) for link in exhibit.links)
    assert 2 <= len(re.findall(r"[.!?](?= |$)", exhibit.text.replace("...", ""))) <= 3, "two sentences or three"
    assert all(text.count("*") % 2 == 0 for text in (exhibit.text, *exhibit.questions))


def test_there_are_twenty_sentences_with_three_questions_each() -> None:
    assert len(BY_NAME) == len(EXHIBITS) == 20
    assert {len(exhibit.questions) for exhibit in EXHIBITS} == {3}


def test_a_page_has_the_texts_and_selects_the_word_of_the_link(explained: Explained) -> None:
    exhibit = BY_NAME["digits"]
    page = standalone_page(exhibit, explained("digits"))
    assert exhibit.title in page
    assert '"first":["cross",3,1]' in page
    assert '"rows":[7,8,9,10,11,12]' in page, "the pieces of 3.417, after those of 1987 lebten"
    assert '"back":["All sentences","../index.html"]' in page


def test_a_card_links_to_its_page_and_marks_the_word(explained: Explained) -> None:
    text = card(BY_NAME["compound"], explained("compound"))
    assert text.startswith('<a class="card" href="gallery/compound.html">')
    assert re.search(r'<text [^>]*class="on">\u00b7schutz</text>', text)
    assert "<script" not in text


def test_the_command_writes_a_page_for_each_and_the_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "EXHIBITS", EXHIBITS[-1:])
    command.main([str(tmp_path / "out")])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["capitals.html", "cards.html"]
