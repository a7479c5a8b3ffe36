"""Where in the model a page is: a small Figure 1 in the sidebar, the way to the whole figure."""

from dataclasses import dataclass

from core.trace import KINDS, Kind
from viz_app.components.component import component_beside
from viz_app.language import tr
from viz_app.page_list import View
from viz_app.session import address, fields
from viz_app.session.models import Model

KEY = "model_sketch"
OVERVIEW = "overview"  # the view with the whole figure

_component = component_beside(__file__)


@dataclass(frozen=True)
class Place:
    """What a page shows of a model."""

    kinds: tuple[Kind, ...] = ()  # of attention
    inputs: bool = False  # whether it shows embeddings and positions
    output: bool = False  # whether it shows probabilities of the next token
    # kind, layer and stack: names in the address of the settings that say more; "": the page has none
    kind: str = ""
    layer: str = ""
    stack: str = ""


def sketch(view: View, model: Model) -> None:
    """Draw the model with the place that a view shows, as a link to the whole figure."""
    if view.name == OVERVIEW or model.kind in ("attention", "pictures"):
        return
    config, place = model.translator.model.config, place_of(view)
    data = {
        "encoder": config.num_encoder_layers,
        "decoder": config.num_decoder_layers,
        "place": {"kinds": list(place.kinds), "layer": None, "inputs": place.inputs, "output": place.output},
        **{name: getattr(place, name) for name in ("kind", "layer", "stack")},
        "link": fields.page_address(OVERVIEW, {}),
        "label": tr("Figure 1, with the place of this page"),
    }
    _component(data=data, key=KEY)


def place_of(view: View) -> Place:
    """Return what a view shows of a model; what the address says about kind and layer comes first."""
    kind, cell = address.KIND.key, address.CELL.key
    places = {
        **dict.fromkeys(("translate", "beam", "generation", "score", "contrast", "training_step"), Place(output=True)),
        "heads": Place(("cross",), kind=kind, layer="heads_{kind}"),
        "alignment": Place(("cross",)),
        "contributions": Place(KINDS, inputs=True, output=True),
        "lens": Place(("decoder_self", "cross"), layer=cell, output=True),
        **dict.fromkeys(("discoveries", "switches", "patching", "head_paths"), Place(KINDS)),
        "step_through": Place(("decoder_self", "cross"), layer=address.STEP_LAYER.key, stack=address.STACK.key),
        "compare": Place(("cross",), kind=kind, layer="compare_head_{kind}"),
        "paper_figures": Place(("encoder_self",), layer=address.PAPER_LAYER.key),
        "positions": Place(inputs=True),
    }
    return places.get(view.name, Place())
