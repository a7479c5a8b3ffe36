"""Models converted for other libraries compute the same function."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks.decoding import OPUS_MT
from benchmarks.peers import ctranslate2_tokens, marian, save_ctranslate2
from core.model import Transformer
from core.model.preset_configs import PRESETS

SMALL = {"vocab_size": 64, "d_model": 32, "d_ff": 64, "num_heads": 4, "num_encoder_layers": 2, "num_decoder_layers": 2}
SOURCES = [[5, 9, 23], [7, 7, 31, 40, 11], [50]]  # and `</s>`
TARGETS = [[9, 30, 8], [41], [6, 6, 12, 3, 3]]


@pytest.fixture(params=[PRESETS["tiny"], replace(OPUS_MT, **SMALL, pad_id=63, bos_id=63)], ids=["base", "opus-mt"])
def model(request: pytest.FixtureRequest) -> Transformer:
    torch.manual_seed(4)
    model = Transformer(request.param).eval().requires_grad_(False)
    for parameter in model.parameters():  # biases and norms, too, so that none can be swapped for another
        parameter.add_(0.05 * torch.randn_like(parameter))
    return model


def sources(model: Transformer) -> list[list[int]]:
    return [[*source, model.config.eos_id] for source in SOURCES]


def log_probs(model: Transformer, source: list[int], target: list[int]) -> torch.Tensor:
    logits = model(torch.tensor([source]), torch.tensor([[model.config.bos_id, *target]]))[0]
    return logits.log_softmax(-1).gather(1, torch.tensor([*target, model.config.eos_id])[:, None]).squeeze(1)


def test_marian_is_the_same_function(model: Transformer) -> None:
    pytest.importorskip("transformers")
    other = marian(model)
    for source, target in zip(sources(model), TARGETS, strict=True):
        ids = torch.tensor([source]), torch.tensor([[model.config.bos_id, *target]])
        logits = other(input_ids=ids[0], decoder_input_ids=ids[1]).logits
        torch.testing.assert_close(logits, model(*ids), atol=1e-4, rtol=1e-4)


def test_ctranslate2_is_the_same_function(model: Transformer, tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    save_ctranslate2(model, tmp_path)
    translator = ctranslate2.Translator(str(tmp_path), compute_type="float32")
    tokens = [[ctranslate2_tokens(ids, model.config) for ids in side] for side in (sources(model), TARGETS)]
    for source, target, scored in zip(sources(model), TARGETS, translator.score_batch(*tokens), strict=True):
        assert scored.log_probs == pytest.approx(log_probs(model, source, target).tolist(), abs=1e-4)


def test_what_the_others_do_not_support_is_refused(tmp_path: Path) -> None:
    model = Transformer(replace(PRESETS["tiny"], neighbourhood=3))
    for convert in (marian, lambda model: save_ctranslate2(model, tmp_path)):
        with pytest.raises(ValueError, match="does not support this model: attention: 3 nearest positions"):
            convert(model)
