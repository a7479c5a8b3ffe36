"""The picture of the layers, drawn from the contracts of import-linter.

GitHub draws the page's Mermaid source; here that would need a script.
"""

import html
import re
import tomllib
from pathlib import Path

PICTURE = re.compile(r"^```mermaid\n.*?^```$", re.MULTILINE | re.DOTALL)


def with_picture(root: Path, markdown: str) -> str:
    """Put the picture in the place of its Mermaid source.

    Raises:
        ValueError: there is no such source.
    """
    if len(PICTURE.findall(markdown)) != 1:
        raise ValueError("docs/architecture.md should have one block of Mermaid, the picture of the layers")
    return PICTURE.sub(lambda _: picture(root), markdown)


def picture(root: Path) -> str:
    """Return the picture as HTML.

    A package is a column of its layers, the highest first; `core` is below the two that import it.
    """
    contracts = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    packages = {each["containers"][0]: each["layers"] for each in contracts if "containers" in each}
    columns = "".join(_column(name, packages[name]) for name in ("viz_app", "train", "core"))
    return f'<div class="layers" markdown="0">{columns}</div>'


def _column(name: str, layers: list[str]) -> str:
    lines = ["".join(f"<code>{html.escape(each)}</code> " for each in re.findall(r"\w+", layer)) for layer in layers]
    boxes = "".join(f"<li>{line}</li>" for line in lines)
    return f'<div class="package {name}"><p>{name}</p><ol>{boxes}</ol></div>'
