"""The addresses of previews and of PDF files, over HTTP."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from viz_app.server import addresses, serving
from viz_app.server.addresses import MOST_OF_PREVIEW
from viz_app.session import previews

OWN = "http://127.0.0.1:8501"
QUESTION = {"ticket": "own", "text": "Where?"}
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"></svg>'


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A server with one session, which has a preview of each text but "untranslatable"."""

    @dataclass(eq=False)
    class Session:
        def draw(self, typed: str) -> dict[str, tuple[int, object]]:
            if typed == "untranslatable":
                raise ValueError("too long")
            return {"words": (7, [typed])}

    session = Session()
    monkeypatch.setattr(previews, "_by_ticket", {"own": session})
    with TestClient(Starlette(routes=serving.routes(), middleware=serving.middleware()), base_url=OWN) as client:
        yield client


def test_an_entered_sentence_is_answered_with_its_drawings(client: TestClient) -> None:
    answer = client.post("/preview", json=QUESTION, headers={"origin": OWN})
    assert answer.status_code == 200
    assert answer.json() == {"words": [7, ["Where?"]]}


@pytest.mark.parametrize(
    "question",
    [
        b"",
        b"\xff",
        b"[" * 5_000,
        b'{"ticket": "own"',
        json.dumps({"ticket": "own"}).encode(),
        json.dumps({"ticket": "own", "text": None}).encode(),
        json.dumps({"ticket": ["own"], "text": "Where?"}).encode(),
        json.dumps([*QUESTION.values()]).encode(),
        json.dumps({**QUESTION, "ticket": "another"}).encode(),
        json.dumps({**QUESTION, "text": "untranslatable"}).encode(),
    ],
    ids=lambda question: question[:40].decode(errors="replace"),
)
def test_any_other_question_has_an_empty_answer(client: TestClient, question: bytes) -> None:
    answer = client.post("/preview", content=question)
    assert answer.status_code == 204
    assert answer.content == b""


def test_a_drawing_is_answered_with_its_pdf(client: TestClient) -> None:
    answer = client.post("/pdf", content=SVG, headers={"origin": OWN})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.content.startswith(b"%PDF")


@pytest.mark.parametrize("body", [b"", b"\xff", b"<svg", b"<!DOCTYPE svg>", b"<svg><path d='M1'/></svg>"])
def test_no_drawing_is_refused_with_the_reason(client: TestClient, body: bytes) -> None:
    answer = client.post("/pdf", content=body)
    assert answer.status_code == 400
    assert answer.text


def test_what_is_too_large_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.post("/preview", json={**QUESTION, "text": "a" * MOST_OF_PREVIEW}).status_code == 413
    assert client.post("/preview", json={**QUESTION, "text": "a" * (MOST_OF_PREVIEW - 100)}).status_code == 200
    monkeypatch.setattr(addresses, "MOST_OF_PDF", len(SVG))
    assert client.post("/pdf", content=SVG).status_code == 200
    assert client.post("/pdf", content=SVG + " ").status_code == 413


@pytest.mark.parametrize(("address", "content"), [("/preview", {"json": QUESTION}), ("/pdf", {"content": SVG})])
def test_only_the_apps_own_pages_ask(client: TestClient, address: str, content: dict[str, Any]) -> None:
    assert client.post(address, headers={"origin": "http://localhost:9999"}, **content).status_code == 403
    assert client.post(address, headers={"host": "headlight.example"}, **content).status_code == 400
    assert client.get(address).status_code == 405
