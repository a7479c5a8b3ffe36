"""Samples on the page Translate: rows of the fan, their picture, the settings in the address, and the script."""

from pathlib import Path

import pytest

from core.analysis.csv_output import csv_text
from core.analysis.recorded_call import table_script
from core.analysis.sample_fan import SampleFan
from core.decoding import Sampling
from core.results import ScoredText
from tests.viz_app.pages import Start, healthy, opened, reading
from viz_app.session import address, python_code
from viz_app.views.translate.fan import fan_payload, row_texts
from viz_app.views.translate.translation import samples_panel
from viz_app.views.translate.translation.samples_panel import sample_rows

TEXT = "Where is it?"


def scored(text: str) -> ScoredText:
    tokens = (*(f"\u2581{word}" for word in text.split()), "</s>")
    ids = tuple(hash(token) % 10**6 for token in tokens)
    return ScoredText(text, ids, tokens, (-1.0,) * len(tokens), -1.0)


@pytest.fixture
def fan() -> SampleFan:
    beam = ("a dog runs fast", "a cat runs")
    drawn = ("a dog sits", "a dog runs fast", "the dog", "a cat sits", "a dog sits", "a dog runs home", "", "a dog sat")
    return SampleFan(tuple(map(scored, beam)), tuple(map(scored, drawn)))


def test_each_translation_is_a_row_below_the_one_that_it_leaves(fan: SampleFan) -> None:
    rows = sample_rows(fan)
    assert [row_texts(row) for row in rows] == [
        ("", "a dog runs fast"),
        ("a dog runs", " home"),
        ("a dog", " sits"),
        ("a dog", " sat"),
        ("a", " cat runs"),
        ("a cat", " sits"),
        ("", "the dog"),
        ("", ""),
    ]
    assert [row.parent for row in rows] == [None, 0, 0, 0, 0, 4, 0, 0]
    assert [row.rank for row in rows] == [0, None, None, None, 1, None, None, None]
    assert sorted(sample for row in rows for sample in row.samples) == list(range(8))
    for number, row in enumerate(rows):
        assert "".join(row_texts(row)) == row.translation.text
        if (
            row.parent is not None
        ):  # branches do not cross: no row between it and the one that it leaves is further left
            assert all(rows[between].shared >= row.shared for between in range(row.parent + 1, number))


def test_the_browser_gets_the_rows(fan: SampleFan) -> None:
    rows = sample_rows(fan)
    payload = fan_payload(rows, rows[4].translation.token_ids, "log-prob")
    assert [row["shown"] for row in payload["rows"]] == [number == 4 for number in range(8)]
    assert [row["samples"] for row in payload["rows"]] == [1, 1, 2, 1, 0, 1, 1, 1]
    assert payload["rows"][4]["rank"] == 2


def test_the_address_has_the_settings(start: Start) -> None:
    settings = {"temperature": "0.7", "top_k": "5", "top_p": "0.8", "min_p": "0.1", "sample_seed": "3"}
    app = opened(start(text=TEXT, beam_size="2", samples="true", num_samples="4", **settings), "translate")
    about = reading(app)
    sampling = Sampling(num_samples=4, temperature=0.7, top_k=5, top_p=0.8, min_p=0.1, seed=3)
    fan = samples_panel.fan_call(about.model, about.search, sampling).run()
    assert any("of 4 samples" in each.value for each in app.caption)
    assert len(fan.samples) == 4
    for name, value in settings.items():
        assert app.query_params[name] == value
    healthy(app.slider(key="temperature").set_value(1.0).run())
    assert "temperature" not in app.query_params
    healthy(app.toggle(key="samples").set_value(False).run())
    assert not {*settings, "samples", "num_samples"} & {*app.query_params}


def test_an_impossible_setting_of_the_address_takes_its_default(start: Start) -> None:
    app = opened(start(text=TEXT, beam_size="2", samples="true", temperature="0", top_p="7"), "translate")
    assert app.slider(key="temperature").value == address.TEMPERATURE.default
    assert app.slider(key="top_p").value == address.TOP_P.default


def test_the_script_writes_the_table(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_code, "is_on_this_machine", lambda: True)
    app = opened(start(text=TEXT, beam_size="2", min_length="3"), "translate")
    about = reading(app)
    table = samples_panel.fan_call(about.model, about.search, Sampling(num_samples=2, top_p=0.5)).then("table")
    script = table_script(table, str(tmp_path / "out.csv"))
    assert "Sampling(num_samples=2, top_p=0.5)" in script
    assert "constraints=Constraints(min_length=3)" in script
    exec(script, {})
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == csv_text(table.run())
