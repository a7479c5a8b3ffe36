"""Base of the widgets: a script, its style sheet, and a static page for places where no widget can be shown."""

from pathlib import Path
from typing import Any

import anywidget

from core.files.bundle import bundled_script, bundled_style
from core.files.strict_json import json_text


def widget_module(file: str) -> str:
    """Return the script beside a Python file as one module, with its style sheet as the constant `STYLE`."""
    path = Path(file)
    style = bundled_style(path.with_name("widget.css"))
    return f"const STYLE = {json_text(style)};\n{bundled_script(path.with_suffix('.js'))}"


class NotebookWidget(anywidget.AnyWidget):
    """A widget that leaves a static version of itself in the saved notebook."""

    def static_html(self) -> str:
        """Return HTML that needs no kernel and no network."""
        raise NotImplementedError

    def display_metadata(self) -> dict[str, Any]:
        """Return the metadata of the displayed widget, which in Colab name the widget manager that can draw it."""
        return with_html(super()._repr_mimebundle_(), "")[1]

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return with_html(super()._repr_mimebundle_(**kwargs), self.static_html())


def with_html(bundle: Any, static: str) -> Any:
    """Add HTML to the display data of a widget, which is itself preferred wherever it can run.

    The bundle of `_repr_mimebundle_` is the data by media type, or a pair of them and their metadata.
    """
    data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
    return {**data, "text/html": static}, metadata
