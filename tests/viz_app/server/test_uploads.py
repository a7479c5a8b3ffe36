"""Uploads through Streamlit's own address: those that a page has requested, within limits."""

import io
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from httpx2 import Response
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient
from starlette.types import Message
from streamlit.runtime import memory_uploaded_file_manager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.web.server.starlette import starlette_routes

from tests.event_loop import run_alone
from viz_app.server import serving, uploads
from viz_app.server.uploads import BoundedUploads, ExpectedUploads
from viz_app.session import environment

MB = 2**20


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> BoundedUploads:
    """The files of a server on which a session may hold 2 MB, and all together 8."""
    monkeypatch.setenv(environment.UPLOAD_VARIABLE, "1")
    return BoundedUploads("/_stcore/upload_file")


@pytest.fixture
def client(files: BoundedUploads, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    server = SimpleNamespace(is_active_session=lambda _: True, uploaded_file_mgr=files)
    monkeypatch.setattr(starlette_routes, "is_xsrf_enabled", lambda: False)
    monkeypatch.setattr(uploads.runtime, "exists", lambda: True)
    monkeypatch.setattr(uploads.runtime, "get_instance", lambda: server)
    routes = starlette_routes.create_upload_routes(server, files, None)  # type: ignore[arg-type]
    with TestClient(Starlette(routes=routes, middleware=[Middleware(ExpectedUploads)])) as client:
        yield client


def asked(files: BoundedUploads, session: str, count: int = 1) -> list[str]:
    return [each.upload_url for each in files.get_upload_urls(session, ["a.safetensors"] * count)]


def put(client: TestClient, address: str, size: int, chunked: bool = False) -> Response:
    request = client.build_request("PUT", address, files={"file": ("a.safetensors", io.BytesIO(bytes(size)))})
    if chunked:
        body = request.read()
        parts = (body[start : start + 65536] for start in range(0, len(body), 65536))
        return client.put(address, content=parts, headers={"content-type": request.headers["content-type"]})
    return client.send(request)


def test_a_file_that_a_page_has_asked_for_is_kept_once(client: TestClient, files: BoundedUploads) -> None:
    (address,) = asked(files, "session")
    assert put(client, address, 10).status_code == 204
    (kept,) = files.get_files("session", [address.rpartition("/")[2]])
    assert (kept.name, len(kept.data)) == ("a.safetensors", 10)
    answer = put(client, address, 20)
    assert (answer.status_code, answer.text) == (403, "No page of the app has asked for this file.")


@pytest.mark.parametrize("owner", ["", "another"])
def test_a_file_that_nobody_has_asked_for_is_dropped(client: TestClient, files: BoundedUploads, owner: str) -> None:
    address = asked(files, owner)[0].replace("another", "session") if owner else "/_stcore/upload_file/session/own-id"
    assert put(client, address, 10).status_code == 403
    files.add_file("session", UploadedFileRec("own-id", "a", "", b"a"))  # whichever way it came
    assert not files.file_storage


@pytest.mark.parametrize("chunked", [False, True])
def test_a_session_holds_a_bounded_sum(client: TestClient, files: BoundedUploads, chunked: bool) -> None:
    first, second, third = asked(files, "session", 3)
    assert put(client, first, MB, chunked).status_code == 204
    answer = put(client, second, MB + 1 if chunked else MB, chunked)
    assert answer.status_code == 413
    assert "There is no room for this file: remove others, or try again later." in answer.text
    assert put(client, third, MB // 2, chunked).status_code == 204
    assert client.delete(first).status_code == 204
    assert put(client, second, MB, chunked).status_code == 204


def test_an_upload_that_the_visitor_cancels_is_no_error(client: TestClient, files: BoundedUploads) -> None:
    (address,) = asked(files, "session")
    request = client.build_request("PUT", address, files={"file": ("a", io.BytesIO(bytes(MB)))})
    body, sent = request.read(), list[Message]()
    messages: Iterator[Message] = iter(
        ({"type": "http.request", "body": body[: MB // 2], "more_body": True}, {"type": "http.disconnect"})
    )

    async def receive() -> Message:
        return next(messages)

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"content-type", request.headers["content-type"].encode())]
    scope = {"type": "http", "method": "PUT", "path": address, "headers": headers, "query_string": b""}
    run_alone(client.app(scope, receive, send))  # type: ignore[arg-type]
    assert not sent
    assert files.has_room("session", 2 * MB)
    assert not files.file_storage


def test_all_sessions_together_hold_a_bounded_sum(client: TestClient, files: BoundedUploads) -> None:
    codes = [put(client, asked(files, f"session-{number}")[0], MB).status_code for number in range(10)]
    assert codes == [204] * 7 + [413] * 3  # four times a megabyte, and what a request has besides its file
    files.remove_session_files("session-0")
    assert put(client, asked(files, "session-9")[0], MB).status_code == 204


def test_requests_that_fail_leave_no_bytes_counted(client: TestClient, files: BoundedUploads) -> None:
    (address,) = asked(files, "session")
    for _ in range(5):
        assert client.put(address, content=bytes(MB // 2)).status_code == 400
    assert put(client, address, MB).status_code == 204


def test_the_ids_that_a_session_may_ask_for_are_bounded(files: BoundedUploads) -> None:
    first = asked(files, "session")[0].rpartition("/")[2]
    assert files.expects("session", first)
    assert len(asked(files, "session", 5000)) == uploads.MAX_FILES
    assert not files.expects("session", first)
    files.remove_session_files("session")
    assert not files._expected


def test_the_server_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_uploaded_file_manager, "MemoryUploadedFileManager", BoundedUploads.__base__)
    serving.configure_streamlit()
    assert memory_uploaded_file_manager.MemoryUploadedFileManager is BoundedUploads
    assert ExpectedUploads in [each.cls for each in serving.middleware()]
