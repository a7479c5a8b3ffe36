"""The frame that is shown before the app runs: added to pages alone, in the language in which the app will answer."""

import gzip
import html
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from viz_app.language import LANGUAGES
from viz_app.language.catalogue_files import translations
from viz_app.page_list import PAGES
from viz_app.server.first_frame import LANGUAGE_OF_PAGE, ROOT, FirstFrame, preferred_language

STYLE_SHEET = '<link rel="stylesheet" crossorigin href="./style.css">'
PAGE = (
    f'<!DOCTYPE html><html lang="en"><head>{STYLE_SHEET}<title>Page</title></head>'
    f"<body>{'<!-- long enough to be compressed -->' * 20}{ROOT.decode()}<p>end</p></body></html>"
)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    file = tmp_path / "index.html"
    file.write_text(PAGE, encoding="utf-8")

    def missing(_: Request) -> HTMLResponse:
        return HTMLResponse(PAGE, status_code=404)

    routes = [
        Route("/", lambda _: FileResponse(file, headers={"Vary": "Accept-Encoding"})),
        Route(
            "/parts",
            lambda _: StreamingResponse(iter([PAGE[:30].encode(), PAGE[30:].encode()]), media_type="text/html"),
        ),
        Route("/data", lambda _: JSONResponse({"html": PAGE})),
        Route("/missing", missing),
    ]
    with TestClient(Starlette(routes=routes, middleware=[Middleware(FirstFrame)])) as client:
        yield client


@pytest.mark.parametrize("path", ["/", "/parts"])
def test_a_page_comes_with_the_frame_of_the_app(client: TestClient, path: str) -> None:
    answer = client.get(path)
    before, frame, after = answer.text.partition('<div id="frame"')
    assert before.startswith(PAGE.replace(STYLE_SHEET, "").partition("<p>")[0])
    assert frame
    assert after.endswith(f"{STYLE_SHEET}<p>end</p></body></html>")  # it would keep what is below it from being painted
    assert all(f"<p>{page.title}</p>" in after for page in PAGES)
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert "etag" not in answer.headers  # a browser would keep the frame of an older app


def test_a_compressed_page_has_the_frame_too(client: TestClient) -> None:
    """All browsers ask for one, and Streamlit compresses before the frame is added."""
    compressing = Starlette(routes=client.app.routes, middleware=[Middleware(FirstFrame), Middleware(GZipMiddleware)])
    with TestClient(compressing) as client, client.stream("GET", "/", params={"language": "de"}) as answer:
        sent = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) == len(sent)
    page = gzip.decompress(sent).decode()
    assert '<html lang="de">' in page
    assert '<div id="frame"' in page
    assert page.endswith(f"{STYLE_SHEET}<p>end</p></body></html>")


def test_all_else_goes_through_as_it_is(client: TestClient) -> None:
    assert client.get("/data").json() == {"html": PAGE}
    assert "vary" not in client.get("/data").headers
    assert client.get("/missing").text == PAGE
    assert client.head("/").headers["content-length"] == str(len(PAGE))


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_whole_frame_is_in_the_language_of_the_address(client: TestClient, code: str) -> None:
    answer = client.get("/", params={"language": code}, headers={"Accept-Language": "ko"})
    assert f'<html lang="{code}">' in answer.text
    texts = [*(page.title for page in PAGES), "Sentence"]
    shown = list(map(translations(code).gettext, texts))
    assert [text for text in shown if f">{html.escape(text)}<" not in answer.text] == []


@pytest.mark.parametrize(
    ("address", "accepted", "code"),
    [
        ("", "de-AT,de;q=0.9,en;q=0.8", "de"),
        ("", "fr-CH, zh;q=0.9", "en"),  # of several languages, the app learns the first alone
        ("", "", "en"),
        ("?embed=true&embed_options=dark_theme", "zh-TW", "zh"),  # the app does not see these
        ("?beam_size=2", "de", "en"),
        ("?language=xx", "de", "en"),
        ("?language=", "de", "en"),
        ("?text=%E4%BD%A0&language=ko", "de", "ko"),
    ],
)
def test_the_language_is_the_one_in_which_the_app_answers(
    client: TestClient, address: str, accepted: str, code: str
) -> None:
    """For the same addresses in the app itself, see tests/viz_app/language/test_language.py."""
    answer = client.get(f"/{address}", headers={"Accept-Language": accepted})
    assert f'<html lang="{code}">' in answer.text


def test_a_cache_between_keeps_the_languages_apart(client: TestClient) -> None:
    assert client.get("/").headers["vary"] == "Accept-Encoding, Accept-Language"


@pytest.mark.parametrize(
    ("accepted", "tag"),
    [
        ("de", "de"),
        ("en;q=0.7, de-AT;q=0.9, ko;q=0.8", "de-AT"),
        ("de;q=0.5,ko;q=0.5", "de"),
        ("de;q=high, ko;q=0.1", "ko"),
        ("*", "*"),
        ("", ""),
        (",;,=;q", ""),
    ],
)
def test_the_preferred_language_has_the_highest_weight(accepted: str, tag: str) -> None:
    assert preferred_language(accepted) == tag


def test_streamlits_page_has_what_is_replaced() -> None:
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_bytes()
    assert page.count(ROOT) == len(LANGUAGE_OF_PAGE.findall(page)) == 1
