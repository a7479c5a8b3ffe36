"""All steps of a token in the model's order, from embedding to next token."""

from collections.abc import Sequence

from core.analysis.beam_tree import BeamTree
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
from core.capture import KINDS
from viz_app.language import tr
from viz_app.views.steps.figures.step_views import StepView
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
from viz_app.views.steps.token_path.figures.output_step_views import OUTPUT, Piece, beam_view, memory_view, output_views

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
                views += output_views(path, steps, piece, width)
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
