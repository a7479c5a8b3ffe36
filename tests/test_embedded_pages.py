"""Every page that is embedded in another, or exported, has a content-security policy: nothing but its own scripts."""

import html
import re
from pathlib import Path

import pytest

from core import Translator
from core.export import ExplanationRecord, as_bytes
from core.results import Explanation
from tests.viz_app.export_readers import read_html
from viz_app.drawing.theme import LIGHT
from viz_app.views.heads.grid.figures.bertviz_views import VIEWS, BertVizView, bertviz_page

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def explanation(tiny_checkpoint: Path) -> Explanation:
    return Translator.from_checkpoint(tiny_checkpoint).explain("</script> A dog.", "<b>Hund</b>")


def test_these_are_all_the_pages_and_frames() -> None:
    """A new one belongs into the tests below."""
    paths = [path for package in ("core", "viz_app") for path in (ROOT / package).rglob("*.*")]
    code = {path: path.read_text("utf-8").lower() for path in paths if path.suffix in (".py", ".js", ".html")}

    def modules_with(pattern: str) -> set[str]:
        """Paths of the code that has a pattern of small letters, in letters of any case."""
        return {str(path.relative_to(ROOT)) for path, text in code.items() if re.search(pattern, text)}

    pages = modules_with(r"<!doctype|<html\b") - {"viz_app/server/first_frame.py"}  # which changes Streamlit's own page
    assert pages == {"core/export/html_page.py", "viz_app/views/heads/grid/figures/bertviz_views.py"}
    frames = modules_with(r"<iframe|srcdoc|\biframe\(|components\.html\(|createelement\(.iframe")
    assert frames == {"core/notebook/widget.py", "viz_app/views/heads/grid/bertviz_view.py"}
    assert modules_with(r"notebook\.widget import .*\bframed\b") == {"core/notebook/head_view.py"}


def test_the_exported_page(explanation: Explanation) -> None:
    read_html(as_bytes(ExplanationRecord(explanation), ".html"))


@pytest.mark.parametrize("view", VIEWS)
def test_the_views_of_bertviz(explanation: Explanation, view: BertVizView) -> None:
    pytest.importorskip("bertviz")
    read_html(bertviz_page(explanation.maps["cross"], view, LIGHT).encode())


def test_the_frame_of_a_notebook(explanation: Explanation) -> None:
    """Its sandbox separates it from the notebook's page."""
    pytest.importorskip("anywidget")
    (frame,) = re.findall(r'<iframe sandbox="allow-scripts" [^>]*srcdoc="([^"]*)"', explanation.show().static_html())
    read_html(html.unescape(frame).encode())
