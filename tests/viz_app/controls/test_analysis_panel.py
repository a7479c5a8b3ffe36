"""Panels of declared analyses: one test for all of them."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from core.analysis.csv_output import csv_text
from core.analysis.declaration import Analysis
from core.analysis.panels import PANELS
from core.analysis.pictures import Dots
from core.analysis.pictures_data import clicked_place, head_at, picture_data
from core.analysis.recorded_call import table_script
from core.trace import Head
from tests.viz_app.pages import Start, healthy, opened, reading
from viz_app.session import python_code
from viz_app.session.analysis_fields import panel_fields

AT = Head("cross", 1, 0)
each_panel = pytest.mark.parametrize("analysis", PANELS, ids=lambda each: each.name)


def other_value(analysis: Analysis, option: str) -> Any:
    """A value of an option that is not its default."""
    default = next(each.default for each in dataclasses.fields(analysis.options) if each.name == option)
    assert isinstance(default, bool), "extend this test by options of another kind"
    return not default


@each_panel
def test_an_address_opens_the_panel_with_its_options(start: Start, analysis: Analysis) -> None:
    is_open, fields = panel_fields(analysis)
    values = {field: other_value(analysis, name) for name, field in fields.items()} | {is_open: True}
    settings = {field.key: field.codec.encode(value)[0] for field, value in values.items()}
    app = opened(start(text="A dog runs.", beam_size="1", **settings), "heads")
    assert {app.session_state[field.key] for field in values} == set(values.values())
    assert settings.items() <= {name: app.query_params[name] for name in app.query_params}.items()
    chosen = {name: values[field] for name, field in fields.items()}
    answer = analysis(reading(app).explain(), **chosen).answer(AT)
    assert answer.split()[1:4] in [each.value.split()[1:4] for each in app.markdown]
    healthy(app.toggle(key=is_open.key).set_value(False).run())
    assert is_open.key not in app.query_params


@each_panel
def test_marks_lead_to_their_heads_and_the_script_writes_the_table(
    start: Start, analysis: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python_code, "is_on_this_machine", lambda: True)
    app = opened(start(text="A dog runs.", beam_size="1"), "heads")
    call = analysis.call(python_code.explanation(reading(app)))
    result = call.run()
    (picture,) = result.pictures(AT)
    marked = picture_data(picture, selected=AT)
    if isinstance(picture, Dots):
        heads = [head_at(picture, (0, number)) for number in range(len(picture.dots))]
        assert [dot["marked"] for dot in marked["dots"]] == [head == AT for head in heads]
        wrong: list[object] = [
            {"row": 0, "column": len(heads)},
            {"row": 0, "column": -1},
            {"row": 0, "column": "0"},
            None,
        ]
    else:
        heads = {head_at(picture, (0, column)) for column in range(len(picture.columns))}
        assert heads == {AT._replace(head=head) for head in range(len(picture.columns))}
        assert all(row["cells"][0]["marked"] and not row["cells"][1]["marked"] for row in marked["rows"])
        wrong = [{"row": len(picture.rows), "column": 0}, {"row": 0, "column": -1}, {"row": 0}, "row"]
    assert not any(clicked_place(picture, value) for value in wrong)
    table = call.then("table")
    exec(table_script(table, str(tmp_path / "out.csv")), {})
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == csv_text(table.run())
