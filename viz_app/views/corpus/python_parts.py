"""Python that writes the tables of the page Corpus."""

from viz_app.controls.downloads import Script
from viz_app.session.python_code import script, shown_path
from viz_app.views.corpus.opened_index import OpenedIndex


def index_part(opened: OpenedIndex, *parts: str) -> Script | None:
    """Make a script from parts after the opening of the index as `index`.

    None if the index is in no file.
    """
    if opened.path is None:
        return None
    load = f"from core.analysis.corpus.index_file import load_index\nindex = load_index({shown_path(opened.path)!r})"
    return lambda file: script(file, load, *parts)
