"""Checkpoints mutated at random or by design are refused with a reason, or work."""

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from core.formats.checkpoint import FLOATS, TOKENIZER_KEY, CheckpointError, save_checkpoint
from core.model import Transformer
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator

SIZES = {"F32": 4, "F16": 2, "BF16": 2}
VALUES = (0, 1, 2, 3, -1, 1000, 2**31, 2**32, 2**63, 2**64, 10**30, 1.5, True, None, "learned", [], {}, 1e308)
KINDS = ("flip bits", "flip exponents", "scale", "fill", "config", "header", "tokenizer")
PER_KIND = 5


class Mutator:
    """The file of a checkpoint, and random changes to it."""

    def __init__(self, path: Path, seed: int) -> None:
        whole = path.read_bytes()
        end = 8 + int.from_bytes(whole[:8], "little")
        self.header: dict[str, Any] = json.loads(whole[8:end])
        self.data, self.random = whole[end:], random.Random(seed)
        self.tensors = [name for name in self.header if name not in ("__metadata__", TOKENIZER_KEY)]

    def mutated(self, kind: str) -> bytes:
        header, data = json.loads(json.dumps(self.header)), bytearray(self.data)
        name = self.random.choice(self.tensors)
        start, stop = header[name]["data_offsets"]
        if kind == "flip bits":
            self._flip(data, range(len(data)), self.random.randint(1, 30))
        elif kind == "flip exponents":
            size = SIZES[header[name]["dtype"]]
            self._flip(data, range(start + size - 1, stop, size), self.random.randint(1, 100))
        elif kind in ("scale", "fill"):
            names, factor = self.random.choice(([name], self.tensors)), 10 ** self.random.uniform(-40, 38)
            for each in names:
                start, stop = header[each]["data_offsets"]
                values = torch.frombuffer(data[start:stop], dtype=FLOATS[header[each]["dtype"]])
                data[start:stop] = _finite(
                    values.float() * factor if kind == "scale" else torch.full(values.shape, factor), values.dtype
                )
        elif kind == "config":
            config = json.loads(header["__metadata__"]["config"])
            config[self.random.choice([*config, "neighbourhood", "num_decoder_heads", "d_k"])] = self.random.choice(
                VALUES
            )
            header["__metadata__"]["config"] = json.dumps(config)
        elif kind == "tokenizer":
            self._flip(data, range(*header[TOKENIZER_KEY]["data_offsets"]), self.random.randint(1, 9))
        text = bytearray(json.dumps(header).encode())
        if kind == "header":
            self._flip(text, range(len(text)), self.random.randint(1, 5))
        return len(text).to_bytes(8, "little") + text + data

    def _flip(self, data: bytearray, places: range, count: int) -> None:
        for _ in range(count):
            data[self.random.choice(places)] ^= 1 << self.random.randrange(8)


def _finite(values: Tensor, dtype: torch.dtype) -> bytes:
    largest = torch.finfo(dtype).max
    return values.clamp(-largest, largest).to(dtype).view(torch.uint8).numpy().tobytes()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_damaged_file_is_refused_or_works(
    dtype: torch.dtype,
    tiny_model: Transformer,
    tokenizer: SentencePieceTokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 4)  # many a damaged model never ends a sentence
    path, fates = tmp_path / "model.safetensors", Counter[str]()
    save_checkpoint(path, tiny_model, tokenizer, {"preset": "tiny"}, dtype)
    mutator = Mutator(path, seed=0)
    for kind in KINDS * PER_KIND:
        path.write_bytes(mutator.mutated(kind))
        try:
            translator = Translator.from_checkpoint(path)
        except CheckpointError:
            fates["refused"] += 1
            continue
        found = translator.translate("It is cold.", beam_size=2, num_hypotheses=2)
        assert found.hypotheses
        assert all(math.isfinite(hypothesis.score) for hypothesis in found.hypotheses)
        explanation = translator.explain(found.source, found.hypotheses[0].token_ids)
        assert all(math.isfinite(log_prob) for log_prob in explanation.log_probs)
        assert all(layer.weights.isfinite().all() for layers in explanation.maps.values() for layer in layers)
        fates["works"] += 1
    assert min(fates["refused"], fates["works"]) > len(KINDS)  # both happen
