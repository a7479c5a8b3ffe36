"""Files of fairseq with the weights of an FSMT model, whose arithmetic is the same."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tests.lazy_imports import transformers

PIECE_END = "</w>"
OF_STACKS = {"embed_dim": 32, "ffn_embed_dim": 64, "layers": 2, "attention_heads": 4, "normalize_before": False}
OPTIONS: dict[str, Any] = {
    f"{stack}_{name}": value for stack in ("encoder", "decoder") for name, value in OF_STACKS.items()
}
OPTIONS |= {"arch": "transformer_wmt_en_de_big", "task": "translation", "source_lang": "en", "target_lang": "de"}
OPTIONS |= {"adaptive_softmax_cutoff": None, "share_all_embeddings": False, "dropout": 0.3}


def fairseq_state(model: transformers.FSMTForConditionalGeneration) -> dict[str, torch.Tensor]:
    """Parameters under the names of newer versions of fairseq."""
    state = {name.removeprefix("model."): tensor for name, tensor in model.state_dict().items()}
    state = {name: tensor for name, tensor in state.items() if "embed_positions" not in name}
    for stack in ("encoder", "decoder"):
        state[f"{stack}.version"] = torch.tensor([3.0])
        state[f"{stack}.embed_positions._float_tensor"] = torch.zeros(1)
    return state


def old_names(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Parameters as fairseq of 2018 named them."""
    norms = {"encoder": ["self_attn", "final"], "decoder": ["self_attn", "encoder_attn", "final"]}
    found: dict[str, torch.Tensor] = {}
    for name, tensor in state.items():
        if match := re.fullmatch(r"(.*)\.q_proj\.(.*)", name):
            parts = [state[f"{match[1]}.{part}_proj.{match[2]}"] for part in "qkv"]
            found[f"{match[1]}.in_proj_{match[2]}"] = torch.cat(parts)
        elif match := re.fullmatch(r"((encoder|decoder)\.layers\.\d+)\.(.*)_layer_norm\.(.*)", name):
            found[f"{match[1]}.layer_norms.{norms[match[2]].index(match[3])}.{match[4]}"] = tensor
        elif name == "decoder.output_projection.weight":
            found["decoder.embed_out"] = tensor
        elif not re.search(r"\.[kv]_proj\.", name):
            found[name] = tensor
    for stack in ("encoder", "decoder"):  # a table, which newer versions drop and compute
        found[f"{stack}.embed_positions.weights"] = torch.zeros(1024, 32)
    return found


def as_args(options: dict[str, Any]) -> dict[str, Any]:
    return {"args": Namespace(**options)}


def as_cfg(options: dict[str, Any]) -> dict[str, Any]:
    task = {name: options[name] for name in ("source_lang", "target_lang")}
    model = {name: value for name, value in options.items() if name not in (*task, "arch", "task")}
    sections = {"task": {"_name": options["task"], **task}, "model": Namespace(**model, _name=options["arch"])}
    return {"args": None, "cfg": {**sections, "bpe": None, "tokenizer": None, "common": {"seed": 1}}}


def write_fairseq(
    folder: Path,
    fsmt: Path,
    state: dict[str, torch.Tensor],
    container: Callable[[dict[str, Any]], dict[str, Any]] = as_args,
    legacy: bool = False,
    **changes: Any,
) -> None:
    """Write model.pt, the dictionaries and the codes.

    Args:
        fsmt: folder of the FSMT model, whose vocabularies are rewritten.
        state: the parameters.
        changes: options; None removes one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    options = {name: value for name, value in (OPTIONS | changes).items() if value is not None}
    content = {**container(options), "model": state, "optimizer_history": [], "extra_state": {"epoch": 3}}
    torch.save(content, folder / "model.pt", _use_new_zipfile_serialization=not legacy)
    for side, language in (("src", "en"), ("tgt", "de")):
        pieces = list(json.loads((fsmt / f"vocab-{side}.json").read_text()))[4:]
        notation = [piece.removesuffix(PIECE_END) if piece.endswith(PIECE_END) else f"{piece}@@" for piece in pieces]
        (folder / f"dict.{language}.txt").write_text("".join(f"{piece} 7\n" for piece in notation))
    merges = (fsmt / "merges.txt").read_text().splitlines()
    (folder / "bpecodes").write_text("".join(f"{line} 99\n" for line in merges))
