"""Figure 1 of the paper for the current reading, on the page Overview; its parts are links."""

from collections.abc import Collection, Mapping
from typing import Any

from core.analysis.tokens.words import word_groups
from core.analysis.word_scores.least_probable import least_probable_token
from core.drawing.figure1 import figure1_data
from core.model.config import TransformerConfig
from core.results import Explanation
from viz_app.components.component import component_beside
from viz_app.components.sentence_bar import Side, word_name
from viz_app.drawing.theme import Theme
from viz_app.page_list import VIEWS, ModelKind
from viz_app.session import address, step_place
from viz_app.session.chosen_heads import default_head
from viz_app.session.fields import page_address
from viz_app.session.step_place import token_names

KEY = "figure1"
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
    "head": ("heads", {address.KIND.key: "{kind}", "heads_{kind}": "L{layer} H{head}", address.WORD.key: "{word}"}),
    "encoder.layer": ("lens", {address.ENCODER_LEVEL.key: "{layer}"}),
    "decoder.layer": ("lens", {address.CELL.key: "{row}.{layer}"}),
    "embedding": ("positions", {}),
    "positions": ("positions", {}),
    "predicted": ("translate", {address.TOKEN.key: "{row}"}),
    "section": ("sections", {address.SECTION.key: "{section}"}),
    "other": ("contrast", {address.TOKEN.key: "{row}", address.RATHER_THAN.key: "{piece}"}),
}

_component = component_beside(__file__)


def part_links(kind: ModelKind) -> dict[str, str]:
    """Return the addresses of the pages that are for a kind of model, by the `link` of the parts."""
    fitting = {page.name for page in VIEWS if kind in page.models}
    return {
        link: page_address(page, settings, templates=True)
        for link, (page, settings) in TARGETS.items()
        if page in fitting
    }


def figure1_payload(
    content: Mapping[str, Any], theme: Theme, links: Mapping[str, str], selected: Collection[str] = ()
) -> dict[str, Any]:
    """Return the data of the figure with its links and the names of selected words, see `Data` in figure1.js."""
    return {**content, "scale": theme.sequential[::4], "links": dict(links), "selected": sorted(selected)}


def figure1_content(explanation: Explanation, config: TransformerConfig) -> dict[str, Any]:
    """Return what the figure shows of a model and a sentence, whoever looks at it."""
    return {
        **figure1_data(explanation, config),
        "tokens": {"source": _tokens(explanation, "source"), "target": _tokens(explanation, "target")},
        "open": {
            "encoder": default_head(explanation.maps["encoder_self"])[0],
            "decoder": default_head(explanation.maps["cross"])[0],
        },
        "words": {
            "source": _word_names("source", explanation.source_tokens),
            "target": _word_names("target", explanation.predicted_tokens),
        },
        "first": least_probable_token(explanation),
    }


def figure1(data: dict[str, Any]) -> None:
    """Draw the figure on the page, see `figure1_payload`."""
    _component(data=data, key=KEY)


def _word_names(side: Side, tokens: tuple[str, ...]) -> list[str]:
    """Return the name of the word that each token belongs to, as in the sentence bar."""
    return [word_name((side, group)) for group in word_groups(tokens) for _ in group]


def _tokens(explanation: Explanation, side: Side) -> list[dict[str, str]]:
    """Return what addresses call the tokens of a side: their row, their word, and their name on Step by step."""
    tokens = explanation.source_tokens if side == "source" else explanation.predicted_tokens
    followed = token_names(explanation, "encoder" if side == "source" else "decoder")
    numbers = [number for number, group in enumerate(word_groups(tokens), 1) for _ in group]
    return [
        {"row": str(row + 1), "word": f"{side}.{number}", "followed": name}
        for row, (number, name) in enumerate(zip(numbers, followed, strict=True))
    ]
