"""State of a session: where it is kept, and widgets whose values are set by other code."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

import viz_app

KEEPERS = {"session/state.py"}


def test_only_one_module_and_the_components_touch_the_session_state() -> None:
    root = Path(viz_app.__file__).parent
    found = {path for path in root.rglob("*.py") if "session_state" in path.read_text(encoding="utf-8")}
    components = {path for path in found if path.with_suffix(".js").exists()} | {root / "components/component.py"}
    assert {path.relative_to(root).as_posix() for path in found - components} == KEEPERS


def page() -> None:
    from dataclasses import dataclass

    import streamlit as st

    from viz_app.session.state import Widget, session_object

    @dataclass
    class Counter:
        runs: int = 0

    session_object(Counter).runs += 1
    st.text(f"run {session_object(Counter).runs}")
    source = st.text_input("Source", "a", key="source")
    limited = Widget[str]("limited")
    limited.keep_within([source], source)
    st.text_input("Limited", "z", key="limited")


def test_an_object_of_a_session_stays_and_a_value_that_is_no_longer_an_option_gives_way_to_the_default() -> None:
    app = AppTest.from_function(page).run()
    assert app.text[0].value == "run 1"
    assert app.text_input(key="limited").value == "z"  # not yet drawn at the first run
    assert app.run().text_input(key="limited").value == "a"
    assert app.text[0].value == "run 2"
