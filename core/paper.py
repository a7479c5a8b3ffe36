"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017) in one file, with PyTorch alone.

Its sections 3 to 6.1 in their order, to be read from top to bottom. Every number is computed as the paper writes it,
nothing is fused, cached or switched on: `core/model` is the fast one, and the tests hold both against each other.

    python paper.py    trains two layers to write digits in reverse order, and shows what they learned

Where the paper leaves a choice, or the shipped checkpoints depart from it, a comment says so.
Shapes: B batch, S source length, T target length, L length (S or T), Q queries, K keys, H heads, D d_model, F d_ff,
E head width, V vocabulary.
"""

import math
import random
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn

PAD, BOS, EOS = 0, 1, 2  # token ids of padding, of <s> that begins a target, and of </s> that ends every text


# --- 3 Model architecture -------------------------------------------------------------------------------------------
class Transformer(nn.Module):
    """Encoder, decoder, and one matrix for both embeddings and the output (3.4)."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int = 512,
        d_ff: int = 2048,
        num_heads: int = 8,
        num_layers: int = 6,
        dropout: float = 0.1,
    ) -> None:  # the base model of Table 3
        super().__init__()
        self.embedding = Embedding(vocab_size, d_model, dropout)
        self.encoder = Stack(EncoderLayer(d_model, d_ff, num_heads, dropout) for _ in range(num_layers))
        self.decoder = Stack(DecoderLayer(d_model, d_ff, num_heads, dropout) for _ in range(num_layers))
        for name, parameter in self.named_parameters():  # the paper does not say how; Glorot & Bengio 2010
            if parameter.dim() == 2 and name != "embedding.tokens.weight":
                nn.init.xavier_uniform_(parameter)

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """[B, S] and [B, T] ids, padded at the right -> [B, T, V]: row t has the logits of the token after token t."""
        return self.decode(target_ids, self.encode(source_ids), padding_mask(source_ids))

    def encode(self, source_ids: Tensor) -> Tensor:
        """[B, S] -> the memory, [B, S, D]."""
        return self.encoder(self.embedding(source_ids), padding_mask(source_ids))

    def decode(self, target_ids: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """[B, T], [B, S, D], [B, 1, 1, S] -> [B, T, V]."""
        mask = causal_mask(target_ids.size(1)) & padding_mask(target_ids)
        states = self.decoder(self.embedding(target_ids), memory, mask, memory_mask)
        return states @ self.embedding.tokens.weight.T  # the softmax is that of the loss and of the search (3.4)


# --- 3.1 Encoder and decoder stacks ---------------------------------------------------------------------------------
class Stack(nn.Module):
    """N identical layers, one on the other: the encoder, or the decoder."""

    def __init__(self, layers: Iterable[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor, *context: Tensor) -> Tensor:
        """[B, L, D] and what each layer gets besides -> [B, L, D]."""
        for layer in self.layers:
            x = layer(x, *context)
        return x


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network."""

    def __init__(self, d_model: int, d_ff: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.self_attention_norm = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """[B, S, D], [B, 1, 1, S] -> [B, S, D]."""
        x = add_and_norm(x, self.self_attention(x, x, mask), self.self_attention_norm, self.dropout)
        return add_and_norm(x, self.feed_forward(x), self.feed_forward_norm, self.dropout)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the memory, then a feed-forward network."""

    def __init__(self, d_model: int, d_ff: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.self_attention_norm = nn.LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention_norm = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor, memory_mask: Tensor) -> Tensor:
        """[B, T, D], [B, S, D], [B, 1, T, T], [B, 1, 1, S] -> [B, T, D]."""
        x = add_and_norm(x, self.self_attention(x, x, mask), self.self_attention_norm, self.dropout)
        x = add_and_norm(x, self.cross_attention(x, memory, memory_mask), self.cross_attention_norm, self.dropout)
        return add_and_norm(x, self.feed_forward(x), self.feed_forward_norm, self.dropout)


def add_and_norm(x: Tensor, output: Tensor, norm: nn.LayerNorm, dropout: nn.Dropout) -> Tensor:
    """LayerNorm(x + Sublayer(x)), with dropout of the sub-layer's output (5.4): [B, L, D], [B, L, D] -> [B, L, D]."""
    return norm(x + dropout(output))


# --- 3.2 Attention --------------------------------------------------------------------------------------------------
def scaled_dot_product_attention(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V (3.2.1): [B, H, Q, E], [B, H, K, E], [B, H, K, E] -> [B, H, Q, E].

    The mask broadcasts to [B, H, Q, K]; True may be attended to.
    """
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.size(-1))
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return weights @ values


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_h) W^O, each head with projections of its own to d_k = d_v = d_model / h (3.2.2)."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        # The heads' matrices W_i^Q beside each other; the paper's formulas have no biases, our checkpoints do.
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Queries come from x, keys and values from the memory, or from x itself in self-attention (3.2.3).

        [B, Q, D], [B, K, D] -> [B, Q, D]
        """
        projected = self.q_proj(x), self.k_proj(memory), self.v_proj(memory)  # [B, L, D] each
        queries, keys, values = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in projected)
        heads = scaled_dot_product_attention(queries, keys, values, mask)  # [B, H, Q, E]
        return self.out_proj(heads.transpose(1, 2).flatten(2))


def causal_mask(length: int) -> Tensor:
    """No position of the decoder attends to a later one (3.2.3): [T, T]."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def padding_mask(token_ids: Tensor) -> Tensor:
    """Nothing attends to padding: [B, K] -> [B, 1, 1, K]."""
    return (token_ids != PAD)[:, None, None, :]


# --- 3.3 Position-wise feed-forward networks ------------------------------------------------------------------------
class FeedForward(nn.Module):
    """max(0, x W_1 + b_1) W_2 + b_2, the same at each position."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """[B, L, D] -> [B, L, D], by way of [B, L, F]."""
        return self.outer(self.inner(x).relu())


# --- 3.4 Embeddings and softmax, 3.5 Positional encoding ------------------------------------------------------------
class Embedding(nn.Module):
    """Token embeddings times sqrt(d_model), plus the encodings of their positions; dropout of the sum (5.4)."""

    def __init__(self, vocab_size: int, d_model: int, dropout: float) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.dropout = nn.Dropout(dropout)
        nn.init.normal_(self.tokens.weight, std=d_model**-0.5)  # so that the product has a variance of 1

    def forward(self, token_ids: Tensor) -> Tensor:
        """[B, L] -> [B, L, D]."""
        length, d_model = token_ids.size(1), self.tokens.embedding_dim
        return self.dropout(self.tokens(token_ids) * math.sqrt(d_model) + positional_encoding(length, d_model))


def positional_encoding(length: int, d_model: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(the same) (3.5): [L, D]."""
    frequencies = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = torch.arange(length)[:, None] * frequencies
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).float()


# --- 5.3 Optimizer, 5.4 Regularization ------------------------------------------------------------------------------
def learning_rate(step: int, d_model: int, warmup: int = 4000) -> float:
    """Rises for the warm-up, then falls with the inverse square root of the step (5.3); steps count from 1."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def smoothed_loss(logits: Tensor, labels: Tensor, smoothing: float = 0.1) -> Tensor:
    """Cross-entropy with smoothed labels (5.4), the mean over the tokens, in nats: [B, T, V], [B, T] -> [].

    The label has 1 - smoothing of the probability, all tokens of the vocabulary share the rest (Szegedy et al. 2015).
    """
    log_probs = logits.log_softmax(dim=-1)
    label_nll = -log_probs.gather(-1, labels[..., None]).squeeze(-1)
    losses = (1 - smoothing) * label_nll - smoothing * log_probs.mean(dim=-1)
    return losses[labels != PAD].mean()


# --- 6.1 Search -----------------------------------------------------------------------------------------------------
@torch.inference_mode()
def greedy(model: Transformer, source_ids: Tensor, limit: int = 50) -> list[list[int]]:
    """The most probable token at each position: [B, S] -> the targets, each up to its </s>."""
    memory, mask = model.encode(source_ids), padding_mask(source_ids)
    target_ids = torch.full((len(source_ids), 1), BOS)
    while target_ids.size(1) <= limit and not (target_ids == EOS).any(dim=1).all():
        chosen = model.decode(target_ids, memory, mask)[:, -1].argmax(dim=-1)
        target_ids = torch.cat((target_ids, chosen[:, None]), dim=1)
    rows: list[list[int]] = target_ids[:, 1:].tolist()
    return [row[: row.index(EOS) + 1] if EOS in row else row for row in rows]


@torch.inference_mode()
def beam_search(
    model: Transformer, source_ids: list[int], beam_size: int = 4, length_penalty: float = 0.6
) -> list[list[int]]:
    """The targets that were found for one source, best first.

    They are ranked by log-probability / ((5 + length) / 6)^length_penalty (Wu et al. 2016), and have at most 50 tokens
    more than the source. The paper has no rule for ending: here the search ends when beam_size targets have ended.
    """
    source = torch.tensor([source_ids])
    memory, mask = model.encode(source), padding_mask(source)
    live, finished = [([BOS], 0.0)], list[tuple[list[int], float]]()
    for length in range(1, len(source_ids) + 51):
        rows = torch.tensor([ids for ids, _ in live])
        logits = model.decode(rows, memory.expand(len(live), -1, -1), mask)[:, -1]  # [beam, V]
        before = torch.tensor([[log_prob] for _, log_prob in live], dtype=torch.float64)
        log_probs = before + logits.log_softmax(dim=-1)
        log_probs[:, [PAD, BOS]] = -math.inf
        best = log_probs.flatten().topk(2 * beam_size)
        found = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        grown = [([*live[i // logits.size(1)][0], i % logits.size(1)], log_prob) for i, log_prob in found]
        penalty = ((5 + length) / 6) ** length_penalty
        finished += [(ids, log_prob / penalty) for ids, log_prob in grown[:beam_size] if ids[-1] == EOS]
        live = [(ids, log_prob) for ids, log_prob in grown if ids[-1] != EOS][:beam_size]
        if len(finished) >= beam_size:
            break
    finished.sort(key=lambda target: -target[1])
    return [ids[1:] for ids, _ in [*finished, *live]]


# --- A task to learn: digits in reverse order -----------------------------------------------------------------------
def reversal_batch(size: int, draw: random.Random) -> tuple[Tensor, Tensor]:
    """Sources of 4 to 10 digits with </s>, and the targets <s>, the digits in reverse order, </s>: [B, S], [B, T]."""
    texts = [[draw.randrange(3, 13) for _ in range(draw.randint(4, 10))] for _ in range(size)]
    pairs = [([*text, EOS], [BOS, *reversed(text), EOS]) for text in texts]
    sources, targets = ([torch.tensor(ids) for ids in side] for side in zip(*pairs, strict=True))
    return nn.utils.rnn.pad_sequence(sources, True, PAD), nn.utils.rnn.pad_sequence(targets, True, PAD)


def train(steps: int = 600, warmup: int = 200, seed: int = 1) -> Iterator[tuple[float, Transformer]]:
    """Train two layers with d_model 64 on batches of 64 texts; yield the loss and the model after each step."""
    torch.manual_seed(seed)
    draw, model = random.Random(seed), Transformer(vocab_size=13, d_model=64, d_ff=256, num_heads=4, num_layers=2)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step in range(1, steps + 1):
        sources, targets = reversal_batch(64, draw)
        logits = model.train()(sources, targets[:, :-1])  # what is fed ends one token before what is predicted
        loss = smoothed_loss(logits, targets[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.param_groups[0]["lr"] = learning_rate(step, 64, warmup)
        optimizer.step()
        yield loss.item(), model.eval()


if __name__ == "__main__":
    sources, targets = reversal_batch(200, random.Random(0))
    expected = [[token_id for token_id in row if token_id != PAD] for row in targets[:, 1:].tolist()]
    for step, (loss, model) in enumerate(train(steps=600), 1):
        if step % 50 == 0:
            exact = sum(map(list.__eq__, greedy(model, sources), expected)) / len(expected)
            print(f"step {step}: loss {loss:.3f}, {exact:.0%} of {len(expected)} unseen texts reversed")
        for source_ids in sources[:3].tolist() if step == 600 else ():
            print(source_ids, "->", beam_search(model, [token_id for token_id in source_ids if token_id != PAD])[0])
