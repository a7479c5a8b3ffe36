"""Random damage to the files of a model ends in a model or a `CheckpointError`, within bounded memory.

`FUZZ_CASES=10000 pytest tests/core/formats/test_mutated_models.py` for more of it.
"""

import copy
import gc
import json
import os
import random
import resource
import shutil
from collections import Counter
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from core.formats.checkpoint import CheckpointError
from core.formats.importing import import_checkpoint
from core.text.tokenizer import SentencePieceTokenizer
from tests.core.formats import bart_models, fsmt_models, m2m100_models, marian_models, t5_models
from tests.core.formats.ctranslate2_models import PUBLISHED, write_ctranslate2
from tests.core.formats.fairseq_models import fairseq_state, old_names, write_fairseq
from tests.core.formats.hand_written_models import ANNOTATED, Annotated, write_description
from tests.core.formats.joeynmt_models import write_joey
from tests.core.formats.marian_cpp_models import write_marian
from tests.core.formats.marian_models import Pairs
from tests.core.formats.opennmt_models import old_names as old_norms
from tests.core.formats.opennmt_models import write_opennmt
from tests.core.formats.torch_models import write_torch
from tests.damage import damaged
from tests.lazy_imports import transformers

CASES = int(os.environ.get("FUZZ_CASES", "160"))  # of all formats together
FORMATS = (
    *("bart", "bart-json", "mbart", "mbart-json", "mbart50", "pegasus", "t5", "t5-json"),
    *("m2m100", "small100", "nllb", "nllb-json", "fsmt", "fairseq", "old-fairseq"),
    *("marian", "pytorch", "parts", "zip", "npz", "ctranslate2", "ctranslate2-float"),
    *("opennmt", "old-opennmt", "joey", "torch", "hand-written"),
)
HEADER = 4000  # bytes: headers and settings are at the start of a file, the directory of an archive at its end
VALUES = [None, True, -1, 0, 10**9, 10**30, 0.5, "", "x", [], [[0]], {}, "\ud800"]
MAX_MEMORY = 2**19  # KiB that the cases of a format may add to the peak, many times that of a model here


@pytest.fixture(scope="module")
def models(
    tmp_path_factory: pytest.TempPathFactory, parallel_text: Pairs, tokenizer: SentencePieceTokenizer
) -> dict[str, list[Path]]:
    """The files of a model by the name of its format."""
    root = tmp_path_factory.mktemp("models")
    marian = marian_models.write_model(root / "marian", parallel_text, two=True)
    shutil.copytree(root / "marian", root / "pytorch")
    torch.save(load_file(root / "pytorch" / "model.safetensors"), root / "pytorch" / "pytorch_model.bin")
    (root / "pytorch" / "model.safetensors").unlink()
    shutil.copytree(root / "marian", root / "parts")
    (root / "parts" / "model.safetensors").unlink()
    marian.save_pretrained(root / "parts", max_shard_size="60KB")
    (root / "zip").mkdir()
    shutil.make_archive(str(root / "zip" / "model"), "zip", root / "marian")
    fsmt = fsmt_models.write_model(root / "fsmt", parallel_text, two=True)
    state, one_layer = fairseq_state(fsmt), {"encoder_layers": 1, "decoder_layers": 1}
    write_fairseq(root / "fairseq", root / "fsmt", state, **one_layer)
    write_fairseq(root / "old-fairseq", root / "fsmt", old_names(state), legacy=True, **one_layer)
    write_marian(root / "npz", parallel_text)
    m2m100_models.write_model(root / "m2m100", parallel_text)
    m2m100_models.write_model(root / "nllb", parallel_text, nllb=True)
    m2m100_models.save_tokenizer_json(root / "nllb", root / "nllb-json")
    m2m100_models.write_model(root / "small100", parallel_text)
    (root / "small100" / "tokenizer_config.json").write_text('{"tokenizer_class": "SMALL100Tokenizer"}')
    for kind in bart_models.KINDS:
        _, reference = bart_models.write_model(root / kind, parallel_text, kind)
        if kind in ("bart", "mbart"):
            shutil.copytree(root / kind, root / f"{kind}-json")
            for name in ("vocab.json", "merges.txt", "sentencepiece.bpe.model"):
                (root / f"{kind}-json" / name).unlink(missing_ok=True)
            reference.save_pretrained(root / f"{kind}-json")
    t5_models.write_model(root / "t5", parallel_text, tasks=t5_models.TASKS)
    shutil.copytree(root / "t5", root / "t5-json")
    transformers.T5Tokenizer.from_pretrained(root / "t5").save_pretrained(root / "t5-json")
    (root / "t5-json" / "spiece.model").unlink()
    write_opennmt(root / "opennmt", parallel_text)
    write_opennmt(root / "old-opennmt", parallel_text, rename=old_norms, generator="0.", legacy=True)
    write_joey(root / "joey", parallel_text)
    shutil.copytree(PUBLISHED, root / "ctranslate2")
    write_ctranslate2(root / "ctranslate2-float", tokenizer)
    write_torch(root / "torch", parallel_text)
    saved = {"state_dict": {f"model.{name}": each for name, each in Annotated().state_dict().items()}, "epoch": 3}
    write_description(root / "hand-written", saved, ANNOTATED, "epoch=3.ckpt")
    return {folder.name: sorted(folder.iterdir()) for folder in root.iterdir()}


def damaged_values(data: bytes, chance: random.Random) -> bytes:
    """A JSON object with other values, at any depth."""
    fields = json.loads(data)
    for _ in range(chance.choice((1, 2, 4))):
        part = fields
        while True:
            key = chance.choice(list(part) if isinstance(part, dict) else range(len(part)))
            if not (isinstance(part[key], dict | list) and part[key]) or chance.random() < 0.3:
                break
            part = part[key]
        part[key] = copy.deepcopy(chance.choice(VALUES))  # another change may be inside it
    return json.dumps(fields).encode()


def with_damage(files: list[Path], folder: Path, chance: random.Random) -> list[Path]:
    """The files, with a damaged copy of one of them, which is in the folder."""
    original = chance.choice(files)
    copy, data = folder / original.name, original.read_bytes()
    if original.suffix == ".json" and chance.random() < 0.6:
        copy.write_bytes(damaged_values(data, chance))
    elif chance.random() < 0.1:
        copy.write_bytes(data[: chance.randrange(len(data))])
    elif data.startswith(b"PK") and chance.random() < 0.3:
        copy.write_bytes(damaged(data, chance, start=-HEADER))
    else:  # anywhere in a SentencePiece model, most of which are its rules for characters
        copy.write_bytes(damaged(data, chance, stop=None if original.suffix in (".spm", ".model") else HEADER))
    return [copy if file == original else file for file in files]


@pytest.mark.parametrize("name", FORMATS)
def test_damage_is_an_error_or_another_model(name: str, models: dict[str, list[Path]], tmp_path: Path) -> None:
    assert import_checkpoint(models[name]), "without damage"
    fates, before = Counter[str](), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number, seed in enumerate(range(FORMATS.index(name), CASES, len(FORMATS)), start=1):
        if number % 100 == 0:
            gc.collect()  # SentencePiece's objects refer to themselves: many would count as memory in use
        try:
            checkpoint = import_checkpoint(with_damage(models[name], tmp_path, random.Random(seed)))
            assert checkpoint.tokenizer.encode("A dog runs.")
            fates["read"] += 1
        except CheckpointError:
            fates["refused"] += 1
        except Exception as error:
            error.add_note(f"case {seed}")
            raise
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MAX_MEMORY
    assert fates["refused"] or CASES < 160
