"""Figure 1 of the paper in the size of a stamp: both stacks, with the place that a page shows lit."""

from dataclasses import dataclass

from core.trace import Kind

WIDTH, GAP, MARGIN = 150, 26, 4  # pixels; between the stacks; around all
COLUMN = (WIDTH - GAP) / 2 - MARGIN
HEIGHT = 96.0  # of the layers of a stack
FEET = 16  # below a stack, of the words that enter
TOPS = 14  # above the decoder, of the words that it predicts


@dataclass(frozen=True)
class Place:
    """What a page shows of a model; None: all of it.

    Attributes:
        kinds: of attention.
        layer: counted from 0.
        output: whether it shows the predictions.
        inputs: whether it shows embeddings and positions.
    """

    kinds: tuple[Kind, ...] = ()
    layer: int | None = None
    output: bool = False
    inputs: bool = False


def model_sketch(encoder_layers: int, decoder_layers: int, place: Place, label: str = "") -> str:
    """Return both stacks as SVG, in the colour of the text around it.

    Args:
        label: for screen readers; without it they pass over the drawing.
    """
    left, right = MARGIN, WIDTH - MARGIN - COLUMN
    spoken = f'role="img" aria-label="{label}"' if label else 'aria-hidden="true"'
    return (
        f'<svg class="model-sketch" {spoken} width="{WIDTH}" height="{TOPS + HEIGHT + FEET + 2 * MARGIN:g}">'
        f"{_stack(left, encoder_layers, ('encoder_self',), place)}"
        f"{_stack(right, decoder_layers, ('decoder_self', 'cross'), place)}"
        f"{_memory(left, right, encoder_layers, decoder_layers, place)}"
        f"{_ends(left, right, place)}</svg>"
    )


def _stack(x: float, layers: int, kinds: tuple[Kind, ...], place: Place) -> str:
    """Return the layers of a stack, the first one below; each is a bar for each kind of attention in it."""
    pitch = HEIGHT / layers
    bar = max(1.0, (pitch - 2) / len(kinds) - 1)
    bars: list[str] = []
    for layer in range(layers):
        bottom = MARGIN + TOPS + HEIGHT - layer * pitch
        for number, kind in enumerate(kinds):
            lit = kind in place.kinds and place.layer in (None, layer)
            y = bottom - (number + 1) * (bar + 1)
            bars.append(_rect(x + 3, y, COLUMN - 6, bar, lit))
    frame = f'<rect x="{x:g}" y="{MARGIN + TOPS - 1:g}" width="{COLUMN:g}" height="{HEIGHT + 2:g}" rx="4" fill="none" '
    return f'{frame}stroke="currentColor" stroke-opacity="0.35"/>{"".join(bars)}'


def _memory(left: float, right: float, encoder_layers: int, decoder_layers: int, place: Place) -> str:
    """Return the lines from the top of the encoder to each layer of the decoder."""
    middle, top = (left + COLUMN + right) / 2, MARGIN + TOPS - 7
    ends = [MARGIN + TOPS + HEIGHT - (layer + 0.5) * HEIGHT / decoder_layers for layer in range(decoder_layers)]
    path = f"M{left + COLUMN / 2:g} {MARGIN + TOPS - 1:g}V{top:g}H{middle:g}V{max(ends):g}"
    path += "".join(f"M{middle:g} {y:g}H{right:g}" for y in ends)
    opacity = 0.9 if "cross" in place.kinds else 0.35
    return f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="{opacity}"/>'


def _ends(left: float, right: float, place: Place) -> str:
    """Return the words below both stacks, and the predictions above the decoder."""
    foot, head = MARGIN + TOPS + HEIGHT + 5, MARGIN
    rows = [
        _rect(x + COLUMN * share, foot + 3, COLUMN * 0.2, 5, place.inputs)
        for x in (left, right)
        for share in (0.05, 0.29, 0.53, 0.77)
    ]
    bars = [
        _rect(right + COLUMN * (0.1 + 0.2 * n), head + 8 - h, 5, h, place.output) for n, h in enumerate((8, 5, 3, 2))
    ]
    return "".join([*rows, *bars])


def _rect(x: float, y: float, width: float, height: float, lit: bool) -> str:
    color = 'class="lit" fill="currentColor"' if lit else 'fill="currentColor" fill-opacity="0.18"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="1" {color}/>'
