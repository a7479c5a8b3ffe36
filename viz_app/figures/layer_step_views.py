"""Steps outside attention as views: embedding, position, norms, residuals, the feed-forward network."""

from core.analysis.token_path.steps import (
    EmbeddingSteps,
    FeedForwardSteps,
    NormSteps,
    ResidualSteps,
    StackSteps,
    TokenPath,
)
from core.analysis.tokens.words import readable
from viz_app.figures.display_text import decimal
from viz_app.figures.step_views import Block, StepView, named

INPUT, FEED_FORWARD = "Input", "Feed-forward"
LAYER_NORM = r"\mathrm{LayerNorm}(x) = \gamma \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta"


def embedding_views(path: TokenPath, steps: EmbeddingSteps, width: int) -> list[StepView]:
    """Return the steps from the token to the input of the first layer."""
    token, d_model, count = readable(path.tokens[path.position]), len(steps.token), path.position + 1
    scaled, position, total = (
        named(name, each)
        for name, each in (("token", steps.scaled), ("position", steps.position), ("sum", steps.total))
    )
    times = f", times \u221a{d_model} = {steps.scale:.4g}" if steps.scale != 1 else ""
    return [
        StepView(
            name="embedding",
            group=INPUT,
            title="Embedding",
            section="3.4",
            formula=r"e = E_t \sqrt{d_{\mathrm{model}}}" if steps.scale != 1 else "e = E_t",
            text=f"{token} is row t of the embedding matrix E, {d_model} learned numbers{times}.",
            part="embedding",
            quantities=("token", "scale", "scaled"),
            blocks=[Block(title="row of the matrix", rows=[named("E", steps.token)], width=width)]
            + ([Block(title="times the root", rows=[scaled], width=width)] if steps.scale != 1 else []),
        ),
        StepView(
            name="position",
            group=INPUT,
            title="Position",
            section="3.5",
            formula=r"p_{2i} = \sin(t / 10000^{2i / d_{\mathrm{model}}})",
            text=f"Position {count} has a vector of its own. Without it the model could not tell the order of words.",
            part="embedding",
            quantities=("position",),
            blocks=[Block(title=f"position {count}", rows=[position], width=width)],
        ),
        StepView(
            name="input",
            group=INPUT,
            title="Sum",
            section="3.5",
            formula=r"x = e + p",
            text=f"Embedding and position are added: all that the first layer gets of {token}.",
            part="embedding",
            quantities=("scaled", "position", "total"),
            blocks=[Block(title="token, position and their sum", rows=[scaled, position, total], width=width)],
        ),
    ]


def stack_view(part: str, group: str, steps: StackSteps, width: int) -> StepView:
    """Return what the layers below or above have done."""
    cosine = float(steps.before @ steps.after / (steps.before.norm() * steps.after.norm()))
    is_below, single = part == "layers_below", steps.first == steps.last
    layers = f"Layer {steps.first + 1}" if single else f"Layers {steps.first + 1} to {steps.last + 1}"
    changed = ("has" if single else "have") + " changed the vector"
    return StepView(
        name=part.replace("_", "-"),
        group=group,
        title="Layers before" if is_below else "Layers after",
        section="3.1",
        formula=r"x \leftarrow \mathrm{Layer}(x)",
        text=f"{layers} {changed}, by the same steps as the layer shown here. Select one above to see inside.",
        part=part,
        quantities=("before", "after"),
        facts=[("cosine of the two", decimal(cosine, 3))],
        blocks=[
            Block(
                title="before and after", rows=[named("before", steps.before), named("after", steps.after)], width=width
            )
        ],
    )


def norm_view(part: str, group: str, steps: NormSteps, width: int) -> StepView:
    """Return the step of a LayerNorm."""
    return StepView(
        name=part.replace("_norm", "-norm"),
        group=group,
        title="LayerNorm",
        section="3.1",
        formula=LAYER_NORM,
        text=f"The {len(steps.x)} numbers are brought to mean 0 and variance 1, then scaled and shifted by learned "
        f"numbers.",
        part=part,
        quantities=("x", "mean", "variance", "epsilon", "normalised", "gain", "bias", "output"),
        facts=[
            ("mean \u03bc", decimal(steps.mean, 4)),
            ("variance \u03c3\u00b2", decimal(steps.variance, 4)),
            ("\u03b5", f"{steps.epsilon:g}"),
        ],
        blocks=[
            Block(
                title="before and after",
                rows=[
                    named("x", steps.x),
                    named("(x \u2212 \u03bc) / \u03c3", steps.normalised),
                    named("output", steps.output),
                ],
                width=width,
            ),
            Block(
                title="learned scale and shift",
                rows=[named("\u03b3", steps.gain), named("\u03b2", steps.bias)],
                width=width,
            ),
        ],
    )


def residual_view(part: str, group: str, steps: ResidualSteps, width: int) -> StepView:
    """Return the step of a residual connection."""
    share = float(steps.added.norm() / steps.x.norm())
    return StepView(
        name=part.replace("_residual", "-residual"),
        group=group,
        title="Residual",
        section="3.1",
        formula=r"x + \mathrm{Sublayer}(x)",
        text="The result of the sub-layer is added to the vector that entered it.",
        part=part,
        quantities=("x", "added", "total"),
        facts=[("length of what is added, as a share of x", decimal(share, 2))],
        blocks=[
            Block(
                title="input, what is added, and the sum",
                rows=[named("x", steps.x), named("added", steps.added), named("sum", steps.total)],
                width=width,
            )
        ],
    )


def feed_forward_views(path: TokenPath, steps: FeedForwardSteps, width: int) -> list[StepView]:
    """Return the two steps of the feed-forward network."""
    d_ff, zeros = len(steps.hidden), int((steps.hidden == 0).sum())
    few = f"{zeros} of {d_ff} neurons are 0: the activation cuts off what is negative."
    line = min(2 * width, 64)
    return [
        StepView(
            name="feed_forward-hidden",
            group=FEED_FORWARD,
            title="Hidden layer",
            section="3.3",
            formula=r"h = \max(0, x W_1 + b_1)",
            text=few if zeros else f"All {d_ff} neurons are active: this activation is not cut off at 0.",
            part="feed_forward",
            quantities=("x", "inner", "hidden"),
            facts=[
                ("zeros", f"{zeros} of {d_ff}, {zeros / d_ff:.0%}"),
                ("largest", decimal(float(steps.hidden.max()), 3)),
            ],
            blocks=[
                Block(title="before the activation", rows=[named("x W\u2081 + b\u2081", steps.inner)], width=line),
                Block(title="hidden neurons", rows=[named("h", steps.hidden)], width=line),
            ],
        ),
        StepView(
            name="feed_forward-output",
            group=FEED_FORWARD,
            title="Output",
            section="3.3",
            formula=r"\mathrm{FFN}(x) = h W_2 + b_2",
            text=f"The second matrix makes {len(steps.output)} numbers of the {d_ff - zeros} active neurons.",
            part="feed_forward",
            quantities=("output",),
            blocks=[Block(title="output", rows=[named("output", steps.output)], width=width)],
        ),
    ]
