"""Closing of connections whose request does not arrive, as each takes memory and an open file of the process.

A request has a minute for its head. Its body may take as long as it needs at `LEAST_RATE`, and may pause for a minute.
A web socket counts as a request until it is open; then it lives as long as the browser answers the server's pings.
"""

import asyncio
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATIENCE = 60.0  # seconds
LEAST_RATE = 1000  # bytes per second of a body, that the slowest networks reach


class StalledError(Exception):
    """The body of a request does not arrive."""


class StalledBodies:
    """ASGI middleware that ends a request whose body does not arrive, with status 408."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        now = asyncio.get_running_loop().time
        deadline, is_complete, has_begun = now() + PATIENCE, False, False

        async def patient() -> Message:
            nonlocal deadline, is_complete
            if is_complete:  # the next message is the end of the connection
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, deadline - now()))
            except TimeoutError as error:
                raise StalledError from error
            deadline = min(now() + PATIENCE, deadline + len(message.get("body", b"")) / LEAST_RATE)
            is_complete = not message.get("more_body", False)
            return message

        async def noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self.app(scope, patient, noted)
        except StalledError:
            if not has_begun:
                await STALLED(scope, receive, send)


STALLED = PlainTextResponse("The request did not arrive in time.", 408, headers={"Connection": "close"})


def limit_heads(protocol: Any) -> None:
    """Close connections, of uvicorn's class for all servers, on which the head of a request does not arrive in time.

    uvicorn itself closes a connection that is idle after an answer, but waits forever for a first or a begun request.
    """
    if hasattr(protocol, "head_timer"):
        return
    made, received, lost = protocol.connection_made, protocol.data_received, protocol.connection_lost

    def connection_made(self: Any, transport: asyncio.Transport) -> None:
        made(self, transport)
        await_head(self)

    def data_received(self: Any, data: bytes) -> None:
        received(self, data)
        is_own = self.transport.get_protocol() is self  # not that of a web socket
        if not is_own or (self.cycle is not None and not self.cycle.response_complete):
            stop(self)
        elif self.head_timer is None:
            await_head(self)

    def connection_lost(self: Any, error: Exception | None) -> None:
        stop(self)
        lost(self, error)

    def await_head(self: Any) -> None:
        self.head_timer = asyncio.get_running_loop().call_later(PATIENCE, self.transport.abort)

    def stop(self: Any) -> None:
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    protocol.head_timer = None
    protocol.connection_made, protocol.data_received = connection_made, data_received
    protocol.connection_lost = connection_lost
