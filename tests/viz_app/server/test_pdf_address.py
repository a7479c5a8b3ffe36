"""The address that turns a drawing into a PDF, over HTTP."""

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from viz_app.server import pdf_address, serving

OWN = "http://127.0.0.1:8501"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"></svg>'


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(Starlette(routes=serving.routes(), middleware=serving.middleware()), base_url=OWN) as client:
        yield client


def test_a_drawing_is_answered_with_its_pdf(client: TestClient) -> None:
    answer = client.post("/pdf", content=SVG, headers={"origin": OWN})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.content.startswith(b"%PDF")


@pytest.mark.parametrize("body", [b"", b"\xff", b"<svg", b"<!DOCTYPE svg>", b"<svg><path d='M1'/></svg>"])
def test_anything_else_is_refused_with_the_reason(client: TestClient, body: bytes) -> None:
    answer = client.post("/pdf", content=body)
    assert answer.status_code == 400
    assert answer.text


def test_a_drawing_that_is_too_large_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_address, "MOST_BYTES", len(SVG))
    assert client.post("/pdf", content=SVG).status_code == 200
    assert client.post("/pdf", content=SVG + " ").status_code == 413


def test_only_the_apps_own_pages_ask(client: TestClient) -> None:
    assert client.post("/pdf", content=SVG, headers={"origin": "http://localhost:9999"}).status_code == 403
    assert client.get("/pdf").status_code == 405
