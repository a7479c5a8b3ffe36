"""What a model does that does not translate, and sentences for it."""

from pathlib import Path

from core.cli import commands as cli
from core.files.shipped_files import shipped_checkpoint
from tests.core.formats.bart_models import write_model
from tests.core.formats.marian_models import Pairs
from tests.viz_app.pages import Start, healthy, reading


def test_a_model_that_fills_in_gets_sentences_with_masks(start: Start, parallel_text: Pairs, tmp_path: Path) -> None:
    write_model(tmp_path / "bart", parallel_text, max_position_embeddings=200)
    cli.main(["convert", str(tmp_path / "bart"), str(tmp_path / "bart.safetensors")])
    example = "The train was <mask> because of the snow."
    app = healthy(start(tmp_path / "bart.safetensors", text=example, beam_size="1").run())
    assert any("This model fills in" in caption.value for caption in app.caption)
    examples = [str(button.key) for button in app.button if str(button.key).startswith("example: ")]
    assert len(examples) == 2  # of three, the first is on the screen
    assert all("<mask>" in key for key in examples)
    assert "<mask>" in reading(app).explain().source_tokens
    healthy(app.button(key=examples[1]).click().run())
    assert reading(app).search.text == "I don't know where he <mask>."


def test_a_model_of_letters_gets_letters_and_reverses_them(start: Start) -> None:
    app = healthy(start(shipped_checkpoint("reverse-r4"), text="h e a d", beam_size="1").run())
    assert any("writes letters in reverse order" in caption.value for caption in app.caption)
    for key in [str(button.key) for button in app.button if str(button.key).startswith("example: ")]:
        healthy(app.button(key=key).click().run())
        assert key == f"example: {reading(app).translation.text[::-1]}"
