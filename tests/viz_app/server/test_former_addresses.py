"""Former addresses lead to the pages, and to the names of choices, of today."""

from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, urlencode

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.heads.labels import DEFINITIONS
from tests.viz_app.pages import Start, opened
from viz_app.language import LANGUAGES, speaking, tr
from viz_app.page_list import PAGES
from viz_app.server.former_addresses import EARLIER_NAMES, FormerAddresses
from viz_app.session import attributions
from viz_app.views.heads.alignment.figures import ROW_NAMES
from viz_app.views.why.contrast.figures import METHOD_NAMES

HEAD_VIEWS, PICTURE_VIEWS = ("Lines", "Map", "Table"), ("Pictures", "Map", "Table")
OPTIONS: dict[str, Mapping[str, str]] = {  # of each parameter in the table, by any name
    "behaviour": {key: f"{each.name[:1].upper()}{each.name[1:]}" for key, each in BEHAVIOURS.items()},
    "contrast_methods": METHOD_NAMES,
    "labels": {name: name for name in DEFINITIONS},
    "picture_view": {view: view for view in PICTURE_VIEWS},
    "rows": ROW_NAMES,
    "view": {view: view for view in HEAD_VIEWS},
}


@pytest.fixture
def client() -> Iterator[TestClient]:
    routes = [Route(f"/{page}", lambda _: PlainTextResponse("")) for page in ("", *(each.name for each in PAGES))]
    with TestClient(Starlette(routes=routes, middleware=[Middleware(FormerAddresses)])) as client:
        yield client


@pytest.mark.parametrize(
    ("asked", "led_to"),
    [
        ("/translate", "/"),
        ("/translate?text=A+dog%20runs.&word=target.2", "/?text=A+dog%20runs.&word=target.2"),
        ("/?text=A+dog%0Aruns.&beam_size=2", "?text=A+dog+runs.&beam_size=2"),  # a box has one line
        ("/translate?text=A%0D%0A%0Adog", "/?text=A+dog"),
        ("/compare?second_text=A%0Ddog", "?second_text=A+dog"),
        ("/bertviz", "/heads?view=BertViz"),
        ("/bertviz?kind=Encoder&text=A+dog%20runs.", "/heads?view=BertViz&kind=Encoder&text=A+dog%20runs."),
        ("/heads?labels=aligner&kind=Encoder", "?labels=aligns+words&kind=Encoder"),
        ("/heads?labels=sink", "?labels=end+mark&labels=first+word&labels=punctuation&labels=marks"),
        ("/bertviz?labels=aligner", "/heads?view=BertViz&labels=aligns+words"),
        (
            "/contrast?contrast_methods=Occlusion&contrast_methods=Norms&text=%3Cb%3E%26",
            "?contrast_methods=Occlusion&contrast_methods=Norm-weighted&text=%3Cb%3E%26",
        ),
        ("/contrast?language=de&contrast_methods=Normen", "?language=de&contrast_methods=Normgewichtet"),
        ("/corpus?behaviour=Looks+at+the+next+token", "?behaviour=Attends+to+the+next+token"),
        ("/heads?kind=Encoder&method=ALTI%2C+rolled+out", "?kind=Encoder&weights=ALTI%2C+rolled+out"),
    ],
)
def test_a_former_address_leads_to_the_one_of_today(client: TestClient, asked: str, led_to: str) -> None:
    answer = client.get(asked, follow_redirects=False)
    assert answer.is_redirect
    assert answer.headers["location"] == led_to
    assert client.get(client.get(asked).url, follow_redirects=False).status_code == 200


@pytest.mark.parametrize(
    "address",
    [
        *("/", "/heads?labels=", "/contrast?labels=end+mark&text=Norms&contrast_methods=x"),
        *("/heads?method=Argmax", "/alignment?method=Attention+rollout", "/heads?weights=Attention+rollout"),
    ],
)
def test_every_other_address_is_left_alone(client: TestClient, address: str) -> None:
    assert client.get(address, follow_redirects=False).status_code == 200


@pytest.mark.parametrize("name", EARLIER_NAMES)
def test_the_names_of_today_are_options_and_the_former_ones_are_not(name: str) -> None:
    shown: set[str] = set()
    for code in LANGUAGES:
        with speaking(code):
            shown.update(map(tr, OPTIONS[name].values()))
    assert {new for names in EARLIER_NAMES[name].values() for new in names} <= shown
    assert not EARLIER_NAMES[name].keys() & shown


@pytest.mark.parametrize(("language", "former"), [("en", "Norms"), ("de", "Normen"), ("zh", "归一化"), ("ko", "Norm")])
def test_a_link_to_the_norms_of_before_selects_them(
    start: Start, client: TestClient, language: str, former: str
) -> None:
    query = urlencode({"language": language, "contrast_methods": former, "text": "Where?", "beam_size": "1"})
    app: AppTest = start(**dict(parse_qsl(client.get(f"/contrast?{query}").url.query.decode())))
    assert opened(app, "contrast").button_group(key="contrast_methods").value == ["norms"]


def test_a_link_to_the_method_of_heads_selects_the_weights(start: Start, client: TestClient) -> None:
    text = {"text": "Where?", "beam_size": "1"}
    for name in attributions.METHOD_NAMES.values():
        query = client.get(f"/heads?{urlencode({'method': name, **text})}").url.query.decode()
        assert dict(parse_qsl(query)) == {"weights": name, **text}
    weights = opened(start(weights="Norm-weighted", **text), "heads").selectbox(key="weights")
    assert weights.value == "norms"
    assert weights.options == [*attributions.METHOD_NAMES.values()]
