"""Addresses of the pages that explain the parts of Figure 1."""

from viz_app.page_list import VIEWS, ModelKind
from viz_app.session import address, step_place
from viz_app.session.fields import page_address

_TOKEN = {
    step_place.STACK.key: "{stack}",
    step_place.LAYER.key: "L{layer}",
    step_place.HEAD.key: "H{head}",
    step_place.TOKEN.key: "{followed}",
}
# By the `link` of a part: a page and its settings, with what the part and the chosen token say in place of names in
# braces, see `Figure1Part` and `tokens` in types.d.ts. A part without a page of its own has its `step` alone.
TARGETS: dict[str, tuple[str, dict[str, str]]] = {
    "step": ("step_through", {**_TOKEN, step_place.STEP.key: "{step}"}),
    "head": (
        "heads",
        {address.KIND.key: "{kind}", "heads_{kind}": "L{layer} H{head}", address.WORD.key: "{word}"},
    ),
    "encoder.layer": ("lens", {address.ENCODER_LEVEL.key: "{layer}"}),
    "decoder.layer": ("lens", {address.CELL.key: "{row}.{layer}"}),
    "embedding": ("positions", {}),
    "positions": ("positions", {}),
    "predicted": ("translate", {address.TOKEN.key: "{row}"}),
    "section": ("sections", {address.SECTION.key: "{section}"}),
    "other": ("contrast", {address.TOKEN.key: "{row}", address.RATHER_THAN.key: "{piece}"}),
}


def part_links(kind: ModelKind) -> dict[str, str]:
    """Return the addresses of the pages that are for a kind of model, by the `link` of the parts."""
    fitting = {page.name for page in VIEWS if kind in page.models}
    return {
        link: page_address(page, settings, templates=True)
        for link, (page, settings) in TARGETS.items()
        if page in fitting
    }
