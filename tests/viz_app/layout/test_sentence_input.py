import pytest
from streamlit.testing.v1 import AppTest

from core import Explanation, Translation, Translator
from tests.viz_app.conftest import healthy
from viz_app.session import readings


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were translated, each followed by its explanation's first word."""
    made: list[str] = []
    translate, explain = Translator.translate, Translator.explain

    def translating(self: Translator, text: str, *arguments: object) -> Translation:
        made.append(f"search {text}")
        return translate(self, text, *arguments)  # pyright: ignore[reportArgumentType]

    def explaining(self: Translator, source: str, *arguments: object) -> Explanation:
        made.append(f"explain {source}")
        return explain(self, source, *arguments)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(Translator, "translate", translating)
    monkeypatch.setattr(Translator, "explain", explaining)
    return made


def enter(app: AppTest, text: str) -> AppTest:
    return app.text_input(key=readings.TEXT.key).set_value(text).run()


def test_a_typed_sentence_is_searched_and_explained_once_before_the_page_is_drawn(
    app: AppTest, searches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    monkeypatch.setattr("viz_app.layout.tour.tour", lambda *_: drawn.append(len(searches)))
    monkeypatch.setattr("viz_app.session.readings.HEAD_START", 60.0)
    healthy(enter(app, "Who are you?"))
    assert searches == ["search Who are you?", "explain Who are you?"]
    assert drawn == [2]


def test_a_search_that_takes_long_is_left_to_the_page_with_its_progress(
    app: AppTest, searches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viz_app.session.readings.HEAD_START", 0.0)
    healthy(enter(app, "Who are you?"))
    assert searches == ["search Who are you?", "search Who are you?", "explain Who are you?"]


def test_what_is_wrong_with_a_typed_sentence_is_said_by_the_page(app: AppTest) -> None:
    enter(app, "word " * 600)
    assert not app.exception
    assert any("tokens" in error.value for error in app.error)
