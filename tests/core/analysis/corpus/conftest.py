"""A pass over a few sentences by an untrained model."""

import pytest

from core.analysis.corpus.collection import CorpusPass
from core.analysis.corpus.index import CorpusFacts, CorpusIndex
from core.text.text_files import Line
from core.translator import Translator

FACTS = CorpusFacts("tiny.safetensors", "0" * 64, "sentences", "CC0", "nobody", "given")


@pytest.fixture(scope="session")
def lines(parallel_text: list[tuple[str, str]]) -> list[Line]:
    """Twelve sentences with given translations, and a blank line before the last."""
    found = [Line(number, *pair) for number, pair in enumerate(parallel_text[:12], start=1)]
    return [*found[:-1], Line(13, *parallel_text[11])]


@pytest.fixture(scope="session")
def index(translator: Translator, lines: list[Line]) -> CorpusIndex:
    corpus = CorpusPass(translator, lines, batch_size=5)
    assert sum(corpus.steps()) == len(lines)
    return corpus.index(FACTS)
