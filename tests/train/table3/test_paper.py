import inspect
import re

import pytest

from core.decoding import SearchOptions
from core.decoding.text_codec import MAX_EXTRA_TOKENS
from core.model.preset_configs import PRESETS
from core.translator import Translator
from train.table3.paper import TABLE_3


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


def test_the_base_model_is_that_of_the_paper() -> None:
    """Sections 3.1 to 3.3 and 5.4."""
    base = PRESETS["base"]
    assert (base.num_encoder_layers, base.num_decoder_layers, base.num_heads) == (6, 6, 8)
    assert (base.d_model, base.d_ff, base.encoder_heads.d_k, base.encoder_heads.d_v) == (512, 2048, 64, 64)
    assert (base.dropout, base.norm, base.positions, base.activation) == (0.1, "post", "sinusoidal", "relu")


def test_the_search_is_by_default_that_of_the_paper() -> None:
    """A beam of 4, a length penalty of 0.6, and 50 tokens more than the source has (6.1)."""
    options = SearchOptions(bos_id=1, eos_id=2, never=())
    assert (options.beam_size, options.length_penalty, MAX_EXTRA_TOKENS) == (4, 0.6, 50)
    searches = 0
    for _, method in inspect.getmembers(Translator, inspect.isfunction):
        parameters = inspect.signature(method).parameters
        for name, value in (("beam_size", 4), ("length_penalty", 0.6)):
            assert name not in parameters or parameters[name].default in (value, inspect.Parameter.empty)
        searches += {"beam_size", "length_penalty"} <= parameters.keys()
    assert searches > 3
