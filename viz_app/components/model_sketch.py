"""A small Figure 1 beside every page: where in the model the page is, and the way to the whole figure."""

from dataclasses import dataclass
from typing import Any

from core.model.config import TransformerConfig
from core.trace import Kind
from viz_app.components.component import component_beside

KEY = "model_sketch"

_component = component_beside(__file__)


@dataclass(frozen=True)
class Place:
    """What a page shows of a model.

    Attributes:
        kinds: of attention.
        inputs: whether it shows embeddings and positions.
        output: whether it shows probabilities of the next token.
        kind, layer, stack: names in the address of the settings that say more; "": the page has none.
    """

    kinds: tuple[Kind, ...] = ()
    inputs: bool = False
    output: bool = False
    kind: str = ""
    layer: str = ""
    stack: str = ""


def sketch_payload(config: TransformerConfig, place: Place, link: str, label: str) -> dict[str, Any]:
    """Return the data of the sketch, see `Data` in model_sketch.js.

    Args:
        link: Address of the page with the whole figure.
        label: Text of the link for screen readers.
    """
    return {
        "encoder": config.num_encoder_layers,
        "decoder": config.num_decoder_layers,
        "place": {"kinds": list(place.kinds), "layer": None, "inputs": place.inputs, "output": place.output},
        **{name: getattr(place, name) for name in ("kind", "layer", "stack")},
        "link": link,
        "label": label,
    }


def model_sketch(payload: dict[str, Any], key: str = KEY) -> None:
    """Draw the sketch on the page.

    Args:
        payload: See `sketch_payload`.
        key: Key of the component, as for any widget.
    """
    _component(data=payload, key=key)
