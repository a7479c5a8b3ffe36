"""The page Positions without a browser."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

from core.files.shipped_files import shipped_checkpoint
from tests.viz_app.pages import Start, healthy, opened, picture_files


def at(start: Start, checkpoint: Path) -> AppTest:
    return opened(start(checkpoint, beam_size="1", text="Where?"), "positions")


def view(app: AppTest, name: str) -> AppTest:
    app.session_state["positions_view"] = name
    return healthy(app.run())


def captions(app: AppTest) -> str:
    return " ".join(caption.value for caption in app.caption)


def test_every_picture_with_its_table_and_its_check(start: Start, tiny_checkpoint: Path) -> None:
    app = at(start, tiny_checkpoint)
    for name in ("Encoding", "Sinusoids", "Similarity", "Extrapolation", "Rotation"):
        if name != "Encoding":  # the first view
            view(app, name)
        assert len(picture_files(app)) == 1
        # where a model's own would be drawn
        assert ("no learned positions" in captions(app)) == (name in ("Encoding", "Similarity"))
    app.toggle(key="positions_table").set_value(True).run()
    assert list(app.dataframe[0].value.columns)[:2] == ["dimension", "turned_by_degrees"]
    assert not picture_files(app)
    app.toggle(key="positions_table").set_value(False).run()
    assert "rotated by k = 5 differs from PE" in captions(app)
    app.slider(key="offset").set_value(64)
    assert "rotated by k = 64 differs from PE" in captions(app.run())
    view(app, "First layer")
    assert sum(drawing.proto.component_name.endswith("map") for drawing in app.get("bidi_component")) == 6  # type: ignore[attr-defined]
    assert "those of the whole score" in captions(app)
    assert "sum to the model's own scores" in captions(app)
    app.session_state["score_kind"] = "decoder_self"
    app.selectbox(key="score_head").select_index(2)
    assert "sum to the model's own scores" in captions(healthy(app.run()))


def test_learned_positions_are_drawn_and_compared(start: Start) -> None:
    app = at(start, shipped_checkpoint("reverse-learned"))
    assert "32, of which 32 are drawn" in captions(app)
    app.session_state["whose"] = "The paper"
    assert "The model has learned positions instead" in captions(app.run())
    assert "Rank correlation of learned with sinusoidal cosines" in captions(view(app, "Learned"))
    assert "sum to the model's own scores" in captions(view(app, "First layer"))
