"""The heads selected on the page Heads, which other pages show too."""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from core.analysis.alignment.first_head import first_head
from core.analysis.attribution.methods import METHODS
from core.analysis.heads.head import Head
from core.capture import AttentionMap, Kind
from viz_app.drawing.head_names import COMBINED_NAMES, LayerHead, name_of
from viz_app.session import address
from viz_app.session.address import SELECTION
from viz_app.session.attributions import PER_LAYER, MethodChoice
from viz_app.session.fields import Field
from viz_app.session.model_passes import Output
from viz_app.session.readings import Reading
from viz_app.session.state import Widget, session_dict, session_object

if TYPE_CHECKING:
    from core.drawing.head_explorer import View

T = TypeVar("T")
JOINT = "joint"  # all three kinds of attention in one matrix
KindOrJoint = Kind | Literal["joint"]
KIND = address.KIND  # of the page Heads and of others
# query parameter `selection=KIND|METHOD|HEAD|HEAD...`; the tokens of a gradient's output follow it as `.NUMBER`
SEPARATOR, OUTPUT_SEPARATOR = "|", "."


def heads_widget(kind: Kind, per_layer: bool = False) -> Field[list[str]]:
    """Return the widget that selects heads, or layers, on the page Heads."""
    return (address.LAYERS if per_layer else address.HEADS)[kind]


def select_head(head: Head) -> None:
    """Select a head, and its kind, on the page Heads; call it in a callback."""
    KIND.set(head.kind)
    heads_widget(head.kind).set([name_of(head.layer, head.head)])


@dataclass(frozen=True)
class Preset:
    """The value that a widget was preset to, and its model and sentence."""

    digest: str  # of the model
    source: str  # text of the sentence
    value: Any  # none once heads were selected


def _presets() -> dict[str, Preset]:
    """Presets of this session, by the widget's key, which change with the sentence until heads are selected."""
    return session_dict("preset_heads")


def preset_heads(about: Reading, widget: Field[T], default: Callable[[], T]) -> None:
    """Preset a widget that selects heads, before it is drawn.

    They are set at first, with another model, or another source unless heads were selected; the address wins.
    """
    presets, digest, source = _presets(), about.model.digest, about.translation.source
    known = presets.get(widget.key)
    if widget.texts or (known is None and widget.value is not None):
        first = default()
        presets[widget.key] = Preset(digest, source, first if widget.requested == first else None)
    elif known is None or known.digest != digest or (known.source != source and follows_sentence(widget)):
        value = default()
        presets[widget.key] = Preset(digest, source, value)
        widget.set(value)


def follows_sentence(widget: Widget[Any]) -> bool:
    """Return whether another sentence presets a widget again: no heads were selected."""
    preset = _presets().get(widget.key)
    return preset is not None and preset.value is not None and preset.value == widget.value


def heads_elsewhere(kind: Kind, heads: Sequence[LayerHead]) -> Callable[[Reading], Sequence[LayerHead]]:
    """Return a function, which needs no visitor, from another sentence to the heads selected for it."""
    if follows_sentence(heads_widget(kind)):
        return lambda other: [default_head(other.explain().maps[kind])]
    return lambda other: heads


def keep_heads(widget: Widget[Any]) -> None:
    """Keep the heads of a widget with other sentences too; call it when they are selected."""
    presets = _presets()
    if widget.key in presets:
        presets[widget.key] = replace(presets[widget.key], value=None)


@dataclass
class ShownHeads:
    """The last state of the page Heads in this session.

    There is one object a session, so that an exported file has the state of the page at that moment.
    """

    digest: str = ""  # of the model; "" before the page was opened
    identity: Hashable = None  # of the reading
    kind: Kind = "cross"
    weights: MethodChoice = field(default_factory=MethodChoice)
    heads: Sequence[LayerHead] = ()
    view: "View" = "Lines"

    def remember(
        self, about: Reading, kind: Kind, weights: MethodChoice, heads: Sequence[LayerHead], view: "View" = "Lines"
    ) -> None:
        """Record the state of the page."""
        self.digest, self.identity = about.model.digest, about.identity
        self.kind, self.weights, self.heads, self.view = kind, weights, tuple(heads), view

    def first_head(self, digest: str) -> Head | None:
        """Return the first selected head that is not a combination of heads; None if there is none of this model."""
        heads = self.heads if digest == self.digest else ()
        return next((Head(self.kind, layer, head) for layer, head in heads if layer >= 0), None)


class HeadSelection(NamedTuple):
    """Heads, and combinations of them, by one attribution method."""

    kind: Kind
    weights: MethodChoice
    heads: Sequence[LayerHead]


def shown_heads(about: Reading) -> HeadSelection:
    """Return the selection that the page Heads showed last of this model, by default one head of cross-attention.

    The output of a gradient is left out if it belongs to another reading.
    """
    shown = session_object(ShownHeads)
    if shown.digest != about.model.digest or not shown.heads:
        return HeadSelection("cross", MethodChoice(), [default_head(about.explain().maps["cross"])])
    output = shown.weights.output if shown.identity == about.identity else None
    return HeadSelection(shown.kind, replace(shown.weights, output=output), shown.heads)


def restore_selection(about: Reading) -> None:
    """Restore the selection from the address, if possible, at first and after going back."""
    shown = session_object(ShownHeads)
    named = SELECTION.take()
    kind, _, rest = (named.value if named is not None else "").partition(SEPARATOR)
    method_part, _, rest = rest.partition(SEPARATOR)
    method, *numbers = method_part.split(OUTPUT_SEPARATOR)
    if kind not in about.explain().maps or method not in METHODS:
        return
    output = _output(about, method, numbers)
    maps = about.explain().maps[kind]
    places = [*((each.layer, head) for each in maps for head in range(each.num_heads)), *COMBINED_NAMES]
    known, names = {name_of(*place): place for place in places}, rest.split(SEPARATOR)
    if (numbers and output is None) or any(name not in known for name in names):
        return
    shown.remember(about, kind, MethodChoice(method, output), [known[name] for name in names])
    if method not in PER_LAYER:
        heads_widget(kind).set(list(names))


def _output(about: Reading, method: str, numbers: Sequence[str]) -> Output | None:
    """Read the output of a gradient, tokens counted from 1; None if there is none, or not in this reading."""
    positions = sorted({int(number) - 1 for number in numbers if re.fullmatch("[1-9][0-9]{0,3}", number)})
    is_possible = method == "gradient" and 0 < len(positions) == len(numbers)
    return tuple(positions) if is_possible and positions[-1] < len(about.explain().predicted_tokens) else None


def write_selection(kind: Kind, weights: MethodChoice, heads: Sequence[LayerHead]) -> None:
    """Write the selection to the address, on other pages than Heads."""
    tokens = [str(position + 1) for position in weights.output or ()]
    method = OUTPUT_SEPARATOR.join([weights.method, *tokens])
    SELECTION.put(SEPARATOR.join([kind, method, *(name_of(*head) for head in heads)]))


def default_head(maps: Sequence[AttentionMap]) -> LayerHead:
    """Return the head to show first, see `first_head`."""
    best = first_head(maps)
    return best.layer, best.head


def toggled(selected: Sequence[str], name: str, several: bool) -> list[str]:
    """Return the selection after a click: with `several` the head is added, or removed unless it is the last one."""
    if not several:
        return [name]
    if name in selected:
        return [other for other in selected if other != name] or [name]
    return [*selected, name]
