"""BertViz's head and model view (Vig 2019) as a self-contained page."""

import json
from collections.abc import Sequence
from typing import Any

import torch

from core.analysis.tokens.words import readable
from core.capture import AttentionMap
from core.files.strict_json import json_text
from viz_app.drawing import bertviz_scripts
from viz_app.drawing.bertviz_scripts import BertVizView
from viz_app.drawing.theme import Theme
from viz_app.language import RefusedError, marked

VIEWS: tuple[BertVizView, ...] = (marked("Head view"), marked("Model view"))
MAX_TOKENS = 60  # on an axis: BertViz draws a line for every pair of tokens of every head
MAX_CHARACTERS = 14  # of a token: the width of BertViz's columns
DECIMALS = 3
_SCRIPT_START, _PARAMS = '\n<script type="text/javascript">\n', "const params = "


def too_long(maps: Sequence[AttentionMap]) -> int:
    """Return the length of the longer axis if it exceeds `MAX_TOKENS`, else 0."""
    longest = max(len(maps[0].query_tokens), len(maps[0].key_tokens))
    return longest if longest > MAX_TOKENS else 0


def bertviz_page(
    maps: Sequence[AttentionMap], view: BertVizView, theme: Theme, layer: int = 0, heads: Sequence[int] | None = None
) -> str:
    """Return the page of one kind's layers, opened at a layer's heads, from 0; decoder rows are predicted tokens.

    Raises:
        ValueError: there are no maps, or more than `MAX_TOKENS` tokens, or BertViz's page has an unknown form.
    """
    if not maps:
        raise ValueError("no attention maps to draw: pass one for each layer")
    if count := too_long(maps):
        raise RefusedError(
            "BertViz draws up to {most} tokens, these are {count}: shorten the sentence", most=MAX_TOKENS, count=count
        )
    attention = [each.weights.double().round(decimals=DECIMALS)[None] for each in maps]
    names = {"decoder_tokens": _labels(maps[0].row_tokens), "encoder_tokens": _labels(maps[0].key_tokens)}
    body, data = _split_page(_bertviz_html(attention, names, view, theme, layer, heads))
    scripts = bertviz_scripts.scripts(view)
    hashes = " ".join(map(bertviz_scripts.source_hash, scripts))
    policy = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{policy}"><style>{_style(theme)}</style>'
    )
    body += f'<script type="application/json" id="{bertviz_scripts.DATA_ID}">{data}</script>'
    body += "".join(f"<script>{each}</script>" for each in scripts)
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"


def page_height(maps: Sequence[AttentionMap], view: BertVizView) -> int:
    """Return the page's height in pixels, from BertViz's own sizes; the model view's at its full width of 970."""
    tokens = max(len(maps[0].query_tokens), len(maps[0].key_tokens))
    if view == "Head view":
        return 80 + round(22.5 * tokens)
    thumbnail = 10 + tokens * 7 * 12 / maps[0].num_heads
    return 50 + round(max(38 + len(maps) * thumbnail, 55 + 18 * tokens))


def _bertviz_html(
    attention: list[torch.Tensor],
    names: dict[str, list[str]],
    view: BertVizView,
    theme: Theme,
    layer: int,
    heads: Sequence[int] | None,
) -> str:
    """Return BertViz's HTML for a notebook, with any kind of attention as cross-attention, whose axes may differ."""
    from bertviz import head_view, model_view  # brings IPython along

    shared: dict[str, Any] = {"cross_attention": attention, "prettify_tokens": False, "html_action": "return", **names}
    if view == "Head view":
        page: Any = head_view(**shared, layer=layer, heads=None if heads is None else list(heads))
    else:
        page = model_view(**shared, display_mode=theme.name)
    return page.data


def _split_page(page: str) -> tuple[str, str]:
    """Split BertViz's page into its body and its data, as JSON that ends no script.

    The first element, which loads require.js, is left out. Layers and heads are named from 1 instead of 0.
    """
    try:
        before, script = page.split(_SCRIPT_START, 1)
        body = before.split("</script>", 1)[1]
        params, _ = json.JSONDecoder().raw_decode(script[script.index(_PARAMS) + len(_PARAMS) :])
    except (ValueError, IndexError) as error:
        raise ValueError(bertviz_scripts.unknown_form()) from error
    # BertViz shows these as they are, and takes `layer` for one of `include_layers`
    for name in ("include_layers", "include_heads"):
        if name in params:
            params[name] = [1 + number for number in params[name]]
    if params.get("layer") is not None:
        params["layer"] += 1
    return body, json_text(params, separators=(",", ":")).replace("<", "\\u003c")


def _labels(tokens: Sequence[str]) -> list[str]:
    texts = [readable(token) for token in tokens]
    return [text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "\u2026" for text in texts]


def _style(theme: Theme) -> str:
    """Return a style sheet that replaces BertViz's colours by the theme's."""
    return f"""
:root {{ color-scheme: {theme.name}; }}
body {{ margin: 0; background: {theme.background}; color: {theme.text}; overflow-x: auto; }}
body, text {{ font-family: {theme.interface_font}; }}
select {{ font: inherit; color: inherit; background: {theme.background}; }}
select {{ border: 1px solid {theme.hairline}; border-radius: 4px; padding: 2px 6px; }}
#vis {{ padding-top: 10px; }}
svg[fill] {{ fill: {theme.background}; }}
text {{ fill: {theme.text}; }}
rect[fill="black"], rect[fill="white"] {{ fill: {theme.background}; }}
rect[fill="#222"], rect[fill="#F5F5F5"], rect.background {{ fill: {theme.hairline}; }}
#vis [tabindex]:focus-visible {{ outline: 2px solid {theme.text}; outline-offset: 1px; }}
.attn_background:has(~ rect:focus-visible) {{ stroke: {theme.text}; stroke-opacity: 1; }}
"""
