import re

import pytest

from core.analysis.heads.head import Head
from core.analysis.pictures import effect_limit, effect_share
from viz_app.drawing import ablation
from viz_app.drawing.head_grid import contrast
from viz_app.drawing.theme import DARK, LIGHT, Theme

EFFECTS = {Head("cross", 1, 0): 0.5, Head("encoder_self", 0, 2): -2.0, Head("decoder_self", 0, 1): 0.0}
IMPORTANCE = {Head("cross", 1, 0): 0.02, Head("encoder_self", 0, 2): 0.3, Head("decoder_self", 0, 1): 0.0}
EVIL = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_no_change_is_the_page_and_both_ways_are_far_from_it(theme: Theme) -> None:
    assert ablation.effect_color(0.0, 2.0, theme) == theme.background
    assert ablation.effect_color(-2.0, 2.0, theme) == theme.diverging[0]  # a loss
    assert ablation.effect_color(5.0, 2.0, theme) == theme.diverging[-1]  # a gain, even past the end


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_text_can_be_read_on_every_colour(theme: Theme) -> None:
    for effect in (-20.0, -5.0, -2.6, -1.0, -0.3, 0.0, 0.3, 1.0, 2.6, 20.0):
        color = ablation.effect_color(effect, 20.0, theme)
        text = ablation.readable_on(color)
        assert contrast(text, color) >= 4.5, effect


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_one_large_effect_leaves_colours_to_the_others(theme: Theme) -> None:
    effects = [-20.4, -2.0, -0.5, -0.2, 0.0]
    limit = effect_limit(effects)
    assert len({ablation.effect_color(effect, limit, theme) for effect in effects}) == len(effects)
    shares = [effect_share(effect, limit) for effect in effects]
    assert shares[1] < -0.4  # ten times smaller, but well apart from 0


@pytest.mark.parametrize(
    ("old", "new", "of_old", "of_new"),
    [
        ("a b c", "a x c", [False, True, False], [False, True, False]),
        ("a b", "a b", [False, False], [False, False]),
        ("a b", "b", [True, False], [False]),
        ("", "a", [], [True]),
        ("a b", "c d", [True, True], [True, True]),
    ],
)
def test_words_that_only_one_has_are_marked(old: str, new: str, of_old: list[bool], of_new: list[bool]) -> None:
    assert ablation.difference(old.split(), new.split()) == (of_old, of_new)


def test_words_keep_the_spaces_between_them() -> None:
    words = ablation.words_of(("\u2581Ein", "\u2581Hu", "nd", ".", "</s>"))
    assert words == ["Ein", " Hund", "."]
    assert ablation.marked_text(words, [False, True, False], "ins") == '<p class="switched">Ein <ins>Hund</ins>.</p>'


HEBREW = ("\u05e9\u05dc\u05d5\u05dd", "\u05e2\u05d5\u05dc\u05dd")


@pytest.mark.parametrize(
    ("words", "turned", "isolated_words"),
    [
        (["He", " said", *(f" {word}" for word in HEBREW), " today"], False, HEBREW),
        ([HEBREW[0], " hello", " world", *(f" {word}" for word in HEBREW)], True, ("hello", "world")),
        (["Ein", " Hund"], False, ()),
        ([HEBREW[0], f" {HEBREW[1]}"], True, ()),
    ],
)
def test_words_of_both_directions_stay_in_their_order(
    words: list[str], turned: bool, isolated_words: tuple[str, ...]
) -> None:
    """A browser would put neighbours of the other direction in reverse; each is isolated, the line has its own."""
    tokens = [f"\u2581{each.strip()}" for each in words]
    numbers = [0.0] * len(words)
    for text in (
        ablation.marked_text(words, [False] * len(words), "ins"),
        ablation.changed_tokens(tokens, numbers, numbers, LIGHT),
    ):
        assert ('<p class="switched" dir="rtl">' in text or '<p class="token-text" dir="rtl">' in text) == turned
        assert tuple(re.findall("\u2068(.*?)\u2069", text)) == isolated_words


def test_words_and_tokens_are_escaped() -> None:
    assert "<img" not in ablation.marked_text([EVIL], [True], "del")
    assert "<img" not in ablation.changed_tokens((f"\u2581{EVIL}",), [-1.0], [0.0], LIGHT)


def test_tokens_stand_on_the_colour_of_their_change() -> None:
    text = ablation.changed_tokens(("\u2581Ein", "\u2581Hund", "</s>"), [-0.5, -1.0, 0.0], [0.0, -2.0, 1.0], LIGHT)
    assert f"background: {LIGHT.background}" in text
    assert f"background: {LIGHT.diverging[0]}" in text
    assert "Hund: log-probability \u22121.000 before, \u22123.000 now, change \u22122.000" in text


def test_the_figure_has_a_mark_for_every_head() -> None:
    figure = ablation.effects_figure(EFFECTS, IMPORTANCE, LIGHT)
    marks = {text: (x, y) for trace in figure.data for text, x, y in zip(trace.text, trace.x, trace.y, strict=True)}
    assert marks == {"Encoder L1 H3": (0.3, -2.0), "Decoder L1 H2": (0.0, 0.0), "Cross L2 H1": (0.02, 0.5)}
    assert len({trace.marker.symbol for trace in figure.data}) == 3  # never told by colour alone
