"""Direct logit attribution: the logit of a token as a sum over decoder parts.

Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits": the last state is a sum of everything that was
written into the residual stream, and a logit is linear in it. Ferrando & Voita 2024, "Information Flow Routes", split
the writes of attention further, by head and by attended token.

LayerNorm is linear once its scale is fixed: with sigma its value in this pass,

    L(u) = gain * (u - mean(u)) / sigma + bias = A u + bias,

and likewise for RMSNorm, without mean and bias.
In a post-norm decoder (the paper's) every sub-layer computes x <- L(x + Sublayer(x)), so a vector c written into
sub-layer s passes all norms from s on, and with W_U the row of the token in the embedding matrix

    contribution(c) = W_U . A_n ... A_(s+1) A_s c.

In a pre-norm decoder only the final norm acts on the stream. The bias of a norm is a term of its own and passes the
later ones. The contributions sum to the logit, up to rounding.

The encoder has no terms: it acts through the values of cross-attention, whose terms belong to encoder positions, that
is to the states above the source tokens. These have read other source tokens, and a prefix token's state in the middle
of the decoder has read the source. Contributions are those of the last step to the logit, not of whole paths.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from core.analysis.agreement import require_agreement
from core.analysis.attribution.logit_lexicon import Lexicon
from core.analysis.attribution.logit_trace import AttentionWrite, FeedForwardWrite, LogitTrace, trace_logits
from core.analysis.declaration import FIRST, Analysis, Columns, PicturedResult, option
from core.analysis.linear_norm import FrozenNorm
from core.analysis.pictures import Bars, Cell, Grid, Series, effect_cells, effect_ends, effect_limit
from core.analysis.subject import PIECE, PREDICTED_TOKEN, check_position, piece_id
from core.analysis.tokens.words import readable, readable_all
from core.results import Explanation
from core.text.phrases import Number, Phrase, marked
from core.trace import Head, Kind
from core.translator import Translator

Against = int | Literal["mean"] | None
_NATS = Phrase(marked("contribution to the logit, in nats"))
_NAMES: dict[Kind, str] = {
    "decoder_self": Phrase(marked("Self-attention of the decoder")),
    "cross": Phrase(marked("Cross-attention")),
}


class LogitTerm(NamedTuple):
    """One term of a logit."""

    part: str  # `token`, `position` (the two parts of the embedding), `decoder_self`, `cross`, `feed_forward` or `bias`
    layer: int | None  # counted from 0; None for the embedding
    head: int | None  # counted from 0; None unless `part` is a kind of attention
    key: int | None  # attended position; None unless `part` is a kind of attention
    value: float  # contribution, in nats


@dataclass(frozen=True)
class LogitAttribution(PicturedResult):
    """Terms that sum to a logit, or to a difference of two, in nats."""

    position: int  # of the predicted token, from 0
    token: int  # id whose logit is split
    against: Against  # id of the token whose logit is subtracted; "mean" for that over the vocabulary; None for nothing
    logit: float  # the same number from the model's own logits
    token_embedding: float  # term of the fed token
    position_embedding: float  # of its position
    decoder_self: Tensor  # [L, H, T] by layer, head and attended prefix position; later positions are 0
    cross: Tensor  # [L, H, S] by layer, head and attended encoder position
    feed_forward: Tensor  # [L]
    # [L] of both attention sub-layers, the feed-forward network and the norms of a layer; of the first layer with that
    # of a norm on the embedding, of the last with those of a final norm and of the logits
    biases: Tensor
    key_tokens: Mapping[str, Sequence[str]]  # the tokens that each kind attends to
    piece: Callable[[int], str]  # piece of the vocabulary by its id

    @property
    def total(self) -> float:
        """Sum of all terms."""
        parts = (self.decoder_self, self.cross, self.feed_forward, self.biases)
        return self.token_embedding + self.position_embedding + sum(float(part.sum()) for part in parts)

    @property
    def gap(self) -> float:
        """Absolute difference between the sum of the terms and the model's logit."""
        return abs(self.total - self.logit)

    @property
    def size(self) -> float:
        """Sum of the absolute terms of heads, networks, embeddings and biases."""
        heads = sum(map(abs, self.heads().values()))
        rest = float(self.feed_forward.abs().sum() + self.biases.abs().sum())
        return heads + rest + abs(self.token_embedding) + abs(self.position_embedding)

    def heads(self) -> dict[Head, float]:
        """Term of every decoder head, summed over the tokens that it attends to."""
        return {
            Head(kind, layer, head): value
            for kind, by_layer in self._by_kind().items()
            for layer, of_layer in enumerate(by_layer.tolist())
            for head, value in enumerate(of_layer)
        }

    def _by_kind(self) -> dict[Kind, Tensor]:
        """Terms of heads: [L, H] by kind."""
        return {"cross": self.cross.sum(-1), "decoder_self": self.decoder_self.sum(-1)}

    def terms(self) -> Iterator[LogitTerm]:
        """Every term, from the embedding up to the last layer."""
        yield LogitTerm("token", None, None, None, self.token_embedding)
        yield LogitTerm("position", None, None, None, self.position_embedding)
        for layer in range(len(self.feed_forward)):
            for part, by_layer in (("decoder_self", self.decoder_self), ("cross", self.cross)):
                for head, values in enumerate(by_layer[layer].tolist()):
                    last = self.position + 1 if part == "decoder_self" else len(values)
                    yield from (LogitTerm(part, layer, head, key, value) for key, value in enumerate(values[:last]))
            yield LogitTerm("feed_forward", layer, None, None, float(self.feed_forward[layer]))
            yield LogitTerm("bias", layer, None, None, float(self.biases[layer]))

    def table(self) -> Columns:
        """All terms; layers, heads and positions are counted from 0."""
        part, layer, head, key, value = (list(column) for column in zip(*self.terms(), strict=True))
        tokens = [None if place is None else self.key_tokens[of][place] for of, place in zip(part, key, strict=True)]
        return {"part": part, "layer": layer, "head": head, "key": key, "key_token": tokens, "contribution": value}

    def head_table(self, explanation: Explanation, head: Head, promoted: Lexicon | None = None) -> Columns:
        """A row for each token that a head attends to: weight, contribution, and the pieces that the head promotes.

        Args:
            explanation: of the same pass.
            promoted: of a cross-attention head.
        """
        tokens = self.key_tokens[head.kind]
        values = (self.cross if head.kind == "cross" else self.decoder_self)[head.layer, head.head]
        weights = explanation.maps[head.kind][head.layer].weights[head.head, self.position]
        pieces = {} if promoted is None else {"promotes": [" ".join(readable_all(each)) for each in promoted.pieces]}
        return {
            "token": readable_all(tokens),
            "weight": weights[: len(tokens)].tolist(),
            "contribution": values[: len(tokens)].tolist(),
            **pieces,
        }

    def pictures(self, at: Head) -> tuple[Bars, Grid, Grid, Grid]:
        """Contributions by layer and part, by head, and by token of the source and of the prefix."""
        return self._by_layer(), self._by_head(), self._by_token("cross"), self._by_token("decoder_self")

    def answer(self, at: Head) -> str:
        """The logit, and the head that adds most to it."""
        heads = self.heads()
        most = max(heads, key=heads.__getitem__)
        words = {
            "token": readable(self.piece(self.token)),
            "value": Number(self.logit, ".2f" if self.against is None else "+.2f"),
            "head": str(most),
            "most": Number(heads[most], "+.2f"),
        }
        if self.against is None:
            text = marked(
                "The logit of \u201c{token}\u201d is {value} nats, the sum of all contributions; of the heads {head} "
                "adds most, {most}."
            )
            return Phrase(text, **words)
        other = Phrase(marked("mean of all")) if self.against == "mean" else readable(self.piece(int(self.against)))
        text = marked(
            "The logit of \u201c{token}\u201d minus that of \u201c{other}\u201d is {value} nats, the sum of all "
            "contributions; of the heads {head} adds most, {most}."
        )
        return Phrase(text, other=other, **words)

    def _strongest(self, of_heads: Tensor, kind: Kind, layer: int) -> Head:
        """Head of a layer with the largest term of either sign: [H]."""
        return Head(kind, layer, int(of_heads.abs().argmax()))

    def _by_layer(self) -> Bars:
        num_layers = len(self.feed_forward)
        rest = (
            (marked("Feed-forward"), [0.0, *self.feed_forward.tolist()]),
            (marked("Biases"), [0.0, *self.biases.tolist()]),
            (marked("Token"), [self.token_embedding, *[0.0] * num_layers]),
            (marked("Position"), [self.position_embedding, *[0.0] * num_layers]),
        )
        of_heads = [
            Series(
                name=_NAMES[kind],
                color=color,
                values=[0.0, *by_head.sum(1).tolist()],
                heads=[None, *(self._strongest(each, kind, layer) for layer, each in enumerate(by_head))],
            )
            for color, (kind, by_head) in zip((0, 2), self._by_kind().items(), strict=True)
        ]
        others = [
            Series(name=Phrase(name), color=color, values=values)
            for color, (name, values) in zip((1, 3, 4, 5), rest, strict=True)
        ]
        return Bars(
            title=Phrase(marked("Contributions by layer and part")),
            axis=Phrase(marked("nats")),
            columns=[Phrase(marked("Input")), *(f"L{layer + 1}" for layer in range(num_layers))],
            series=[*of_heads, *others],
        )

    def _by_head(self) -> Grid:
        heads, num_heads = self.heads(), self.cross.size(1)
        limit = effect_limit([*heads.values(), *self.feed_forward.tolist(), *self.biases.tolist()])

        def cells(layer: int) -> list[Cell]:
            of_heads = [Head(kind, layer, head) for kind in _NAMES for head in range(num_heads)]
            rest = [float(self.feed_forward[layer]), float(self.biases[layer])]
            return effect_cells([*map(heads.__getitem__, of_heads), *rest], limit, [*of_heads, None, None])

        return Grid(
            title=Phrase(marked("Contributions of heads and networks")),
            legend=_NATS,
            ends=effect_ends(limit),
            scale="diverging",
            columns=[*[f"H{head + 1}" for head in range(num_heads)] * 2, Phrase(marked("FFN")), Phrase(marked("bias"))],
            groups=[*((name, num_heads) for name in _NAMES.values()), ("", 2)],
            rows=[(f"L{layer + 1}", cells(layer)) for layer in range(len(self.feed_forward))],
        )

    def _by_token(self, kind: Kind) -> Grid:
        terms = (self.cross if kind == "cross" else self.decoder_self)[..., : len(self.key_tokens[kind])]  # [L, H, K]
        by_layer = terms.sum(1)  # [L, K]
        limit = effect_limit([*by_layer.flatten().tolist(), *by_layer.sum(0).tolist()])

        def cells(key: int) -> list[Cell]:
            of_heads = terms[..., key]  # [L, H]
            strongest = [self._strongest(each, kind, layer) for layer, each in enumerate(of_heads)]
            best = max(strongest, key=lambda head: abs(float(of_heads[head.layer, head.head])))
            values = [*by_layer[:, key].tolist(), float(by_layer[:, key].sum())]
            return effect_cells(values, limit, [*strongest, best])

        title = marked("Contributions by source token") if kind == "cross" else marked("Contributions by prefix token")
        return Grid(
            title=Phrase(title),
            legend=_NATS,
            ends=effect_ends(limit),
            scale="diverging",
            columns=[*(f"L{layer + 1}" for layer in range(len(by_layer))), Phrase(marked("all"))],
            rows=[(token, cells(key)) for key, token in enumerate(readable_all(self.key_tokens[kind]))],
        )

    def summary(self) -> str:
        """The answer, and the sum of the terms beside the model's logit."""
        sums = f"the terms sum to {self.total:.6f}, the logit is {self.logit:.6f} (gap {self.gap:.1g})"
        return f"{self.answer(FIRST)}\n{sums}"


@torch.inference_mode()
def attribute_logit(
    trace: LogitTrace, position: int, token: int | None = None, against: Against = None
) -> LogitAttribution:
    """Split the logit of a token at one position, see the module docstring.

    The direction W_U is carried back through the norms, so each term takes one product, and all terms together about
    as long as one row of the forward pass.

    Args:
        position: of the predicted token, from 0.
        token: id, by default the predicted one.
        against: as in `LogitAttribution`. A constant added to all logits changes no probability: only differences say
            why one token is more probable than another.

    Raises:
        ValueError: there is no such position or token.
        DisagreementError: the terms do not sum to the logit: the model is neither post-norm nor pre-norm.
    """
    num_positions, vocab_size = trace.logits.shape
    check_position(position, num_positions)
    for token_id in (token, against):
        if isinstance(token_id, int) and not 0 <= token_id < vocab_size:
            raise ValueError(f"there is no token {token_id}: give an id from 0 to {vocab_size - 1}")
    token = trace.predicted_ids[position] if token is None else token
    direction, logit = _read(trace.unembedding, against, token), _read(trace.logits[position], against, token)
    heads = {write.kind: write.weights for write in trace.stream if isinstance(write, AttentionWrite)}
    no_layers = direction.new_zeros(trace.num_layers)
    feed_forward, biases = no_layers.clone(), no_layers.clone()
    attended = {
        kind: no_layers[:, None, None].repeat(1, weights.size(0), weights.size(2)) for kind, weights in heads.items()
    }
    biases[-1] = _read(trace.output_bias, against, token)
    for step in reversed(trace.stream):
        biases[step.layer] += direction @ step.bias
        match step:
            case FrozenNorm():
                direction = step.transposed(direction, position)
            case FeedForwardWrite():
                feed_forward[step.layer] = step.output[position] @ direction
            case AttentionWrite():
                read = torch.einsum("dhv,d->hv", step.output_matrix, direction)
                attended[step.kind][step.layer] = step.weights[:, position] * torch.einsum(
                    "hkv,hv->hk", step.values, read
                )
    terms = LogitAttribution(
        position=position,
        token=token,
        against=against,
        logit=float(logit),
        token_embedding=float(trace.token_embedding[position] @ direction),
        position_embedding=float(trace.position_embedding[position] @ direction),
        decoder_self=attended["decoder_self"].cpu(),
        cross=attended["cross"].cpu(),
        feed_forward=feed_forward.cpu(),
        biases=biases.cpu(),
        key_tokens={
            "decoder_self": [*map(str, trace.explanation.fed_tokens[: position + 1])],
            "cross": [*map(str, trace.explanation.source_tokens)],
        },
        piece=trace.piece,
    )
    depth, size = 3 * trace.num_layers + 1, max(1.0, terms.size)
    require_agreement("the logit, as the sum of its terms", terms.total, terms.logit, depth, size)
    return terms


def _read(rows: Tensor, against: Against, token: int) -> Tensor:
    """Row of a token minus that of `against`: [V, ...] -> [...] in float64."""
    if against is None:
        return rows[token].double()
    return rows[token].double() - (rows.double().mean(0) if against == "mean" else rows[against].double())


@dataclass(frozen=True)
class ContributionsOptions:
    """Options of `contributions`, see `attribute_logit`; the token is that at a position counted from 0."""

    token: int = option(**PREDICTED_TOKEN)
    piece: int | None = option(
        None, "split the logit of this piece instead of the predicted one, such as \u2581Hund", **PIECE
    )
    against: Against = option(
        None,
        "subtract the logit of this piece, or the mean of all with `mean`",
        metavar="PIECE",
        type=str,
        read=lambda sentence, name: name if name == "mean" else piece_id(sentence, name),
    )


def contributions(
    translator: Translator, source: str, target: str | Sequence[int], options: ContributionsOptions
) -> LogitAttribution:
    """Split the logit of a predicted token, as `attribute_logit`.

    Raises:
        ValueError: as `Translator.explain`.
        DisagreementError: as `attribute_logit`.
    """
    trace = trace_logits(translator, source, target)
    return attribute_logit(trace, options.token, options.piece, options.against)


CONTRIBUTIONS = Analysis(
    "contributions",
    "split the logit of a predicted token over heads, attended tokens and networks",
    contributions,
    ContributionsOptions,
)
