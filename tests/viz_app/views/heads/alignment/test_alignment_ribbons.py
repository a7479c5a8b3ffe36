import pytest
import torch

from core.analysis.alignment.pharaoh import parse_links
from core.analysis.alignment.sentence_alignment import WordAlignment
from viz_app.views.heads.alignment.alignment_ribbons import clicked_link, ribbon_payload


@pytest.fixture
def alignment() -> WordAlignment:
    return WordAlignment(("A", "dog"), ("Ein", "Hund", "."), torch.tensor([[0.75, 0.25], [0.005, 0.9], [0.0, 0.0]]))


def test_ribbons_are_weights_and_the_largest_of_a_word_is_its_link(alignment: WordAlignment) -> None:
    payload = ribbon_payload(alignment, parse_links("0-0 0?2"), shares=(0.5, 0.25, 1))
    assert payload["ribbons"] == [[0, 0, 0.75, True], [1, 0, 0.25, False], [1, 1, 0.9, True]]
    assert payload["gold"] == [[0, 0, True, True], [0, 2, False, False]]
    assert [word["covered"] for word in payload["source"]] == pytest.approx([0.755, 1.15])
    assert [word["share"] for word in payload["target"]] == [0.5, 0.25, 1]
    with pytest.raises(ValueError, match="1 shares for 3 target words"):
        ribbon_payload(alignment, parse_links(""), shares=(0.5,))


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        ({"source": 1, "target": 2}, (1, 2)),
        ({"source": 2, "target": 0}, None),
        ({"source": 0}, None),
        ("0-0", None),
        (None, None),
    ],
)
def test_what_the_browser_sends_is_a_link_of_the_sentence_or_nothing(
    alignment: WordAlignment, sent: object, found: object
) -> None:
    assert clicked_link(sent, alignment) == found
