"""An address names the file that its view is of: another session says that it is missing, and how to give it again."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, added, comes_to, healthy, opened, reading

VIEW = {"text": "A dog runs.", "beam_size": "2", "view": "map", "heads_cross": "L1 H2", "words": "false"}


def mine(path: Path) -> tuple[str, bytes]:
    return "mine.safetensors", path.read_bytes()


def all_of(app: AppTest) -> dict[str, str]:
    return {name: app.query_params[name] for name in app.query_params}


@pytest.fixture
def address(start: Start, small_checkpoint: Path) -> dict[str, str]:
    app = added(healthy(start(text="A dog runs.", beam_size="2").run()), mine(small_checkpoint))
    digest = reading(app).model.digest
    opened(comes_to(app, **VIEW), "heads")
    found = all_of(app)
    assert found == VIEW | {"uploaded": f"{digest[:8]}.mine.safetensors"}
    return found


def test_a_file_is_missed_by_its_name_and_digest_until_it_is_given_again(
    start: Start, small_checkpoint: Path, address: dict[str, str]
) -> None:
    app = opened(start(**address), "heads")
    (message,) = [warning.value.replace("\\", "") for warning in app.warning]
    digits = address["uploaded"].split(".")[0]
    assert message.startswith(f"**This view is of mine.safetensors** (SHA-256 {digits}\u2026), a file that is not open")
    assert "Open it again in the sidebar" in message
    # nothing of another model is shown in its place
    assert [each.key for each in app.get("bidi_component")] == ["frame_script"]
    assert all_of(app) == address
    assert all_of(healthy(app.run())) == address
    added(app, mine(small_checkpoint))
    assert not app.warning
    assert reading(app).model.name == "mine.safetensors"
    assert all_of(app) == address
    assert app.session_state["heads_cross"] == ["L1 H2"]


def test_it_can_be_done_without(start: Start, address: dict[str, str]) -> None:
    app = opened(start(**address), "heads")
    healthy(app.button(key="without_missing").click().run())
    assert not app.warning
    assert reading(app).model.name != "mine.safetensors"
    assert "uploaded" not in app.query_params
    assert app.query_params["view"] == "map"


@pytest.mark.parametrize("named", ["mine.safetensors", "0123abcd", "0123abcd.", "<b>.x"])
def test_what_names_no_file_is_refused(start: Start, named: str) -> None:
    app = healthy(start(text="A dog runs.", beam_size="1", uploaded=named).run())
    (message,) = [error.value.replace("\\", "") for error in app.sidebar.error]
    assert message.startswith(f"The address has uploaded={named}, expected the first 8 digits of the file's SHA-256")
    assert "uploaded" not in app.query_params
