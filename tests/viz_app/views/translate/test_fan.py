"""Wide fans are shortened where no row leaves another, so that a slide with them can be read."""

from core.results import ScoredText
from viz_app.views.translate.fan import WIDE, FanRow, fan_rows, row_texts, width


def row(text: str) -> FanRow:
    tokens = tuple(f"\u2581{word}" for word in text.split())
    return FanRow(ScoredText(text, tuple(map(hash, tokens)), tokens, (-1.0,) * len(tokens), -1.0), None)


def test_long_runs_lose_their_middle_and_rows_still_begin_where_they_leave_another() -> None:
    words = [f"number{each}" for each in range(40)]
    long, other = " ".join(words), " ".join([*words[:20], "another", *words[21:]])
    rows = fan_rows([row(long), row(other)])
    assert len(long) > WIDE >= width(rows)
    (shared, own), (begun, rest) = map(row_texts, rows)
    assert (shared, begun) == ("", "number0 number1 \u2026 number18 number19")
    assert own.startswith(f"{begun} number20 ")
    assert rest == " another number21 \u2026 number38 number39"
    assert row_texts(fan_rows([row("number0 number1")])[0]) == ("", "number0 number1")
