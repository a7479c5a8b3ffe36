"""Origins that may connect to the server or frame it, and the scripts its pages run, on a made-up application."""

import re
from collections.abc import Iterator

import pytest
from httpx2 import Response
from starlette.applications import Starlette
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocket

from viz_app.drawing.bertviz_scripts import all_hashes, source_hash
from viz_app.frame.sidebar import page_script
from viz_app.language import LANGUAGES
from viz_app.server import first_frame, serving
from viz_app.session import environment

OWN = "http://127.0.0.1:8501"
STREAM = "ws://127.0.0.1:8501/stream"  # the test client takes a relative address for one of its own host
FOREIGN = [
    "http://localhost:9999",  # another program on this machine
    "http://127.0.0.1",
    "https://localhost",
    "http://headlight.example:8501",
    "http://localhost.example:8501",
    "http://localhost:8501.example",
    "null",  # a page in a sandbox
    "",
]


async def echo(connection: WebSocket) -> None:
    await connection.accept()
    await connection.send_text(await connection.receive_text())
    await connection.close()


def policy(answer: Response) -> dict[str, list[str]]:
    """The directives of an answer's only policy."""
    (header,) = answer.headers.get_list("content-security-policy")
    return {name: sources for name, *sources in (part.split() for part in header.split(";"))}


@pytest.fixture
def client() -> Iterator[TestClient]:
    routes = [
        WebSocketRoute("/stream", echo),
        Route("/", lambda _: HTMLResponse('<body><div id="root"></div></body>')),
        Route("/file", lambda _: FileResponse(__file__)),
        Route("/own", lambda _: PlainTextResponse("", headers={"Content-Security-Policy": "frame-ancestors *"})),
    ]
    with TestClient(Starlette(routes=routes, middleware=serving.middleware()), base_url=OWN) as client:
        yield client


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_page_of_another_origin_cannot_connect(client: TestClient, origin: str) -> None:
    with (
        pytest.raises(WebSocketDenialResponse) as refused,
        client.websocket_connect(STREAM, headers={"origin": origin}),
    ):
        pass
    assert refused.value.status_code == 403
    assert f"answers only its own pages, not those of {origin}:" in refused.value.text
    assert client.get("/", headers={"origin": origin}).status_code == 403


@pytest.mark.parametrize("origin", [OWN, "http://localhost:8501", "http://LOCALHOST:8501", "http://[::1]:8501", None])
def test_its_own_pages_and_programs_that_are_no_browser_can(client: TestClient, origin: str | None) -> None:
    headers = {} if origin is None else {"origin": origin}
    with client.websocket_connect(STREAM, headers=headers) as connection:
        connection.send_text("hello")
        assert connection.receive_text() == "hello"
    assert client.get("/", headers=headers).status_code == 200


def test_behind_a_forwarded_port_the_address_in_the_browser_counts(client: TestClient) -> None:
    """`ssh -L 9999:localhost:8501`: the browser names the port that it knows, as host and as origin."""
    headers = {"host": "localhost:9999", "origin": "http://localhost:9999"}
    with client.websocket_connect(STREAM, headers=headers) as connection:
        connection.send_text("hello")
        assert connection.receive_text() == "hello"


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 200),
        ("/file", {}, 200),
        ("/own", {}, 200),  # a route cannot allow more
        ("/overview", {}, 307),
        ("/nowhere", {}, 404),
        ("/", {"host": "headlight.example"}, 400),
        ("/", {"origin": "http://localhost:9999"}, 403),
    ],
)
def test_no_answer_can_be_framed(client: TestClient, path: str, headers: dict[str, str], status: int) -> None:
    answer = client.get(path, headers=headers, follow_redirects=False)
    assert answer.status_code == status
    assert policy(answer)["frame-ancestors"] == ["'none'"]
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_pages_run_the_app_s_scripts_alone(client: TestClient) -> None:
    """Streamlit runs components as blobs; every inline script is one of the server's, by its hash."""
    found = policy(client.get("/"))
    own, blobs, *hashes = found["script-src"]
    assert (own, blobs) == ("'self'", "blob:")
    scripts = [*first_frame.inline_scripts(), *map(page_script, LANGUAGES)]
    assert set(hashes) == {*map(source_hash, scripts), *all_hashes()}
    assert all(re.fullmatch("'sha256-[A-Za-z0-9+/]{43}='", each) for each in hashes)
    assert found["object-src"] == found["base-uri"] == ["'none'"]
    assert found["default-src"] == found["form-action"] == ["'self'"]
    assert not any("*" in source or "eval" in source for sources in found.values() for source in sources)
    assert [name for name, sources in found.items() if "'unsafe-inline'" in sources] == ["style-src"]


def test_a_hash_is_that_of_the_text_of_the_script() -> None:
    assert source_hash("alert(1)") == "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"


NAMES = ["localhost", "127.0.0.1:8501", "[::1]:8501", "[::1]"]
OTHERS = ["headlight.example", "localhost.example:80", "[::2]:8501"]


@pytest.mark.parametrize(("host", "status"), [*((each, 200) for each in NAMES), *((each, 400) for each in OTHERS)])
def test_only_names_of_this_machine_are_answered(client: TestClient, host: str, status: int) -> None:
    """Otherwise a page from elsewhere whose name points here (DNS rebinding) could read the app."""
    assert client.get("/", headers={"host": host}).status_code == status


def test_further_hosts_and_frames_are_allowed_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a proxy that passes the `Host` on."""
    monkeypatch.setenv(environment.HOSTS_VARIABLE, "headlight.example,*.lab.example")
    monkeypatch.setenv(environment.FRAMES_VARIABLE, "https://course.example")
    routes = [Route("/", lambda _: HTMLResponse("")), WebSocketRoute("/stream", echo)]
    with TestClient(Starlette(routes=routes, middleware=serving.middleware()), base_url=OWN) as client:
        for host, status in (("headlight.example", 200), ("a.lab.example:8501", 200), ("other.example", 400)):
            assert client.get("/", headers={"host": host}).status_code == status
        own = {"host": "headlight.example", "origin": "https://headlight.example"}
        with client.websocket_connect(STREAM, headers=own) as connection:
            connection.send_text("hello")
            assert connection.receive_text() == "hello"
        foreign = {"host": "headlight.example", "origin": "https://course.example"}  # may frame it, not talk to it
        assert client.get("/", headers=foreign).status_code == 403
        answer = client.get("/")
        assert policy(answer)["frame-ancestors"] == ["https://course.example"]
        assert "x-frame-options" not in answer.headers
