"""Where in the model a page is: a small Figure 1 in the sidebar."""

from typing import TYPE_CHECKING

from viz_app.language import tr
from viz_app.page_list import View
from viz_app.session import address, fields

if TYPE_CHECKING:
    from viz_app.components.model_sketch import Place
    from viz_app.session.models import Model

OVERVIEW = "overview"  # the view with the whole figure


def sketch(view: View, model: "Model") -> None:
    """Draw the model with the place that a view shows, as a link to the whole figure."""
    from viz_app.components.model_sketch import model_sketch, sketch_payload  # imports core

    if view.name == OVERVIEW or model.explanation is not None or model.line_reader is not None:
        return
    link = fields.page_address(OVERVIEW, {})
    config = model.translator.model.config
    model_sketch(sketch_payload(config, place_of(view), link, tr("Figure 1, with the place of this page")))


def place_of(view: View) -> "Place":
    """Return what a view shows of a model; what the address says about kind and layer comes first."""
    from core.trace import KINDS
    from viz_app.components.model_sketch import Place

    kind, cell = address.KIND.key, address.CELL.key
    places = {
        **dict.fromkeys(("translate", "beam", "generation", "score", "contrast", "training_step"), Place(output=True)),
        "heads": Place(("cross",), kind=kind, layer="heads_{kind}"),
        "alignment": Place(("cross",)),
        "contributions": Place(KINDS, inputs=True, output=True),
        "lens": Place(("decoder_self", "cross"), layer=cell, output=True),
        **dict.fromkeys(("switches", "patching", "head_paths"), Place(KINDS)),
        "step_through": Place(("decoder_self", "cross"), layer=address.STEP_LAYER.key, stack=address.STACK.key),
        "compare": Place(("cross",), kind=kind, layer="compare_head_{kind}"),
        "paper_figures": Place(("encoder_self",), layer=address.PAPER_LAYER.key),
        "positions": Place(inputs=True),
    }
    return places.get(view.name, Place())
