"""Connections whose request stalls are closed; slow ones, answers in progress and idle web sockets live on."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from uvicorn.protocols.http.h11_impl import H11Protocol
from websockets.sync.client import connect

from viz_app.server import stalled_connections
from viz_app.server.stalled_connections import StalledBodies, limit_heads

PATIENCE = 0.2
HEAD = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n"
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


async def size(request: Request) -> PlainTextResponse:
    body = await request.body()
    if "slow" in request.query_params:
        await asyncio.sleep(2 * PATIENCE)
    return PlainTextResponse(f"{len(body)} bytes")


async def echo(connection: WebSocket) -> None:
    await connection.accept()
    await connection.send_text(await connection.receive_text())
    await connection.close()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a server that has little patience."""

    class Protocol(H11Protocol):  # of this server alone
        pass

    routes = [Route("/", size, methods=["GET", "POST"]), WebSocketRoute("/echo", echo)]
    app = Starlette(routes=routes, middleware=[Middleware(StalledBodies)])
    with pytest.MonkeyPatch.context() as patch, socket.create_server(("127.0.0.1", 0)) as listener:
        patch.setattr(stalled_connections, "PATIENCE", PATIENCE)
        limit_heads(Protocol)
        limit_heads(Protocol)  # once, however often it is called
        server = uvicorn.Server(uvicorn.Config(app, http=Protocol, ws="websockets-sansio", log_level="critical"))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join()


def all_received(connection: socket.socket) -> bytes:
    """The bytes that the server sends before it closes the connection."""
    parts = list[bytes]()
    with closing(connection):
        try:
            while part := connection.recv(4096):
                parts.append(part)
        except ConnectionResetError:
            pass
    return b"".join(parts)


def answer_to_drops(connection: socket.socket, drop: bytes) -> bytes:
    """What the server sends first while these bytes are sent to it again and again."""
    connection.settimeout(PATIENCE / 4)
    with closing(connection):
        while True:
            try:
                return connection.recv(4096)
            except TimeoutError:
                connection.sendall(drop)
            except ConnectionResetError:
                return b""


def opened(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


@pytest.mark.parametrize("sent", [b"", b"G", GET[:-2], b"GET /echo HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"])
def test_a_head_that_does_not_arrive(port: int, sent: bytes) -> None:
    connection = opened(port)
    connection.sendall(sent)
    assert all_received(connection) == b""


def test_a_head_that_drips(port: int) -> None:
    assert answer_to_drops(opened(port), b"G") == b""


def test_a_second_head_that_does_not_arrive(port: int) -> None:
    connection = opened(port)
    connection.sendall(GET)
    answer = b""
    while not answer.endswith(b"0 bytes"):
        answer += connection.recv(4096)
    connection.sendall(GET[:-2])
    assert all_received(connection) == b""


@pytest.mark.parametrize("sent", [b"", b"12345"])
def test_a_body_that_does_not_arrive(port: int, sent: bytes) -> None:
    connection = opened(port)
    connection.sendall(HEAD + sent)
    answer = all_received(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert answer.endswith(b"The request did not arrive in time.")


def test_a_slow_body_and_a_slow_answer(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalled_connections, "LEAST_RATE", 1)
    connection = opened(port)
    connection.sendall(HEAD.replace(b"POST /", b"POST /?slow=1").replace(b"\n\r\n", b"\nConnection: close\r\n\r\n"))
    for _ in range(10):
        connection.sendall(b"1")
        time.sleep(PATIENCE / 4)
    assert all_received(connection).endswith(b"10 bytes")


def test_a_body_that_drips(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes in time, and all together would take hours."""
    monkeypatch.setattr(stalled_connections, "LEAST_RATE", 1e6)
    connection = opened(port)
    connection.sendall(HEAD.replace(b"10\r", b"10000\r"))
    assert answer_to_drops(connection, b"1").startswith(b"HTTP/1.1 408 ")


def test_an_idle_web_socket_lives_on(port: int) -> None:
    with connect(f"ws://127.0.0.1:{port}/echo") as connection:
        time.sleep(3 * PATIENCE)
        connection.send("hello")
        assert connection.recv() == "hello"
