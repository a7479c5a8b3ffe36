"""Views of the steps of attention: query, keys, scores, mask, softmax, values, heads and the output matrix."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from core.analysis.token_path.steps import AttentionSteps, TokenPath
from core.analysis.tokens.words import readable
from core.capture import Kind
from viz_app.drawing.display_text import decimal
from viz_app.language import marked, tr
from viz_app.views.steps.figures.step_views import (
    Block,
    NumberColumn,
    StepView,
    Vector,
    VectorRow,
    mask_block,
    named,
    token_rows,
)

GROUPS: dict[Kind, str] = {
    "encoder_self": marked("Self-attention"),
    "decoder_self": marked("Masked self-attention"),
    "cross": marked("Cross-attention"),
}
KEYS_TEXTS: dict[Kind, str] = {
    "encoder_self": marked("In the same way every token of the source gets a key of {count} numbers."),
    "decoder_self": marked(
        "In the same way every token of the translation, also each later one, gets a key of {count} numbers."
    ),
    "cross": marked(
        "In the same way every token of the source, as the encoder left it, gets a key of {count} numbers."
    ),
}
VALUES_TEXTS: dict[Kind, str] = {
    "encoder_self": marked("Every token of the source also has a value: what it passes on where it is attended to."),
    "decoder_self": marked(
        "Every token of the translation, also each later one, also has a value: what it passes on where it is attended "
        "to."
    ),
    "cross": marked(
        "Every token of the source, as the encoder left it, also has a value: what it passes on where it is attended "
        "to."
    ),
}
NONE_HIDDEN = marked("Nothing is hidden from {token}: it may attend to all {count} tokens.")
LATER_HIDDEN = marked("Later tokens are hidden: {hidden} of {count} scores become minus infinity, their weights 0.")
TOO_FAR = marked("Tokens too far away are hidden: {hidden} of {count} scores become minus infinity, their weights 0.")
SCORE, WEIGHT = NumberColumn(marked("score")), NumberColumn(marked("weight"), "share")
EXPONENTIAL = NumberColumn(marked("exp(score \u2212 largest)"), "share")
DIVIDED = SCORE, WEIGHT, NumberColumn(marked("gradient"), "share")
UNDIVIDED = (
    NumberColumn("q \u00b7 k"),
    NumberColumn(marked("its weight"), "share"),
    NumberColumn(marked("its gradient"), "share"),
)
HALVES = marked("Figure 2, left"), marked("Figure 2, right")  # a head (3.2.1), and all heads (3.2.2)
# of each step: title, section of the paper, and quantities of the table
STEPS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "query": (marked("Query"), "3.2.2", ("x", "query")),
    "keys": (marked("Keys"), "3.2.2", ("keys",)),
    "scores": (marked("Scores"), "3.2.1", ()),
    "mask": (marked("Mask"), "3.2.3", ("scores", "allowed")),
    "softmax": (marked("Softmax"), "3.2.1", ("scores", "allowed", "exponentials", "weights")),
    "scaling": (
        marked("Scaling"),
        "3.2.1",
        ("scores", "allowed", "weights", "gradients", "undivided", "undivided_weights", "undivided_gradients"),
    ),
    "values": (marked("Values"), "3.2.2", ("weights", "values")),
    "weighted-sum": (marked("Weighted sum"), "3.2.1", ("weights", "weighted", "head_output")),
    "concatenation": (marked("Concatenation"), "3.2.2", ("heads",)),
    "output-matrix": (marked("Output matrix"), "3.2.2", ("output",)),
}
Numbers = Sequence[float | None]


def attention_views(path: TokenPath, steps: AttentionSteps, width: int) -> list[StepView]:
    """Return the steps of one head, from its query to the output matrix, in lines of `width` cells."""
    views = _HeadViews(path, steps, width)
    before = [views.query(), views.keys(), views.scores(), views.mask(), views.softmax(), views.scaling()]
    return [*before, views.values(), views.weighted_sum(), views.concatenation(), views.output()]


def products_block(steps: AttentionSteps, keys: Sequence[str], key: int) -> Block:
    """Return query, key and their products.

    The products sum to the score times sqrt(d_k), but for that of the distance.
    """
    total, score = decimal(float(steps.products[key].sum()), 3), decimal(float(steps.scores[key]), 3)
    values = {"token": readable(keys[key]), "total": total, "d_k": len(steps.query), "score": score}
    title = tr("{token}: q \u00b7 k = {total}, divided by \u221a{d_k}: {score}", **values)
    if steps.relative is not None:
        title = tr(
            "{token}: q \u00b7 k = {total}, divided by \u221a{d_k}, plus {relative} for the distance: {score}",
            relative=decimal(float(steps.relative[key]), 3),
            **values,
        )
    return Block(
        title,
        [
            named("q", steps.query, as_bars=True, limit=float(steps.query.abs().max())),
            named("k", steps.keys[key], as_bars=True, limit=float(steps.keys.abs().max())),
            named("q \u00d7 k", steps.products[key], as_bars=True, limit=float(steps.products.abs().max())),
        ],
        width=len(steps.query),
    )


@dataclass(frozen=True)
class _HeadViews:
    path: TokenPath
    steps: AttentionSteps
    width: int

    def query(self) -> StepView:
        d_model, d_k = len(self.steps.x), len(self.steps.query)
        return self._view(
            "query",
            formula=r"q = x W^Q + b^Q",
            text=tr(
                "Head {head} turns the {d_model} numbers of {token} into a query of {d_k}.",
                head=self.steps.head + 1,
                d_model=d_model,
                token=self._token,
                d_k=d_k,
            ),
            blocks=[
                Block(tr("input x"), [named("x", self.steps.x)], width=self.width),
                Block(tr("query"), [named("q", self.steps.query, as_bars=True)], width=d_k),
            ],
        )

    def keys(self) -> StepView:
        d_k = len(self.steps.query)
        return self._view(
            "keys",
            formula=r"k_j = x_j W^K + b^K",
            text=tr(KEYS_TEXTS[self.steps.kind], count=d_k),
            blocks=[Block(tr("keys"), self._rows(self.steps.keys.numpy()), width=d_k)],
        )

    def scores(self) -> StepView:
        d_k, tokens = len(self.steps.query), self._keys
        block = Block(
            tr("products of query and key"),
            self._rows(self.steps.products.numpy(), self.steps.scores.tolist()),
            width=d_k,
            columns=[SCORE],
        )
        is_relative = self.steps.relative is not None
        text = tr(
            "Query and key are multiplied number by number; the sum of the {d_k} products, divided by \u221a{d_k}, "
            "is the score.",
            d_k=d_k,
        )
        if is_relative:
            text = tr(
                "Query and key are multiplied number by number; the sum of the {d_k} products, divided by \u221a{d_k}, "
                "plus a learned number for the distance of the two tokens, is the score.",
                d_k=d_k,
            )
        formula = r"s_j = \frac{q \cdot k_j}{\sqrt{d_k}} = \frac{1}{\sqrt{d_k}} \sum_i q_i k_{ji}"
        return self._view(
            "scores",
            quantities=("query", "keys", "products", "relative", "scores")
            if is_relative
            else ("query", "keys", "products", "scores"),
            formula=formula if not is_relative else r"s_j = \frac{q \cdot k_j}{\sqrt{d_k}} + r_{j - t}",
            text=text,
            blocks=[block],
            details=[products_block(self.steps, tokens, key) for key in range(len(tokens))],
            picked=self._best,
        )

    def mask(self) -> StepView:
        attention = self.path.explanation.maps[self.steps.kind][self.path.layer]
        hidden, is_causal = int((~self.steps.allowed).sum()), self.steps.kind == "decoder_self"
        text = NONE_HIDDEN if not hidden else LATER_HIDDEN if is_causal else TOO_FAR
        return self._view(
            "mask",
            formula=r"s_j = -\infty \, (j > t)" if is_causal else r"s_j \leftarrow s_j",
            text=tr(text, token=self._token, hidden=hidden, count=len(self._keys)),
            blocks=[mask_block(attention.query_tokens, self._keys, attention.visible, self.path.position)],
        )

    def softmax(self) -> StepView:
        numbers = zip(
            *(self._seen(each.tolist()) for each in (self.steps.scores, self.steps.exponentials, self.steps.weights)),
            strict=True,
        )
        rows = token_rows(self._keys, numbers)
        return self._view(
            "softmax",
            formula=r"a_j = \frac{\exp(s_j)}{\sum_k \exp(s_k)}",
            text=tr(
                "The exponential of a score, divided by the sum of all, is the weight: {token} attends most to {best}, "
                "with {weight}.",
                token=self._token,
                best=readable(self._keys[self._best]),
                weight=decimal(float(self.steps.weights[self._best]), 3),
            ),
            facts=[(tr("sum of the weights"), decimal(float(self.steps.weights.sum()), 3))],
            blocks=[Block(tr("from scores to weights"), rows, columns=[SCORE, EXPONENTIAL, WEIGHT])],
        )

    def scaling(self) -> StepView:
        steps, d_k = self.steps, len(self.steps.query)
        columns = (steps.scores, steps.weights, steps.gradients)
        undivided = (steps.undivided, steps.undivided_weights, steps.undivided_gradients)
        numbers = zip(*(self._seen(each.tolist()) for each in (*columns, *undivided)), strict=True)
        best, factor = self._best, d_k**0.5
        pairs = self.path.explanation.maps[steps.kind][self.path.layer].weights[0].numel()
        facts = (
            (tr("entropy"), _entropy(steps.weights)),
            (tr("undivided"), _entropy(steps.undivided_weights)),
            (tr("sum of the gradients"), float(steps.gradients.sum())),
            (tr("undivided"), float(steps.undivided_gradients.sum())),
        )
        return self._view(
            "scaling",
            formula=r"\frac{\partial a_j}{\partial s_j} = a_j (1 - a_j)",
            text=tr(
                "Why divide by \u221a{d_k}? A sum of {d_k} products of independent numbers with variance 1 has "
                "variance {d_k}, and large scores take the softmax to where it hardly moves: at weights near 0 and 1 "
                "its gradient is near 0. Undivided, products count {factor:.3g} times as much, and {best} has a weight "
                "of {undivided} instead of {weight}.",
                d_k=d_k,
                factor=factor,
                best=readable(self._keys[best]),
                undivided=decimal(float(steps.undivided_weights[best]), 3),
                weight=decimal(float(steps.weights[best]), 3),
            ),
            facts=[(name, decimal(value, 3)) for name, value in facts],
            blocks=[
                Block(
                    tr("with the division by \u221a{d_k}, and without", d_k=d_k),
                    token_rows(self._keys, numbers),
                    columns=(*DIVIDED, *UNDIVIDED),
                )
            ],
            aside=(
                tr(
                    "Additive attention (Bahdanau et al. 2015), the other common kind, scores a pair by a network with "
                    "one hidden layer. With {d_k} hidden numbers a pair takes as many multiplications as here, and "
                    "{d_k} tanh besides. But the {pairs:,} pairs of this head are one product of matrices here; there "
                    "they have {hidden:,} hidden numbers to compute and to hold. The paper finds both alike for small "
                    "d_k, and additive attention better than undivided products for large ones.",
                    d_k=d_k,
                    pairs=pairs,
                    hidden=pairs * d_k,
                ),
                r"e_j = v^T \mathrm{tanh}(W q + U k_j)",
            ),
        )

    def values(self) -> StepView:
        return self._view(
            "values",
            formula=r"v_j = x_j W^V + b^V",
            text=tr(VALUES_TEXTS[self.steps.kind]),
            blocks=[
                Block(
                    tr("values"),
                    self._rows(self.steps.values.numpy(), self._seen(self.steps.weights.tolist())),
                    width=len(self.steps.head_output),
                    columns=[WEIGHT],
                )
            ],
        )

    def weighted_sum(self) -> StepView:
        rows = self._rows(self.steps.weighted.numpy(), self._seen(self.steps.weights.tolist()))
        total = VectorRow(label=tr("sum"), values=self.steps.head_output.numpy(), numbers=(1.0,), is_marked=True)
        return self._view(
            "weighted-sum",
            formula=r"\mathrm{head} = \sum_j a_j v_j",
            text=tr("Each value times its weight; their sum is the output of the head."),
            blocks=[
                Block(
                    tr("values times weights, and their sum"),
                    [*rows, total],
                    width=len(self.steps.head_output),
                    columns=[WEIGHT],
                )
            ],
        )

    def concatenation(self) -> StepView:
        rows = [
            named(f"H{head + 1}", output, is_marked=head == self.steps.head)
            for head, output in enumerate(self.steps.heads)
        ]
        return self._view(
            "concatenation",
            formula=r"\mathrm{Concat}(\mathrm{head}_1, \ldots, \mathrm{head}_h)",
            text=tr(
                "The outputs of all {count} heads, side by side; head {head} is marked.",
                count=len(rows),
                head=self.steps.head + 1,
            ),
            blocks=[Block(tr("outputs of the heads"), rows, width=len(self.steps.head_output))],
        )

    def output(self) -> StepView:
        return self._view(
            "output-matrix",
            formula=r"\mathrm{Concat}(\mathrm{head}_1, \ldots, \mathrm{head}_h) W^O + b^O",
            text=tr(
                "The output matrix mixes all heads into {count} numbers: what attention adds to {token}.",
                count=len(self.steps.output),
                token=self._token,
            ),
            blocks=[Block(tr("output"), [named(tr("output"), self.steps.output)], width=self.width)],
        )

    @property
    def _token(self) -> str:
        return readable(self.path.tokens[self.path.position])

    @property
    def _keys(self) -> tuple[str, ...]:
        return self.path.explanation.maps[self.steps.kind][self.path.layer].key_tokens

    @property
    def _best(self) -> int:
        return int(self.steps.weights.argmax())

    def _view(self, name: str, **options: Any) -> StepView:
        (title, section, quantities), kind = STEPS[name], self.steps.kind
        told: dict[str, Any] = {"part": kind, "section": section, "quantities": quantities}
        told |= {"group": tr(GROUPS[kind]), "title": tr(title), "figure": tr(HALVES[section == "3.2.2"])}
        return StepView(name=f"{kind}-{name}", **{**told, **options})

    def _seen(self, numbers: Sequence[float]) -> Numbers:
        """Return numbers of the keys, None where the mask hides one."""
        return [number if seen else None for number, seen in zip(numbers, self.steps.allowed.tolist(), strict=True)]

    def _rows(self, values: Vector, numbers: Numbers = ()) -> list[VectorRow]:
        beside = [(number,) for number in numbers] if numbers else [()] * len(values)
        return [
            VectorRow(label=token, is_token=True, values=line, numbers=row)
            for token, line, row in zip(self._keys, values, beside, strict=True)
        ]


def _entropy(weights: Tensor) -> float:
    return float(torch.special.entr(weights).sum())
