"""Random damage to the files of a model ends in a model or a `CheckpointError`.

`FUZZ_CASES=10000 pytest tests/core/formats/test_mutated_models.py` for more of it.
"""

import json
import os
import random
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from core.checkpoint import CheckpointError
from core.formats import import_checkpoint
from tests.core.formats import fsmt_models, m2m100_models, marian_models
from tests.core.formats.fairseq_models import fairseq_state, old_names, write_fairseq
from tests.core.formats.joeynmt_models import write_joey
from tests.core.formats.marian_cpp_models import write_marian
from tests.core.formats.marian_models import Pairs
from tests.core.formats.opennmt_models import old_names as old_norms
from tests.core.formats.opennmt_models import write_opennmt
from tests.core.formats.torch_models import write_torch

CASES = int(os.environ.get("FUZZ_CASES", "140"))
VALUES = [None, True, -1, 0, 10**9, 10**30, 0.5, "", "x", [], [[0]], {}, "\ud800"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, parallel_text: Pairs) -> list[Path]:
    """A model of every format."""
    root, one_layer = tmp_path_factory.mktemp("mutated"), {"encoder_layers": 1, "decoder_layers": 1}
    marian_models.write_model(root / "marian", parallel_text, two=True, **one_layer)
    fsmt = fsmt_models.write_model(root / "fsmt", parallel_text, two=True, **one_layer)
    write_fairseq(root / "fairseq", root / "fsmt", fairseq_state(fsmt), **one_layer)
    write_fairseq(root / "old", root / "fsmt", old_names(fairseq_state(fsmt)), legacy=True, **one_layer)
    write_marian(root / "npz", parallel_text)
    m2m100_models.write_model(root / "m2m100", parallel_text, **one_layer)
    m2m100_models.write_model(root / "nllb", parallel_text, nllb=True, **one_layer)
    parts = marian_models.write_model(root / "parts", parallel_text, **one_layer)
    (root / "parts" / "model.safetensors").unlink()
    parts.save_pretrained(root / "parts", max_shard_size="60KB")
    write_opennmt(root / "opennmt", parallel_text)
    write_opennmt(root / "old-opennmt", parallel_text, rename=old_norms, generator="0.", legacy=True)
    write_joey(root / "joey", parallel_text)
    write_torch(root / "torch", parallel_text, layers=(1, 1))
    return sorted(root.iterdir())


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


@pytest.mark.parametrize("seed", range(CASES))
def test_damage_is_an_error_or_another_model(seed: int, folders: list[Path], tmp_path: Path) -> None:
    chance = random.Random(seed)
    copy = tmp_path / "model"
    shutil.copytree(folders[seed % len(folders)], copy)
    if chance.random() < 0.2 and (copy / "model.safetensors").exists():
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
