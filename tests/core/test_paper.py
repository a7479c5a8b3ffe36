import re

import pytest

from core.paper import TABLE_3
from core.preset_configs import PRESETS


@pytest.mark.parametrize("name", TABLE_3)
def test_a_row_says_in_words_what_its_preset_is_in_numbers(name: str) -> None:
    config, change = PRESETS[name], TABLE_3[name].change
    facts = {
        r"d_k (?:= d_v )?= (\d+)": config.encoder_heads.d_k,
        r"d_v = (\d+)": config.encoder_heads.d_v,
        r"d_model (\d+)": config.d_model,
        r"d_ff (\d+)": config.d_ff,
        r"(\d+) heads?": config.num_heads,
        r"(\d+) layers": config.num_encoder_layers,
        r"dropout ([\d.]+)": config.dropout,
    }
    for pattern, value in facts.items():
        if found := re.search(pattern, change):
            assert float(found[1]) == value, change
    assert ("learned" in change) == (config.positions == "learned")


def test_only_the_base_model_has_no_change_and_none_but_big_is_better_in_both() -> None:
    assert [name for name, row in TABLE_3.items() if not row.change] == ["base"]
    best = max(TABLE_3.items(), key=lambda item: (item[1].bleu, -item[1].perplexity))
    assert best[0] == "big"
    assert TABLE_3["big"].perplexity == min(row.perplexity for row in TABLE_3.values())
