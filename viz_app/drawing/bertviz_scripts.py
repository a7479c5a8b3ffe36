"""Scripts of BertViz's page, which are the same for every sentence.

The policy of the app's pages allows them by their hashes: a frame on a page is under the page's policy, too.
"""

import base64
import hashlib
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from viz_app.language import marked

BertVizView = Literal["Head view", "Model view"]
DATA_ID = "bertviz-data"  # of the element with the data, as JSON

_FILES: dict[BertVizView, str] = {marked("Head view"): "head_view.js", marked("Model view"): "model_view.js"}
_PLACEHOLDER = "const params = PYTHON_PARAMS;"  # of the data, in BertViz's scripts
_DATA = f'const params = JSON.parse(document.getElementById("{DATA_ID}").textContent);'
_VENDOR = Path(__file__).with_name("vendor")
# BertViz loads its libraries with require.js from the network; here they are inlined.
_SHIM = (
    "window.require = { config() {} }; window.requirejs = (names, run) => run(window.jQuery, window.d3); "
    "window.console.log = () => {};"
)
_FIT = """const svg = document.querySelector("#vis svg");
svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
svg.style.width = "100%"; svg.style.maxWidth = `${svg.getAttribute("width")}px`; svg.style.height = "auto";"""
_KEYS = Path(__file__).with_name("bertviz_keys.js")


def scripts(view: BertVizView) -> list[str]:
    """Return the scripts of a view, in their order.

    Raises:
        ValueError: the installed BertViz has another form.
    """
    spec = find_spec("bertviz")  # to import it would take a second
    assert spec is not None
    assert spec.submodule_search_locations is not None
    file = Path(spec.submodule_search_locations[0]) / _FILES[view]
    script = file.read_text("utf-8") if file.is_file() else ""
    if script.count(_PLACEHOLDER) != 1:
        raise ValueError(unknown_form())
    libraries = [(_VENDOR / name).read_text("utf-8") for name in ("jquery-3.7.1.slim.min.js", "d3-5.16.0.min.js")]
    fit = [_FIT] if view == "Model view" else []
    return [*libraries, _SHIM, script.replace(_PLACEHOLDER, _DATA), *fit, _KEYS.read_text("utf-8")]


def all_hashes() -> list[str]:
    """Return the hashes of the scripts of all views; none without a BertViz that can be drawn."""
    if find_spec("bertviz") is None:
        return []
    try:
        return sorted({source_hash(script) for view in _FILES for script in scripts(view)})
    except ValueError:
        return []


def source_hash(script: str) -> str:
    """Return the name of an inline script in a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def unknown_form() -> str:
    """Say that the installed BertViz has an unknown form."""
    return f"BertViz {version('bertviz')} makes a page of an unknown form: install bertviz 1.4.1"
