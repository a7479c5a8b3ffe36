"""The page Compare without a browser."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.formats.checkpoint import save_checkpoint
from core.model import Transformer
from core.text.tokenizer import SentencePieceTokenizer
from tests.core.analysis.heads.test_nearest_heads import reordered
from tests.viz_app.pages import Start, healthy, opened, reading, upload
from viz_app.controls import job_control
from viz_app.drawing.head_names import name_of
from viz_app.views.compare.one_sentence import nearest


@pytest.fixture
def app(start: Start) -> AppTest:
    return start(beam_size="2", text="A dog runs.")


def compare(app: AppTest, against: str) -> AppTest:
    app.query_params["against"] = against
    return opened(app, "compare")


def distances(app: AppTest) -> list[float]:
    return app.dataframe(key="compare_distances").value["distance"].tolist()


@pytest.mark.parametrize(("kind", "view"), [("encoder_self", "Lines"), ("decoder_self", "Map"), ("cross", "Map")])
def test_two_hypotheses_in_every_kind_and_view(app: AppTest, kind: str, view: str) -> None:
    compare(app, "Hypothesis")
    app.session_state["kind"], app.session_state["compare_view"] = kind, view
    healthy(app.run())
    titles = [text.value for text in app.markdown]
    assert sum(title.startswith(("**First**", "**Second**")) for title in titles) == 2
    assert any(title.startswith("**Difference**") for title in titles)
    if kind == "encoder_self":  # both read the same source
        assert set(distances(app)) == {0}


def test_the_browser_gets_the_new_text_of_the_selected_hypothesis(start: Start, other_checkpoint: Path) -> None:
    app = compare(start(text="A dog runs.", beam_size="3"), "Hypothesis")
    app.selectbox(key="second_hypothesis").select_index(1)
    second = healthy(app.run()).selectbox(key="second_hypothesis")
    assert (second.value, second.proto.set_value) == (2, False)  # the browser has the text
    upload(app, other_checkpoint)
    changed = app.selectbox(key="second_hypothesis")
    assert changed.options != second.options
    assert (changed.value, changed.proto.set_value, changed.proto.raw_value) == (2, True, changed.options[1])


def test_the_same_sentence_has_no_difference_and_another_one_has_by_every_method(app: AppTest) -> None:
    app.query_params["text"] = "A dog runs."
    compare(app, "Sentence")
    app.session_state["kind"] = "encoder_self"
    healthy(app.run())
    assert set(distances(app)) == {0}
    assert any("change a word" in caption.value for caption in app.caption)
    healthy(app.text_input(key="second_text").set_value("A wet dog runs.").run())
    assert distances(app) == sorted(distances(app), reverse=True)
    assert distances(app)[0] > 0
    assert any("\u201cwet\u201d (second)" in caption.value.replace("\\", "") for caption in app.caption)
    app.session_state["kind"] = "cross"
    for method, count in (("norms", 8), ("rolled_contributions", 2)):
        healthy(app.selectbox(key="compare_weights").set_value(method).run())
        assert len(distances(app)) == count
        assert distances(app)[0] > 0
    assert app.selectbox(key="compare_layer_cross").options == ["L1", "L2"]
    assert any("ALTI, rolled out" in caption.value for caption in app.caption)


@pytest.mark.parametrize(("text", "said"), [("very " * 600, "at most 512"), (" ", "Type a second sentence")])
def test_a_second_sentence_that_cannot_be_translated_is_refused_and_kept(app: AppTest, text: str, said: str) -> None:
    compare(app, "Sentence")
    healthy(app.text_input(key="second_text").set_value(text).run())
    assert any(said in message.value for message in [*app.error, *app.info])
    assert app.text_input(key="second_text").value == text


def test_a_second_checkpoint_of_another_shape_has_its_last_head_where_it_lacks_that_number(
    app: AppTest, other_checkpoint: Path
) -> None:
    compare(app, "Checkpoint")
    assert any("Open a second checkpoint in the sidebar" in message.value for message in app.info)
    upload(app, other_checkpoint)
    assert reading(app).model.name == "other.safetensors"
    second = app.selectbox(key="second_checkpoint")
    assert second.options == ["tiny.safetensors"]
    headings = [text.value.replace("\\", "") for text in app.markdown]
    for number, name in (("First", "other"), ("Second", "tiny")):  # and the text, which both read
        [heading] = [each for each in headings if each.startswith(f"**{number}**")]
        assert f"{name}.safetensors: {reading(app).hypothesis.text[:3]}" in heading
    assert app.selectbox(key="compare_head_cross").options == ["L1 H1", "L1 H2"]
    assert any("same words on both axes" in caption.value for caption in app.caption)  # both read the same translation
    assert min(distances(app)) > 0
    healthy(app.selectbox(key="open_model").select("tiny.safetensors").run())
    assert reading(app).model.name == "tiny.safetensors"
    assert app.selectbox(key="second_checkpoint").options == ["other.safetensors"]
    assert min(distances(app)) > 0
    app.query_params["compare_head_cross"] = "L2 H4"
    healthy(app.run())
    healthy(app.selectbox(key="compare_head_cross").set_value("L2 H4").run())
    assert app.selectbox(key="second_head_cross").options == ["L1 H2, same number", "L1 H1", "L1 H2"]
    assert any("**Difference** of L2 H4 and L1 H2" in text.value for text in app.markdown)


def test_a_parser_is_not_compared_with_a_translation_model(app: AppTest, tree_checkpoint: Path) -> None:
    compare(app, "Checkpoint")
    app.file_uploader[0].set_value([("trees.safetensors", tree_checkpoint.read_bytes(), "application/octet-stream")])
    healthy(app.run())
    healthy(app.selectbox(key="open_model").select("tiny.safetensors").run())
    assert any("Those that are open do not translate" in message.value for message in app.info)


def test_each_side_has_a_head_of_its_own_in_the_address(app: AppTest) -> None:
    app.query_params |= {"compare_head_cross": "L1 H2", "second_head_cross": "L2 H3"}
    compare(app, "Hypothesis")
    assert app.selectbox(key="compare_head_cross").value == "L1 H2"
    assert app.selectbox(key="second_head_cross").value == "L2 H3"
    assert any("**Difference** of L1 H2 and L2 H3" in text.value for text in app.markdown)
    healthy(app.selectbox(key="compare_head_cross").set_value("L2 H1").run())
    assert app.query_params["second_head_cross"] == "L2 H3"  # it stays
    healthy(app.selectbox(key="second_head_cross").set_value("same").run())
    assert "second_head_cross" not in app.query_params
    assert any("**Difference** of L2 H1:" in text.value for text in app.markdown)


def test_the_nearest_head_is_found_by_what_it_does(
    start: Start,
    tiny_model: Transformer,
    tokenizer: SentencePieceTokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second model has the heads of the first in another order."""
    monkeypatch.setattr(nearest, "SHIPPED", ("A dog runs.", "It is raining."))
    monkeypatch.setattr(job_control, "TURN", 60.0)
    model, places = reordered(tiny_model)
    of_cross = [head for head in places if head.kind == "cross"]
    first, again = (name_of(*head[1:]) for head in (of_cross[0], of_cross[-1]))
    save_checkpoint(tmp_path / "other.safetensors", model, tokenizer)
    app = compare(start(beam_size="1", text="A dog runs."), "Checkpoint")
    content = (tmp_path / "other.safetensors").read_bytes()
    healthy(app.file_uploader[0].set_value([("other.safetensors", content, "application/octet-stream")]).run())
    healthy(app.selectbox(key="open_model").select("tiny.safetensors").run())
    healthy(app.selectbox(key="compare_head_cross").set_value(first).run())
    healthy(app.button(key="nearest_head").click().run())
    second = name_of(*places[of_cross[0]][1:])
    said = f"{second} of the second attends most like {first}: correlation 1.00."
    assert said in [caption.value for caption in app.caption]
    assert app.selectbox(key="second_head_cross").value == second
    assert app.query_params["nearest"] == "true"
    app.selectbox(key="compare_head_cross").set_value(again)  # what is known is not measured again
    healthy(app.run())
    healthy(app.button(key="nearest_head").click().run())
    assert app.selectbox(key="second_head_cross").value == name_of(*places[of_cross[-1]][1:])


def test_in_one_model_a_head_is_nearest_to_itself(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "SHIPPED", ("A dog runs.",))
    monkeypatch.setattr(job_control, "TURN", 60.0)
    app.query_params |= {"nearest": "true", "compare_head_cross": "L2 H3"}
    compare(app, "Hypothesis")
    assert any("L2 H3 is nearest to itself" in caption.value for caption in app.caption)
