"""The address contains all settings of a view and restores it."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, opened, parsed
from viz_app.session.fields import FIELDS

BOXES = ("selectbox", "multiselect", "slider", "select_slider", "toggle", "checkbox", "button_group")
BOXES += ("text_input", "text_area", "number_input")
# What is typed to compute from, and what only this session has: a sample of the reader's own, a measurement.
NO_VIEW = {"own_text", "sample_source", "sample_text", "gold_pasted", "why_source"}
BY_NUMBER = {"hypothesis", "second_hypothesis"}
BY_OTHER_NAME = {"open_model"}  # `checkpoint` in the address
OF_TWO_PAGES = {"against"}  # each with a field of this name

# Of each page and view every control as the address has it, none at its default.
VIEWS = [
    "translate?hypotheses=2&length_penalty=1.2&min_length=2&hypothesis=2",
    "translate?samples=true&num_samples=3&temperature=0.7&top_k=5&top_p=0.9&min_p=0.1&sample_seed=4",
    "heads?kind=decoder_self&heads_decoder_self=L1+H2&heads_decoder_self=L2+H4&view=map&words=false&sort=entropy",
    "heads?kind=decoder_self&hide_special=false&labels=end+mark&compare=true&step=2",
    "heads?weights=rollout&layers_cross=L1&mass=0.5",
    "heads?weights=gradient&output=selected&word=target.1&word=source.2",
    "heads?kind=joint&weights=norms&joint_layer=L1&joint_head=H2&joint_view=table",
    "beam?beam_view=table",
    "switches?gate=0.5&switched=cross+L2+H1",
    "alignment?method=norms&aligner=L2+H3&links=0-0&numbers_of=source",
    "compare?second=3&kind=encoder_self&compare_head_encoder_self=L1+H1&compare_weights=norms&compare_view=lines",
    "compare?against=sentence&second_text=Who?&compare_head_cross=L2+H2",
    "heads?view=bertviz&bertviz_view=model&heads_cross=L2+H3",
    "positions?positions_view=sinusoids&num_positions=128&dimensions=3&dimensions=5",
    "positions?positions_view=similarity&measure=cosine",
    "positions?positions_view=rotation&position=7&offset=9",
    "positions?positions_view=first_layer&score_kind=decoder_self&score_head=L1+H3",
    "paper_figures?paper_text_3=A+dog+runs.&paper_layer=L1&paper_word_3=dog&paper_heads_3=L1+H2&paper_view=table",
    "paper_figures?figure=selection&selection=encoder_self|norms|L1+H2|Mean+of+all",
    "paper_figures?figure=selection&selection=cross|gradient.2|L1+H2",
    "training?training_view=rate",
    "why?why_view=memory&along=d&why_table=true&why_n=128&why_d=64&why_k=5&why_r=32&why_dilated=false",
]


@pytest.fixture
def app(start: Start) -> AppTest:
    return start(text="Where?", beam_size="3")


@pytest.mark.parametrize("view", VIEWS)
def test_an_address_brings_its_view_back(app: AppTest, view: str) -> None:
    page, address = parsed(view)
    app.query_params.update(address)
    opened(app, page)
    for name in (each for each in address if each in app.session_state and each not in BY_NUMBER | OF_TWO_PAGES):
        texts = [address[name]] if isinstance(address[name], str) else address[name]
        assert app.session_state[name] == FIELDS[name].codec.decode(texts), name
    assert {name: app.query_params[name] for name in address} == address
    loose = {widget.key for kind in BOXES for widget in app.get(kind) if not widget.proto.query_param_key}
    assert {key for key in loose if key} <= NO_VIEW | BY_NUMBER | BY_OTHER_NAME | FIELDS.keys()


@pytest.mark.parametrize("page", ["heads", "compare", "paper_figures"])
def test_what_an_address_cannot_mean_is_left_out(app: AppTest, page: str) -> None:
    # these have messages of their own
    names = {name for view in VIEWS for name in parsed(view)[1]} - {"links", "switched", "word"}
    for name in names:
        app.query_params[name] = "<b>*_`$x$ 99|"
    app.query_params["second"], app.query_params["heads_cross"], app.query_params["step"] = "99", "L99 H1", "999"
    opened(app, page)
    assert [error.value for error in app.error if "hypothesis=" not in error.value.replace("\\", "")] == []
