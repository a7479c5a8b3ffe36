"""Models of Hugging Face in several files, as transformers writes and reads them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from core.formats.importing import import_checkpoint
from tests.core.formats.marian_models import Pairs, write_model
from tests.core.formats.small_models import assert_refused, assert_same_logits, change_json
from tests.lazy_imports import transformers

INDEX = "model.safetensors.index.json"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, parallel_text: Pairs) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "model"
    model = write_model(folder, parallel_text)
    shutil.copytree(folder, folder.parent / "whole")
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="40KB")
    assert len(list(folder.glob("*.safetensors"))) > 2
    return folder


def test_parts_are_the_whole(original: Path) -> None:
    whole, found = import_checkpoint(original.parent / "whole"), import_checkpoint(original)
    assert found.config == whole.config
    assert all(torch.equal(found.model.get_parameter(name), each) for name, each in whole.model.named_parameters())
    reference = transformers.MarianMTModel.from_pretrained(original)
    ids, fed = torch.tensor([[5, 6, 0]]), torch.tensor([[found.config.bos_id, 7]])
    assert_same_logits(found.model, reference, ids, fed)


def test_parts_of_pytorch(copy: Path) -> None:
    expected = import_checkpoint(copy)
    index = json.loads((copy / INDEX).read_text())
    for part in copy.glob("*.safetensors"):
        torch.save(load_file(part), part.with_suffix(".bin"))
        part.unlink()
    index["weight_map"] = {name: part.replace(".safetensors", ".bin") for name, part in index["weight_map"].items()}
    (copy / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    (copy / INDEX).unlink()
    found = import_checkpoint(copy)
    assert all(torch.equal(found.model.get_parameter(name), each) for name, each in expected.model.named_parameters())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight_map": 5}, r"^model.safetensors.index.json: weight_map is 5, expected options$"),
        ({"weight_map": {}}, r"index.json names 0 parts, of which all are missing: give all files of the model$"),
        ({"weight_map": {"x": "../model.bin"}}, r"index.json names 1 parts, of which '../model.bin' are missing: give"),
        ({"weight_map": {"x": "config.json"}}, r"^config.json is not a file of tensors alone|^config.json is cut off"),
        ({"weight_map": {"x": None}}, r"names 1 parts, of which 'None' are missing"),
    ],
)
def test_an_index_that_is_none(changes: dict[str, Any], message: str, copy: Path) -> None:
    change_json(copy / INDEX, changes)
    assert_refused(copy, message)


def test_parts_of_different_models_are_refused(copy: Path) -> None:
    parts = sorted(copy.glob("*.safetensors"))
    shutil.copy(parts[0], parts[1])
    assert_refused(copy, r"index.json and the parts differ in where .* is: they are of different")
    parts[1].unlink()
    assert_refused(copy, r"parts, of which 'model-00002-of-\d+.safetensors' are missing: give all")


def test_a_descendant_of_t5_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "longt5", "d_kv": 64}')
    message = r"^config.json: model_type is 'longt5', which Headlight does not import: its encoder attends to a window"
    assert_refused(tmp_path, message)
