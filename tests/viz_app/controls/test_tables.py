"""Tables as all pages show them."""

from pathlib import Path

import viz_app


def test_every_table_of_the_app_has_the_dash_for_nothing() -> None:
    files = Path(viz_app.__file__).parent.rglob("*.py")
    assert [path.name for path in files if "st.dataframe(" in path.read_text(encoding="utf-8")] == ["tables.py"]
