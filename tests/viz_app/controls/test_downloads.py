"""Every picture can be taken along, as SVG, PDF, PNG and the numbers behind it."""

from collections import Counter

from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start

PICTURES = {
    "translate": 2,
    "heads": 2,
    "beam": 1,
    "switches": 3,
    "alignment": 1,
    "compare": 3,
    "positions": 1,
    "paper_figures": 1,
}


def labels(app: AppTest) -> Counter[str]:
    return Counter(button.proto.label for button in app.get("download_button"))  # type: ignore[attr-defined]


def test_every_picture_of_every_page_comes_in_every_format(start: Start) -> None:
    app = start(text="A dog runs.", beam_size="2").run()
    for page, pictures in PICTURES.items():
        app.switch_page(f"app_pages/{page}.py").run()
        assert not app.exception, page
        assert [labels(app)[name] for name in ("SVG", "PDF", "PNG", "CSV")] == [pictures] * 4, page


def test_nothing_is_drawn_before_it_is_asked_for() -> None:
    def page() -> None:
        from viz_app.controls.downloads import downloads

        def fails(*_: object) -> None:
            raise AssertionError("drawn")

        downloads("both", fails, fails)  # type: ignore[arg-type]
        downloads("table", table=fails)  # type: ignore[arg-type]

    app = AppTest.from_function(page).run()
    assert not app.exception
    assert labels(app) == {"SVG": 1, "PDF": 1, "PNG": 1, "CSV": 2}
