"""The page Heads and the figures of the paper without a browser, on a model whose stacks differ in depth and heads."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.heads.head import Head
from core.analysis.tokens.words import word_groups
from core.text.tokenizer import SentencePieceTokenizer
from tests.fixtures import SaveModel
from tests.viz_app.pages import Start, picture_files, reading, state_of, to_page
from viz_app.drawing.display_text import plain
from viz_app.session import chosen_heads, sample_sentences
from viz_app.session.attributions import output_text
from viz_app.session.readings import Current, SelectedWords
from viz_app.views.heads.grid import bertviz_view, head_detail, scorecard_panel
from viz_app.views.heads.grid.heads_view import NOTHING_SELECTED
from viz_app.views.paper.paper_figures.appendix_figure import KEY


@pytest.fixture(scope="session")
def uneven_checkpoint(saved_model: SaveModel) -> Path:
    """Three encoder layers of two heads, one decoder layer of four."""
    return saved_model("uneven", 4, num_heads=2, num_decoder_heads=4, num_encoder_layers=3, num_decoder_layers=1)


@pytest.fixture
def app(start: Start, uneven_checkpoint: Path) -> AppTest:
    return start(uneven_checkpoint, beam_size="1", text="A dog runs.")


def opened(app: AppTest, page: str) -> AppTest:
    return healthy(to_page(app, page).run())


def healthy(app: AppTest) -> AppTest:
    assert not app.exception, app.exception[0].message
    assert not app.error, app.error[0].value
    return app


def captions(app: AppTest) -> str:
    return "\n".join(caption.value for caption in app.caption)


def test_the_joint_view_says_what_a_smaller_stack_lacks(app: AppTest) -> None:
    app.query_params["kind"] = "joint"
    opened(app, "heads")
    assert app.selectbox(key="joint_layer").options == ["All layers", "L1", "L2", "L3"]
    assert app.selectbox(key="joint_head").options == ["Mean of heads", "Maximum of heads", "H1", "H2"]
    assert "No decoder and cross attention here: the encoder has 3 layers, the decoder 1." in captions(app)
    healthy(app.selectbox(key="joint_layer").set_value("L1").run())
    assert "attention here" not in captions(app)
    healthy(app.selectbox(key="joint_head").set_value("H4").run())
    assert "No encoder attention here: the encoder has 2 heads, the decoder 4." in captions(app)
    assert any(drawing.proto.component_name.endswith("map") for drawing in app.get("bidi_component"))
    assert len(picture_files(app)) == 1
    to_page(app, "compare")  # which has no joint view
    healthy(app.run())


def test_a_step_many_heads_as_one_and_a_label(app: AppTest) -> None:
    app.query_params["words"] = "false"  # what an untrained model writes may be one word
    app.query_params["step"], app.query_params["heads_cross"] = "2", ["L1 H2", "Mean of chosen", "Maximum of all"]
    opened(app, "heads")
    assert re.search(r"^2: .* \*\*.+\*\*$", captions(app), re.MULTILINE)
    healthy(app.multiselect(key="heads_cross").set_value(["Mean of chosen"]).run())
    assert "Select heads too" in captions(app)
    app.session_state["labels"] = ["fixed distance"]
    healthy(app.run())
    of_four = [caption.value for caption in app.caption if caption.value.endswith("of 4 heads: fixed distance.")]
    assert of_four, "the grid says how many heads are left"


@pytest.mark.parametrize(("page", "key"), [("heads", "heads_cross"), ("alignment", "aligner")])
def test_the_first_head_follows_the_sentence_until_one_is_selected(
    app: AppTest, monkeypatch: pytest.MonkeyPatch, page: str, key: str
) -> None:
    # by the number of source tokens, as an untrained model may choose the same head for every sentence
    first = lambda maps: Head("cross", 0, len(maps[0].key_tokens) % 4)  # noqa: E731
    monkeypatch.setattr(chosen_heads, "first_head", first)

    def shown(text: str) -> tuple[list[str], str]:
        healthy(app.text_input(key="text").set_value(text).run())
        value = app.session_state[key]
        name = f"L1 H{len(reading(app).translation.source_tokens) % 4 + 1}"
        return [value] if isinstance(value, str) else value, name

    opened(app, page)
    names = set[str]()
    for text in ("A dog.", "Where?"):
        selected, expected = shown(text)
        assert selected == [expected]
        names.add(expected)
    assert len(names) > 1
    box = app.multiselect(key=key) if page == "heads" else app.selectbox(key=key)
    other = f"L1 H{int(expected[-1]) % 4 + 1}"
    healthy(box.set_value([other] if page == "heads" else other).run())
    assert shown("A dog.")[0] == [other]


def test_the_gradient_of_one_output_and_several_words_together(app: AppTest, tokenizer: SentencePieceTokenizer) -> None:
    target = ".".join(map(str, [*tokenizer.encode("Ein Hund."), tokenizer.eos_id]))
    seen = {"weights": "gradient", "output": "selected", "heads_cross": "L1 H2", "words": "false", "target": target}
    for name, value in seen.items():
        app.query_params[name] = value
    opened(app, "heads")
    assert "for the whole translation" in captions(app)
    assert NOTHING_SELECTED in captions(app)
    about, explanation = reading(app), reading(app).explain()
    first, second, *_ = word_groups(explanation.predicted_tokens)
    app.session_state[head_detail.STEP.key] = 2
    healthy(app.run())
    assert f"for {plain(output_text(explanation, (1,)))}: where a larger weight" in captions(app)
    state_of(app, Current).words = SelectedWords(
        about.identity, (("target", second), ("target", first), ("source", range(1)))
    )
    healthy(app.run())  # the words were selected after the step
    positions = (*first, *second)
    assert f"for {plain(output_text(explanation, positions))}: where a larger weight" in captions(app)
    weights = about.method_maps("gradient", positions)["cross"][0].weights[1]
    assert not weights.equal(about.method_maps("gradient")["cross"][0].weights[1])
    assert any(title.value.startswith(f"**Mean of {len(positions)} selected rows**") for title in app.markdown)
    table = next(frame.value for frame in app.dataframe if "L1 H2, mean" in frame.value)
    expected = weights[list(positions), : len(table)].mean(0).tolist()
    assert table["L1 H2, mean"].tolist() == pytest.approx(expected, abs=0.0005)  # three decimals


def test_a_sample_is_scored_beside_the_sentence(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_sentences, "SHIPPED", ("A dog.", "Where?"))
    opened(app, "heads")
    healthy(app.button(key="score_sample").click().run())
    healthy(app.run())  # a browser comes back by itself
    table = app.dataframe[-1].value
    head = table.columns[1]
    assert table.columns.tolist() == ["measure", head, f"{head}, sample", "scale"]
    assert "Linked like other heads" in table["measure"].tolist()
    app.session_state["judged_by"] = "Sample"
    healthy(app.run())


def test_an_address_brings_a_scored_sample_back(
    start: Start, uneven_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_sentences, "SHIPPED", ("A dog.", "Where?"))
    seen = {"scored_sample": "shipped", "judged_by": "sample", "sort": "entropy"}
    app = opened(start(uneven_checkpoint, beam_size="1", text="A dog runs.", **seen), "heads")
    healthy(app.run())  # a browser comes back by itself
    assert [column.endswith(", sample") for column in app.dataframe[-1].value] == [False, False, True, False]
    assert app.session_state["judged_by"] == "Sample"
    assert {name: app.query_params[name] for name in seen} == seen


def test_a_reader_s_own_sample_is_to_be_given_again(start: Start, uneven_checkpoint: Path) -> None:
    app = opened(
        start(uneven_checkpoint, beam_size="1", text="A dog runs.", scored_sample="own", judged_by="sample"), "heads"
    )
    assert scorecard_panel.OWN_SAMPLE in captions(app)
    app.segmented_control(key="sample_source").set_value("My own").run()
    healthy(app.text_area(key="sample_text").set_value("A cat.").run())
    healthy(app.button(key="score_sample").click().run())
    healthy(app.run())
    assert scorecard_panel.OWN_SAMPLE not in captions(app)
    assert app.query_params["scored_sample"] == "own"


def test_the_paper_s_figures_from_the_nearest_layer_and_the_selection(app: AppTest) -> None:
    app.query_params["paper_text_4"] = "A dog runs."
    opened(app, "paper_figures")
    assert "The paper shows layer 5 of 6; in layer 3 of 3 here, L3" in captions(app)
    assert [each["picture"] for each in picture_files(app).values()] == [KEY]
    for figure in ("Figure 4", "Selection on Heads"):
        app.session_state["figure"] = figure
        healthy(app.run())
        assert len(picture_files(app)) == 1
    app.session_state["figure"], app.session_state["paper_text_5"] = "Figure 5", " "
    app.run()
    assert "there is nothing to translate" in app.error[0].value.lower()


def test_without_bertviz_its_view_says_how_to_install_it(
    start: Start, uneven_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bertviz_view, "find_spec", lambda _: None)
    app = opened(start(uneven_checkpoint, view="bertviz"), "heads")
    assert any("pip install bertviz" in box.value for box in app.info)


ANSWERED = {"text": "The dog runs because it is old.", "word": ["source.5", "source.2"]}


def test_two_words_of_an_address_sort_the_grid_and_each_head_says_its_weight(
    start: Start, uneven_checkpoint: Path
) -> None:
    app = opened(start(uneven_checkpoint, beam_size="1", kind="encoder_self", **ANSWERED), "heads")
    assert app.selectbox(key="sort").value == "pair"
    assert "sort" not in app.query_params  # it is the default while two words are selected
    (answer,) = (each.value for each in app.markdown if "has the most weight" in each.value)
    assert answer.startswith("**it \u2192 dog**: **L")
    assert plain("\u201cThe animal didn't cross the street because it was too tired.\u201d L") in captions(app)
    healthy(app.text_input(key="control").set_value("The dog runs because it is wet.").run())
    assert plain("with \u201cwet\u201d: it ") in captions(app)
    assert app.query_params["control"] == "The dog runs because it is wet."
    assert "have 7 and 2 words" in app.text_input(key="control").set_value("A dog.").run().error[0].value
    healthy(app.text_input(key="control").set_value("").run())
    assert "control" not in app.query_params
    healthy(app.selectbox(key="sort").set_value("layer").run())
    assert app.query_params["sort"] == "layer"
    state = state_of(app, Current)
    state.words = SelectedWords(reading(app).identity, state.words.words[:1])
    healthy(app.run())
    assert app.selectbox(key="sort").value == "layer"
    assert "pair" not in app.selectbox(key="sort").proto.options
    assert not any("has the most weight" in each.value for each in app.markdown)


def test_with_another_kind_of_attention_the_answer_names_its_own_and_a_button_shows_it(
    start: Start, uneven_checkpoint: Path
) -> None:
    app = opened(start(uneven_checkpoint, beam_size="1", **ANSWERED), "heads")
    assert app.segmented_control(key="kind").value == "cross"
    assert app.selectbox(key="sort").value == "layer"
    (answer,) = (each.value for each in app.markdown if "has the most weight" in each.value)
    assert answer.startswith("**it \u2192 dog**, encoder attention: **L")
    healthy(app.button(key="show_first_head").click().run())
    assert app.segmented_control(key="kind").value == "encoder_self"
    assert app.selectbox(key="sort").value == "pair"
    assert "show_first_head" not in {each.key for each in app.button}  # it is shown


def test_figure_4_opens_with_the_answer_for_the_sentence_at_hand(start: Start, uneven_checkpoint: Path) -> None:
    app = opened(start(uneven_checkpoint, beam_size="1", figure="4", text=ANSWERED["text"]), "paper_figures")
    assert app.text_input(key="paper_text_4").value == ANSWERED["text"]
    assert app.selectbox(key="paper_word_4").value == "it"
    (answer,) = (each.value for each in app.markdown if "has the most weight" in each.value)
    assert answer.startswith("**it \u2192 dog**, encoder attention: **L")
    first = answer.split("**")[3]
    assert first in app.multiselect(key="paper_heads_4").value
    assert app.selectbox(key="paper_layer").value == first.split()[0]
    app.text_input(key="paper_text_4").set_value("A cat sleeps.")
    assert not any("has the most weight" in each.value for each in healthy(app.run()).markdown)
    plain_app = opened(start(uneven_checkpoint, beam_size="1", figure="4", text="A dog runs."), "paper_figures")
    assert plain_app.text_input(key="paper_text_4").value.startswith("The Law will never be perfect")
