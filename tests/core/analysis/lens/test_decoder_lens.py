from collections.abc import Iterator
from typing import Any

import pytest
import torch

from core.analysis.lens.decoder_lens import encoder_levels, encoder_translations
from core.model import position_distances
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.analysis.conftest import random_translator
from tests.core.tiny_models import LIKE_T5
from tests.margins import assert_equal_to_rounding

TEXT = "The old house on the hill."


VARIANTS: dict[str, dict[str, Any]] = {"post": {}, "t5": LIKE_T5, "forced": {"forced_first_id": 9}}


@pytest.fixture(scope="module", params=VARIANTS.values(), ids=VARIANTS)
def other(tokenizer: SentencePieceTokenizer, request: pytest.FixtureRequest) -> Iterator[Translator]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "core.decoding.limits.MAX_EXTRA_TOKENS", 4
        )  # a model that has learned nothing never ends a sentence
        yield random_translator(tokenizer, **request.param)


def test_the_last_level_is_the_models_own_translation(other: Translator):
    found = encoder_translations(other, TEXT, beam_size=3)
    own = other.translate(TEXT, beam_size=3).hypotheses[0]
    assert len(found) == other.model.config.num_encoder_layers + 1
    assert found[-1].token_ids == own.token_ids
    assert_equal_to_rounding(found[-1].log_prob, own.log_prob, other.model)


def test_the_levels_are_the_states_between_the_layers(other: Translator):
    source, _, _ = other.token_ids(TEXT, "")
    levels, model = encoder_levels(other, source), other.model
    ids = torch.tensor([source])
    x, mask = model.embedding(ids), model.source_mask(ids)
    if model.encoder.relative_positions:
        mask = model.encoder.relative_positions(mask, position_distances(len(source), ids.device))
    assert_equal_to_rounding(levels[0], model.encoder.output_norm(x)[0], 1)
    for level, layer in enumerate(model.encoder.layers, start=1):
        x = layer(x, mask)
        assert_equal_to_rounding(levels[level], model.encoder.output_norm(x)[0], 6 * level)


def test_a_greedy_search_of_one_level_by_whole_passes(other: Translator):
    """An uncached search over one level, as if it were the encoder's output."""
    level = 1
    source, _, _ = other.token_ids(TEXT, "")
    memory, config = encoder_levels(other, source)[level : level + 1], other.model.config
    fed: list[int] = [config.bos_id]
    for _ in range(other.limits.of_translation(other.codec.source_ids(TEXT))):
        ids = torch.tensor([fed])
        logits = other.model.project(other.model.decode(ids, memory, other.model.source_mask(torch.tensor([source]))))
        logits[0, -1, [config.pad_id, config.bos_id]] = -torch.inf
        is_forced = config.forced_first_id is not None and len(fed) == 1
        fed.append(config.forced_first_id if is_forced else int(logits[0, -1].argmax()))
        if fed[-1] == config.eos_id:
            break
    assert list(encoder_translations(other, TEXT, beam_size=1)[level].token_ids) == fed[1:]


def test_progress_and_errors(other: Translator):
    calls: list[tuple[int, int]] = []
    encoder_translations(other, TEXT, 1, progress=lambda *call: calls.append(call))
    assert [position for position, _ in calls] == list(range(1, len(calls) + 1))
    assert {limit for _, limit in calls} == {other.limits.of_translation(other.codec.source_ids(TEXT))}
    with pytest.raises(ValueError, match="the text is empty or only white space"):
        encoder_translations(other, " ")
