"""The products of query and key behind one attention weight of a model's pass.

Vaswani et al. 2017, equation (1) (3.2.1): the score of query i and key j is a sum of d_k products,

    s_ij = sum_d q_id k_jd / sqrt(d_k),

and the weight is the softmax of a row of the scores that the mask leaves. A model with relative positions adds a score
of the distance to the sum. Query and key are those that the model's own projections compute; the products are taken in
float64, and their sum is compared with the model's score.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from core.analysis.agreement import require_agreement
from core.analysis.attribution.read_stream import exact
from core.analysis.heads.head import attention_layers
from core.analysis.pictures import Bars, Series
from core.analysis.relative_scores import relative_scores
from core.files.tabular import as_columns
from core.text.phrases import Number, Phrase, marked
from core.trace import Head, record
from core.translator import Translator


@dataclass(frozen=True)
class ScoreProducts:
    """Query, key and score of one cell of an attention map.

    Raises:
        DisagreementError: the products do not sum to the score.
    """

    query: Tensor  # [d_k] float64, as `key`
    key: Tensor
    own_score: float  # score that the model computed; minus infinity where the mask hides the key
    weight: float  # attention weight that the model computed
    relative: float | None = None  # score of the distance, in self-attention of a model with relative positions

    def __post_init__(self) -> None:
        if not self.is_hidden:
            size = max(1.0, float(self.products.abs().sum()))
            require_agreement("the score, as the sum of its products", self.score, self.own_score, 1, size)

    @property
    def products(self) -> Tensor:
        """[d_k] q_i k_i / sqrt(d_k), which sum to the score, but for `relative`."""
        return self.query * self.key / math.sqrt(len(self.query))

    @property
    def score(self) -> float:
        """Sum of the products and `relative`, which for a hidden key the model does not use."""
        return float(self.products.sum()) + (self.relative or 0.0)

    @property
    def is_hidden(self) -> bool:
        return self.own_score == -math.inf

    @property
    def gap(self) -> float:
        """The sum's deviation from the model's score, relative to it if that exceeds 1; NaN for a hidden key."""
        return math.nan if self.is_hidden else abs(self.score - self.own_score) / max(1.0, abs(self.own_score))

    def picture(self) -> Bars:
        """A bar for each dimension and, of a model with relative positions, one for the distance, apart from them."""
        count, numbers = len(self.query), (self.query.tolist(), self.key.tolist(), self.products.tolist())
        says = [
            Phrase(
                marked("dimension {number}: {query} \u00d7 {key} / \u221a{count} = {product}"),
                number=Number(number, "d"),
                query=Number(query, "+.3f"),
                key=Number(key, "+.3f"),
                count=Number(count, "d"),
                product=Number(product, "+.3f"),
            )
            for number, (query, key, product) in enumerate(zip(*numbers, strict=True), 1)
        ]
        apart = [] if self.relative is None else ["", ""]
        name = Phrase(marked("product"))
        series = [Series(name=name, color=0, values=[*numbers[2], *(0.0 for _ in apart)], says=[*says, *apart])]
        if self.relative is not None:
            distance = Phrase(marked("distance"))
            series.append(Series(name=distance, color=1, values=[*[0.0] * (count + 1), self.relative]))
        return Bars(
            title=Phrase(marked("{count} products of query and key"), count=Number(count, "d")),
            axis=name,
            below=Phrase(marked("dimension")),
            columns=[*map(str, range(1, count + 1)), *apart],
            series=series,
        )

    def columns(self) -> dict[str, list[float | None]]:
        """Columns of a table with a row for each dimension, counted from 0, and one without dimension for `relative`.

        The products sum to the score.
        """
        numbers = (each.tolist() for each in (self.query, self.key, self.products))
        rows: list[tuple[float | None, ...]] = list(zip(range(len(self.query)), *numbers, strict=True))
        if self.relative is not None:
            rows.append((None, None, None, self.relative))
        return as_columns(("dimension", "query", "key", "product"), rows)


def score_products(
    translator: Translator, replay: Callable[[], object], head: Head, query: int, key: int
) -> ScoreProducts:
    """Return the products behind the weight of one query and one key.

    Args:
        replay: runs the model once, for one sentence: `lambda: translator.explain(source, target)`.
        query, key: positions of the tokens, counted from 0.

    Raises:
        ValueError: the model has no such head, or the pass no such position; or as `replay`.
    """
    with translator.inspect() as model:
        module = attention_layers(model).get((head.kind, head.layer))
        if module is None or not 0 <= head.head < module.num_heads:
            raise ValueError(f"this model has no head {head}")
        with record(model, [head.place(each) for each in ("queries", "keys", "scores", "weights")]) as values:
            replay()
        relative = relative_scores(model, head.kind, head.layer, values[head.place("keys")].size(1))
    queries, keys, scores, weights = (value[0] for value in values.values())
    for name, position, vectors in (("query", query, queries), ("key", key, keys)):
        if not 0 <= position < len(vectors):
            count = len(vectors)
            raise ValueError(f"{name} ({position}) must be from 0 to {count - 1}: there are {count} tokens")
    return ScoreProducts(
        exact(queries[query]),
        exact(keys[key]),
        float(scores[query, key]),
        float(weights[query, key]),
        None if relative is None else float(relative[head.head, query, key]),
    )
