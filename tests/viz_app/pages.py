"""The app without a browser: what the tests of all pages do with it."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

Start = Callable[..., AppTest]


def healthy(app: AppTest) -> AppTest:
    """The same, if its last run ended well."""
    assert not app.exception, app.exception[0].message
    return app


def opened(app: AppTest, page: str) -> AppTest:
    """The same on another page; each of the two has run once."""
    healthy(app.run())
    app.switch_page(f"app_pages/{page}.py")
    return healthy(app.run())
