"""State of a session: where it is kept, and widgets whose values are set by other code."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

import viz_app

KEEPERS = {"session/state.py"}


def is_component(name: str) -> bool:
    """Whether a module is the Python half of a drawing in JavaScript, which lies beside it."""
    return (Path(viz_app.__file__).parent / name).with_suffix(".js").exists() or name.startswith("components/")


def test_only_one_module_and_the_components_touch_the_session_state() -> None:
    root = Path(viz_app.__file__).parent
    files = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in root.rglob("*.py")}
    found = {name for name, text in files.items() if "session_state" in text}
    assert {name for name in found if not is_component(name)} == KEEPERS


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


def test_an_object_of_a_session_stays() -> None:
    app = AppTest.from_function(page).run()
    assert app.text[0].value == "run 1"
    app.run()
    assert app.text[0].value == "run 2"


def test_a_value_that_is_no_longer_an_option_gives_way_to_the_default() -> None:
    app = AppTest.from_function(page).run()
    assert app.text_input(key="limited").value == "z"  # not yet drawn at the first run
    assert app.run().text_input(key="limited").value == "a"
