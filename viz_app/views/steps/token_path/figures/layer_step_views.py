"""Views of the steps outside attention: embedding, position, norms, residuals and the feed-forward network."""

from core.analysis.token_path.steps import (
    EmbeddingSteps,
    FeedForwardSteps,
    NormSteps,
    ResidualSteps,
    StackSteps,
    TokenPath,
)
from core.analysis.tokens.words import readable
from viz_app.drawing.display_text import decimal
from viz_app.language import localized, marked, tr
from viz_app.views.steps.figures.step_views import Block, StepHeading, StepView, named, step_view

INPUT, FEED_FORWARD = marked("Input"), marked("Feed-forward")
STEPS = {
    "embedding": StepHeading(INPUT, marked("Embedding"), "3.4", "embedding", ("token", "scale", "scaled")),
    "position": StepHeading(INPUT, marked("Position"), "3.5", "embedding", ("position",)),
    "input": StepHeading(INPUT, marked("Sum"), "3.5", "embedding", ("scaled", "position", "total")),
    "feed_forward-hidden": StepHeading(FEED_FORWARD, marked("Hidden layer"), "3.3", "feed_forward"),
    "feed_forward-output": StepHeading(FEED_FORWARD, marked("Output"), "3.3", "feed_forward", ("output",)),
}
RMS_NORM = r"\mathrm{RMSNorm}(x) = \gamma \frac{x}{\sqrt{m + \epsilon}}"
LAYER_NORM = r"\mathrm{LayerNorm}(x) = \gamma \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta"


def embedding_views(path: TokenPath, steps: EmbeddingSteps, width: int) -> list[StepView]:
    """Return the steps from the token to the input of the first layer."""
    token, d_model, count = readable(path.tokens[path.position]), len(steps.token), path.position + 1
    scaled, total = named(tr("token"), steps.scaled), named(tr("sum"), steps.total)
    if steps.scale == 1:
        text = tr(
            "{token} is row t of the embedding matrix E, {d_model} learned numbers.", token=token, d_model=d_model
        )
    else:
        text = tr(
            "{token} is row t of the embedding matrix E, {d_model} learned numbers, times \u221a{d_model} = {scale}.",
            token=token,
            d_model=d_model,
            scale=localized(steps.scale, ".4g"),
        )
    embedding = step_view(
        STEPS,
        "embedding",
        formula=r"e = E_t \sqrt{d_{\mathrm{model}}}" if steps.scale != 1 else "e = E_t",
        text=text,
        blocks=[Block(tr("row of the matrix"), [named("E", steps.token)], width=width)]
        + ([Block(tr("times the root"), [scaled], width=width)] if steps.scale != 1 else []),
    )
    if steps.position is None:
        return [embedding]
    position = named(tr("position"), steps.position)
    return [
        embedding,
        step_view(
            STEPS,
            "position",
            formula=r"p_{2i} = \sin(t / 10000^{2i / d_{\mathrm{model}}})",
            text=tr(
                "Position {number} has a vector of its own. Without it the model could not tell the order of words.",
                number=count,
            ),
            blocks=[Block(tr("position {number}", number=count), [position], width=width)],
        ),
        step_view(
            STEPS,
            "input",
            formula=r"x = e + p",
            text=tr("Embedding and position are added: all that the first layer gets of {token}.", token=token),
            blocks=[Block(tr("token, position and their sum"), [scaled, position, total], width=width)],
        ),
    ]


def stack_view(part: str, group: str, steps: StackSteps, width: int) -> StepView:
    """Return the effect of the layers below or above."""
    cosine = float(steps.before @ steps.after / (steps.before.norm() * steps.after.norm()))
    is_below, single = part == "layers_below", steps.first == steps.last
    if single:
        text = tr(
            "Layer {layer} has changed the vector, by the same steps as the layer shown here. Select one above to see "
            "inside.",
            layer=steps.first + 1,
        )
    else:
        text = tr(
            "Layers {first} to {last} have changed the vector, by the same steps as the layer shown here. Select one "
            "above to see inside.",
            first=steps.first + 1,
            last=steps.last + 1,
        )
    return StepView(
        name=part.replace("_", "-"),
        group=group,
        title=tr("Layers before") if is_below else tr("Layers after"),
        section="3.1",
        formula=r"x \leftarrow \mathrm{Layer}(x)",
        text=text,
        part=part,
        quantities=("before", "after"),
        facts=[(tr("cosine of the two"), decimal(cosine, 3))],
        blocks=[
            Block(
                tr("before and after"),
                [named(tr("before"), steps.before), named(tr("after"), steps.after)],
                width=width,
            )
        ],
    )


def norm_view(part: str, group: str, steps: NormSteps, width: int) -> StepView:
    """Return the step of a norm."""
    count, epsilon, gain = len(steps.x), ("\u03b5", localized(steps.epsilon, "g")), named("\u03b3", steps.gain)
    if steps.kind == "rms":
        title, formula, normalised = tr("RMSNorm"), RMS_NORM, "x / rms"
        text = tr(
            "The {count} numbers are brought to mean square 1, then scaled by learned numbers. Unlike LayerNorm, it "
            "subtracts no mean.",
            count=count,
        )
        quantities = ("x", "variance", "epsilon", "normalised", "gain", "output")
        facts = [(tr("mean square m"), decimal(steps.variance, 4)), epsilon]
        learned = Block(tr("learned scale"), [gain], width=width)
    else:
        title, formula, normalised = tr("LayerNorm"), LAYER_NORM, "(x \u2212 \u03bc) / \u03c3"
        text = tr(
            "The {count} numbers are brought to mean 0 and variance 1, then scaled and shifted by learned numbers.",
            count=count,
        )
        quantities = ("x", "mean", "variance", "epsilon", "normalised", "gain", "bias", "output")
        mean = (tr("mean \u03bc"), decimal(steps.mean, 4))
        facts = [mean, (tr("variance \u03c3\u00b2"), decimal(steps.variance, 4)), epsilon]
        learned = Block(tr("learned scale and shift"), [gain, named("\u03b2", steps.bias)], width=width)
    rows = [named("x", steps.x), named(normalised, steps.normalised), named(tr("output"), steps.output)]
    return StepView(
        name=part.replace("_norm", "-norm"),
        group=group,
        title=title,
        section="3.1",
        formula=formula,
        text=text,
        part=part,
        quantities=quantities,
        facts=facts,
        blocks=[Block(tr("before and after"), rows, width=width), learned],
    )


def residual_view(part: str, group: str, steps: ResidualSteps, width: int) -> StepView:
    """Return the step of a residual connection."""
    share = float(steps.added.norm() / steps.x.norm())
    return StepView(
        name=part.replace("_residual", "-residual"),
        group=group,
        title=tr("Residual"),
        section="3.1",
        formula=r"x + \mathrm{Sublayer}(x)",
        text=tr("The result of the sub-layer is added to the vector that entered it."),
        part=part,
        quantities=("x", "added", "total"),
        facts=[(tr("length of what is added, as a share of x"), decimal(share, 2))],
        blocks=[
            Block(
                tr("input, what is added, and the sum"),
                [named("x", steps.x), named(tr("added"), steps.added), named(tr("sum"), steps.total)],
                width=width,
            )
        ],
    )


def feed_forward_views(path: TokenPath, steps: FeedForwardSteps, width: int) -> list[StepView]:
    """Return the two steps of the feed-forward network."""
    d_ff, zeros = len(steps.hidden), int((steps.hidden == 0).sum())
    few = tr("{zeros} of {count} neurons are 0: the activation cuts off what is negative.", zeros=zeros, count=d_ff)
    all_active = tr("All {count} neurons are active: this activation is not cut off at 0.", count=d_ff)
    line = min(2 * width, 64)
    before = [Block(tr("before the activation"), [named("x W\u2081 + b\u2081", steps.inner)], width=line)]
    if steps.multiplier is not None:
        multiplier = named("x V + c", steps.multiplier)
        before.append(Block(tr("multiplies the activations"), [multiplier], width=line))
    return [
        step_view(
            STEPS,
            "feed_forward-hidden",
            formula=r"h = \max(0, x W_1 + b_1)"
            if steps.multiplier is None
            else r"h = \phi(x W_1 + b_1) \cdot (x V + c)",
            text=few if zeros else all_active,
            quantities=("x", "inner", "hidden") if steps.multiplier is None else ("x", "inner", "multiplier", "hidden"),
            facts=[
                (
                    tr("zeros"),
                    tr("{zeros} of {count}, {share}", zeros=zeros, count=d_ff, share=localized(zeros / d_ff, ".0%")),
                ),
                (tr("largest"), decimal(float(steps.hidden.max()), 3)),
            ],
            blocks=[*before, Block(tr("hidden neurons"), [named("h", steps.hidden)], width=line)],
        ),
        step_view(
            STEPS,
            "feed_forward-output",
            formula=r"\mathrm{FFN}(x) = h W_2 + b_2",
            text=tr(
                "The second matrix makes {count} numbers of the {active} active neurons.",
                count=len(steps.output),
                active=d_ff - zeros,
            ),
            blocks=[Block(tr("output"), [named(tr("output"), steps.output)], width=width)],
        ),
    ]
