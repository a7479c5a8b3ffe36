"""The addresses from which the browser requests previews, and its own drawing as PDF."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from starlette.requests import Request
from starlette.responses import Response

from viz_app.session import previews

MOST_OF_PREVIEW, MOST_OF_PDF = 8192, 32 * 2**20  # bytes of a request
# One thread for all visitors: torch starts further threads for each that computes.
_previews, _pdfs = ThreadPoolExecutor(1, "preview"), ThreadPoolExecutor(1, "pdf")


async def preview(request: Request) -> Response:
    """Answer with the data of drawings by their keys, see `session/previews.py`.

    The request is JSON with a `ticket`, see `Previews`, and a `text`. Status 204: no drawings; 413: it is too large.
    """
    data = await _answer(request, MOST_OF_PREVIEW, _previews, drawings)
    return Response(status_code=413) if data is None else Response(data, 200 if data else 204, None, "application/json")


async def pdf(request: Request) -> Response:
    """Answer an SVG with the PDF of the same drawing.

    The status is 413 if the SVG is too large, and 400, with the reason, if it cannot be drawn.
    """
    try:
        file = await _answer(request, MOST_OF_PDF, _pdfs, _pdf)
    except ValueError as error:
        return Response(str(error), 400, media_type="text/plain")
    return Response(status_code=413) if file is None else Response(file, media_type="application/pdf")


async def _answer(
    request: Request, most: int, worker: ThreadPoolExecutor, make: Callable[[bytes], bytes]
) -> bytes | None:
    """Make something of the body of a request, in a thread; None if it is too large."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            return None
    return await asyncio.get_running_loop().run_in_executor(worker, make, bytes(body))


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


def _pdf(body: bytes) -> bytes:
    from viz_app.server.svg_to_pdf import pdf_of_svg  # matplotlib is imported on the first export

    return pdf_of_svg(body.decode("utf-8"))
