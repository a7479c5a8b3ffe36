"""One head over all sentences, and all heads by two measures, on the page Corpus without a browser."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from core.analysis.corpus.index import CorpusIndex
from core.analysis.corpus.index_file import save_index
from core.analysis.corpus.shown_examples import head_examples, strongest_examples
from core.analysis.heads.corpus_maps import batch_maps
from core.analysis.heads.head import Head
from core.analysis.heads.word_pair import PairOptions, pair_heads
from core.drawing.drawing_data import encoded_weights, shown_weights
from tests.viz_app.pages import Start, healthy, opened, reading
from tests.viz_app.views.corpus.conftest import pictures, texts
from viz_app.views.corpus import one_head
from viz_app.views.corpus.corpus_examples import examples_payload

HEAD = Head("cross", 1, 2)
ADDRESS = {"corpus_head": str(HEAD), "text": "A dog runs.", "beam_size": "1"}


def test_the_slider_shows_the_examples_of_a_decile(
    start: Start, checkpoint: Path, index: CorpusIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[list[float]] = []
    monkeypatch.setattr(
        "viz_app.views.corpus.selection.corpus_examples",
        lambda shown, *_, **options: drawn.append([each.value for each in shown]) or len(options["maps"]) == len(shown),
    )
    app = opened(start(checkpoint, **ADDRESS, corpus_decile="3"), "corpus")
    assert drawn[-1] == [each.strength for each in index.decile_examples(HEAD, 3)]
    assert not any(box.key == "corpus_place" for box in app.selectbox)
    assert "corpus-strengths" in pictures(app)
    healthy(app.select_slider(key="corpus_decile").set_value("top").run())
    place, translator = app.selectbox(key="corpus_place").value, reading(app).model.translator
    assert drawn[-1] == [each.strength for each in strongest_examples(translator, index, HEAD, place)]
    assert "corpus_decile" not in app.query_params


def test_an_example_has_the_map_of_its_head(start: Start, checkpoint: Path, index: CorpusIndex) -> None:
    app = opened(start(checkpoint, **ADDRESS), "corpus")
    model, examples = reading(app).model, index.head_examples(HEAD)
    maps = one_head.example_maps(model, "key", HEAD, "any top", examples)
    shown = head_examples(model.translator, HEAD, examples)
    payload = examples_payload(shown, "title", [(each, HEAD.head) for each in maps])
    for example, drawn in zip(examples, payload["examples"], strict=True):
        (alone,) = batch_maps(model.translator, [(example.sentence.source, example.sentence.target)])
        attention = alone["cross"][HEAD.layer]
        assert (drawn["map"]["rows"], drawn["map"]["columns"]) == attention.weights.shape[1:]
        assert len(drawn["map"]["weights"]) == len(encoded_weights(shown_weights(attention)[HEAD.head]))
        key, query = drawn["texts"]
        assert (key["axis"], query["axis"]) == ("key", "query")
        assert {token["at"] for token in key["tokens"] if token["mark"]} == {example.key}
        assert {token["at"] for token in query["tokens"] if token["mark"]} == {example.query}


def test_all_sentences_and_tokens_are_parts_of_a_head(start: Start, checkpoint: Path, index: CorpusIndex) -> None:
    app = opened(start(checkpoint, **ADDRESS, corpus_part="everywhere", corpus_diagonal="true"), "corpus")
    assert "**Strongest weight** in each of 20 sentences" in texts(app)
    assert "tokens from the diagonal" in pictures(app)["corpus-distances"]
    assert "corpus-weights" in pictures(app)
    healthy(app.button_group(key="corpus_part").set_value("Tokens").run())
    assert app.query_params["corpus_part"] == "tokens"
    strengths = [table.value["mean"].tolist() for table in app.dataframe[1:3]]
    healthy(app.button_group(key="corpus_tokens_by").set_value("strength").run())
    table = index.known_distributions()
    for side, before, shown in zip(("query", "key"), strengths, app.dataframe[1:3], strict=True):
        expected = [value for _, value in table.top_tokens(index.rows[HEAD], side, "strength")]  # type: ignore[arg-type]
        assert shown.value["mean"].tolist() == pytest.approx(expected, abs=5.1e-4)
        assert before != shown.value["mean"].tolist()


def test_heads_by_two_measures_and_by_the_weight_between_two_words(start: Start, checkpoint: Path) -> None:
    two = {"word": ["source.2", "target.1"], "corpus_view": "scatter", "corpus_x": "pair", "corpus_y": "spread"}
    app = opened(start(checkpoint, **ADDRESS, **two), "corpus")
    about = reading(app)
    options = PairOptions(query="target.1", key="source.2")
    found = pair_heads(about.model.translator, about.translation.source, about.hypothesis.token_ids, options)
    assert f"**{len(found.heads)} of 24 heads** have both measures" in texts(app)
    assert f"**L{found.heads[0].head.layer + 1} H{found.heads[0].head.head + 1}** has the most weight" in texts(app)
    healthy(app.selectbox(key="corpus_x").set_value("previous").run())
    assert "**24 of 24 heads** have both measures" in texts(app)
    assert app.query_params["corpus_x"] == "previous"
    healthy(app.selectbox(key="corpus_x").set_value("gold").run())
    assert "No head has both measures here" in texts(app)


def test_an_index_of_an_earlier_version_says_what_makes_it_anew(
    start: Start, checkpoint: Path, index: CorpusIndex, tmp_path: Path
) -> None:
    old = Path(shutil.copy(checkpoint, tmp_path / "model.safetensors"))
    save_index(tmp_path / "model.corpus.npz", replace(index, distributions=None))
    app = opened(start(old, **ADDRESS), "corpus")
    assert "20 sentences, " in texts(app)
    assert "earlier version" not in texts(app)
    for change in ({"corpus_part": "everywhere"}, {"corpus_part": "tokens"}, {"corpus_decile": "2"}):
        app = opened(start(old, **ADDRESS, **change), "corpus")
        assert "deciles, weights, distances and top tokens are missing" in texts(app)
        assert app.code[0].value == (
            "python -m core corpus --checkpoint model.safetensors --input model.corpus.npz -o model.corpus.npz"
        )
