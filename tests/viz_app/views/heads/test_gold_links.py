import pytest

from core.analysis.alignment.pharaoh import GoldPair, parse_links
from viz_app.views.heads import gold_links

LINES = "a dog runs ||| ein Hund l\u00e4uft ||| 0-0 1-1 2?2\n\nwhere ? ||| wo ? ||| 0-0"


def test_links_are_toggled_and_sure_ones_are_written_first() -> None:
    assert gold_links.toggled(parse_links("0-0 1?2"), (2, 1)) == "0-0 1?2 2-1"
    assert gold_links.toggled(parse_links("0-0 1?2"), (1, 2)) == "0-0"


def test_every_sentence_has_links_of_its_own() -> None:
    sentences = gold_links.SentenceLinks()
    assert sentences.before_box("one", "0-0") is None  # as an address brings them
    sentences.lines["one"] = "0-0 1-1"
    assert sentences.before_box("two", "0-0 1-1") == ""
    sentences.lines["two"] = ""
    assert sentences.before_box("one", "") == "0-0 1-1"
    assert sentences.before_box("one", "0-0 1-1 2-2") is None
    assert sentences.before_box("one", None) == "0-0 1-1"  # another page does not draw the box


def test_pasted_and_uploaded_texts_are_the_same_pairs():
    pairs = gold_links.pasted_pairs(LINES)
    assert [pair.links for pair in pairs] == [parse_links("0-0 1-1 2?2"), parse_links("0-0")]
    files = [
        ("s", b"a dog runs\nwhere ?\n"),
        ("t", "ein Hund l\u00e4uft\nwo ?\n".encode()),
        ("l", b"0-0 1-1 2?2\n0-0\n"),
    ]
    stripped = [GoldPair(pair.source.strip(), pair.target.strip(), pair.links) for pair in pairs]
    assert gold_links.uploaded_pairs(files) == gold_links.given_pairs(files, "") == stripped
    assert gold_links.given_pairs(files[:2], LINES) == pairs


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\f"])
def test_no_other_character_than_a_line_feed_ends_a_pasted_line(separator: str) -> None:
    (pair,) = gold_links.pasted_pairs(f"\ufeffa dog{separator}runs ||| ein Hund l\u00e4uft ||| 0-0 1-1 2-2")
    assert len(pair.links.sure) == 3
    assert pair.source.split() == ["a", "dog", "runs"]


def test_texts_that_are_not_as_expected_are_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ValueError, match="line 3 has 2 parts, expected 3"):
        gold_links.pasted_pairs("a ||| b ||| 0-0\n\na ||| b")
    with pytest.raises(ValueError, match=r"l\.txt is not UTF-8 text"):
        gold_links.uploaded_pairs([("s.txt", b"a"), ("t.txt", b"b"), ("l.txt", b"\xff")])
    with pytest.raises(
        ValueError, match="there are 2 of 3 files and no pasted lines: upload source, target and links, or paste"
    ):
        gold_links.given_pairs([("s.txt", b"a"), ("t.txt", b"b")], "\n")
    monkeypatch.setattr(gold_links, "MAX_BYTES", 3)
    with pytest.raises(ValueError, match=r"s\.txt is larger than 0 MB"):
        gold_links.uploaded_pairs([("s.txt", b"a a a"), ("t.txt", b"b"), ("l.txt", b"")])
