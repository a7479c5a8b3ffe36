"""The pages of `docs/gallery` and their cards, from an earlier build or from a process of its own."""

import html
import os
import re
import subprocess
import sys
from typing import Any

from build_cache import FOLDER, ROOT, digest

STATIC_PAGE = os.environ.get("STATIC_PAGE", "static_page.html")  # from the site; by itself it says how to make it
GALLERY = ROOT / "docs" / "gallery"
PLACE = '<div class="gallery"></div>'  # of the cards, on the front page
TAG = re.compile(r"<svg.*?</svg>|<[^>]*>", re.DOTALL)
CARD = re.compile(r'<a class="card" href="([^"]*)"><b>(.*?)</b>(.*?)</a>', re.DOTALL)


class GalleryError(Exception):
    """The gallery cannot be made, or says something that is not so."""


class GalleryPages:
    """Files of the gallery in the cache."""

    folder = FOLDER / "gallery"

    def __init__(self, program: str) -> None:
        """Start the process if the cache has no files, or those of other code.

        Args:
            program: digest of the code of the project.
        """
        self._key = digest(
            program, os.environ.get("STATIC_PAGE", ""), *(path.read_bytes() for path in sorted(GALLERY.glob("*.py")))
        )
        self._stamp = self.folder / "key.txt"
        known = self._stamp.read_text("utf-8") if self._stamp.exists() else ""
        self._process = None
        if known != self._key:
            self._stamp.unlink(missing_ok=True)
            for path in self.folder.glob("*.html"):
                path.unlink()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "docs.gallery", str(self.folder)],
                stderr=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                env={**os.environ, "OMP_NUM_THREADS": "1"},  # for sentences, more threads wait for each other
            )

    def files(self) -> tuple[str, dict[str, str]]:
        """Return the cards as HTML, and the pages by their paths on the site, as soon as they are made.

        Raises:
            GalleryError: the process failed.
        """
        if self._process is not None:
            errors = self._process.communicate()[1]
            if self._process.returncode:
                raise GalleryError(f"the gallery cannot be made:\n{errors}")
            self._stamp.write_text(self._key, "utf-8")
            self._process = None
        pages = {f"gallery/{path.name}": path.read_text("utf-8") for path in sorted(self.folder.glob("*.html"))}
        return pages.pop("gallery/cards.html"), pages


def search_entries(cards: str, boost: float) -> list[dict[str, Any]]:
    """Return an entry of the site's search for each card."""
    return [
        {"location": address, "title": html.unescape(title), "text": TAG.sub(" ", text), "boost": boost}
        for address, title, text in CARD.findall(cards)
    ]
