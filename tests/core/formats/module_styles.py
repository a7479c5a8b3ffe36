"""Transformers as people write them: they differ in how they split, scale, norm, mask, and are called."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SIZES, D, PAD, START = (30, 26), 32, 1, 2


class Styled(nn.Module):
    """An encoder-decoder whose parameters are made by its first pass, and whose forward is one of `FORWARDS`."""

    table: Tensor

    def __init__(self, forward: str = "plain", **style: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.w: Any = nn.ParameterDict()
        self.style, self.forward = style, FORWARDS[forward].__get__(self)
        angles = torch.arange(60)[:, None] + style.get("first", 0)
        angles = angles * style.get("base", 1e4) ** (-torch.arange(D // 2) / (D // 2))
        table = torch.stack((angles.sin(), angles.cos()), 1 if style.get("halves") else 2).flatten(1)
        self.register_buffer("table", table, persistent=False)
        self.run(torch.ones(1, 1, dtype=torch.long), torch.ones(1, 1, dtype=torch.long))

    def p(self, name: str, *shape: int) -> Tensor:
        if name not in self.w:
            self.w[name] = nn.Parameter(torch.randn(shape) / 4 + name.startswith("gain"))
        return self.w[name]

    def linear(self, name: str, x: Tensor, size: int) -> Tensor:
        weight, bias = self.p(f"{name} weight", size, x.size(-1)), self.p(f"{name} bias", size)
        if self.style.get("conv") and "net" in name:
            return F.conv1d(x.transpose(1, 2), weight[..., None], bias).transpose(1, 2)
        return F.linear(x, weight, None if self.style.get("no_bias") else bias)

    def norm(self, name: str, x: Tensor) -> Tensor:
        gain, bias, kind = self.p(f"gain {name}", D), self.p(f"bias {name}", D), self.style.get("norm")
        if kind is None:
            return F.layer_norm(x, (D,), gain, bias)
        x = x if kind == "rms" else x - x.mean(-1, keepdim=True)
        by = x.std(-1, keepdim=True) + 1e-6 if kind == "sample" else (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()
        return gain * (x / by) + bias

    def attend(self, name: str, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:  # mask: True is visible
        kind, h, e = (self.style.get(key, default) for key, default in (("kind", ""), ("h", 4), ("e", 8)))
        inputs, out = list(enumerate((x, memory, memory))), None
        if kind == "list":
            parts = [torch.stack([self.linear(f"{name} {n} {i}", y, e) for i in range(h)], 1) for n, y in inputs]
        elif kind == "einsum":
            parts = [torch.einsum("bld,hde->bhle", y, self.p(f"{name} {n}", h, D, e)) for n, y in inputs]
            out = self.p(f"{name} out", h, e, D)
        elif "3" in kind:  # packed in this order
            shape = [{"3": 3, "h": h, "d": e}[axis] for axis in kind]
            packed = [self.linear(name, y, 3 * h * e).unflatten(-1, shape) for _, y in inputs]
            parts = [y.select(2 + kind.index("3"), n).transpose(1, 2) for n, y in enumerate(packed)]
        else:
            sizes = (h * e, e, e) if kind == "shared" else [h * e] * 3
            split = [self.linear(f"{name} {n}", y, sizes[n]).unflatten(-1, (-1, e)) for n, y in inputs]
            parts = [y.transpose(1, 2).expand(-1, h, -1, -1) for y in split]
        if kind == "3hd":
            mixed = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], mask)
        else:
            scores = (parts[0] / self.style.get("divide", math.sqrt(e))) @ parts[1].transpose(-2, -1)
            if kind == "distance":
                scores = scores - (torch.arange(x.size(1))[:, None] - torch.arange(memory.size(1))).abs() / 4
            mixed = scores.masked_fill(~mask, -1e9).softmax(-1) @ parts[2]
        if out is not None:
            return torch.einsum("bhle,hed->bld", mixed, out)
        return self.linear(f"{name} out", mixed.transpose(1, 2).flatten(2), D)

    def stack(self, name: str, x: Tensor, *sides: tuple[Tensor | None, Tensor]) -> Tensor:
        for n in range(6 if len(sides) > 1 else 4):
            memory, mask = [*sides, (None, x)][n % (1 + len(sides))]
            y = self.norm(f"{name} {n}", x) if self.style.get("pre") else x
            if n % (1 + len(sides)) < len(sides):
                y = self.attend(f"{name} {n}", y, y if memory is None else memory, mask)
            else:
                y = self.linear(
                    f"{name} {n} net", self.style.get("act", F.relu)(self.linear(f"{name} {n} inner net", y, 48)), D
                )
            x = x + y if self.style.get("pre") else self.norm(f"{name} {n}", x + y)
        return self.norm(name, x) if self.style.get("final") else x

    def run(self, src: Tensor, tgt: Tensor, seen: Tensor | None = None, causal: Tensor | None = None) -> Tensor:
        seen = (src != PAD)[:, None, None] if seen is None else seen
        causal = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool).tril() if causal is None else causal
        embedded: list[Tensor] = []
        for name, ids, size in zip("xy", (src, tgt), SIZES, strict=True):
            table = self.p(f"{name} table", 20, D) if self.style.get("learned") else self.table
            words = F.embedding(ids, self.p(name, size, D)) * self.style.get("scale", math.sqrt(D))
            embedded.append(F.dropout(words + table[: ids.size(1)], 0.1, self.training))
        memory = self.stack("encoder", embedded[0], (None, seen))
        states = self.stack("decoder", embedded[1], (None, causal), (memory, seen))
        return F.linear(states, self.p("y" if self.style.get("tied") else "out", SIZES[1], D), self.p("outs", SIZES[1]))


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
    {"kind": "list", "no_bias": True, "forward": "masks"}, {"kind": "einsum", "e": 12, "h": 3},
    {"scale": 1.0, "forward": "added"}, {"halves": True, "first": 1}, {"halves": True, "first": 1, "base": 700.0},
    {"norm": "own", "final": True}, {"norm": "sample", "pre": True, "final": True, "forward": "masks"},
    {"tied": True, "forward": "masks"}, {"act": F.gelu, "forward": "lengths"}, {"act": F.silu, "forward": "blind"},
    {"learned": True, "scale": 1.0, "conv": True}, {"pre": True, "forward": "cutting"}, {"divide": math.sqrt(D)},
    {"act": lambda x: F.gelu(x, approximate="tanh"), "forward": "shifting"}, {"kind": "shared", "divide": 1.0},
]  # fmt: skip
REFUSED: dict[str, dict[str, Any]] = {
    "scores of attention are no products of queries and keys, times a number": {"kind": "distance"},
    "encoder.layers.0.norm1 is not found": {"norm": "rms", "pre": True},
}
