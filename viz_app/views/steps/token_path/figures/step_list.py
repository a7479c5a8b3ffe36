"""All steps of a token in the model's order, from embedding to next token."""

import math
from collections.abc import Callable, Sequence

from core.analysis.beam_tree import FATES, BeamTree
from core.analysis.token_path.steps import (
    AttentionSteps,
    EmbeddingSteps,
    FeedForwardSteps,
    NormSteps,
    OutputSteps,
    ResidualSteps,
    StackSteps,
    TokenPath,
)
from core.analysis.tokens.words import readable
from core.capture import KINDS
from viz_app.drawing.display_text import decimal
from viz_app.language import marked, tr
from viz_app.views.steps.figures.step_views import (
    Block,
    NumberColumn,
    StepHeading,
    StepView,
    VectorRow,
    named,
    step_view,
    token_rows,
)
from viz_app.views.steps.token_path.figures.attention_step_views import GROUPS, attention_views
from viz_app.views.steps.token_path.figures.layer_step_views import (
    FEED_FORWARD,
    INPUT,
    embedding_views,
    feed_forward_views,
    norm_view,
    residual_view,
    stack_view,
)

OUTPUT = marked("Output")
STEPS = {
    "output-logits": StepHeading(OUTPUT, marked("Logits"), "3.4", "output", ("state", "token_ids", "logits")),
    "output-softmax": StepHeading(
        OUTPUT, marked("Softmax"), "3.4", "output", ("token_ids", "logits", "log_sum", "probabilities")
    ),
    "output-beam": StepHeading(OUTPUT, marked("Beam search"), "6.1", "output", ("token_ids", "probabilities")),
}
LOGIT, PROBABILITY = NumberColumn(marked("logit")), NumberColumn(marked("probability"), "share")
TEXT = 30  # characters of a candidate
OF_BEAM = [
    NumberColumn(marked("log-probability")),
    NumberColumn(marked("with all before")),
    NumberColumn(marked("score")),
]
PENALTIES = {
    "paper": r"\mathrm{score} = \frac{\log P(y_1, \ldots, y_t)}{((5 + t) / 6)^\alpha}",
    "length": r"\mathrm{score} = \frac{\log P(y_1, \ldots, y_t)}{t^\alpha}",
}
Piece = Callable[[int], str]  # a piece of the vocabulary by its id


def memory_view(path: TokenPath, last: StepView, width: int) -> StepView:
    """Return the end of the encoder."""
    token = readable(path.tokens[path.position])
    return StepView(
        name="memory",
        group=tr(OUTPUT),
        title=tr("Memory"),
        section="3.1",
        formula=r"z = (z_1, \ldots, z_n)",
        text=tr(
            "The encoder's output for {token}. Every decoder layer makes a key and a value of it, for cross-attention.",
            token=token,
        ),
        part=last.part,
        quantities=last.quantities,
        blocks=[Block(tr("last state"), [named("z", path.state)], width=width)],
    )


def _logits_view(steps: OutputSteps, tokens: Sequence[str], width: int) -> StepView:
    """Return the logits of some tokens, each with the products that sum to it."""
    logits, products = steps.logits.tolist(), steps.state * steps.vectors
    return step_view(
        STEPS,
        "output-logits",
        formula=r"z_t = x \cdot E_t",
        text=tr("The products of the last state with the embedding of a token of the vocabulary sum to its logit."),
        blocks=[
            Block(tr("largest logits"), token_rows(tokens, zip(logits, strict=True), steps.predicted), columns=[LOGIT])
        ],
        details=[
            Block(
                _products_title(token, float(product.sum()), logit),
                [
                    named("x", steps.state, limit=float(steps.state.abs().max())),
                    named("E", vector, limit=float(steps.vectors.abs().max())),
                    named("x \u00d7 E", product, limit=float(products.abs().max())),
                ],
                width=width,
            )
            for token, vector, product, logit in zip(tokens, steps.vectors, products, logits, strict=True)
        ],
        picked=steps.predicted,
    )


def _softmax_view(steps: OutputSteps, tokens: Sequence[str]) -> StepView:
    """Return the probabilities, in the form of `_logits_view`."""
    logits, probabilities = steps.logits.tolist(), steps.probabilities.tolist()
    return step_view(
        STEPS,
        "output-softmax",
        formula=r"P_t = \frac{\exp(z_t)}{\sum_u \exp(z_u)}",
        text=tr(
            "Over the whole vocabulary: {token} has a probability of {probability}, rank {rank}.",
            token=readable(tokens[steps.predicted]),
            probability=decimal(probabilities[steps.predicted], 3),
            rank=steps.rank,
        ),
        facts=[(tr("log of the sum"), decimal(steps.log_sum, 3))],
        blocks=[
            Block(
                tr("from logits to probabilities"),
                token_rows(tokens, zip(logits, probabilities, strict=True), steps.predicted),
                columns=[LOGIT, PROBABILITY],
            )
        ],
    )


def beam_view(path: TokenPath, tree: BeamTree, target: Sequence[int]) -> StepView:
    """Return the candidates of the beam search at this position; `target` are the ids of the translation."""
    own = tree.node(target[: path.position + 1])
    candidates = tree.steps[path.position] if path.position < len(tree.steps) else ()
    live = sum(node.fate == "live" for node in candidates)
    token = readable(path.explanation.predicted_tokens[path.position])
    if own is None:
        text = tr("The search did not come to {token} here: the translation above was not found by it.", token=token)
    else:
        text = tr(
            "Of the {count} best candidates of this position, {live} live on; the translation with {token} ranks "
            "{rank}.",
            count=len(candidates),
            live=live,
            token=token,
            rank=own.rank + 1,
        )
    rows = [
        VectorRow(
            label=_end_of(node.text) or readable(node.token),
            numbers=(node.token_log_prob, node.log_prob, node.score),
            note=tr(FATES[node.fate]),
            is_marked=node is own,
        )
        for node in candidates
    ]
    return step_view(
        STEPS,
        "output-beam",
        formula=PENALTIES[tree.options.penalty_formula],
        text=text,
        blocks=[Block(tr("candidates, the most probable first"), rows, columns=OF_BEAM)],
    )


def _products_title(token: str, total: float, logit: float) -> str:
    """Name the sum of the products of a token, which differs from the logit in a model with a bias of the logits."""
    values = {"token": readable(token), "total": decimal(total, 3)}
    if math.isclose(total, logit, abs_tol=1e-9):
        return tr("{token}: the products of state and embedding sum to {total}", **values)
    return tr(
        "{token}: the products of state and embedding sum to {total}, with the bias {logit}",
        **values,
        logit=decimal(logit, 3),
    )


def _end_of(text: str) -> str:
    """Return the last characters of a text, with an ellipsis if there are more."""
    return text if len(text) <= TEXT else "\u2026" + text[1 - TEXT :].lstrip()


WIDTHS = range(16, 65)  # cells of a line, if a head is as wide; otherwise 32


def step_list(
    path: TokenPath, piece: Piece, tree: BeamTree | None = None, target: Sequence[int] = ()
) -> list[StepView]:
    """Return the views of all steps, in the model's own order, with the beam search for the translation `target`."""
    first = path.attention(path.kinds[0])
    width = len(first.head_output) if len(first.head_output) in WIDTHS else 32
    views: list[StepView] = []
    for part, steps in path.parts.items():
        group = group_of(part)
        match steps:
            case EmbeddingSteps():
                views += embedding_views(path, steps, width)
            case StackSteps():
                views.append(stack_view(part, group, steps, width))
            case NormSteps():
                views.append(norm_view(part, group, steps, width))
            case AttentionSteps():
                views += attention_views(path, steps, width)
            case FeedForwardSteps():
                views += feed_forward_views(path, steps, width)
            case ResidualSteps():
                views.append(residual_view(part, group, steps, width))
            case OutputSteps():
                tokens = [piece(token_id) for token_id in steps.token_ids]
                views += [_logits_view(steps, tokens, width), _softmax_view(steps, tokens)]
    if path.stack == "encoder":
        views.append(memory_view(path, views[-1], width))
    elif tree is not None:
        views.append(beam_view(path, tree, target))
    return views


def group_of(part: str) -> str:
    """Return the group of a part: `cross_norm` -> `Cross-attention`."""
    if part.startswith("feed_forward"):
        return tr(FEED_FORWARD)
    kinds = [GROUPS[kind] for kind in KINDS if part.startswith(kind)]
    return tr(kinds[0] if kinds else INPUT if part in ("embedding", "input_norm", "layers_below") else OUTPUT)
