"""Every page that is embedded in another, or exported, has a content-security policy: nothing but its own scripts."""

import html
import re
from pathlib import Path

import pytest

from core import Translator
from core.export import ExplanationRecord, as_bytes
from core.files.shipped_files import shipped_checkpoint
from core.files.web_page import script_digest
from core.results import Explanation
from tests.viz_app.export_readers import read_html
from viz_app.drawing.theme import LIGHT
from viz_app.views.heads.grid.figures.bertviz_views import VIEWS, BertVizView, bertviz_page
from web.build import page

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def explanation(translator: Translator) -> Explanation:
    return translator.explain("</script> A dog.", "<b>Hund</b>")


def test_these_are_all_the_pages_and_frames() -> None:
    """A new one belongs into the tests below."""
    paths = [path for package in ("core", "viz_app", "web") for path in (ROOT / package).rglob("*.*")]
    code = {path: path.read_text("utf-8").lower() for path in paths if path.suffix in (".py", ".js", ".html")}

    def modules_with(pattern: str) -> set[str]:
        """Paths of the code that has a pattern of small letters, in letters of any case."""
        return {str(path.relative_to(ROOT)) for path, text in code.items() if re.search(pattern, text)}

    pages = modules_with(r"<!doctype|<html\b") - {"viz_app/server/first_frame.py"}  # which changes Streamlit's own page
    views = "viz_app/views/heads/grid/figures/bertviz_views.py"
    assert pages == {"core/files/web_page.py", views, "web/page.html"}
    frames = modules_with(r"<iframe|srcdoc|\biframe\(|components\.html\(|createelement\(.iframe")
    assert frames == {"core/files/web_page.py", "viz_app/views/heads/grid/bertviz_view.py"}
    framed = {"core/analysis/pictures_data.py", "core/export/html_page.py"}
    assert modules_with(r"web_page import .*\bframed\b") == framed


def test_the_exported_page(explanation: Explanation) -> None:
    read_html(as_bytes(ExplanationRecord(explanation), ".html"))


@pytest.mark.parametrize("view", VIEWS)
def test_the_views_of_bertviz(explanation: Explanation, view: BertVizView) -> None:
    pytest.importorskip("bertviz")
    read_html(bertviz_page(explanation.maps["cross"], view, LIGHT).encode())


@pytest.mark.parametrize("inside", [False, True])
def test_the_static_page(inside: bool) -> None:
    """It computes in a worker made of its own text, and fetches at most the models beside it."""
    html = page({"multi30k": shipped_checkpoint("multi30k")}, b"", inside)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert rules.pop("script-src") == f"'{script_digest(script)}' 'wasm-unsafe-eval'"
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    assert rules.pop("style-src") == f"'{script_digest(style)}'"
    assert rules.pop("connect-src") == ("'none'" if inside else "'self'")
    own = {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}
    assert rules == {**own, "img-src": "data:", "worker-src": "blob:"}
    assert not re.search(r'(?:src|href)=(?!"data:)', html.split("</head>")[0])


def test_the_frame_of_a_notebook(explanation: Explanation) -> None:
    """Its sandbox separates it from the notebook's page."""
    pytest.importorskip("anywidget")
    (frame,) = re.findall(r'<iframe sandbox="allow-scripts" [^>]*srcdoc="([^"]*)"', explanation.show().static_html())
    read_html(html.unescape(frame).encode())
