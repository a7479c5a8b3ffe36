"""Encoder, decoder, embeddings and output projection (3), and masks (3.2.3)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.model.attention import Mask
from core.model.config import TransformerConfig
from core.model.embedding import PAD_PIXEL, Embedding, PatchEmbedding
from core.model.half_precision import HalfPrecision
from core.model.layers import DecodedPositions, Decoder, Encoder
from core.model.restricted_attention import causal_neighbourhood, centred_neighbourhood

MAX_LENGTH_DIFFERENCE = 50  # tokens that a predicted target is longer or shorter than its source


class Transformer(nn.Module):
    """Encoder, decoder, and one matrix for both embeddings and output projection (3).

    Attributes:
        embedding: of the source, and of the target unless the two are not tied.
        patch_embedding: of the source if it is an image, then `embedding` is of the target alone; else None.
        target_embedding: of the target, None if `embedding` is for both.
        output_projection: matrix of the logits, None if the target's embedding is.
        output_bias: [V] of the logits, or None.
        length_projection: predicts the length of the target, of a model without causal mask; else None.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config, config.vocab_size)
        self.patch_embedding = PatchEmbedding(config, config.patch_size) if config.patch_size else None
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.target_embedding = None if config.tied in ("all", "inputs") else Embedding(config, config.target_size)
        self.output_projection = (
            None if config.tied in ("all", "target") else nn.Linear(config.d_model, config.target_size, bias=False)
        )
        self.output_bias = nn.Parameter(torch.zeros(config.target_size)) if config.output_bias else None
        self.length_projection = (
            None if config.autoregressive else nn.Linear(config.d_model, 2 * MAX_LENGTH_DIFFERENCE + 1)
        )
        self.initialise()

    def initialise(self) -> None:
        """Initialise all parameters.

        Matrices as Xavier (Glorot & Bengio 2010); embeddings such that, times sqrt(d_model), they have unit variance.
        Value, output and feed-forward projections are scaled down with depth as in DeepNet (Wang et al. 2022, table 1):
        in one short trial, six post-norm layers learned faster at first.
        """
        if self.device.type == "meta":  # shapes without memory
            return
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:  # pyright: ignore[reportUnnecessaryComparison]
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        n, m = len(self.encoder.layers), len(self.decoder.layers)
        for stack, gain in ((self.encoder, 0.87 * (n**4 * m) ** (-1 / 16)), (self.decoder, (12 * m) ** -0.25)):
            for name, parameter in stack.named_parameters():
                if name.endswith(("v_proj.weight", "out_proj.weight", "inner.weight", "outer.weight")):
                    parameter.data.mul_(gain)

    def forward(self, source: Tensor, target_ids: Tensor) -> Tensor:
        """Logits of the next token at every target position or, with `config.mask_id`, of the token at that position.

        Args:
            source: [B, S] integers, right-padded with `config.pad_id`; no row all padding. With `config.patch_size`
                image patches instead: [B, S, P] from 0 to 1, right-padded with `PAD_PIXEL`.
            target_ids: [B, T] integers, each row beginning with `config.bos_id`, padded likewise. With
                `config.mask_id` whole targets without it, `config.eos_id` last, with some tokens masked.

        Returns:
            [B, T, V]; row t predicts the token after `target_ids[:, t]`, or with `config.mask_id` the one in its place.
        """
        return self.project(self.decode(target_ids, self.encode(source), self.source_mask(source)))

    def encode(self, source: Tensor) -> Tensor:
        """Encoder output, the memory: [B, S] ids or [B, S, P] patches -> [B, S, D]."""
        neighbourhood = self.config.neighbourhood
        mask = centred_neighbourhood(self.is_real(source), neighbourhood) if neighbourhood else self.source_mask(source)
        return self.encoder((self.patch_embedding or self.embedding)(source), mask)

    def decode(self, target_ids: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """Decoder states: [B, T] ids, [B, S, D], [B, 1, 1, S] -> [B, T, D]."""
        return self.decoder(self.fed_embedding(target_ids), memory, self.target_mask(target_ids), memory_mask)

    def step(self, token_ids: Tensor, cache: DecodedPositions, mask: Tensor) -> Tensor:
        """Decode one more position for W hypotheses of each sentence, as the query axis.

        Args:
            token_ids: [B, W] last token of each hypothesis.
            cache: earlier positions; this position's W keys and values are added.
            mask: [B, 1, W, K] which of the K keys, this position's W last, each hypothesis may attend to.

        Returns:
            [B, W, V] logits of the next token.
        """
        embedded = self.fed_embedding(token_ids, cache.length)
        states = self.decoder(embedded, cache.memory, mask, cache.memory_mask, cache)
        cache.length += 1
        return self.project(states)

    def extend(self, token_ids: Tensor, cache: DecodedPositions, mask: Tensor) -> Tensor:
        """Decode n more positions of one hypothesis of each sentence.

        Args:
            token_ids: [B, n] its next tokens.
            cache: earlier positions; the n keys and values are added.
            mask: [B, 1, n, K] which of the K keys, the n new ones last, each position may attend to.

        Returns:
            [B, n, V] logits of the token after each.
        """
        embedded = self.fed_embedding.chain(token_ids, cache.length)
        states = self.decoder(embedded, cache.memory, mask, cache.memory_mask, cache)
        cache.length += token_ids.size(1)
        return self.project(states)

    def project(self, states: Tensor) -> Tensor:
        """Logits, by the transposed embedding matrix (3.4): [..., D] -> [..., V]."""
        if isinstance(self.output_layer, HalfPrecision):
            return self.output_layer.product(states, self.output_bias)
        return F.linear(states, self.unembedding, self.output_bias)

    def length_logits(self, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """Logits of the target's length, from the mean of the memory: [B, S, D], [B, 1, 1, S] -> [B, L].

        Class c of the L = 2 * `MAX_LENGTH_DIFFERENCE` + 1 is a target of c - `MAX_LENGTH_DIFFERENCE` tokens more than
        the source, `</s>` counted on both sides. Only for models with `config.mask_id`.
        """
        assert self.length_projection is not None
        real = memory_mask[:, 0, 0, :, None]  # [B, S, 1]
        return self.length_projection((memory * real).sum(1) / real.sum(1))

    def source_mask(self, source: Tensor) -> Tensor:
        """[B, S] or [B, S, P] -> [B, 1, 1, S]: the whole source except padding."""
        return self.is_real(source)[:, None, None, :]

    def is_real(self, source: Tensor) -> Tensor:
        """Whether a source position is not padding: [B, S] or [B, S, P] -> [B, S]."""
        return source[..., 0] != PAD_PIXEL if self.patch_embedding else source != self.config.pad_id

    def target_mask(self, target_ids: Tensor) -> Mask:
        """[B, T] -> [B, 1, T, T]: no later position, no padding (3.2.3); with `mask_id` the latter: [B, 1, 1, T]."""
        real, length = target_ids != self.config.pad_id, target_ids.size(1)
        if not self.config.autoregressive:
            return real[:, None, None, :]
        if self.config.bos_id == self.config.pad_id:
            real = F.pad(real[:, 1:], (1, 0), value=True)  # the first token is the start, whatever its id
        if self.config.neighbourhood:
            return causal_neighbourhood(real, self.config.neighbourhood)
        causal = torch.ones(length, length, dtype=torch.bool, device=target_ids.device).tril()
        return causal & real[:, None, None, :]

    @property
    def unembedding(self) -> Tensor:
        """Matrix of the output projection: [V, D]."""
        return self.output_layer.weight

    @property
    def output_layer(self) -> nn.Linear | nn.Embedding:
        """Layer whose matrix is the output projection."""
        return self.output_projection or self.fed_embedding.tokens

    @property
    def fed_embedding(self) -> Embedding:
        """Embedding of the tokens fed to the decoder."""
        return self.target_embedding or self.embedding

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device
