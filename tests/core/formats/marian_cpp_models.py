"""Files of Marian itself with the weights of a Marian model of transformers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.model import sinusoidal_encoding
from tests.core.formats.marian_models import Pairs, write_model
from tests.lazy_imports import transformers

OPTIONS: dict[str, Any] = {
    "dec-cell": "gru",
    "dec-depth": 1,
    "dim-emb": 32,
    "dim-vocabs": [0, 0],
    "enc-depth": 1,
    "input-types": [],
    "layer-normalization": "false",
    "right-left": "false",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-dim-ffn": 64,
    "transformer-ffn-activation": "swish",
    "transformer-ffn-depth": 2,
    "transformer-heads": 4,
    "transformer-no-projection": "false",
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-postprocess-top": '""',
    "transformer-preprocess": '""',
    "transformer-train-position-embeddings": "false",
    "type": "transformer",
    "version": "v1.9.0",
}
NAMES = {
    "self_attn_layer_norm": "self_Wo_ln",
    "encoder_attn_layer_norm": "context_Wo_ln",
    "final_layer_norm": "ffn_ffn_ln",
    "fc1": "ffn_1",
    "fc2": "ffn_2",
    **{
        f"{attention}.{part}_proj": f"{theirs}_{part[0]}"
        for attention, theirs in (("self_attn", "self"), ("encoder_attn", "context"))
        for part in ("q", "k", "v", "out")
    },
}


def marian_arrays(model: transformers.MarianMTModel, two: bool = False) -> dict[str, np.ndarray]:
    """Parameters under the names of Marian, matrices as inputs x outputs, without the row of `<pad>`."""
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    arrays = {"decoder_ff_logit_out_b": state["final_logits_bias"][:, :-1]}
    for stack in ("encoder", "decoder"):
        arrays[f"{stack}_Wemb" if two else "Wemb"] = state[f"model.{stack}.embed_tokens.weight"][:-1]
    for name, array in state.items():
        if match := re.fullmatch(r"model\.(encoder|decoder)\.layers\.(\d+)\.(.*)\.(weight|bias)", name):
            layer, part = f"{match[1]}_l{int(match[2]) + 1}", NAMES[match[3]]
            if part.endswith("_ln"):
                theirs = f"{layer}_{part}_{'scale' if match[4] == 'weight' else 'bias'}"
            else:
                sublayer, _, suffix = part.rpartition("_")
                theirs = f"{layer}_{sublayer}_{'W' if match[4] == 'weight' else 'b'}{suffix}"
            arrays[theirs] = array.T if array.ndim == 2 else array[None]
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def yaml(options: dict[str, Any]) -> bytes:
    lines: list[str] = []
    for name, value in options.items():
        if isinstance(value, list) and value:
            lines += [f"{name}:", *(f"  - {each}" for each in value)]
        else:
            lines.append(f"{name}: {value}")
    return "\n".join(lines).encode() + b"\0"


def quoted(piece: str) -> str:
    return json.dumps(piece, ensure_ascii=False) if re.search(r"[^\w▁]", piece) else piece


def write_vocabulary(path: Path, ids: dict[str, int]) -> None:
    path.write_text("".join(f"{quoted(piece)}: {token_id}\n" for piece, token_id in ids.items() if piece != "<pad>"))


def save_arrays(folder: Path, arrays: dict[str, np.ndarray], **options: Any) -> None:
    """Write opus.npz with some options of the training; None removes one."""
    found = {name: value for name, value in (OPTIONS | options).items() if value is not None}
    np.savez(folder / "opus.npz", **arrays, **{"special:model.yml": np.frombuffer(yaml(found), dtype=np.int8)})


def write_marian(
    folder: Path, pairs: Pairs, *, two: bool = False, codes: Sequence[str] = (), layers: int = 1
) -> transformers.MarianMTModel:
    """Write a folder, and return the model with Marian's own positions and norms.

    Args:
        two: two vocabularies.
        layers: in each stack.
    """
    reference = write_model(folder, pairs, two=two, codes=codes, encoder_layers=layers, decoder_layers=layers)
    sides = {"vocab.json": "src.", "target_vocab.json": "trg."} if two else {"vocab.json": ""}
    for name, side in sides.items():
        write_vocabulary(folder / f"opus.{side}vocab.yml", json.loads((folder / name).read_text()))
    for path in [*folder.glob("*.json"), folder / "model.safetensors"]:
        path.unlink()
    save_arrays(folder, marian_arrays(reference, two), **{"enc-depth": layers, "dec-depth": layers})
    with torch.no_grad():
        for stack in (reference.model.encoder, reference.model.decoder):
            table = stack.embed_positions.weight
            table.copy_(sinusoidal_encoding(*table.shape, order="halves", exponent="i/(n-1)"))
    for module in reference.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = 1e-9
    return reference
