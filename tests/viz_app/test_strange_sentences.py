"""Every page takes any sentence, and all files that it offers can be opened.

`SENTENCES=100 pytest -n 0 -s tests/viz_app/test_strange_sentences.py` takes minutes.
"""

import itertools
import os
from collections import Counter
from collections.abc import Callable

import pytest

from core import Translator
from tests.strange_sentences import strange_sentence
from tests.viz_app.export_readers import READERS
from tests.viz_app.pages import Start, opened, reading, state_of
from viz_app.controls import downloads
from viz_app.frame import share_menu
from viz_app.page_list import VIEWS
from viz_app.session.chosen_heads import ShownHeads

SENTENCES = int(os.environ.get("SENTENCES", "0"))
FEW = ("heads", "alignment")  # pages of the sentence that is always tried
LEAST, MOST = 10, 60 if SENTENCES else 30  # tokens


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], bytes]]:
    """The files that a page offers, by their names."""
    found: dict[str, Callable[[], bytes]] = {}

    def record(name: str, files: dict[str, Callable[[], bytes]], _: object, python: downloads.Script | None) -> None:
        found.update({f"{name}.{suffix}": content for suffix, content in files.items()})
        if python:
            found[f"{name}.py"] = lambda: python(f"{name}.csv").encode()

    monkeypatch.setattr(downloads, "export_row", record)
    return found


def sentences(translator: Translator, count: int) -> list[str]:
    """Strange sentences that are neither refused nor too long to draw in a moment."""
    found, numbers = list[str](), itertools.count()
    while len(found) < count:
        text = strange_sentence("pages", next(numbers))
        try:
            num_tokens = len(translator.token_ids(text, "").source)
        except ValueError:
            continue
        if LEAST <= num_tokens <= MOST and "<" in text:
            found.append(text)
    return found


@pytest.mark.parametrize("number", range(max(SENTENCES, 1)))
def test_every_page_draws_any_sentence_and_all_its_files_open(
    number: int, start: Start, files: dict[str, Callable[[], bytes]], translator: Translator
) -> None:
    text = sentences(translator, number + 1)[-1]
    app, count = start(text=text, beam_size="2").run(), Counter[str]()
    for page in VIEWS:
        if not SENTENCES and page.name not in FEW:
            continue
        files.clear()
        opened(app, page.name)
        for name, content in files.items():
            suffix = name.rpartition(".")[2]
            try:
                READERS[suffix](content())
            except Exception as error:
                error.add_note(f"{name} of the page {page.name}, with the sentence {text!r}")
                raise
            count[suffix] += 1
    assert reading(app).translation.source == text
    for suffix in share_menu.FORMATS:
        READERS[suffix[1:]](share_menu.file_content(reading(app), suffix, state_of(app, ShownHeads)))
        count[suffix[1:]] += 1
    print(dict(count))
    assert set(READERS) - {"zip"} <= count.keys()
