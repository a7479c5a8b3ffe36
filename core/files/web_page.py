"""Self-contained web pages: one HTML file with its style, script and data, which works offline and asks for nothing."""

import base64
import hashlib
import html
from pathlib import Path
from typing import Any

from core.files.bundle import bundled_script, bundled_style
from core.files.strict_json import json_text

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This page needs JavaScript, which is turned off in this browser.
It makes no network requests.</noscript>
<main id="page"></main>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def web_page(title: str, path: Path, data: Any) -> str:
    """Render a page by a script, which reads the data from the element `data`, and the style sheet beside it."""
    style, script = bundled_style(path.with_suffix(".css")), bundled_script(path)
    policy = (
        f"default-src 'none'; script-src '{script_digest(script)}'; style-src '{script_digest(style)}'; img-src data:; "
        f"base-uri 'none'; form-action 'none'"
    )
    # Escape `<` in JSON, so that no token can close the script element.
    content = json_text(data, separators=(",", ":")).replace("<", "\\u003c")
    return _PAGE.format(policy=policy, title=html.escape(title[:200]), style=style, data=content, script=script)


def framed(page: str, title: str, height: int) -> str:
    """Return a page as an inline frame of a height in pixels, whose script cannot reach the page around it."""
    return (
        f'<iframe sandbox="allow-scripts" title="{html.escape(title)}" srcdoc="{html.escape(page)}" '
        f'style="width: 100%; height: {height}px; border: 0"></iframe>'
    )


def script_digest(text: str) -> str:
    """The source of a script or style in a content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
