"""The address of previews, over HTTP."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from viz_app.server import serving
from viz_app.server.preview_address import MOST_BYTES
from viz_app.session import previews

OWN = "http://127.0.0.1:8501"
ADDRESS = "/preview"
QUESTION = {"ticket": "own", "text": "Where?"}


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
    answer = client.post(ADDRESS, json=QUESTION, headers={"origin": OWN})
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
    answer = client.post(ADDRESS, content=question)
    assert answer.status_code == 204
    assert answer.content == b""


def test_a_question_that_is_too_large_is_refused(client: TestClient) -> None:
    assert client.post(ADDRESS, json={**QUESTION, "text": "a" * MOST_BYTES}).status_code == 413
    assert client.post(ADDRESS, json={**QUESTION, "text": "a" * (MOST_BYTES - 100)}).status_code == 200


def test_only_the_apps_own_pages_ask(client: TestClient) -> None:
    assert client.post(ADDRESS, json=QUESTION, headers={"origin": "http://localhost:9999"}).status_code == 403
    assert client.post(ADDRESS, json=QUESTION, headers={"host": "headlight.example"}).status_code == 400
    assert client.get(ADDRESS).status_code == 405
