"""How far a search has got, on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def sentence_bar(name: str, total: int) -> Iterator[Callable[[int, int], None]]:
    """A bar over so many sentences, and what moves it: called with how many are done, of how many."""
    with tqdm(total=total, desc=name, unit=" sentences", disable=None) as bar:

        def show(done: int, _total: int) -> None:
            bar.update(done - bar.n)

        yield show
