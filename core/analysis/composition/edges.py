"""Nodes of the graph of direct paths, and the edges that exist between them."""

from typing import Literal, NamedTuple, get_args

from torch import nn

from core.analysis.interventions.continued_runs import block_of
from core.analysis.interventions.pair_runs import Component, PairRuns, side_of
from core.model import Transformer
from core.text.phrases import Number, Phrase, listed, marked
from core.trace import KINDS, Head, Kind, Stack

NodePart = Literal[
    "source", "encoder_self", "encoder_feed_forward", "target", "decoder_self", "cross", "decoder_feed_forward", "logit"
]
Input = Literal["query", "key", "value", "input"]  # the last one of networks and of the logit, which have no other
INPUTS: tuple[Input, ...] = get_args(Input)
INPUT_NAMES: dict[Input, str] = {"query": marked("query"), "key": marked("key"), "value": marked("value"), "input": ""}
NODE_TITLES = {
    "source": marked("Source embedding"),
    "target": marked("Target embedding"),
    "logit": marked("Logit"),
    "encoder_feed_forward": marked("Encoder L{layer} network"),
    "decoder_feed_forward": marked("Decoder L{layer} network"),
}
EMBEDDINGS: dict[Stack, NodePart] = {"encoder": "source", "decoder": "target"}


class SubLayerPlace(NamedTuple):
    """A sub-layer, and its layer, counted from 0."""

    component: Component
    layer: int


class Node(NamedTuple):
    """A sender or receiver."""

    part: NodePart  # `source` and `target` are the embeddings with positions, `logit` the metric
    layer: int | None = None  # counted from 0; None for embeddings and the logit
    head: int | None = None  # counted from 0; None unless `part` is a kind of attention

    def __str__(self) -> str:
        """Display name, counted from 1: `cross L5 H3`, `encoder L2 FF`, `source`."""
        place = place_of(self)
        if place is None:
            return self.part
        return str(self.as_head or f"{side_of(place.component)} L{place.layer + 1} FF")

    @property
    def as_head(self) -> Head | None:
        """The head, None for other nodes."""
        kind: Kind | None = next((kind for kind in KINDS if kind == self.part), None)
        return None if kind is None or self.layer is None or self.head is None else Head(kind, self.layer, self.head)

    @property
    def title(self) -> Phrase:
        """Name for readers of any language: `Cross L5 H3`, `Encoder L2 network`, `Source embedding`."""
        if head := self.as_head:
            return head.title
        return Phrase(NODE_TITLES[self.part], layer=Number(0 if self.layer is None else self.layer + 1, "d"))


class Edge(NamedTuple):
    """The direct path from a sender to one input of a receiver."""

    sender: Node
    receiver: Node
    input: Input

    def __str__(self) -> str:
        """Display name: `encoder L1 H2 > cross L5 H3 value`, `target > logit`."""
        which = "" if self.input == "input" else f" {self.input}"
        return f"{self.sender} > {self.receiver}{which}"

    @property
    def title(self) -> str:
        """Name for readers of any language: `Encoder L1 H2 to Cross L5 H3, value`."""
        title = Phrase("{sender} \u2192 {receiver}", sender=self.sender.title, receiver=self.receiver.title)
        name = INPUT_NAMES[self.input]
        return listed((title, Phrase(name))) if name else title


def sublayers(runs: PairRuns, side: Stack) -> list[SubLayerPlace]:
    """Sub-layers of one side, in the order in which they write."""
    of_side: dict[Stack, tuple[Component, ...]] = {
        "encoder": ("encoder_self", "encoder_feed_forward"),
        "decoder": ("decoder_self", "cross", "decoder_feed_forward"),
    }
    components = of_side[side]
    return [
        SubLayerPlace(component, layer) for layer in range(runs.num_layers(components[0])) for component in components
    ]


def nodes_of(runs: PairRuns, place: SubLayerPlace) -> list[Node]:
    """Heads of an attention sub-layer, or a feed-forward network."""
    component, layer = place
    part: NodePart = next(each for each in get_args(NodePart) if each == component)
    if component not in KINDS:
        return [Node(part, layer)]
    return [Node(part, layer, head) for head in range(runs.num_heads(component))]


def place_of(node: Node) -> SubLayerPlace | None:
    """Sub-layer of a node; None for embeddings and the logit."""
    if node.layer is None:
        return None
    component: Component = next(each for each in get_args(Component) if each == node.part)
    return SubLayerPlace(component, node.layer)


def sender_side(node: Node) -> Stack:
    """Stack of the model whose residual connections a sender writes to."""
    place = place_of(node)
    return side_of(place.component) if place else "encoder" if node.part == "source" else "decoder"


def norm_of(model: Transformer, place: SubLayerPlace) -> nn.Module:
    """Norm of a sub-layer's output (post-norm models) or input (pre-norm models)."""
    component, layer = place
    side: Stack = side_of(component)
    name = "cross_attention" if component == "cross" else "self_attention" if component in KINDS else "feed_forward"
    return block_of(model, side, layer).get_submodule(f"{name}_norm")
