"""Files of OpenNMT-py with the weights of a `torch.nn.Transformer`."""

import re
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tests.core.formats.torch_models import Pairs, Seq2Seq, subwords

OPTIONS: dict[str, Any] = {
    "model_type": "text",
    "encoder_type": "transformer",
    "decoder_type": "transformer",
    "position_encoding": True,
    "position_encoding_type": "SinusoidalInterleaved",
    "max_relative_positions": 0,
    "self_attn_type": "scaled-dot",
    "pos_ffn_activation_fn": "relu",
    "heads": 4,
    "transformer_ff": 64,
    "copy_attn": False,
    "transforms": ["sentencepiece", "filtertoolong"],
    "src_subword_model": "/data/source.model",
    "tgt_subword_model": "/data/target.model",
}
PARTS = {
    "self_attn.out_proj": "self_attn.final_linear",
    "multihead_attn.out_proj": "context_attn.final_linear",
    "linear1": "feed_forward.w_1",
    "linear2": "feed_forward.w_2",
    "encoder.norm": "encoder.layer_norm",
    "decoder.norm": "decoder.layer_norm",
    "src_tok_emb.embedding": "encoder.embeddings.make_embedding.emb_luts.0",
    "tgt_tok_emb.embedding": "decoder.embeddings.make_embedding.emb_luts.0",
}
NORMS = {
    "encoder": {"norm1": "layer_norm", "norm2": "feed_forward.layer_norm"},
    "decoder": {"norm1": "layer_norm_1", "norm2": "layer_norm_2", "norm3": "feed_forward.layer_norm"},
}


def opennmt_state(model: Seq2Seq) -> dict[str, Tensor]:
    """Parameters under the names of version 3, without those of the generator."""
    found: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        name = name.removeprefix("transformer.")
        if match := re.match(r"(encoder|decoder)\.layers\.(\d+)\.(.*)", name):
            layers = "transformer" if match[1] == "encoder" else "transformer_layers"
            part, _, kind = match[3].rpartition(".")
            if packed := re.fullmatch(r"(self_attn|multihead_attn)\.in_proj_(weight|bias)", match[3]):
                attention = "self_attn" if packed[1] == "self_attn" else "context_attn"
                for each, piece in zip(("query", "keys", "values"), tensor.chunk(3), strict=True):
                    found[f"{match[1]}.{layers}.{match[2]}.{attention}.linear_{each}.{packed[2]}"] = piece.clone()
                continue
            name = f"{match[1]}.{layers}.{match[2]}.{NORMS[match[1]].get(part, part)}.{kind}"
        for part, theirs in PARTS.items():
            name = name.replace(part, theirs)
        if not name.startswith("generator"):
            found[name] = tensor
    table = model.positions(128)[:, None]
    return found | {f"{stack}.embeddings.make_embedding.pe.pe": table for stack in ("encoder", "decoder")}


def old_names(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Parameters as in version 0.9, which had a LayerNorm of its own."""
    ends = {"weight": "a_2", "bias": "b_2"}
    return {
        re.sub(r"(layer_norm(?:_\d)?)\.(weight|bias)", lambda match: f"{match[1]}.{ends[match[2]]}", name): tensor
        for name, tensor in state.items()
    }


def write_opennmt(
    folder: Path,
    pairs: Pairs,
    options: dict[str, Any] | None = None,
    *,
    vocabulary: Callable[[str, list[str]], object] = lambda _, pieces: pieces,
    rename: Callable[[dict[str, Tensor]], dict[str, Tensor]] = dict,
    generator: str = "",
    legacy: bool = False,
    **shape: Any,
) -> Seq2Seq:
    """Write model.pt and the SentencePiece models, and return the reference.

    Args:
        options: changes of the options; None removes one.
        vocabulary: of a side, from its name and pieces.
        generator: begins the names of the generator's parameters.
        shape: of the model, see `Seq2Seq`.
    """
    folder.mkdir(exist_ok=True)
    sides = subwords(folder, pairs, ("<unk>", "<blank>", "<s>", "</s>"), shape.get("tied", False))
    model = Seq2Seq(len(sides[0]), len(sides[1]), norm_first=True, eps=1e-6, **shape)
    changed: dict[str, Any] = {"pos_ffn_activation_fn": shape.get("activation", "relu")}
    changed |= dict(zip(("enc_layers", "dec_layers"), shape.get("layers", (1, 1)), strict=True)) | (options or {})
    if shape.get("concatenated"):
        changed["position_encoding_type"] = "SinusoidalConcat"
    if shape.get("tied"):
        changed |= {"src_subword_model": "both.model", "tgt_subword_model": None}
    content = {
        "model": rename(opennmt_state(model)),
        "generator": {f"{generator}{name}": tensor for name, tensor in model.generator.state_dict().items()},
        "vocab": {side: vocabulary(side, pieces) for side, pieces in zip(("src", "tgt"), sides, strict=True)},
        "opt": Namespace(**{key: value for key, value in (OPTIONS | changed).items() if value is not None}),
        "optim": {"training_step": 7},
    }
    content["vocab"]["data_task"] = "seq2seq"
    torch.save(content, folder / "model.pt", _use_new_zipfile_serialization=not legacy)
    return model
