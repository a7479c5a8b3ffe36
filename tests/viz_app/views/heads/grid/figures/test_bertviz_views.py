"""BertViz's page as it leaves us: nothing from outside, nothing a token can break, every weight to three decimals."""

import json
import re
from typing import Any

import pytest
import torch

from viz_app.drawing import bertviz_scripts
from viz_app.drawing.theme import DARK, LIGHT
from viz_app.views.heads.grid.figures import bertviz_views
from viz_app.views.heads.grid.figures.bertviz_views import VIEWS, BertVizView, bertviz_page, too_long

EVIL = "\u2581</script><script>document.title='broken'</script><!--"


def params(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="bertviz-data">(.*?)</script>', page)
    assert found
    return json.loads(found[1])


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", ["encoder_self", "decoder_self", "cross"])
def test_the_weights_and_tokens_are_those_of_the_maps(make_map: Any, view: BertVizView, kind: str) -> None:
    maps = [make_map(5, 4, layer=layer, kind=kind) for layer in range(2)]
    (data,) = params(bertviz_page(maps, view, LIGHT))["attention"]
    expected = torch.stack([each.weights for each in maps])
    torch.testing.assert_close(torch.tensor(data["attn"]), expected, atol=0.0005, rtol=0)
    assert data["left_text"][-1] == "</s>"  # in the decoder what the last row predicts
    assert len(data["right_text"]) == len(maps[0].key_tokens)


def test_the_head_view_begins_with_the_heads_that_are_chosen(make_map: Any) -> None:
    found = params(bertviz_page([make_map(layer=layer) for layer in range(3)], "Head view", LIGHT, layer=2, heads=[1]))
    assert (found["layer"], found["heads"], found["include_layers"]) == (3, [1], [1, 2, 3])  # layers from 1
    found = params(bertviz_page([make_map()], "Model view", DARK))
    assert (found["display_mode"], found["include_layers"], found["include_heads"]) == ("dark", [1], [1, 2, 3])


@pytest.mark.parametrize("view", VIEWS)
def test_no_token_ends_the_script_and_nothing_is_asked_of_the_outside(
    make_map: Any, view: BertVizView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bertviz_views, "MAX_CHARACTERS", 100)
    page = bertviz_page([make_map(token=EVIL)], view, LIGHT)
    scripts = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    assert scripts == bertviz_scripts.scripts(view)
    assert page.count("</script>") == len(scripts) + 1  # and that of the data
    assert {bertviz_scripts.source_hash(each) for each in scripts} <= set(bertviz_scripts.all_hashes())
    assert not re.search(r"<(script|link|img|iframe)[^>]*(src|href)", page)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert params(page)["attention"][0]["right_text"][0] == EVIL[1:]


def test_more_tokens_than_it_draws_are_refused(make_map: Any) -> None:
    assert too_long([make_map(60, 60)]) == 0
    assert too_long([make_map(2, 61)]) == 61
    with pytest.raises(ValueError, match="up to 60 tokens, these are 61: shorten the sentence"):
        bertviz_page([make_map(2, 61)], "Head view", LIGHT)
    with pytest.raises(ValueError, match="no attention maps"):
        bertviz_page([], "Head view", LIGHT)


def test_another_bertviz_is_named(make_map: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bertviz_views, "_bertviz_html", lambda *_: "<p>something else</p>")
    with pytest.raises(ValueError, match=r"BertViz [\d.]+ makes a page of an unknown form: install bertviz 1.4.1"):
        bertviz_page([make_map()], "Head view", LIGHT)
    monkeypatch.setattr(bertviz_scripts, "_FILES", {"Head view": "other.js"})
    with pytest.raises(ValueError, match=r"BertViz [\d.]+ makes a page of an unknown form: install bertviz 1.4.1"):
        bertviz_scripts.scripts("Head view")
    assert bertviz_scripts.all_hashes() == []
