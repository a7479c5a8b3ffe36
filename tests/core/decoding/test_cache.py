"""A decoder with caches computes the same as the whole model, whichever hypotheses survive."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from core.decoding import NextLogits, SearchOptions, beam_search, cache
from core.decoding.cache import DecoderCache, cached_decoder, chain_decoder
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.native import library
from tests.core.tiny_models import LIKE_T5, LIKE_UMT5
from tests.margins import assert_equal_to_rounding

SOURCE = torch.tensor([[5, 9, 23, 2, 0, 0], [7, 7, 31, 40, 11, 2], [50, 2, 0, 0, 0, 0]])


VARIANTS = {
    "widths": {"d_k": 5, "d_v": 12, "num_decoder_heads": 3},
    "restricted": {"neighbourhood": 3},
    "other": {"norm": "pre", "final_norm": True, "tied": "none", "output_bias": True, "position_offset": 2},
    "like_umt5": LIKE_UMT5,
    "like_t5": {**LIKE_T5, "d_k": 5, "num_decoder_heads": 2},
    "started_by_padding": {"bos_id": 0, "activation": "swish", "position_order": "halves"},
}


def tiny(**variant: Any) -> Transformer:
    torch.manual_seed(2)
    return Transformer(replace(PRESETS["tiny"], **variant)).eval().requires_grad_(False)


@pytest.fixture(params=["sinusoidal", "learned", *VARIANTS])
def model(request: pytest.FixtureRequest) -> Transformer:
    return tiny(**VARIANTS.get(request.param, {"positions": request.param}))


def uncached_decoder(model: Transformer, source_ids: Tensor):
    """The same answers by running the whole model on every hypothesis from its start."""
    prefixes = torch.zeros(source_ids.size(0), 1, 0, dtype=torch.long)

    def next_logits(token_ids: Tensor, parents: Tensor, sentences: Tensor | None) -> Tensor:
        nonlocal prefixes, source_ids
        if sentences is not None:
            prefixes, source_ids = prefixes[sentences], source_ids[sentences]
        inherited = prefixes.gather(1, parents[:, :, None].expand(-1, -1, prefixes.size(2)))
        prefixes = torch.cat((inherited, token_ids[:, :, None]), dim=2)  # [B, W, T]
        logits = model(source_ids.repeat_interleave(prefixes.size(1), 0), prefixes.flatten(0, 1))
        return logits[:, -1].unflatten(0, prefixes.shape[:2])

    return next_logits


def test_cached_is_uncached_whoever_lives_on(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_cached_is_uncached(model, monkeypatch)


def test_cached_is_uncached_without_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "library", lambda: None)
    assert_cached_is_uncached(tiny(), monkeypatch)


def assert_cached_is_uncached(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    """For hypotheses that descend from random ones, in sentences some of which end."""
    generator = torch.Generator().manual_seed(3)
    uncached = uncached_decoder(model, SOURCE)
    cached = dict[int, NextLogits]()
    for first_keys in (1, 7, 128):  # room runs out, and keys are dropped, at different moments
        monkeypatch.setattr(cache, "FIRST_KEYS", first_keys)
        cached[first_keys] = cached_decoder(model, SOURCE)
    rows, width = SOURCE.size(0), 1
    for position in range(14):
        new_width = (1, 4, 4, 2, 5)[position % 5] if position else 1
        sentences = torch.tensor([0, 2]) if position == 6 else torch.tensor([1]) if position == 10 else None
        rows = rows if sentences is None else len(sentences)
        token_ids = torch.randint(3, 64, (rows, new_width), generator=generator)
        parents = torch.randint(0, width, (rows, new_width), generator=generator)
        expected = uncached(token_ids, parents, sentences)
        for first_keys, decoder in cached.items():
            monkeypatch.setattr(cache, "FIRST_KEYS", first_keys)
            assert_equal_to_rounding(decoder(token_ids, parents, sentences), expected, model)
        width = new_width


def test_beam_search_finds_the_same_with_and_without_cache(model: Transformer) -> None:
    """With forced beginnings for two of three sentences."""
    options = SearchOptions(bos_id=model.config.bos_id, eos_id=2, never=(0,), beam_size=4, num_hypotheses=4)
    limits, prefixes = [8, 14, 10], [(9, 30, 8, 8), (), (40,)]
    cached = beam_search(cached_decoder(model, SOURCE), limits, options, prefixes=prefixes)
    uncached = beam_search(uncached_decoder(model, SOURCE), limits, options, prefixes=prefixes)
    for prefix, one, other in zip(prefixes, cached, uncached, strict=True):
        assert [hypothesis.token_ids for hypothesis in one] == [hypothesis.token_ids for hypothesis in other]
        assert all(hypothesis.token_ids[: len(prefix)] == prefix for hypothesis in one)
        for a, b in zip(one, other, strict=True):
            assert_equal_to_rounding(a.token_log_probs, b.token_log_probs, model)


def test_keys_that_nobody_descends_from_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "FIRST_KEYS", 16)
    model = tiny()
    decoder_cache = DecoderCache(model.encode(SOURCE), model.source_mask(SOURCE), 2)
    width, positions = 4, 40
    for position in range(positions):
        parents = torch.zeros(3, 1 if position == 0 else width, dtype=torch.long)  # all continue the first
        model.step(torch.full_like(parents, 5), decoder_cache, decoder_cache.extend(parents))
    assert decoder_cache.length == positions
    assert decoder_cache.ancestry.size(2) < positions * width / 2
    assert decoder_cache.ancestry.sum(-1).eq(positions).all()  # each has one key a position


def test_the_memory_is_projected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny()
    calls: list[int] = []
    for layer in model.decoder.layers:
        layer.cross_attention.k_proj.register_forward_hook(
            lambda _module, arguments, _output: calls.append(arguments[0].size(1))
        )
    decoder = cached_decoder(model, SOURCE)
    for _ in range(5):
        decoder(torch.full((3, 1), 5), torch.zeros(3, 1, dtype=torch.long), None)
    assert calls == [SOURCE.size(1)] * 2


def test_keys_too_far_away_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "FIRST_KEYS", 16)
    model = tiny(neighbourhood=4)
    decoder_cache = DecoderCache(model.encode(SOURCE), model.source_mask(SOURCE), 2, neighbourhood=4)
    width = 3
    for position in range(60):
        parents = (
            torch.arange(1 if position == 0 else width).expand(3, -1)
            if position != 1
            else torch.zeros(3, width, dtype=torch.long)
        )
        model.step(torch.full_like(parents, 5), decoder_cache, decoder_cache.extend(parents))
        assert decoder_cache.ancestry.sum(-1).eq(min(position + 1, 4)).all()
    assert decoder_cache.ancestry.size(2) <= (4 + 1) * width + cache.FIRST_KEYS


def test_a_chain_in_parts_is_the_whole_pass(model: Transformer) -> None:
    """Also where it goes back, as after drafted tokens that are not kept."""
    source, fed = SOURCE[1:2], [model.config.bos_id, 9, 30, 7, 7, 41, 12, 5]
    with torch.inference_mode():
        logits, whole = chain_decoder(model, source), model(source, torch.tensor([fed]))[0]
        for start, stop in ((0, 1), (1, 5), (3, 8), (2, 4)):
            assert_equal_to_rounding(logits(fed[start:stop], start), whole[start:stop], model)
