from pathlib import Path

import pytest

from core.analysis.alignment.pharaoh import GoldLinks, format_links, parse_links, read_gold_pairs


def test_sure_and_possible_links():
    links = parse_links("0-0 1?2 1p3 2-10\n")
    assert links.sure == {(0, 0), (2, 10)}
    assert links.possible == {(0, 0), (2, 10), (1, 2), (1, 3)}


def test_sure_links_are_possible():
    assert GoldLinks(frozenset({(0, 1)}), frozenset()).possible == {(0, 1)}


@pytest.mark.parametrize("line", ["", "0-0 1?2 10-3"])
def test_round_trip(line: str):
    assert format_links(parse_links(line)) == line


def test_found_links_are_written_in_order():
    assert format_links([(10, 0), (2, 1), (2, 0)]) == "2-0 2-1 10-0"


@pytest.mark.parametrize("text", ["0", "0-", "a-b", "0--1", "-1-0", "0-1-2", "0:1", "0-1,", "²-0"])
def test_malformed_links_are_refused(text: str):
    with pytest.raises(ValueError, match="is not a link: expected SOURCE-TARGET such as 0-0"):
        parse_links(f"0-0 {text}")


def test_a_link_past_the_end():
    with pytest.raises(ValueError, match="'2-0' is out of range: the source has 2 words, counted from 0"):
        parse_links("1-0 2-0", source_words=2, target_words=1)
    with pytest.raises(ValueError, match="'0p1' is out of range: the target has 1 words"):
        parse_links("0p1", source_words=2, target_words=1)


def files(folder: Path, source: str, target: str, links: str) -> list[Path]:
    paths = [folder / name for name in ("source", "target", "links")]
    for path, text in zip(paths, (source, target, links), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def test_three_files_together(tmp_path: Path):
    pairs = read_gold_pairs(*files(tmp_path, "a b\nc\n", "x\ny\n", "0-0 1-0\n\n"))
    assert [(pair.source, pair.target) for pair in pairs] == [("a b", "x"), ("c", "y")]
    assert pairs[0].links.sure == {(0, 0), (1, 0)}
    assert not pairs[1].links.possible


def test_a_byte_order_mark_and_other_separators_are_no_lines_or_links(tmp_path: Path):
    pairs = read_gold_pairs(*files(tmp_path, "\ufeffa\u2028b\fc\r\n", "\ufeffx\n", "\ufeff0-0 2-0\r\n"))
    assert [(pair.source, pair.target) for pair in pairs] == [("a\u2028b\fc", "x")]
    assert pairs[0].links.sure == {(0, 0), (2, 0)}


def test_a_pasted_byte_order_mark_is_no_link():
    assert parse_links("\ufeff0-0 1?2").possible == {(0, 0), (1, 2)}


def test_errors_name_the_line(tmp_path: Path):
    with pytest.raises(ValueError, match="2 source lines, 1 target lines and 2 lines of links: expected equal numbers"):
        read_gold_pairs(*files(tmp_path, "a\nb", "x", "0-0\n0-0\n"))
    with pytest.raises(ValueError, match="line 2: 'nonsense' is not a link"):
        read_gold_pairs(*files(tmp_path, "a\nb", "x\ny", "0-0\nnonsense\n"))
    with pytest.raises(ValueError, match="line 1: the target is blank"):
        read_gold_pairs(*files(tmp_path, "a\nb", "\ny", "0-0\n\n"))
    paths = files(tmp_path, "a", "x", "0-0")
    paths[0].write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="source is not UTF-8 text"):
        read_gold_pairs(*paths)


@pytest.mark.parametrize("blank", ["", "\n", " \n\n"])
@pytest.mark.parametrize("which", ["source", "target", "links"])
def test_a_file_without_a_word_or_link_is_refused(which: str, blank: str, tmp_path: Path):
    texts = {"source": "a\n", "target": "x\n", "links": "0-0\n", which: blank}
    with pytest.raises(
        ValueError, match=rf"^{which} is empty or has only white space: expected one line for each sentence pair$"
    ):
        read_gold_pairs(*files(tmp_path, **texts))
