from core.byte_pieces import resolve_bytes
from core.drawing.token_spans import label_spans, run_spans, spoken, unit_spans


def test_a_piece_that_continues_a_word_has_a_faint_mark() -> None:
    assert label_spans("ing") == [("\u00b7", "faint"), ("ing", "")]
    assert label_spans("\u2581read") == [("read", "")]


def test_special_tokens_have_their_own_style() -> None:
    assert label_spans("</s>") == [("</s>", "special")]


def test_bytes_read_as_the_character_they_spell() -> None:
    assert unit_spans(["<0xC3>", "<0xA4>"]) == [("\u00e4", "")]
    assert unit_spans(["<0x3C>"]) == [("<", "")]
    assert unit_spans(["ing"]) == label_spans("ing")


def test_one_byte_of_a_character_says_which_it_is() -> None:
    first, second = resolve_bytes(["<0xC3>", "<0xA4>"])
    assert label_spans(second) == [("\u00e4", ""), (" 2/2", "faint")]
    # in a text the character stands once
    assert (run_spans(first), run_spans(second)) == ([("\u00e4", "")], [("2", "byte")])
    assert spoken(second) == "\u00e4, byte 2 of 2, 0xA4"
    assert spoken(*resolve_bytes(["<0xF0>"])) == "0xF0, byte 1 of 4"


def test_a_run_of_text_has_no_joint_marks() -> None:
    assert run_spans("ing") == [("ing", "")]
    assert run_spans("\u2581") == [("\u2423", "faint")]


def test_a_lone_space_is_faint() -> None:
    assert label_spans("\u2581") == [("\u2423", "faint")]


def test_accents_stand_on_their_letters() -> None:
    assert unit_spans(["\u2581e", "\u0301"]) == [("e\u0301", "")]
    assert unit_spans(["\u0643", "<0xD9>", "<0x8F>"]) == [("\u00b7", "faint"), ("\u0643\u064f", "")]
