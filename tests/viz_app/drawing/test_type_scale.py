"""There are five sizes of type, and no other anywhere in the drawings."""

import re
from pathlib import Path

import pytest

from viz_app.drawing import theme

ROOT = Path(__file__).parents[3]
IN_APP = ("components", "drawing", "frame", "views")
FOLDERS = ("core/drawing", "core/export", "core/notebook", *(f"viz_app/{name}" for name in IN_APP))
SIZES = {"small": theme.SMALL, "note": theme.NOTE, "text": theme.TEXT, "words": theme.WORDS, "large": theme.LARGE}
FREE = {
    "step_walk.css",  # as large as the window, like a slide; every part of it is a share of that, see below
    "sizes.css",
    *("svg_text.js", "export_files.js"),  # files have the sizes of the page
}
SLIDE = "var(--words)"  # of a caption that fills the window
CSS_SIZE = re.compile(r"(?<!-)font(?:-size)?:\s*([^;}]*)")
PYTHON_SIZE = re.compile(r"""(?:["']size["']:|fontsize=|["']fontsize["']:|labelsize=)\s*([\w.* +\-()]+)""")


def files(suffix: str) -> list[Path]:
    return [
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob(f"*{suffix}"))
        if "vendor" not in path.parts and path.name not in FREE
    ]


def test_the_style_sheets_have_the_sizes_of_the_charts() -> None:
    declared = dict(re.findall(r"--size-(\w+): (\d+)px", (ROOT / "core/drawing/sizes.css").read_text()))
    assert {name: int(size) for name, size in declared.items()} == SIZES
    assert len(set(SIZES.values())) == 5
    assert min(SIZES.values()) >= 12


@pytest.mark.parametrize("path", files(".css"), ids=lambda path: path.name)
def test_a_style_sheet_has_no_other_size(path: Path) -> None:
    for value in CSS_SIZE.findall(path.read_text()):
        known = re.match(rf"(?:\d00 )?var\(--size-(?:{'|'.join(SIZES)})\)", value) or value in ("inherit", SLIDE)
        assert known, (
            f"{path.name}: {value!r} is none of the five sizes: write var(--size-text) or another of sizes.css"
        )


@pytest.mark.parametrize("path", files(".py"), ids=lambda path: path.name)
def test_a_chart_has_no_other_size(path: Path) -> None:
    names = {name.upper() for name in SIZES}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if "font" not in line and "label" not in line and not re.search(r"\btext = |title = ", line):
            continue  # the size of a marker
        for value in PYTHON_SIZE.findall(line):
            known = value.strip(" )") in names
            assert known, f"{path.name}, line {number}: {value!r} is none of the five sizes of theme.py"


@pytest.mark.parametrize("path", files(".js"), ids=lambda path: path.name)
def test_a_script_sets_no_size(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"fontSize|font-size(?!\")", text)
    for measured in re.findall(r"\.font = `\$\{(\w+)\}px", text):  # the width of a text, before it is drawn
        size = re.search(rf"const {measured} = (\d+)", text)
        assert size is not None
        assert int(size[1]) in SIZES.values()


def test_the_step_through_is_as_large_as_the_window_and_never_smaller_than_the_smallest() -> None:
    text = (ROOT / "viz_app/views/steps/step_walk.css").read_text()
    least = float(re.search(r"font-size: clamp\(([\d.]+)px", text)[1])  # type: ignore[index]
    shares = [float(share) for share in re.findall(r"font(?:-size)?: (?:\d00 )?([\d.]+)em", text)]
    assert min(shares) * least >= theme.SMALL
