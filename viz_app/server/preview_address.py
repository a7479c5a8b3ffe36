"""The address from which the browser requests previews, see `session/previews.py`."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

from starlette.requests import Request
from starlette.responses import Response

from viz_app.session import previews

MOST_BYTES = 8192  # of a request

# One thread for all visitors: torch starts further threads for each that computes.
_worker = ThreadPoolExecutor(1, "preview")


async def answer(request: Request) -> Response:
    """Answer with the data of drawings by their keys.

    The request is JSON with a `ticket`, see `Previews`, and a `text`. Without drawings the status is 204; it is 413 if
    the request is too large.
    """
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            return Response(status_code=413)
    data = await asyncio.get_running_loop().run_in_executor(_worker, drawings, bytes(body))
    return Response(data, 200 if data else 204, media_type="application/json")


def drawings(body: bytes) -> bytes:
    """Return the requested data as JSON; nothing if there are none."""
    from core.files.strict_json import json_text  # imports torch: the first page is drawn before

    try:
        match json.loads(body):
            case {"ticket": str(ticket), "text": str(text)}:
                return json_text(previews.preview(ticket, text)).encode()
            case _:
                return b""
    except (previews.NoPreviewError, ValueError, RecursionError):
        return b""
