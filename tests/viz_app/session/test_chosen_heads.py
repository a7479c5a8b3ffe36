"""The selected heads and words, and their places in a map."""

import pytest
import torch

from core import Explanation
from core.analysis.heads.mean_and_maximum import with_combined
from core.analysis.tokens.words import merge_words, without_special_tokens
from core.capture import KINDS, AttentionMap, Kind
from viz_app.components import word_links
from viz_app.components.sentence_bar import words_by_name
from viz_app.drawing import head_names
from viz_app.session import chosen_heads


def prepared(attention: AttentionMap, words: bool, hide_special: bool) -> AttentionMap:
    attention = merge_words(attention) if words else attention
    return without_special_tokens(attention) if hide_special else attention


def test_names_of_heads_are_read_back(explanation: Explanation) -> None:
    names = head_names.names(explanation.maps["cross"])
    assert names[0] == "L1 H1"
    assert names[7:9] == ["L2 H4", "Mean of all"]
    assert head_names.parsed("L2 H4") == (1, 3)
    assert len(set(names)) == len(names) == 8 + 4
    assert [head_names.name_of(*head_names.parsed(name)) for name in names] == names


def test_many_heads_as_one_stand_beside_the_layers(explanation: Explanation) -> None:
    maps = explanation.maps["cross"]
    both = with_combined(maps, [(0, 1), (1, 2), (head_names.ALL, 0)])
    assert [attention.layer for attention in both] == [0, 1, head_names.ALL, head_names.CHOSEN]
    torch.testing.assert_close(both[2].weights[0], torch.cat([maps[0].weights, maps[1].weights]).mean(0))
    torch.testing.assert_close(both[3].weights[1], torch.maximum(maps[0].weights[1], maps[1].weights[2]))
    assert [attention.layer for attention in with_combined(maps, [(head_names.CHOSEN, 0)])] == [0, 1, head_names.ALL]


def test_what_is_no_name_of_a_head_is_refused() -> None:
    with pytest.raises(ValueError, match="'5/3' is not the name of a head, expected one such as 'L5 H3'"):
        head_names.parsed("5/3")


def test_a_click_shows_one_head_and_adds_or_removes_it_when_comparing() -> None:
    assert chosen_heads.toggled(["L1 H1"], "L2 H2", several=False) == ["L2 H2"]
    assert chosen_heads.toggled(["L1 H1"], "L2 H2", several=True) == ["L1 H1", "L2 H2"]
    assert chosen_heads.toggled(["L1 H1", "L2 H2"], "L1 H1", several=True) == ["L2 H2"]
    assert chosen_heads.toggled(["L1 H1"], "L1 H1", several=True) == ["L1 H1"]
    assert chosen_heads.toggled([], "L1 H1", several=True) == ["L1 H1"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("hide_special", [False, True])
def test_rows_and_columns_are_linked_to_the_words_whose_tokens_they_show(
    explanation: Explanation, kind: Kind, words: bool, hide_special: bool
) -> None:
    shown = prepared(explanation.maps[kind][0], words, hide_special)
    linked = word_links.links(explanation, kind, words, hide_special)
    known, found = words_by_name(explanation), dict[str, str]()
    for axis, tokens in (("query", shown.predicted_tokens or shown.query_tokens), ("key", shown.key_tokens)):
        assert len(linked[axis]) == len(tokens)
        for name, token in zip(linked[axis], tokens, strict=True):
            assert (name == "") == (token == "<s>")
            found[f"{axis} {name}"] = found.get(f"{axis} {name}", "") + str(token).removeprefix("\u2581")
    for place, text in found.items():
        axis, _, name = place.partition(" ")
        if name:
            side, group = known[name]
            assert side == ("source" if kind == "encoder_self" or (kind == "cross" and axis == "key") else "target")
            tokens = explanation.source_tokens if side == "source" else explanation.predicted_tokens
            assert "".join(tokens[group.start : group.stop]).removeprefix("\u2581") == text  # all of its pieces


def test_the_positions_behind_rows_and_columns_leave_none_out(explanation: Explanation) -> None:
    for kind, maps in explanation.maps.items():
        found = word_links.positions(explanation, kind, words=True, hide_special=False)
        for axis, count in zip(("query", "key"), maps[0].weights.shape[1:], strict=True):
            assert [position for group in found[axis] for position in group] == list(range(count))
