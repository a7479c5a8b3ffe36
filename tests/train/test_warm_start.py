"""Runs that start from the parameters of a checkpoint."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from core.formats.checkpoint import load_checkpoint, save_checkpoint
from core.model import Transformer
from core.text.tokenizer import BYTES, SentencePieceTokenizer
from tests.core.checkpoints import EMBEDDING
from tests.train.conftest import Fit, parameters, write_pairs
from train.data.preparation import prepare
from train.data.preparation_settings import Preparation
from train.data.token_shards import DataError, read_manifest


@pytest.fixture
def trained(three_steps_run: tuple[Path, Transformer]) -> Path:
    """The checkpoint of a run of three steps. Do not modify it."""
    return three_steps_run[0] / "snapshots" / "step-00000003.safetensors"


def test_a_run_starts_from_the_checkpoint_and_records_it(tmp_path: Path, run_fit: Fit, trained: Path) -> None:
    """With a learning rate near 0, the parameters stay those of the checkpoint."""
    model = run_fit(tmp_path / "run", init=trained, steps=1, rate_scale=1e-9, seed=7)
    given = load_checkpoint(trained).model
    assert torch.allclose(parameters(model), parameters(given), atol=1e-6)
    assert all(parameter.requires_grad != name.endswith("k_proj.bias") for name, parameter in model.named_parameters())
    facts = load_checkpoint(tmp_path / "run" / "snapshots" / "step-00000001.safetensors").training["init"]
    assert (facts["file"], facts["steps"], facts["preset"]) == (trained.name, 3, "tiny")
    assert len(facts["sha256"]) == 64


def test_a_run_from_a_checkpoint_learns_and_resumes_to_the_same_bits(tmp_path: Path, run_fit: Fit, trained: Path):
    run_fit(tmp_path / "parts", init=trained, steps=1)
    resumed = run_fit(tmp_path / "parts", init=trained, steps=2)
    whole = run_fit(tmp_path / "whole", init=trained, steps=2)
    assert torch.equal(parameters(resumed), parameters(whole))
    assert not torch.equal(parameters(whole), parameters(load_checkpoint(trained).model))


def test_a_run_changes_only_the_parameters_with_a_part_of_their_names(tmp_path: Path, run_fit: Fit, trained: Path):
    changed = run_fit(tmp_path / "run", init=trained, steps=1, only="encoder,cross_attention", keep=0.5).state_dict()
    for name, parameter in load_checkpoint(trained).model.state_dict().items():
        is_trained = ("encoder" in name or "cross_attention" in name) and not name.endswith("k_proj.bias")
        assert torch.equal(changed[name], parameter) != is_trained, name


def test_a_run_changes_the_embeddings_of_bytes_alone(tmp_path: Path, run_fit: Fit, trained: Path) -> None:
    changed, given = run_fit(tmp_path / "run", init=trained, steps=1, only="bytes"), load_checkpoint(trained)
    byte_ids = [token_id for token_id in range(given.config.vocab_size) if given.tokenizer.piece(token_id) in BYTES]
    for name, parameter in given.model.state_dict().items():
        rows = (changed.state_dict()[name] != parameter).view(len(parameter), -1).any(1).nonzero().flatten().tolist()
        assert rows == (byte_ids if name == EMBEDDING else []), name


def test_a_run_that_keeps_predictions_resumes_to_the_same_bits(tmp_path: Path, run_fit: Fit, trained: Path) -> None:
    """They are those of the checkpoint, not of the step that the run is resumed from."""
    run_fit(tmp_path / "parts", init=trained, steps=3, keep=1.0)
    resumed = run_fit(tmp_path / "parts", init=trained, steps=6, keep=1.0)
    whole = run_fit(tmp_path / "whole", init=trained, steps=6, keep=1.0)
    assert torch.equal(parameters(resumed), parameters(whole))
    given = parameters(load_checkpoint(trained).model)
    free = run_fit(tmp_path / "free", init=trained, steps=6)
    assert (parameters(whole) - given).norm() < (parameters(free) - given).norm()


def test_a_model_without_causal_mask_starts_from_one_with_it_and_resumes_to_the_same_bits(
    tmp_path: Path, run_fit: Fit, trained: Path
) -> None:
    unchanged = run_fit(tmp_path / "unchanged", init=trained, mask_id=3, steps=1, rate_scale=1e-9)
    given = dict(load_checkpoint(trained).model.named_parameters())
    for name, parameter in unchanged.named_parameters():
        if name in given:
            assert torch.allclose(parameter, given.pop(name), atol=1e-6), name
    assert not given
    run_fit(tmp_path / "parts", init=trained, mask_id=3, steps=1)
    resumed = run_fit(tmp_path / "parts", init=trained, mask_id=3, steps=2)
    whole = run_fit(tmp_path / "whole", init=trained, mask_id=3, steps=2)
    assert torch.equal(parameters(resumed), parameters(whole))
    snapshot = tmp_path / "parts" / "snapshots" / "step-00000002.safetensors"
    with pytest.raises(ValueError, match=r"differs from the preset in mask_id \(3, not None\): start from"):
        run_fit(tmp_path / "back", init=snapshot, steps=1)


def test_predictions_are_kept_only_where_it_is_known_which_pairs_were_made_by_rule(
    tmp_path: Path, prepared: Path, run_fit: Fit, trained: Path
) -> None:
    older = shutil.copytree(prepared, tmp_path / "older")
    (older / "checksums.json").unlink()
    manifest = {**read_manifest(older), "synthetic_pairs": 4}
    (older / "manifest.json").write_text(json.dumps({key: manifest[key] for key in manifest if key != "by_rule"}))
    run_fit(tmp_path / "run", data=older, init=trained, steps=1)
    with pytest.raises(DataError, match=r"older does not say which pairs were made by rule, for --keep: prepare it"):
        run_fit(tmp_path / "keeping", data=older, init=trained, steps=1, keep=0.5)
    assert not (tmp_path / "keeping").exists()


def test_a_run_with_another_checkpoint_is_another_run(tmp_path: Path, run_fit: Fit, trained: Path) -> None:
    run_fit(tmp_path / "run", init=trained, steps=1)
    message = re.escape(f"{tmp_path / 'run'} holds a run with another --init ({trained.name}, not none): resume it")
    with pytest.raises(ValueError, match=message):
        run_fit(tmp_path / "run", steps=2)


def test_another_shape_is_refused_before_anything_is_written(tmp_path: Path, run_fit: Fit, trained: Path) -> None:
    width = load_checkpoint(trained).config.d_ff
    with pytest.raises(ValueError, match=rf"differs from the preset in d_ff \({width}, not 96\): start from"):
        run_fit(tmp_path / "run", init=trained, d_ff=96)
    assert not (tmp_path / "run" / "recipe.json").exists()


def test_another_vocabulary_keeps_the_embeddings_of_shared_pieces(
    tmp_path: Path,
    run_fit: Fit,
    trained: Path,
    parallel_text: list[tuple[str, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With a learning rate near 0, every row is the checkpoint's of the same piece, or as without the checkpoint."""
    child = load_checkpoint(trained)
    pieces = {child.tokenizer.piece(row): child.model.embedding.tokens.weight[row] for row in range(400)}
    sentences = [sentence[::-1] for pair in parallel_text for sentence in pair]
    other = SentencePieceTokenizer.train(sentences, vocab_size=390, num_threads=1)
    config = replace(child.config, vocab_size=390)
    save_checkpoint(tmp_path / "other.safetensors", Transformer(config), other)

    with pytest.raises(ValueError, match=r"keep \(0.5\) needs --init with a model of the data's vocabulary"):
        run_fit(tmp_path / "keeping", init=tmp_path / "other.safetensors", keep=0.5)
    model = run_fit(tmp_path / "run", init=tmp_path / "other.safetensors", steps=1, rate_scale=1e-9)
    parent = load_checkpoint(tmp_path / "other.safetensors").model
    afresh = run_fit(tmp_path / "afresh", steps=1, rate_scale=1e-9)
    parents = {other.piece(row): parent.embedding.tokens.weight[row] for row in range(390)}
    shared = 0
    for row, piece in enumerate(pieces):
        expected = parents.get(piece, afresh.embedding.tokens.weight[row])
        assert torch.allclose(model.embedding.tokens.weight[row], expected, atol=1e-6), piece
        shared += piece in parents
    assert 260 <= shared < 390  # the bytes at least
    facts = load_checkpoint(tmp_path / "run" / "snapshots" / "step-00000001.safetensors").training["init"]
    assert facts["shared_pieces"] == shared
    assert f"{shared} of 400 pieces start with its embeddings" in capsys.readouterr().err


def test_data_can_be_prepared_with_the_pieces_of_a_checkpoint(
    tmp_path: Path, trained: Path, parallel_text: list[tuple[str, str]]
) -> None:
    text = write_pairs(tmp_path, "text", parallel_text)
    prepare(tmp_path / "data", Preparation(text, text, vocab_size=9, tokenizer=trained))
    assert (tmp_path / "data" / "tokenizer.model").read_bytes() == load_checkpoint(trained).tokenizer.to_bytes()
