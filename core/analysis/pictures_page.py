"""A result of an analysis as a page of its own: for notebooks, and as a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.analysis.pictures import Picture
from core.analysis.pictures_data import picture_data
from core.files.web_page import framed, web_page

_SCRIPT = Path(__file__).parents[1] / "drawing" / "pictures_page.js"
_HEIGHT = 420  # pixels of the frame in a notebook


@dataclass(frozen=True)
class PicturePage:
    """An answer and its pictures; a notebook shows it by itself."""

    answer: str
    pictures: Sequence[Picture]

    def html(self) -> str:
        """A web page that works offline."""
        return web_page(
            self.answer, _SCRIPT, {"answer": self.answer, "pictures": [picture_data(each) for each in self.pictures]}
        )

    def _repr_html_(self) -> str:
        return framed(self.html(), self.answer, _HEIGHT)
