"""The list of pages has every script of a page, and each has its own address."""

from pathlib import Path

import viz_app
from viz_app.page_list import VIEWS

APP = Path(viz_app.__file__).parent


def test_every_script_is_a_page() -> None:
    scripts = sorted(str(path.relative_to(APP)) for path in APP.glob("views/**/view.py"))
    assert scripts == sorted(page.script for page in VIEWS)
    assert len({page.name for page in VIEWS}) == len(VIEWS)


def test_no_folder_is_called_pages() -> None:
    """Streamlit would take its files for the pages of the app, and answer the first link to another with an error."""
    assert [path for path in APP.rglob("pages") if path.is_dir()] == []
