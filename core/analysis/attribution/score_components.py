"""The analysis `score-components`: why a head looks there, a score as a sum over the parts of two streams.

The state that a query or a key is computed from is a sum of what was written into the residual stream: the token's
embedding, its position, what each head and each network before it has added, and biases (Elhage et al. 2021, "A
Mathematical Framework for Transformer Circuits"). A norm is linear once its scale is held at its value in this pass,

    D_i u = gain * (u - mean(u)) / sigma_i        (an RMSNorm subtracts no mean),

so a part x that is written at position i enters the projection as D_i ... D_i x, through the norms after it: those of
every sub-layer in a post-norm model, in a pre-norm model that of the sub-layer that reads it. With q_i the query, k_j
the key, and u_b(j) the parts of the key's stream,

    s_ij = q_i . k_j / sqrt(d_k) = sum_b q_i . W_K u_b(j) / sqrt(d_k) + q_i . b_K / sqrt(d_k),

and likewise over the parts of the query's stream, with b_Q among its constants. What is the same for all keys of a row
cancels in the softmax. So a bar says by how much a part raises the score above the mean over the visible keys or, if
`instead_of` is given, above the score of another key: then the bars sum to log a_ij - log a_ij2, exactly, and answer
why the head looks here and not there.

One key is split at a time, with the query whole, and one query with the keys whole. Models with relative positions add
a score of the distance, which is a part of both sums.

The split is exact, but not causal: the norms and the other parts would change without a part. A part of an upper layer
has read the sentence, so its bar is not that of the token at its position.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from core.analysis.agreement import depth_of, require_agreement
from core.analysis.attribution.forward_trace import added_bias
from core.analysis.attribution.read_stream import Part, ReadStream, Summand, exact, read_stream
from core.analysis.declaration import FIRST, Analysis, Columns, PicturedResult, option
from core.analysis.heads.head import attention_layers
from core.analysis.pictures import Grid, bar_cell
from core.analysis.relative_scores import relative_scores
from core.analysis.removals import Removals
from core.analysis.tokens.words import readable
from core.files.tabular import as_columns
from core.model import MultiHeadAttention
from core.text.phrases import Number, Phrase, marked
from core.trace import KINDS, Head, Kind, parse_head, record, stack_of
from core.translator import Translator

Side = Literal["key", "query"]
SIDES: dict[Side, str] = {
    "key": marked("Why {head} looks there: in the key, {token}"),
    "query": marked("Why {head} looks there: in the query, {token}"),
}
PARTS: dict[Part, tuple[str, str]] = {  # in a column of a few characters, and in full
    "token": (marked("Token"), marked("Token")),
    "position": (marked("Position"), marked("Position")),
    "distance": (marked("Distance"), marked("Distance")),
    "constant": (marked("Biases"), marked("Biases")),
    "encoder_self": (marked("L{layer} heads"), marked("Self-attention of layer {layer}")),
    "decoder_self": (marked("L{layer} self"), marked("Self-attention of layer {layer}")),
    "cross": (marked("L{layer} cross"), marked("Cross-attention of layer {layer}")),
    "feed_forward": (marked("L{layer} FFN"), marked("Feed-forward network of layer {layer}")),
}


class ScoreTerm(NamedTuple):
    """One summand of a score."""

    # a kind of attention is a head of it; `distance` is the score of relative positions; `constant` is all biases
    part: Part
    layer: int | None  # counted from 0; None for what is of no layer
    head: int | None  # counted from 0; None unless `part` is a kind of attention
    value: float  # by how much it raises the score

    @property
    def title(self) -> Phrase:
        """What it is, in full."""
        kind: Kind | None = next((kind for kind in KINDS if kind == self.part), None)
        if kind and self.layer is not None and self.head is not None:
            return Head(kind, self.layer, self.head).title
        return Phrase(PARTS[self.part][1], **({} if self.layer is None else {"layer": Number(self.layer + 1, "d")}))


class BarRow(NamedTuple):
    """A row of the bars: one term, or the heads of a layer together."""

    name: str
    text: str  # what it is, for screen readers and on hover
    value: float
    group: str = ""  # identifier of the heads that a click opens or closes; "" for other rows
    head: Head | None = None  # whose map a click opens; None for other rows


@dataclass(frozen=True)
class ScoreComponents(PicturedResult):
    """A score as two sums, over the parts of the key and over those of the query."""

    head: Head
    query: int  # position, from 0
    key: int  # position, from 0
    instead_of: int | None  # position of the key that it is compared with; None: the mean over the visible keys
    query_tokens: tuple[str, ...]  # what the stack of the query is fed
    key_tokens: tuple[str, ...]  # what that of the keys is fed
    visible: tuple[int, ...]  # positions of the keys that the query may attend to
    terms: Mapping[Side, tuple[ScoreTerm, ...]]  # of each side, from the embedding upwards, constants last
    score: float  # of the model itself, above what it is compared with
    weights: tuple[float, ...]  # of the whole row, as the model computed them
    without: tuple[float, ...]  # weight of the key without each term of the keys, in all keys, norms held

    def total(self, side: Side) -> float:
        """Sum of the terms of a side."""
        return math.fsum(term.value for term in self.terms[side])

    @property
    def gap(self) -> float:
        """Larger deviation of the two sums from the model's score."""
        return max(abs(self.total(side) - self.score) for side in self.terms)

    def table(self) -> Columns:
        """A row for each term, those of the key first; layers and heads are counted from 0."""
        rows = [(side, *term) for side, terms in self.terms.items() for term in terms]
        return as_columns(("side", "part", "layer", "head", "contribution"), rows)

    def rows(self, side: Side, opened: Collection[str] = ()) -> Iterator[BarRow]:
        """Rows of the bars of a side, from the embedding upwards.

        Args:
            opened: groups whose heads have rows of their own, below that of the group.
        """
        for (part, layer), of_group in groupby(self.terms[side], lambda term: term[:2]):
            terms = list(of_group)
            values = {} if layer is None else {"layer": Number(layer + 1, "d")}
            name, text = (Phrase(words, **values) for words in PARTS[part])
            whole = math.fsum(term.value for term in terms)
            kind: Kind | None = next((kind for kind in KINDS if kind == part), None)
            if kind is None or layer is None:
                yield BarRow(name, text, whole)
                continue
            group = f"{side}.{part}.{layer + 1}"
            mark = "\u25be" if group in opened else "\u25b8"
            yield BarRow(Phrase("{mark} {name}", mark=mark, name=name), text, whole, group)
            for term in terms if group in opened else ():
                head = Head(kind, layer, term.head or 0)
                yield BarRow(f"\u00b7 {head.short}", head.title, term.value, head=head)

    def pictures(self, at: Head = FIRST, opened: Collection[str] = ()) -> tuple[Grid, Grid]:
        """Bars of the parts of the key and of those of the query, with one scale; `opened` as in `rows`."""
        rows: dict[Side, list[BarRow]] = {side: list(self.rows(side, opened)) for side in self.terms}
        longest = max(abs(row.value) for of_side in rows.values() for row in of_side) or 1.0
        tokens = {"key": self.key_tokens[self.key], "query": self.query_tokens[self.query]}

        def grid(side: Side) -> Grid:
            cells = (
                bar_cell(
                    row.value,
                    longest,
                    says=Phrase("{name}: {value}", name=row.text, value=Number(row.value, "+.3f")),
                    is_strong=bool(row.group),
                )
                for row in rows[side]
            )
            return Grid(
                title=Phrase(SIDES[side], head=self.head.title, token=readable(tokens[side])),
                legend=Phrase(marked("lowers the score, raises the score")),
                ends=("\u2212", "+"),
                scale="diverging",
                columns=[Phrase(marked("sum {sum}"), sum=Number(self.total(side), "+.2f"))],
                rows=[(row.name, [cell]) for row, cell in zip(rows[side], cells, strict=True)],
                width=14,
            )

        return grid("key"), grid("query")

    @property
    def removals(self) -> Removals:
        """The weight of the key without each term of the keys."""
        names = (term.title for term in self.terms["key"])
        parts = [Phrase(marked("the summand \u201c{name}\u201d of the keys"), name=name) for name in names]
        what = Phrase(marked("the weight of \u201c{token}\u201d"), token=readable(self.key_tokens[self.key]))
        return Removals("summand", what, self.weights[self.key], parts, self.without)

    def answer(self, at: Head = FIRST) -> str:
        """What is split."""
        values = {
            "head": self.head.title,
            "query": readable(self.query_tokens[self.query]),
            "key": readable(self.key_tokens[self.key]),
            "weight": Number(self.weights[self.key], ".3f"),
            "score": Number(self.score, "+.2f"),
        }
        if self.instead_of is None:
            return Phrase(
                marked(
                    "{head} looks from \u201c{query}\u201d at \u201c{key}\u201d with weight {weight}: the score minus "
                    "the mean of all {count} tokens that it can see there is {score}."
                ),
                count=Number(len(self.visible), "d"),
                **values,
            )
        return Phrase(
            marked(
                "{head} looks from \u201c{query}\u201d at \u201c{key}\u201d with weight {weight}, at "
                "\u201c{other}\u201d with weight {other_weight}: the difference of the scores is {score}, the "
                "logarithm of the ratio of both weights."
            ),
            other=readable(self.key_tokens[self.instead_of]),
            other_weight=Number(self.weights[self.instead_of], ".3f"),
            **values,
        )

    def summary(self) -> str:
        """The answer, and the score beside the sums."""
        return (
            f"{self.answer()} The parts of the key sum to {self.total('key'):+.6f}, those of the query to "
            f"{self.total('query'):+.6f}; the model's score is {self.score:+.6f}."
        )


@dataclass(frozen=True)
class ScoreComponentsOptions:
    """Options of `score-components`; positions are counted from 0, in the decoder as the tokens are fed."""

    head: Head = option(help="the head, such as 'cross L5 H3'", metavar="HEAD", type=str, parse=parse_head)
    query: int = option(help="number of the token that attends, counted from 1", from_1=True)
    key: int = option(help="number of the token that is attended to, counted from 1", from_1=True)
    instead_of: int | None = option(
        None, "number of another key to compare with, counted from 1, instead of the mean over all", from_1=True
    )


@torch.inference_mode()
def score_components(
    translator: Translator, source: str, target: str | Sequence[int], options: ScoreComponentsOptions
) -> ScoreComponents:
    """Split the score of one query and one key of a head, see the module docstring.

    Raises:
        ValueError: as `Translator.explain`; the model has no such head, or its row no such key.
        DisagreementError: the terms do not sum to the score.
    """
    source_ids, fed, _ = translator.token_ids(source, target)
    head = options.head
    with translator.inspect() as model:
        attention = attention_layers(model).get(head[:2])
        if attention is None or not 0 <= head.head < attention.num_heads:
            raise ValueError(f"this model has no head {head}")
        reader = head.layer, "cross_attention" if head.kind == "cross" else "self_attention"
        of_query = read_stream(model, stack_of(head.kind), reader)
        of_key = read_stream(model, "encoder", None) if head.kind == "cross" else of_query
        own = [head.place(each) for each in ("queries", "keys", "scores", "weights")]
        with record(model, [*own, *of_query.places, *of_key.places]) as recorded:
            model(translator.batch([source_ids]), translator.batch([fed]))
        values = {place: exact(value[0]) for place, value in recorded.items()}
        relative = relative_scores(model, head.kind, head.layer, len(values[head.place("keys")]))
        for stack, embedding, ids in (("encoder", model.embedding, source_ids), ("decoder", model.fed_embedding, fed)):
            embedded = embedding.tokens(torch.tensor(ids, device=model.device))
            values[f"{stack}.tokens"] = exact(embedded) * embedding.scale
    sides = {"encoder": translator.codec.source_pieces(source_ids), "decoder": translator.codec.fed_pieces(fed)}
    query_tokens, key_tokens = sides[of_query.stack], sides[of_key.stack]
    visible = _visible(options, query_tokens, key_tokens, values[head.place("scores")])
    compared = torch.zeros(len(key_tokens), dtype=torch.float64)  # 1 for the key, minus what it is compared with
    others = visible if options.instead_of is None else (options.instead_of,)
    compared[list(others)] = -1 / len(others)
    compared[options.key] += 1

    of_keys, of_queries = _terms(options, attention, of_query, of_key, values, compared)
    if relative is not None:
        of_keys["distance", None, None] = exact(relative[head.head, options.query])
        of_queries["distance", None, None] = float(of_keys["distance", None, None] @ compared)
    terms: dict[Side, dict[Summand, float]] = {
        "key": {name: float(each @ compared) for name, each in of_keys.items()},
        "query": of_queries,
    }
    scores = values[head.place("scores")][options.query]
    found = ScoreComponents(
        head=head,
        query=options.query,
        key=options.key,
        instead_of=options.instead_of,
        query_tokens=query_tokens,
        key_tokens=key_tokens,
        visible=visible,
        terms={side: tuple(ScoreTerm(*name, each) for name, each in of.items()) for side, of in terms.items()},
        score=float(scores.masked_fill(compared == 0, 0) @ compared),
        weights=tuple(values[head.place("weights")][options.query].tolist()),
        without=tuple(float((scores - each).softmax(-1)[options.key]) for each in of_keys.values()),
    )
    for side, of_side in found.terms.items():
        size = max(1.0, math.fsum(abs(term.value) for term in of_side))
        what = f"the score of {head}, as the sum over the parts of the {side}"
        require_agreement(what, found.total(side), found.score, depth_of(model.config), size)
    here, there = (found.weights[each] for each in (options.key, others[0]))
    if options.instead_of is not None and min(here, there) > 1e-30:
        of_weights, size = math.log(here / there), max(1.0, float(scores.max()))
        require_agreement("the score, from the logarithms of both weights", of_weights, found.score, 1, size)
    return found


def _terms(
    options: ScoreComponentsOptions,
    attention: MultiHeadAttention,
    of_query: ReadStream,
    of_key: ReadStream,
    values: Mapping[str, Tensor],
    compared: Tensor,
) -> tuple[dict[Summand, Tensor], dict[Summand, float]]:
    """Terms of the scores of all keys, [K] each, and those of the query in what the score is compared with.

    Args:
        values: of the places of the streams and the head, as `ReadStream.terms` takes them.
        compared: [K] factors of the scores, which sum to 0.
    """
    queries, keys = (values[options.head.place(each)] for each in ("queries", "keys"))  # [Q, d_k], [K, d_k]
    rows, scale = slice(options.head.head * keys.size(1), (options.head.head + 1) * keys.size(1)), keys.size(1) ** 0.5
    w_query, b_query, w_key = (
        exact(each)[rows] / scale
        for each in (attention.q_proj.weight, added_bias(attention.q_proj), attention.k_proj.weight)
    )
    of_keys = of_key.terms(values, (queries[options.query] @ w_key).expand(len(keys), -1))
    difference = compared @ keys  # [d_k]
    here = slice(options.query, options.query + 1)
    of_queries = of_query.terms(values, (difference @ w_query)[None], here)
    of_queries["constant", None, None] += b_query @ difference
    return of_keys, {name: float(each) for name, each in of_queries.items()}


def _visible(
    options: ScoreComponentsOptions, query_tokens: Sequence[str], key_tokens: Sequence[str], scores: Tensor
) -> tuple[int, ...]:
    """Positions of the keys that the query may attend to: [Q, K] -> positions."""
    if not 0 <= options.query < len(query_tokens):
        names = _numbered(query_tokens, range(len(query_tokens)))
        raise ValueError(f"query {options.query + 1}, counted from 1, must be one of the tokens that attend: {names}")
    visible = tuple(torch.nonzero(scores[options.query] > -math.inf)[:, 0].tolist())
    for name, key in (("key", options.key), ("instead_of", options.instead_of)):
        if key is not None and key not in visible:
            names = _numbered(key_tokens, visible)
            raise ValueError(f"{name} {key + 1}, counted from 1, must be a token that the query may attend to: {names}")
    if options.key == options.instead_of:
        raise ValueError(f"key and instead_of are both {options.key + 1}, counted from 1: give two different keys")
    return visible


def _numbered(tokens: Sequence[str], positions: Sequence[int]) -> str:
    return " ".join(f"{position + 1}:{tokens[position]}" for position in positions)


SCORE_COMPONENTS = Analysis(
    "score-components",
    "split the score of one query and key of a head over the parts of both",
    score_components,
    ScoreComponentsOptions,
)
