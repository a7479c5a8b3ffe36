"""Twenty Transformers as people write them: they differ in how they split, scale, norm, mask, and are called."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SIZES, D, PAD, START, END = (30, 26), 32, 1, 2, 3
ROOT = math.sqrt(D)


class Heads(nn.Module):
    def __init__(
        self, kind: str = "own", h: int = 4, e: int = 8, bias: bool = True, divide: float = 0, **_: Any
    ) -> None:
        super().__init__()
        self.kind, self.h, self.e, self.divide = kind, h, e, divide or math.sqrt(e)
        if kind == "einsum":
            self.w = nn.ParameterList(torch.randn(h, D, e) / 6 for _ in range(3))
            self.back = nn.Parameter(torch.randn(h, e, D) / 6)
        elif kind == "torch":
            self.mha = nn.MultiheadAttention(D, h, batch_first=True)
        else:
            sizes = {"list": [e] * 3 * h, "shared": [h * e, e, e], "own": [h * e] * 3, "distance": [h * e] * 3}
            self.each = nn.ModuleList(nn.Linear(D, size, bias) for size in sizes.get(kind, [3 * h * e]))
        self.out = nn.Linear(h * e, D, bias)

    def split(self, *inputs: Tensor) -> list[Tensor]:  # each [B, H, L, E]
        if self.kind == "list":
            return [torch.stack([each(x) for each in self.each[n::3]], 1) for n, x in enumerate(inputs)]
        if self.kind == "einsum":
            return [torch.einsum("bld,hde->bhle", x, w) for x, w in zip(inputs, self.w, strict=True)]
        if "3" in self.kind:  # packed in this order
            shape = [{"3": 3, "h": self.h, "d": self.e}[axis] for axis in self.kind]
            parts = [self.each[0](x).unflatten(-1, shape) for x in inputs]
            return [x.select(2 + self.kind.index("3"), n).transpose(1, 2) for n, x in enumerate(parts)]
        parts = [each(x).unflatten(-1, (-1, self.e)) for each, x in zip(self.each, inputs, strict=True)]
        return [x.transpose(1, 2).expand(-1, self.h, -1, -1) for x in parts]

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:  # mask: True is visible
        if self.kind == "torch":
            hidden = ~mask.expand(len(x), self.h, x.size(1), memory.size(1)).flatten(0, 1)
            return self.mha(x, memory, memory, attn_mask=hidden)[0]
        q, k, v = self.split(x, memory, memory)
        if self.kind == "3hd":
            return self.out(F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2))
        scores = (q / self.divide) @ k.transpose(-2, -1)
        if self.kind == "distance":
            scores = scores - (torch.arange(q.size(2))[:, None] - torch.arange(k.size(2))).abs() / 4
        mixed = scores.masked_fill(~mask, -1e9).softmax(-1) @ v
        if self.kind == "einsum":
            return torch.einsum("bhle,hed->bld", mixed, self.back)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Norm(nn.LayerNorm):
    def __init__(self, norm: str = "torch", **_: Any) -> None:
        super().__init__(D)
        self.norm = norm

    def forward(self, input: Tensor) -> Tensor:
        if self.norm == "torch":
            return super().forward(input)
        x = input if self.norm == "rms" else input - input.mean(-1, keepdim=True)
        by = (
            x.std(-1, keepdim=True) + 1e-6 if self.norm == "sample" else (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()
        )
        return self.weight * (x / by) + self.bias


class Layer(nn.Module):
    def __init__(self, sides: int, pre: bool = False, conv: bool = False, act: Any = F.relu, **style: Any) -> None:
        super().__init__()
        self.pre, self.conv, self.act = pre, conv, act
        self.attend = nn.ModuleList(Heads(**style) for _ in range(sides))
        self.norms = nn.ModuleList(Norm(**style) for _ in range(sides + 1))
        self.a, self.b = (nn.Conv1d(*sizes, 1) if conv else nn.Linear(*sizes) for sizes in ((D, 48), (48, D)))

    def forward(self, x: Tensor, *sides: tuple[Tensor | None, Tensor]) -> Tensor:
        for number, norm in enumerate(self.norms):
            y = norm(x) if self.pre else x
            if number < len(sides):
                memory, mask = sides[number]
                y = self.attend[number](y, y if memory is None else memory, mask)
            else:
                y = y.transpose(1, 2) if self.conv else y
                y = self.b(self.act(self.a(y)))
                y = y.transpose(1, 2) if self.conv else y
            x = x + y if self.pre else norm(x + y)
        return x


class Styled(nn.Module):
    """An encoder-decoder whose forward is one of `FORWARDS`."""

    table: Tensor

    def __init__(
        self, forward: str = "plain", scale: float = ROOT, positions: str = "interleaved", first: int = 0,
        base: float = 1e4, final: bool = False, tied: bool = False, **style: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        torch.manual_seed(0)
        self.scale, self.forward = scale, FORWARDS[forward].__get__(self)
        self.words: Any = nn.ModuleList(nn.Embedding(size, D) for size in SIZES)
        self.stacks: Any = nn.ModuleList(nn.ModuleList(Layer(n, **style) for _ in range(2)) for n in (1, 2))
        self.ends = nn.ModuleList(Norm(**style) if final else nn.Identity() for _ in range(2))
        self.project = nn.Linear(D, SIZES[1], forward != "shifting")
        for each in [parameter for parameter in self.parameters() if parameter.dim() == 1]:
            nn.init.normal_(each, each.detach().mean().item(), 0.2)
        if tied:
            self.words[1].weight = self.project.weight
        angles = (torch.arange(60)[:, None] + first) * base ** (-torch.arange(D // 2) / (D // 2))
        table = torch.stack((angles.sin(), angles.cos()), 1 if positions == "halves" else 2).flatten(1)
        self.register_buffer("table", table, persistent=False)
        tables = [torch.randn(20, D) if positions == "learned" else table] * 2
        self.positions = nn.ParameterList(tables) if positions == "learned" else tables

    def run(self, src: Tensor, tgt: Tensor, seen: Tensor | None = None, causal: Tensor | None = None) -> Tensor:
        seen = (src != PAD)[:, None, None] if seen is None else seen
        causal = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool).tril() if causal is None else causal
        x, y = (
            F.dropout(words(ids) * self.scale + added[: ids.size(1)], 0.1, self.training)
            for words, ids, added in zip(self.words, (src, tgt), self.positions, strict=True)
        )
        for layer in self.stacks[0]:
            x = layer(x, (None, seen))
        x = self.ends[0](x)
        for layer in self.stacks[1]:
            y = layer(y, (None, causal), (x, seen))
        return self.project(self.ends[1](y))


FORWARDS: dict[str, Any] = {
    "plain": lambda self, src, tgt: self.run(src, tgt),
    "blind": lambda self, src, tgt: self.run(src, tgt, torch.ones(1, dtype=torch.bool)),
    "masks": lambda self, src, src_mask, trg, trg_mask: self.run(
        src, trg, src_mask[:, None] != 0, trg_mask[:, None] != 0
    ),
    "added": lambda self, src, tgt, src_padding_mask, tgt_mask: self.run(
        src.T, tgt.T, src_padding_mask[:, None, None] == 0, tgt_mask == 0
    ).transpose(0, 1),
    "lengths": lambda self, tgt, src, src_lens: {
        "logits": self.run(src, tgt, (torch.arange(src.size(1)) < src_lens[:, None])[:, None, None])
    },
    "shifting": lambda self, src, tgt: self.run(src, F.pad(tgt[:, :-1], (1, 0), value=START)).softmax(-1),
    "cutting": lambda self, src, tgt: (self.run(src, tgt[:, :-1]).log_softmax(-1), tgt[:, 1:]),
}
OPENED: list[dict[str, Any]] = [
    {"kind": "3hd"}, {"kind": "h3d", "pre": True, "final": True}, {"kind": "hd3", "scale": 2.0},
    {"kind": "list", "bias": False, "forward": "masks"}, {"kind": "einsum", "e": 12, "h": 3},
    {"scale": 1.0, "forward": "added"}, {"positions": "halves", "first": 1},
    {"positions": "halves", "first": 1, "base": 700.0}, {"norm": "own", "final": True},
    {"norm": "sample", "pre": True, "final": True, "forward": "masks"}, {"tied": True, "forward": "masks"},
    {"act": F.gelu, "forward": "lengths"}, {"act": F.silu, "forward": "blind"},
    {"positions": "learned", "scale": 1.0, "conv": True}, {"kind": "torch", "forward": "cutting"},
    {"act": lambda x: F.gelu(x, approximate="tanh"), "forward": "shifting"}, {"divide": ROOT},
    {"kind": "shared", "divide": 1.0},
]  # fmt: skip
REFUSED: dict[str, dict[str, Any]] = {
    "scores of attention are no products of queries and keys, times a number": {"kind": "distance"},
    "encoder.layers.0.norm1 is not found": {"norm": "rms", "pre": True},
}
