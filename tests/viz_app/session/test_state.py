"""State of a session: where it is kept, and widgets whose values are set by other code."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

import viz_app

KEEPERS = {"session/state.py"}


def test_only_one_module_and_the_components_touch_the_session_state() -> None:
    root = Path(viz_app.__file__).parent
    files = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in root.rglob("*.py")}
    found = {name for name, text in files.items() if "session_state" in text}
    assert {name for name in found if not name.startswith("components/")} == KEEPERS


def page() -> None:
    from dataclasses import dataclass

    import streamlit as st

    from viz_app.session.state import Widget, put_in_address, session_object

    @dataclass
    class Counter:
        runs: int = 0

    session_object(Counter).runs += 1
    st.text(f"run {session_object(Counter).runs}")
    put_in_address("seen", "" if session_object(Counter).runs > 1 else "once")
    source = st.text_input("Source", "a", key="source")
    chosen = Widget[str]("chosen")
    chosen.preset_for(source, lambda: f"made for {source}")
    st.text_input("Chosen", key="chosen", bind="query-params")
    limited = Widget[str]("limited")
    limited.keep_within([source], source)
    st.text_input("Limited", "z", key="limited")
    st.text(f"requested {Widget[str]('later').requested}")


def test_an_object_of_a_session_stays_and_the_address_is_written() -> None:
    app = AppTest.from_function(page).run()
    assert app.text[0].value == "run 1"
    assert app.query_params["seen"] == "once"
    app.run()
    assert app.text[0].value == "run 2"
    assert "seen" not in app.query_params


def test_a_preset_lasts_until_its_source_changes_and_yields_to_the_address() -> None:
    app = AppTest.from_function(page).run()
    assert (app.text_input(key="chosen").value, app.query_params["chosen"]) == ("made for a", "made for a")
    app.text_input(key="chosen").set_value("own").run()
    assert app.text_input(key="chosen").value == "own"
    app.text_input(key="source").set_value("b").run()
    assert app.text_input(key="chosen").value == "made for b"
    app = AppTest.from_function(page)
    app.query_params["chosen"] = "of the link"
    app.query_params["later"] = "text"
    assert app.run().text_input(key="chosen").value == "of the link"
    assert app.text[1].value == "requested text"


def test_a_value_that_is_no_longer_an_option_gives_way_to_the_default() -> None:
    app = AppTest.from_function(page).run()
    assert app.text_input(key="limited").value == "z"  # not yet drawn at the first run
    assert app.run().text_input(key="limited").value == "a"


def displayed() -> None:
    import streamlit as st

    from viz_app.session.state import Widget

    names, size = {1: "eins", 2: "zwei"}, Widget[int]("size")
    st.text(f"requested {size.requested_of(names)}")
    size.preset_for("source", lambda: 2, names.__getitem__)
    st.selectbox("Size", list(names), format_func=names.__getitem__, key="size", bind="query-params")
    st.text(f"requested {size.requested_of(names)}")


def test_options_stand_in_the_address_as_they_are_displayed() -> None:
    app = AppTest.from_function(displayed).run()
    assert [text.value for text in app.text] == ["requested None", "requested 2"]
    assert app.query_params["size"] == "zwei"
    link = AppTest.from_function(displayed)
    link.query_params["size"] = "eins"
    assert [text.value for text in link.run().text] == ["requested 1", "requested 1"]
