"""The page Corpus without a browser."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from core.analysis.corpus.behaviours import ranked
from core.analysis.corpus.index import CorpusIndex, NeuronExample
from core.analysis.corpus.index_file import index_bytes, load_index, save_index
from core.analysis.corpus.recording import Neuron
from core.analysis.corpus.shown_examples import ShownExample
from core.analysis.heads.head import Head
from tests.viz_app.pages import Start, healthy, opened, reading, state_of
from tests.viz_app.views.corpus.conftest import texts
from viz_app.controls.job_control import TURN
from viz_app.session.chosen_heads import heads_widget
from viz_app.session.readings import Current, SelectedWords
from viz_app.views.corpus import opened_index, selection
from viz_app.views.corpus.opened_index import OwnIndex

SENTENCES = "A dog runs.\tEin Hund.\nWhere is the sea?\tWo ist das Meer?\nThe old house, and the red ball.\tDas Haus."


def test_heads_are_ranked_by_a_behaviour_and_the_address_holds_everything(
    start: Start, checkpoint: Path, index: CorpusIndex
) -> None:
    address = {"behaviour": "copies", "corpus_kind": "cross", "corpus_layer": "2", "corpus_head": "encoder L1 H2"}
    app = opened(start(checkpoint, text="Where?", beam_size="1", **address), "corpus")
    assert "20 sentences, " in texts(app)
    assert "Twenty sentences, CC0; with given translations by model.safetensors." in texts(app)
    table = app.dataframe[0].value
    expected = [(card, score) for card, score in ranked(index, "copies", ["cross"]) if card.head.layer == 1]
    assert table["head"].tolist() == [card.head.head for card, _ in expected]
    assert table["score"].tolist() == pytest.approx([score for _, score in expected], abs=0.0005)  # three decimals
    assert "**Encoder L1 H2**" in texts(app)
    assert app.selectbox(key="corpus_place").value == "copies"
    healthy(app.selectbox(key="behaviour").set_value("Attends to the next token").run())
    assert app.selectbox(key="corpus_place").value == "following"
    assert app.query_params["corpus_head"] == "encoder L1 H2"


def test_ranges_limit_the_heads(start: Start, checkpoint: Path, index: CorpusIndex) -> None:
    low = sorted(card.entropy for card in index.cards)[-5]
    app = opened(start(checkpoint, text="Where?", beam_size="1", corpus_range=f"spread_{low - 1e-6}_1"), "corpus")
    expected = {card.head for card in index.cards if card.entropy >= low}
    table = app.dataframe[0].value
    assert {Head(*each) for each in table[["kind", "layer", "head"]].itertuples(index=False)} == expected
    assert f"5 of {len(index.cards)} heads in the selected ranges" in texts(app)
    healthy(app.button(key="clear_ranges").click().run())
    assert len(app.dataframe[0].value) == len(index.cards)
    assert "corpus_range" not in app.query_params


def test_neurons_of_a_layer_and_those_with_a_token(start: Start, checkpoint: Path, index: CorpusIndex) -> None:
    address = {"corpus_view": "neurons", "corpus_stack": "decoder", "neuron_layer": "2"}
    app = opened(start(checkpoint, text="Where?", beam_size="1", **address), "corpus")
    table, found = app.dataframe[0].value, index.neurons["decoder"]
    assert len(table) == (found.activations[1, :, 0] > 0).sum()
    assert "Promotes: " in texts(app)
    token = table["tokens"][0].split()[0].strip(",")
    healthy(app.text_input(key="neuron_token").set_value(f" {token.upper()} ").run())
    with_token = app.dataframe[0].value
    names = set(with_token["name"])
    assert table["name"][0] in names
    assert set(table["name"][table["tokens"].str.contains(token, regex=False)]) <= names < set(table["name"])
    healthy(app.text_input(key="neuron_token").set_value("xyz").run())
    assert "No neuron of this layer has such a token" in texts(app)


@pytest.mark.parametrize("head", [Head("encoder_self", 0, 1), Head("decoder_self", 1, 0), Head("cross", 1, 2)])
def test_an_example_opens_on_the_page_heads(
    start: Start, checkpoint: Path, index: CorpusIndex, head: Head, monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_buttons(
        shown: list[ShownExample], _title: str, on_click: Callable[[int], None], key: str, **_options: Any
    ) -> None:
        for number, _ in enumerate(shown):
            st.button(str(number), key=f"{key} {number}", on_click=on_click, args=(number,))

    monkeypatch.setattr("viz_app.views.corpus.selection.corpus_examples", as_buttons)
    address = {"corpus_head": str(head), "corpus_place": "any"}
    app = opened(start(checkpoint, text="Where?", beam_size="1", **address), "corpus")
    example = index.head_examples(head)[1]
    healthy(app.button(key="corpus-examples 1").click().run())
    about = reading(app)
    assert about.translation.source == example.sentence.source
    assert about.hypothesis.token_ids[:-1] == example.sentence.target
    assert app.session_state["kind"] == head.kind
    assert app.session_state[heads_widget(head.kind).key] == [f"L{head.layer + 1} H{head.head + 1}"]
    words = selection.example_words(about.model, head, example.sentence, example.query, example.key)
    assert state_of(app, Current).words == SelectedWords(about.identity, tuple(words))


def test_the_words_of_an_example_are_those_of_its_tokens(start: Start, checkpoint: Path, index: CorpusIndex) -> None:
    app = opened(start(checkpoint, text="Where?", beam_size="1"), "corpus")
    model = reading(app).model
    sentence = index.sentences[1]
    found = selection.example_words(model, Head("decoder_self", 0, 0), sentence, query=2, key=1)
    source, fed, predicted = selection.sides(model.translator, sentence)
    assert [side for side, _ in found] == ["target"] * len(found)
    assert 2 in found[0][1]  # the row predicts token 2
    assert any(fed[1] == predicted[position] and position == 0 for _, group in found for position in group)
    cross = selection.example_words(model, Head("cross", 0, 0), sentence, query=0, key=len(source) - 1)
    assert [(side, group) for side, group in cross][1] == ("source", range(len(source) - 1, len(source)))

    sentence = index.sentences[0]  # an example of a neuron selects its word
    assert selection.neuron_words(model, Neuron("encoder", 0, 0), NeuronExample(1.0, sentence, 0))[0][0] == "source"
    assert selection.neuron_words(model, Neuron("decoder", 0, 0), NeuronExample(1.0, sentence, 0)) == []  # `<s>`
    (word,) = selection.neuron_words(model, Neuron("decoder", 0, 0), NeuronExample(1.0, sentence, 1))
    assert word[0] == "target"
    assert 0 in word[1]


def test_an_index_that_is_damaged_or_of_another_checkpoint_is_not_shown(
    start: Start, checkpoint: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copy(checkpoint, tmp_path / "model.safetensors"))
    shutil.copy(checkpoint.with_name("model.corpus.npz"), tmp_path / "model.corpus.npz")
    app = opened(start(other, text="Where?", beam_size="1"), "corpus")
    assert "20 sentences, " in texts(app)  # the same bytes under another path
    beside = tmp_path / "model.corpus.npz"
    found = load_index(beside)
    save_index(beside, replace(found, facts=replace(found.facts, digest="1" * 64)))
    healthy(app.run())
    assert "model.corpus.npz is the index of another checkpoint, " in texts(app)
    assert " (11111111), this one is model.safetensors" in texts(app)
    beside.write_bytes(b"x")
    healthy(app.run())
    assert "model.corpus.npz is not a corpus index, or is damaged" in texts(app)
    beside.unlink()
    beside.symlink_to(checkpoint.with_name("model.corpus.npz"))
    healthy(app.run())
    assert f"model.corpus.npz is not a regular file of the folder {tmp_path.name}: the app follows no link" in texts(
        app
    )
    own = state_of(app, OwnIndex)
    model = reading(app).model
    content = checkpoint.with_name("model.corpus.npz").read_bytes()
    own.open(model, "index.npz", content)
    healthy(app.run())
    assert "20 sentences, " in texts(app)
    assert app.query_params["corpus_index"] == "own"
    with pytest.raises(ValueError, match=r"is the index of another checkpoint, model.safetensors"):
        own.open(type(model)("other", "1" * 64, model.translator), "index.npz", content)


def test_without_an_index_one_is_built_here_and_grows(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened_index, "BATCH_SIZE", 1)
    monkeypatch.setattr(opened_index, "MAX_LINES", 3)
    app = opened(start(text="Where?", beam_size="1", corpus_index="own"), "corpus")
    assert "This link was made with its author's own index" in texts(app)
    assert "python -m core corpus --checkpoint" in app.code[0].value
    for text, said in (("", "There is no sentence"), ("a\n" * 4, "The text has 4 sentences, at most 3 are read here")):
        app.text_area(key="corpus_text").set_value(text)
        app.button(key="corpus_submit").click().run()
        assert said in app.error[0].value.replace("\\", "")
    app.text_area(key="corpus_text").set_value(SENTENCES)
    healthy(app.button(key="corpus_submit").click().run())
    own = state_of(app, OwnIndex)
    assert own.job is not None
    while own.job.advance(TURN):
        pass
    healthy(app.run())
    assert own.job.finished
    assert "3 sentences, " in texts(app)
    assert len(app.dataframe[0].value)
    assert own.opened is not None
    saved = own.opened.index
    assert "Save this index" in [each.proto.label for each in app.get("download_button")]  # type: ignore[attr-defined]
    own.upload(reading(app).model, "saved.corpus.npz", index_bytes(saved))
    assert own.opened is not None
    assert own.opened.index.sentences == saved.sentences
    own.forget_model(own.digest)
    assert own.opened is None
    assert own.job is None


def test_files_that_cannot_be_indexed_are_refused(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(start(text="Where?", beam_size="1"), "corpus")
    own, model = OwnIndex(), reading(app).model
    with pytest.raises(ValueError, match=r"bad.txt is not UTF-8 text"):
        own.open(model, "bad.txt", b"\xff")
    monkeypatch.setattr(opened_index, "MAX_BYTES", 3)
    monkeypatch.setattr(opened_index, "MAX_INDEX_BYTES", 3)
    with pytest.raises(ValueError, match=r"bad.txt is larger than 0 MB: upload fewer lines, or use `python -m core co"):
        own.open(model, "bad.txt", b"four")
    with pytest.raises(ValueError, match=r"bad.npz is larger than 0 MB"):
        own.open(model, "bad.npz", b"four")


def test_what_is_no_selection_in_the_address_is_ignored() -> None:
    assert selection.parsed_neuron("decoder L1 N12") == Neuron("decoder", 0, 11)
    assert selection.parsed_range("previous_0.5_1") == ("previous", (0.5, 1.0))
    for text in ("", "cross L0 H1", "previous_1", "previous_a_b", "other_0_1", "previous_nan_1"):
        assert selection.parsed_neuron(text) is None
        assert selection.parsed_range(text) is None
    selection.set_range("previous", (0.123456, 1.0))
    assert selection.selected_ranges() == {"previous": (0.1235, 1.0)}
    selection.set_range("previous", None)
    assert not selection.selected_ranges()
