"""Random damage to the files of a model ends in a model or a `CheckpointError`."""

import json
import random
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from core.checkpoint import CheckpointError
from core.formats import import_checkpoint
from tests.core.formats.marian_models import Pairs, write_model

VALUES = [None, True, -1, 0, 10**9, 10**30, 0.5, "", "x", [], [[0]], {}, "\ud800"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, parallel_text: Pairs) -> Path:
    folder = tmp_path_factory.mktemp("mutated") / "model"
    write_model(folder, parallel_text, two=True, encoder_layers=1, decoder_layers=1)
    return folder


def damaged_bytes(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 3, 10))):
        place = chance.randrange(min(len(changed), 4000) or 1)  # headers and settings are at the start
        match chance.randrange(3):
            case 0:
                changed[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                changed[place : place + chance.randrange(1, 40)] = b""
            case _:
                changed[place:place] = changed[place : place + chance.randrange(1, 40)]
    return bytes(changed)


def damaged_values(data: bytes, chance: random.Random) -> bytes:
    fields = json.loads(data)
    for _ in range(chance.choice((1, 2, 4))):
        fields[chance.choice(list(fields))] = chance.choice(VALUES)
    return json.dumps(fields).encode()


@pytest.mark.parametrize("seed", range(150))
def test_damage_is_an_error_or_another_model(seed: int, folder: Path, tmp_path: Path) -> None:
    chance = random.Random(seed)
    copy = tmp_path / "model"
    shutil.copytree(folder, copy)
    if chance.random() < 0.2:
        torch.save(load_file(copy / "model.safetensors"), copy / "pytorch_model.bin")
        (copy / "model.safetensors").unlink()
    path = chance.choice(sorted(copy.iterdir()))
    damage = damaged_values if path.suffix == ".json" and chance.random() < 0.6 else damaged_bytes
    path.write_bytes(damage(path.read_bytes(), chance))
    try:
        checkpoint = import_checkpoint(copy)
    except CheckpointError:
        return
    assert checkpoint.tokenizer.encode("A dog runs.")
