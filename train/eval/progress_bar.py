"""A progress bar for searches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def sentence_bar(name: str, total: int) -> Iterator[Callable[[int, int], None]]:
    """Show a bar over `total` sentences, and yield a callback for the numbers of sentences done and in total."""
    with tqdm(total=total, desc=name, unit=" sentences", disable=None) as bar:

        def show(done: int, _total: int) -> None:
            bar.update(done - bar.n)

        yield show
