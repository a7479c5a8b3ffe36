"""Models written by hand after the paper, in the layout of a well-known tutorial, of torch's layers."""

import json
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH, HEADS, SIZES = 32, 4, (30, 26)
# Of the Annotated Transformer, for both stacks.
ATTENTION = {f"linears.{number}": part for number, part in enumerate(("q_proj", "k_proj", "v_proj", "out_proj"))}
ANNOTATED_NAMES = {
    f"{stack}.layers.*.{theirs}{part}": f"{stack}.layers.*.{ours}{torch_part}"
    for stack, attentions in (
        ("encoder", {"self_attn": "self_attn"}),
        ("decoder", {"self_attn": "self_attn", "src_attn": "multihead_attn"}),
    )
    for theirs, ours, parts in (
        *((f"{theirs}.", f"{ours}.", ATTENTION) for theirs, ours in attentions.items()),
        ("feed_forward.", "", {"w_1": "linear1", "w_2": "linear2"}),
        ("sublayer.", "", {f"{number}.norm": f"norm{number + 1}" for number in range(1 + len(attentions))}),
    )
    for part, torch_part in parts.items()
}
SPECIAL = {"pad": 1, "start": 2, "end": 3, "unknown": 0, "vocabulary": "numbers", "source_start": True}
ANNOTATED: dict[str, Any] = {
    "norm_first": True,
    "layer_norm": "sample_std",
    "names": ANNOTATED_NAMES,
    "source_embedding": "src_embed.0.lut.weight",
    "target_embedding": "tgt_embed.0.lut.weight",
    "output": "generator.proj",
    **SPECIAL,
}


class SampleNorm(nn.Module):
    """The Annotated Transformer's norm: the standard deviation is of n - 1, and epsilon is added to it."""

    def __init__(self) -> None:
        super().__init__()
        self.a_2, self.b_2 = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return self.a_2 * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6) + self.b_2


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, queries: Tensor, keys: Tensor, is_causal: bool = False) -> Tensor:
        parts = [
            linear(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for linear, x in zip(self.linears, (queries, keys, keys), strict=False)
        ]
        mixed = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=is_causal)
        return self.linears[3](mixed.transpose(1, 2).flatten(2))


def module(**parts: nn.Module) -> Any:
    named = nn.Module()
    for name, part in parts.items():
        named.add_module(name, part)
    return named


class Layer(nn.Module):
    sublayer: Any

    def __init__(self, is_decoder: bool) -> None:
        super().__init__()
        self.self_attn = Attention()
        if is_decoder:
            self.src_attn = Attention()
        self.feed_forward = module(w_1=nn.Linear(WIDTH, 64), w_2=nn.Linear(64, WIDTH))
        self.sublayer = nn.ModuleList(module(norm=SampleNorm()) for _ in range(3 if is_decoder else 2))
        self.is_decoder = is_decoder

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        norms: list[Any] = [each.norm for each in self.sublayer]
        normed = norms[0](x)
        x = x + self.self_attn(normed, normed, self.is_decoder)
        if memory is not None:
            x = x + self.src_attn(norms[1](x), memory)
        return x + self.feed_forward.w_2(self.feed_forward.w_1(norms[-1](x)).relu())


class Annotated(nn.Module):
    """Names and arithmetic of the Annotated Transformer (Rush 2018; Huang et al. 2022), with two layers a stack."""

    encoder: Any
    decoder: Any
    src_embed: Any
    tgt_embed: Any

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        for name, is_decoder in (("encoder", False), ("decoder", True)):
            layers = nn.ModuleList(Layer(is_decoder) for _ in range(2))
            self.add_module(name, module(layers=layers, norm=SampleNorm()))
        for name, size in zip(("src_embed", "tgt_embed"), SIZES, strict=True):
            positions = nn.Module()
            positions.register_buffer("pe", sinusoidal(100)[None])
            self.add_module(name, nn.Sequential(module(lut=nn.Embedding(size, WIDTH)), positions))
        self.generator = module(proj=nn.Linear(WIDTH, SIZES[1]))
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.1)

    @torch.inference_mode()
    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory = self.embed(self.src_embed, source)
        for layer in self.encoder.layers:
            memory = layer(memory)
        memory, x = self.encoder.norm(memory), self.embed(self.tgt_embed, target)
        for layer in self.decoder.layers:
            x = layer(x, memory)
        return self.generator.proj(self.decoder.norm(x))

    @staticmethod
    def embed(embedding: Any, ids: Tensor) -> Tensor:
        return embedding[0].lut(ids) * math.sqrt(WIDTH) + embedding[1].pe[0, : ids.size(1)]


def sinusoidal(rows: int) -> Tensor:
    angles = torch.arange(rows)[:, None] * 10000 ** (-torch.arange(WIDTH // 2) / (WIDTH // 2))
    return torch.stack((angles.sin(), angles.cos()), 2).flatten(1)


def write_description(folder: Path, content: object, options: dict[str, Any], name: str = "model.pt") -> None:
    folder.mkdir(exist_ok=True)
    torch.save(content, folder / name)
    described = {"model_type": "torch.nn.Transformer", "nhead": HEADS, **options}
    (folder / "config.json").write_text(json.dumps(described))
