"""The app without a browser: helpers of the tests of all pages."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs

from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from viz_app.components.sentence_bar import KEY
from viz_app.controls.job_control import TURN
from viz_app.controls.lines_form import LinesFile
from viz_app.session.fields import Visit
from viz_app.session.jobs import HasJob, JobSlot
from viz_app.session.readings import HYPOTHESIS, Current, Reading
from viz_app.session.state import session_key

Start = Callable[..., AppTest]
T = TypeVar("T")
Measured = TypeVar("Measured", bound=HasJob)


def state_of(app: AppTest, kind: type[T]) -> T:
    """The object of a class that the app's session keeps."""
    return app.session_state[session_key(kind)]


def measured(app: AppTest, slot: type[JobSlot[Measured]]) -> Measured:
    """What the session measures, or has measured, in a slot."""
    found = state_of(app, slot).measured
    assert found is not None
    return found


def submitted(app: AppTest, form: str, text: str, kind: type[LinesFile]) -> AppTest:
    """The page after lines were entered in a form, and their job ended."""
    app.text_area(key=f"{form}_pasted").set_value(text)
    healthy(app.button(key=f"{form}_submit").click().run())
    job = state_of(app, kind).job
    if job is None:
        return app
    while job.advance(TURN):
        pass
    return healthy(app.run())


def reading(app: AppTest) -> Reading:
    """The current reading of the app's session."""
    found = state_of(app, Current).reading
    assert found is not None
    return found


def said(app: AppTest) -> str:
    """What the page says, without the marks that escape Markdown."""
    texts = [*app.markdown, *app.caption, *app.info, *app.error]
    return "\n".join(each.value for each in texts).replace("\\", "")


def comes_to(app: AppTest, **address: str | list[str]) -> AppTest:
    """The same where the visitor has come to an address with these parameters, too: the next run reads it."""
    app.query_params.update(address)
    app.session_state[session_key(Visit)] = Visit()
    return app


def parsed(address: str) -> tuple[str, dict[str, str | list[str]]]:
    """The page of an address such as `heads?text=A`, and its parameters; one that it has several times is a list."""
    page, _, query = address.partition("?")
    return page, {name: texts if len(texts) > 1 else texts[0] for name, texts in parse_qs(query).items()}


def healthy(app: AppTest) -> AppTest:
    """The same, if its last run ended well."""
    assert not app.exception, app.exception[0].message
    return app


def to_page(app: AppTest, page: str) -> AppTest:
    """The same at the address of another page, as a visitor who has not seen the app yet or one who follows a link.

    `AppTest.switch_page` takes the names of scripts for addresses until the app has run.
    """
    app._page_hash = calc_hash(page)
    return app


def opened(app: AppTest, page: str) -> AppTest:
    """The same on another page, which has run once."""
    return healthy(to_page(app, page).run())


def added(app: AppTest, *files: tuple[str, bytes]) -> AppTest:
    """The same with more files in the sidebar's uploader, which has run once.

    As in a browser, the files before them stay the same ones; `FileUploader.upload` would replace them.
    """
    uploader = app.file_uploader[0]
    before = uploader._get_files_to_register()
    uploader.set_value([(name, content, "application/octet-stream") for name, content in files])
    uploader._files = [*before, *uploader._get_files_to_register()]
    return healthy(app.run())


def upload(app: AppTest, *files: tuple[str, bytes] | Path) -> AppTest:
    """The same with these files in place of others in the sidebar's uploader, which has run once."""
    named = [(each.name, each.read_bytes()) if isinstance(each, Path) else each for each in files]
    app.file_uploader[0].set_value([(name, content, "application/octet-stream") for name, content in named])
    return healthy(app.run())


def html_of(app: AppTest) -> str:
    return " ".join(element.proto.body for element in app.html)


def translations(app: AppTest) -> list[str]:
    """The labels of the translations behind the arrow of the sentence bar."""
    return [label for _, label in sentence_bar_data(app)["translations"]]


def drawn(app: AppTest, key: str) -> dict[str, Any]:
    """The data of a component on the page."""
    (found,) = [each for each in app.get("bidi_component") if each.key == key]
    return json.loads(found.proto.json)[1]


def sentence_bar_data(app: AppTest) -> dict[str, Any]:
    """The data of the sentence bar, see `sentence_payload`."""
    return drawn(app, KEY)


def picture_files(app: AppTest) -> dict[str, dict[str, Any]]:
    """The pictures of the page that have files and a slide, by the names of the files: see `Data` in export_row.js."""
    rows = [each for each in app.get("bidi_component") if each.proto.component_name.endswith("export_row")]  # type: ignore[attr-defined]
    found = [json.loads(row.proto.json)[1] for row in rows]
    return {data["name"]: data for data in found}


def show_translation(app: AppTest, index: int) -> AppTest:
    """The same with another translation selected behind the arrow, which has run once."""
    app.session_state[HYPOTHESIS.key] = index
    return healthy(app.run())
