"""The loop, and what is kept of it."""

from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import torch

from core import paper
from core.formats.checkpoint import load_checkpoint, save_checkpoint
from core.lab.maps import attention_maps
from core.lab.tasks import TASKS, Task
from core.lab.training import Training, checkpoint_of
from core.lab.variants import VARIANTS, Settings
from core.translator import Translator
from tests.margins import assert_equal_to_rounding

REVERSE = TASKS["reverse"]()
SMALL = Settings(d_model=32, d_ff=64, num_heads=2, warmup=50, dropout=0)


def test_whole_is_the_training_of_the_paper_whatever_runs_beside_it() -> None:
    size = Settings(d_model=64, d_ff=256, num_heads=4)
    task = SimpleNamespace(vocab_size=13, batch=paper.reversal_batch)  # without an unknown token
    training = Training(cast("Task", task), size)
    other = Training(REVERSE, variants=[VARIANTS["no_positions"]])
    losses = [(training.step().loss, other.step())[0] for _ in range(4)]
    expected = [*islice(paper.train(), 4)]
    assert losses == [loss for loss, _ in expected]
    whole = expected[-1][1].state_dict()
    assert all(torch.equal(value, whole[name]) for name, value in training.model.state_dict().items())


def test_a_checkpoint_of_a_whole_model_opens_and_answers_the_same(tmp_path: Path) -> None:
    training = Training(REVERSE, SMALL)
    list(training.steps(30))
    checkpoint = checkpoint_of(training)
    path = tmp_path / "lab.safetensors"
    save_checkpoint(path, checkpoint.model, checkpoint.tokenizer, checkpoint.training)
    translator = Translator.from_checkpoint(path, "cpu")
    assert load_checkpoint(path).training["steps"] == 30
    sources = [source for source, _ in REVERSE.unseen[:20]]
    found = [translator.translate(source, beam_size=1).hypotheses[0].token_ids for source in sources]
    assert [list(ids[:20]) for ids in found] == training.answer_ids(sources, limit=20)
    source, target = REVERSE.unseen[0]
    expected = translator.explain(source, target).maps
    for kind, maps in attention_maps(training, source, target).items():
        for own, other in zip(maps, expected[kind], strict=True):
            assert (own.query_tokens, own.key_tokens) == (other.query_tokens, other.key_tokens)
            assert_equal_to_rounding(own.weights, other.weights, translator.model)
            assert torch.equal(own.visible, other.visible)
    changed = Training(REVERSE, SMALL, [VARIANTS["no_warmup"], VARIANTS["no_positions"]])
    with pytest.raises(ValueError, match=r"^No positions: this model is not the paper's, and only opens here"):
        checkpoint_of(changed)
