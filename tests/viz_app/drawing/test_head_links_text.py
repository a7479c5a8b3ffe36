import pytest

from core.analysis.alignment.first_head import HeadLinks
from viz_app.drawing.head_links_text import links_text


@pytest.mark.parametrize(
    ("name", "pairs", "text"),
    [
        (
            "L5 H3",
            (("Hund", "dog"), ("fand", "found")),
            "L5 H3 here: **Hund** from dog, **fand** from found. It links 2 of 3 words like the other heads.",
        ),
        ("", (("a*b", "[c]"),), r"**a\*b** from \[c\]. It links 2 of 3 words like the other heads."),
        ("L5 H3", (), "L5 H3 links 2 of 3 words like the other heads."),
        ("", (("\u05e9\u05dc", "peace"),), "**\u2068\u05e9\u05dc\u2069** from peace. It links 2 of 3"),
    ],
)
def test_links_are_a_line_of_text(name: str, pairs: tuple[tuple[str, str], ...], text: str) -> None:
    assert links_text(name, HeadLinks(pairs, agreeing=2, words=3)).startswith(text)
