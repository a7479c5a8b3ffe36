"""The address from which the browser requests its own drawing as PDF."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from starlette.requests import Request
from starlette.responses import Response

MOST_BYTES = 32 * 2**20  # of a request
_worker = ThreadPoolExecutor(1, "pdf")


async def answer(request: Request) -> Response:
    """Answer an SVG with the PDF of the same drawing.

    The status is 413 if the SVG is too large, and 400, with the reason, if it cannot be drawn.
    """
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            return Response(status_code=413)
    try:
        file = await asyncio.get_running_loop().run_in_executor(_worker, _pdf, bytes(body))
    except ValueError as error:
        return Response(str(error), 400, media_type="text/plain")
    return Response(file, media_type="application/pdf")


def _pdf(body: bytes) -> bytes:
    from viz_app.server.svg_to_pdf import pdf_of_svg  # matplotlib is imported on the first export

    return pdf_of_svg(body.decode("utf-8"))
