"""The parts of Figure 1, in the order of their computation, and what explains each of them."""

import inspect
import re
from operator import attrgetter
from textwrap import dedent
from typing import Any, NamedTuple

from core import paper

SHAPE = re.compile(r"\[((?:[A-Z1](?:, )?)+)\]")  # such as [B, 1, L]


class PaperPart(NamedTuple):
    """A part of Figure 1."""

    name: str  # of the part, its `link` in figure1*.js
    code: str  # the function or class in `core/paper.py`
    step: str  # name of a step of Step by step; `{kind}` is the sub-layer, such as `cross`
    section: str  # of the paper
    then: tuple[str, ...] = ()  # other steps


PARTS = (
    PaperPart("embedding", "Embedding", "embedding", "3.4"),
    PaperPart("positions", "positional_encoding", "position", "3.5"),
    PaperPart("head", "scaled_dot_product_attention", "{kind}-scores", "3.2.1", ("{kind}-softmax",)),
    PaperPart("attention", "MultiHeadAttention", "{kind}-concatenation", "3.2.2"),
    PaperPart("residual", "add_and_norm", "{kind}-residual", "3.1"),
    PaperPart("norm", "add_and_norm", "{kind}-norm", "3.1"),
    PaperPart("feed_forward", "FeedForward", "feed_forward-hidden", "3.3"),
    PaperPart("encoder.layer", "EncoderLayer", "encoder_self-query", "3.1"),
    PaperPart("memory", "Transformer.encode", "memory", "3.1"),
    PaperPart("mask", "causal_mask", "decoder_self-mask", "3.2.3"),
    PaperPart("cross", "MultiHeadAttention", "cross-keys", "3.2.3"),
    PaperPart("decoder.layer", "DecoderLayer", "decoder_self-query", "3.1"),
    PaperPart("logits", "Transformer.decode", "output-logits", "3.4"),
    PaperPart("softmax", "Transformer.decode", "output-softmax", "3.4"),
    PaperPart("other", "beam_search", "output-softmax", "6.1"),
    PaperPart("predicted", "beam_search", "output-beam", "6.1"),
)


def parts_of_section(section: str) -> dict[str, str]:
    """Return the functions and classes of a section of the paper, each with the first part of Figure 1 that it is."""
    parts = [part for part in PARTS if part.section == section]
    return {part.code: part.name for part in parts} | {part.code: part.name for part in reversed(parts)}


def paper_code() -> dict[str, Any]:
    """Return the lines of all parts, and what the letters of their shapes are, see `Figure1Code` in types.d.ts."""
    [legend] = re.findall(r"^Shapes: ([^.]+)\.", paper.__doc__ or "", re.MULTILINE)
    letters = dict(each.split(" ", 1) for each in legend.replace("\n", " ").split(", "))

    file = inspect.getsource(paper).splitlines(keepends=True)

    def source(part: PaperPart) -> dict[str, Any]:
        code = attrgetter(part.code)(paper)
        if inspect.isclass(code):  # `getsource` uses ast: in two threads at once Python 3.11 breaks it off
            found = inspect.getblock(file[file.index(f"class {part.code}(nn.Module):\n") :])
        else:
            found = inspect.getsourcelines(code)[0]
        lines = dedent("".join(found)).rstrip()
        used = {letter for shape in SHAPE.findall(lines) for letter in shape.split(", ")}
        shapes = {letter: text for letter, text in letters.items() if letter in used}
        return {"lines": lines, "shapes": shapes, "part": part.name}

    return {
        "parts": {part.name: part._asdict() | {"steps": [part.step, *part.then]} for part in PARTS},
        "sources": {part.code: source(part) for part in reversed(PARTS)},
    }
