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

from core.analysis.attribution.contrast_methods import NAMES
from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.heads.labels import DEFINITIONS
from tests.viz_app.pages import Start, opened
from viz_app.page_list import VIEWS
from viz_app.server.former_addresses import FormerAddresses
from viz_app.session import attributions
from viz_app.session.fields import FIELDS, former_labels
from viz_app.views.heads.alignment.aligner_list import ROW_NAMES

HEAD_VIEWS, PICTURE_VIEWS = ("Lines", "Map", "Table", "BertViz"), ("Pictures", "Map", "Table")
OPTIONS: dict[str, Mapping[str, str]] = {  # of each parameter in the table, by any name
    "behaviour": {key: f"{each.name[:1].upper()}{each.name[1:]}" for key, each in BEHAVIOURS.items()},
    "contrast_methods": {method: names[0] for method, names in NAMES.items()},
    "labels": {name: name for name in DEFINITIONS},
    "picture_view": {view: view for view in PICTURE_VIEWS},
    "rows": ROW_NAMES,
    "view": {view: view for view in HEAD_VIEWS},
}


@pytest.fixture
def client() -> Iterator[TestClient]:
    routes = [Route(f"/{page}", lambda _: PlainTextResponse("")) for page in ("", *(each.name for each in VIEWS))]
    with TestClient(Starlette(routes=routes, middleware=[Middleware(FormerAddresses)])) as client:
        yield client


@pytest.mark.parametrize(
    ("asked", "led_to"),
    [
        ("/overview", "/"),
        ("/overview?text=A+dog%20runs.&word=target.2", "/?text=A+dog%20runs.&word=target.2"),
        ("/?text=A+dog%0Aruns.&beam_size=2", "?text=A+dog+runs.&beam_size=2"),  # a box has one line
        ("/overview?text=A%0D%0A%0Adog", "/?text=A+dog"),
        ("/translate?text=A%0D%0A%0Adog", "?text=A+dog"),
        ("/compare?second_text=A%0Ddog", "?second_text=A+dog"),
        ("/bertviz", "/heads?view=bertviz"),
        ("/bertviz?kind=Encoder&text=A+dog%20runs.", "/heads?view=bertviz&kind=Encoder&text=A+dog%20runs."),
        ("/bertviz?labels=aligner", "/heads?view=bertviz&labels=aligner"),
        ("/training?training_view=table_3", "/table_3"),
        ("/training?training_view=Tabelle+3&text=A+dog", "/table_3?text=A+dog"),
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


@pytest.mark.parametrize("name", OPTIONS)
def test_a_former_label_names_options_of_today(name: str) -> None:
    for found in former_labels()[name].values():
        values = FIELDS[name].codec.decode([found] if isinstance(found, str) else found)
        assert set(values if isinstance(values, list) else [values]) <= OPTIONS[name].keys()


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
