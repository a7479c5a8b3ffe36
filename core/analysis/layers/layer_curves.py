"""Costs of the layers of Table 1 over n or d as curves, each beside what O() predicts."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from core.analysis.layers.layer_types import LAYER_TYPES, LayerType, Sizes
from core.analysis.pictures import Curve, Curves
from core.text.phrases import Phrase, marked

Along = Literal["n", "d"]
Bound = Callable[[LayerType], Callable[[Sizes], float]]


def layer_curves(
    points: Mapping[str, Sequence[tuple[Sizes, float]]], along: Along, unit: str, bound: Bound | None = None
) -> Curves:
    """Curves of a number of every layer type over n or d, on logarithmic scales.

    Args:
        points: of each layer type, in the order of their sizes.
        unit: of the number.
        bound: the expression inside O(). It is a dashed line, scaled to meet the last point: where the two are
            parallel, the number grows as in Table 1.
    """
    curves: list[Curve] = []
    for color, (layer, layer_type) in enumerate(LAYER_TYPES.items()):
        places = [math.log2(getattr(sizes, along)) for sizes, _ in points[layer]]
        values = [value for _, value in points[layer]]
        if bound and len(values) > 1:
            within = [bound(layer_type)(sizes) for sizes, _ in points[layer]]
            scaled = [each * values[-1] / within[-1] for each in within]
            curves.append(Curve(name="", places=places, values=scaled, color=color, dash="dash", width=1.2))
        name = Phrase(layer_type.name)
        says = Phrase(
            marked("{layer}, {size} = {x}: {y} {unit}"), layer=name, size=along, x="{x}", y="{y}", unit=Phrase(unit)
        )
        curves.append(Curve(name=name, places=places, values=values, color=color, shape="both", says=says))
    sizes = sorted({getattr(sizes, along) for own in points.values() for sizes, _ in own})
    return Curves(
        title=Phrase(unit),
        axis=Phrase(unit),
        below=along,
        curves=curves,
        names=[(math.log2(each), str(each)) for each in sizes],
        scale="log",
    )
