"""Files of JoeyNMT with the weights of a `torch.nn.Transformer`."""

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor

from tests.core.formats.torch_models import Pairs, Seq2Seq, subwords

PARTS = {
    "encoder": {"self_attn": "src_src_att", "norm1": "layer_norm", "norm2": "feed_forward.layer_norm"},
    "decoder": {
        "self_attn": "trg_trg_att",
        "multihead_attn": "src_trg_att",
        "norm1": "x_layer_norm",
        "norm2": "dec_layer_norm",
        "norm3": "feed_forward.layer_norm",
    },
}
OTHERS = {
    "linear1": "feed_forward.pwff_layer.0",
    "linear2": "feed_forward.pwff_layer.3",
    "out_proj": "output_layer",
    "encoder.norm": "encoder.layer_norm",
    "decoder.norm": "decoder.layer_norm",
    "src_tok_emb.embedding": "src_embed.lut",
    "tgt_tok_emb.embedding": "trg_embed.lut",
    "generator": "decoder.output_layer",
}


def joey_state(model: Seq2Seq) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        name = name.removeprefix("transformer.")
        if match := re.match(r"(encoder|decoder)\.layers\.", name):
            for part, theirs in PARTS[match[1]].items():
                name = name.replace(f".{part}.", f".{theirs}.")
        if match := re.fullmatch(r"(.*)\.in_proj_(weight|bias)", name):
            for each, piece in zip("qkv", tensor.chunk(3), strict=True):
                found[f"{match[1]}.{each}_layer.{match[2]}"] = piece.clone()
            continue
        for part, theirs in OTHERS.items():
            name = name.replace(part, theirs)
        found[name] = tensor
    return found | {f"{stack}.pe.pe": model.positions(50)[None] for stack in ("encoder", "decoder")}


def configuration(norm: str, activation: str, num_layers: int) -> dict[str, Any]:
    stack = {"type": "transformer", "num_layers": num_layers, "num_heads": 4, "hidden_size": 32, "ff_size": 64}
    stack |= {"embeddings": {"embedding_dim": 32, "scale": True}, "layer_norm": norm, "activation": activation}
    splitting = {"level": "bpe", "lowercase": False, "normalize": False, "tokenizer_type": "sentencepiece"}
    sides = {
        side: {"lang": code, **splitting, "tokenizer_cfg": {"model_file": f"models/{name}.model"}}
        for side, code, name in (("src", "en", "source"), ("trg", "de", "target"))
    }
    return {
        "name": "small",
        "joeynmt_version": "2.3.0",
        "data": sides,
        "testing": {"beam_size": 5, "beam_alpha": 1.0},
        "model": {"tied_embeddings": False, "tied_softmax": False, "encoder": stack, "decoder": deepcopy(stack)},
    }


def write_joey(
    folder: Path, pairs: Pairs, norm: str = "pre", activation: str = "relu", num_layers: int = 1, **shape: Any
) -> Seq2Seq:
    """Write best.ckpt, config.yaml, the vocabularies and SentencePiece models, and return the reference."""
    folder.mkdir(exist_ok=True)
    sides = subwords(folder, pairs, ("<unk>", "<pad>", "<s>", "</s>"))
    for name, pieces in zip(("src", "trg"), sides, strict=True):
        (folder / f"{name}_vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    model = Seq2Seq(
        *map(len, sides),
        layers=(num_layers, num_layers),
        norm_first=norm == "pre",
        final_norm=norm == "pre",
        activation=activation,
        eps=1e-6,
        bias=False,
        **shape,
    )
    torch.save({"model_state": joey_state(model), "stats_state": {"best_ckpt_score": 1.0}}, folder / "best.ckpt")
    (folder / "config.yaml").write_text(yaml.safe_dump(configuration(norm, activation, num_layers)))
    return model
