"""The output that contrastive attribution explains, as a function of its tokens.

Yin & Neubig 2022, "Interpreting Language Models with Contrastive Explanations": for the position where a model predicts
token A, explain why it is more probable there than token B:

    F = log p(A) - log p(B)        or, without a B,        F = log p(A).

Each source token and each token of the prefix fed to the decoder has a gate g_j on its embedding (3.4, 3.5),

    x_j = g_j * sqrt(d_model) * embedding_j + position_j.

At g = 1 F is the model's own output; at g = 0 no token is known, only the number of tokens and their positions. That is
the baseline of Sundararajan et al. 2017 for text, the zero embedding. The methods of `contrast_methods` are differences
and derivatives of F by the gates, so they hold for every architecture that `Transformer` has.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from core.analysis.subject import check_position
from core.decoding import NonFiniteError
from core.inference.cpu_products import onednn_products
from core.model import Transformer
from core.text.byte_pieces import is_special
from core.trace import Edit, edit, places
from core.translator import Translator

BLOCK_TOKENS = 1024  # source and prefix tokens of a batch; limits memory and how long other threads wait for the lock
Gated = Literal["embeddings", "values"]


@dataclass(frozen=True)
class Contrast:
    """One prediction of a translation, and the token it is compared with."""

    translator: Translator
    position: int  # of the predicted token, from 0
    source_ids: tuple[int, ...]  # S token ids
    prefix_ids: tuple[int, ...]  # T token ids fed to the decoder up to this position, `<s>` first: T is `position` + 1
    token: int  # id of A
    against: int | None  # id of B; None for log p(A) alone
    source_tokens: tuple[str, ...]  # the S tokens as pieces
    prefix_tokens: tuple[str, ...]  # the T tokens as pieces
    source: str  # the text that they are of
    target: str | Sequence[int]  # the text, or token ids, that they are of

    @property
    def tokens(self) -> tuple[str, ...]:
        """All S + T tokens, in the order of gates and scores."""
        return (*self.source_tokens, *self.prefix_tokens)

    @property
    def ordinary(self) -> list[int]:
        """Indices in `tokens` of those of the sentence and its translation.

        The others are special tokens, codes of languages and the words of a task.
        """
        return [index for index, token in enumerate(self.tokens) if not is_special(token)]

    def ones(self) -> Tensor:
        """[1, S + T] gates of the sentence itself."""
        return torch.ones(1, len(self.tokens), device=self.translator.model.device)

    @torch.inference_mode()
    def outputs(self, gates: Tensor, gated: Gated = "embeddings") -> Tensor:
        """F at B settings of the gates, [B, S + T] -> [B], in nats.

        Args:
            gated: the gates multiply the embeddings of the tokens, or their value vectors in every head and layer.

        Raises:
            NonFiniteError: an output is not finite.
        """
        return self._in_blocks(gates, lambda block: self._output(block, gated))

    def gradients(self, gates: Tensor) -> tuple[Tensor, Tensor]:
        """F [B] and dF / dg [B, S + T] of all embedding gates at B settings, in nats.

        Raises:
            NonFiniteError: an output or a gradient is not finite.
        """

        def both(block: Tensor) -> Tensor:
            block = block.clone().requires_grad_()
            output = self._output(block, "embeddings")
            return torch.cat((output.detach()[:, None], torch.autograd.grad(output.sum(), block)[0]), dim=1)

        with torch.inference_mode(False), torch.enable_grad():
            values = self._in_blocks(gates, both)
        return values[:, 0], values[:, 1:]

    def _in_blocks(self, gates: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply `compute` to blocks of rows, between which other threads may use the model."""
        size, results = max(1, BLOCK_TOKENS // len(self.tokens)), list[Tensor]()
        for start in range(0, len(gates), size):
            results.append(compute(gates[start : start + size]))
            if not results[-1].isfinite().all():
                raise NonFiniteError("for this sentence")
        return torch.cat(results)

    def _output(self, gates: Tensor, gated: Gated) -> Tensor:
        """F at the settings of one batch: [B, S + T] -> [B]."""
        of_source, of_prefix = gates.split([len(self.source_ids), len(self.prefix_ids)], dim=1)
        # gates on the prefix alone leave the encoder's output as it is
        rows = len(gates) if gates.requires_grad or not bool((of_source == of_source[:1]).all()) else 1
        with self.translator.inspect() as model, onednn_products():
            encoder, cross, decoder = _gated_places(model, gated)
            source_ids = self.translator.batch([self.source_ids] * rows)
            with edit(model, dict.fromkeys(encoder, _scaling(of_source[:rows]))):
                memory = model.encode(source_ids).expand(len(gates), -1, -1)
            prefix_ids = self.translator.batch([self.prefix_ids] * len(gates))
            scaled = dict.fromkeys(cross, _scaling(of_source)) | dict.fromkeys(decoder, _scaling(of_prefix))
            with edit(model, scaled):
                states = model.decode(prefix_ids, memory, model.source_mask(source_ids))
            return contrast_of(model.project(states[:, -1]), self.token, self.against)


def contrast_at(
    translator: Translator,
    source: str,
    target: str | Sequence[int],
    position: int,
    token: int | None = None,
    against: int | None = None,
) -> Contrast:
    """Choose a prediction to explain: at a position, from 0, of token A, by default the predicted one, against B.

    Raises:
        ValueError: as `Translator.explain`; there is no such position or token, or A is B.
    """
    source_ids, fed, predicted = translator.token_ids(source, target)
    check_position(position, len(predicted))
    token, vocab_size = predicted[position] if token is None else token, translator.model.config.target_size
    for token_id in (token, against):
        if token_id is not None and not 0 <= token_id < vocab_size:
            raise ValueError(f"there is no token {token_id}: give an id from 0 to {vocab_size - 1}")
    if token == against:
        raise ValueError(
            f"token {token} ({translator.codec.piece(token)}) is compared with itself: give another token, or none"
        )
    prefix = fed[: position + 1]
    return Contrast(
        translator=translator,
        position=position,
        source_ids=tuple(source_ids),
        prefix_ids=tuple(prefix),
        token=token,
        against=against,
        source_tokens=translator.codec.source_pieces(source_ids),
        prefix_tokens=translator.codec.fed_pieces(prefix),
        source=source,
        target=target,
    )


def runner_up(contrast: Contrast) -> int:
    """Id of the most probable other token at this position that a search may generate."""
    translator = contrast.translator
    with torch.inference_mode(), translator.inspect() as model:
        logits = model(*(translator.batch([ids]) for ids in (contrast.source_ids, contrast.prefix_ids)))[0, -1]
    return translator.setup.best_other(logits, contrast.token)


def contrast_of(logits: Tensor, token: int, against: int | None) -> Tensor:
    """log p(A) - log p(B), or log p(A): logits [..., V] -> [...]."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    minus = logits.logsumexp(-1) if against is None else logits[..., against]
    return logits[..., token] - minus


def _gated_places(model: Transformer, gated: Gated) -> tuple[list[str], list[str], list[str]]:
    """Places of vectors of each token: those of the source in the encoder, in the decoder, and those of the prefix."""
    if gated == "embeddings":
        return ["embedding.tokens"], [], ["target_embedding.tokens" if model.target_embedding else "embedding.tokens"]
    layers = ("encoder.*.self", "decoder.*.cross", "decoder.*.self")
    encoder, cross, decoder = (places(model, f"{each}_attention.values") for each in layers)
    return encoder, cross, decoder


def _scaling(gates: Tensor) -> Edit:
    """Function that multiplies vectors of tokens, [B, L, D] or [B, H, L, d_v], by gates [B, L]."""
    return lambda vectors: vectors * (gates if vectors.dim() == 3 else gates[:, None])[..., None]
