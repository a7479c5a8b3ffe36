"""Fields of the address: written as a whole, read at the beginning of a session and after going back."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

import viz_app
from tests.viz_app.pages import comes_to, healthy, opened
from viz_app.language import LANGUAGES
from viz_app.session.address_codecs import COUNTED, INTEGER, NUMBER, SWITCH, TEXT, Codec, choice, several
from viz_app.session.fields import FIELDS, former_labels

VALUES: dict[Codec[Any], st.SearchStrategy[Any]] = {
    TEXT: st.text(),
    INTEGER: st.integers(-(10**9) + 1, 10**9 - 1),
    NUMBER: st.floats(-1e6, 1e6, width=32).map(lambda value: float(f"{value:.12g}")),
    SWITCH: st.booleans(),
    COUNTED: st.integers(0, 10**8),
}
# Links of former versions: the page, its parameters, and what they are now.
OLD_LINKS: list[tuple[str, dict[str, str | list[str]], dict[str, str | list[str]]]] = [
    ("heads", {"kind": "Encoder", "view": "Map"}, {"kind": "encoder_self", "view": "map"}),
    ("heads", {"language": "de", "kind": "Decoder", "sort": "Nach Entropie"}, {"sort": "entropy", "language": "de"}),
    ("heads", {"language": "de", "view": "Karte", "mass": "0.5 der Masse"}, {"view": "map", "mass": "0.5"}),
    ("heads", {"language": "de", "view": "Heatmap"}, {"view": "map"}),
    ("heads", {"language": "zh", "kind": "编码器", "view": "热图"}, {"kind": "encoder_self", "view": "map"}),
    ("heads", {"language": "ko", "kind": "인코더"}, {"kind": "encoder_self"}),
    ("heads", {"weights": "Norm-weighted"}, {"weights": "norms"}),
    ("heads", {"labels": "sink"}, {"labels": ["end mark", "first token", "punctuation", "marks"]}),
    ("heads", {"language": "de", "heads_cross": ["L1 H1", "Mittel aller"]}, {"heads_cross": ["L1 H1", "Mean of all"]}),
    ("heads", {"kind": "Joint", "joint_layer": "All layers"}, {"kind": "joint", "joint_layer": "All layers"}),
    ("alignment", {"rows": "that were fed it"}, {"rows": "fed"}),
    ("alignment", {"language": "de", "aligner": "L1 Mittel"}, {"aligner": "L1 mean"}),
    ("compare", {"against": "Sentence", "second_text": "Who?"}, {"against": "sentence"}),
    ("paper_figures", {"figure": "Figure 4", "paper_view": "Table"}, {"figure": "4", "paper_view": "table"}),
    ("why", {"along": "over d", "why_view": "Memory"}, {"along": "d", "why_view": "memory"}),
    ("positions", {"positions_view": "Similarity", "measure": "Cosine"}, {"measure": "cosine"}),
]


def with_values(codec: Codec[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(codec), VALUES[codec])


@given(st.one_of(*map(with_values, VALUES)))
def test_a_value_comes_back_from_its_text(pair: tuple[Codec[Any], Any]) -> None:
    codec, value = pair
    assert codec.decode(codec.encode(value)) == value


@given(st.lists(st.text(min_size=1)))
def test_a_list_comes_back_from_its_texts_also_if_it_is_empty(values: list[str]) -> None:
    codec = several(TEXT)
    texts = codec.encode(values)
    assert texts  # an address without any would be at the default
    assert codec.decode(texts) == values


@given(st.sampled_from(list(FIELDS)), st.text(), st.booleans())
def test_every_text_is_a_value_or_refused(name: str, text: str, is_repeated: bool) -> None:
    codec = FIELDS[name].codec
    with suppress(ValueError):
        value = codec.decode([text, text] if is_repeated else [text])
        assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "", "0x10", "many"])
def test_no_number_is_infinite_or_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"finite|could not convert"):
        NUMBER.decode([text])
    with pytest.raises(ValueError, match="is not a whole number of at most 9 digits"):
        INTEGER.decode([text])


def test_a_choice_says_what_it_can_be() -> None:
    with pytest.raises(ValueError, match=r"^c is none of a, b$"):
        choice({"a": 1, "b": 2}).decode(["c"])


def test_every_default_can_be_written() -> None:
    for name, each in FIELDS.items():
        if each.default is not None:
            assert each.codec.decode(each.codec.encode(each.default)) == each.default, name


def test_the_identifiers_of_former_labels_are_values() -> None:
    for name, labels in former_labels().items():
        for label, found in labels.items():
            for each in [found] if isinstance(found, str) else found:
                assert label != each
                FIELDS[name].codec.decode([each])


def test_only_the_fields_touch_the_query_parameters() -> None:
    root = Path(viz_app.__file__).parent
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if "query_params" in (text := path.read_text(encoding="utf-8")) or "bind=" in text
    }
    assert found == {"session/fields.py", "frame/sidebar.py"}  # the latter asks whether there are any


@pytest.mark.parametrize(("page", "old", "new"), OLD_LINKS, ids=[f"{page}-{old}" for page, old, _ in OLD_LINKS])
def test_an_old_link_shows_its_view(
    app: AppTest, page: str, old: dict[str, str | list[str]], new: dict[str, str | list[str]]
) -> None:
    opened(comes_to(app, **old), page)
    assert {name: app.query_params.get(name) for name in new} == new


VIEW = {"kind": "decoder_self", "weights": "norms", "sort": "entropy", "view": "table", "mass": "0.5", "words": "false"}


@pytest.mark.parametrize("code", LANGUAGES)
def test_an_address_is_the_same_view_in_every_language(app: AppTest, code: str) -> None:
    opened(comes_to(app, **VIEW, language=code), "heads")
    assert {name: app.query_params[name] for name in VIEW} == VIEW
    assert app.session_state["kind"] == "decoder_self"
    assert app.session_state["mass"] == 0.5


def test_another_page_has_its_own_settings_in_the_address(app: AppTest) -> None:
    opened(comes_to(app, mass="0.5", kind="encoder_self"), "heads")
    opened(app, "compare")
    assert "mass" not in app.query_params
    assert app.query_params["kind"] == "encoder_self"  # both pages have it
    opened(app, "heads")
    assert app.query_params["mass"] == "0.5"


def test_a_text_without_letters_is_not_the_default(app: AppTest) -> None:
    healthy(app.run())
    healthy(app.text_input(key="text").set_value("").run())
    assert app.query_params["text"] == ""
    assert healthy(comes_to(app).run()).text_input(key="text").value == ""
