"""Numbers as each language writes them, beside those of Babel and of the browser."""

import pytest
from babel.numbers import format_decimal, format_percent

from core.text.phrases import Number, Phrase
from viz_app.drawing.plotly_chart import empty_figure
from viz_app.drawing.theme import LIGHT
from viz_app.language import LANGUAGES, compact, localized, speaking, tr, tr_count, translated


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("value", [0.47, -1234567.891, 8000.0, 0.0])
def test_marks_are_those_of_babel(code: str, value: float) -> None:
    with speaking(code):
        found = localized(value, ",.2f")
        share = localized(value / 10, ",.0%")
    assert found == format_decimal(value, "#,##0.00", locale=code).replace("-", "\u2212")
    assert share == format_percent(value / 10, locale=code).replace("-", "\u2212")


def test_an_integer_has_marks_of_thousands_and_everything_has_a_real_minus_sign() -> None:
    assert [localized(value) for value in (8000, -3, 0.5)] == ["8,000", "\u22123", "0.5"]
    assert [localized(value, "+.2f") for value in (1.5, -1.5, float("-inf"))] == ["+1.50", "\u22121.50", "\u2212\u221e"]
    with speaking("de"):
        assert localized(1e-7, ".1g") == "1e\u221207"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("en", ["13.1 M", "8.39 M", "524 K", "950"]),
        ("de", ["13,1 Mio.", "8,39 Mio.", "524.000", "950"]),
        ("zh", ["1310 万", "839 万", "52.4 万", "950"]),
        ("ko", ["1,310만", "839만", "52.4만", "950"]),
    ],
)
def test_large_numbers_have_the_units_of_the_language(code: str, expected: list[str]) -> None:
    with speaking(code):
        found = [compact(value) for value in (13_123_456, 8_388_608, 524_288, 950)]
    assert [text.replace("\u00a0", " ") for text in found] == expected


def test_the_numbers_of_a_text_are_in_its_language() -> None:
    with speaking("de"):
        assert tr("step {step:,} of {last:,}", step=8000, last=10000) == "Schritt 8.000 von 10.000"
        assert tr("{share:.0%} of the weights", share=0.25) == "25\u00a0% der Gewichte"
        assert tr_count("{count} token", "{count} tokens", 1234) == "1.234 Tokens"
        assert tr("{name!r:.60} is not a path on this machine.", name=3.5).startswith("3.5 ")
        assert tr("{name}", name=True) == "True"


def test_a_number_of_core_keeps_its_value() -> None:
    phrase = Phrase("{count} tokens", count=Number(37000, ","))
    assert phrase == "37,000 tokens"
    assert translated(Number(0.5, ".0%")) == "50%"
    with speaking("de"):
        assert translated(phrase) == "37.000 Tokens"
        assert translated(Number(0.1, "g")) == "0,1"


def test_a_chart_has_the_marks_of_the_language() -> None:
    with speaking("de"):
        assert empty_figure(LIGHT, 300).layout.separators == ",."
