import pytest

from viz_app.components.words import clicked_word


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        ({"word": "target 1", "how": "only"}, ("target 1", "only")),
        ({"word": "source 0", "how": "also"}, ("source 0", "also")),
        ({"word": "", "how": "none"}, ("", "none")),
        ({"word": "target 2", "how": "only"}, None),
        ({"word": "", "how": "only"}, None),
        ({"word": "target 1", "how": "twice"}, None),
        ({"word": 1, "how": "only"}, None),
        ("target 1", None),
        (None, None),
    ],
)
def test_what_the_browser_sends_is_a_word_of_the_drawing_or_nothing(sent: object, found: object) -> None:
    assert clicked_word(sent, {"", "source 0", "target 1"}) == found
