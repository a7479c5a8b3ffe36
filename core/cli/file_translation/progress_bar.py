"""Progress of a job on stderr: a bar on a terminal, occasional lines elsewhere."""

import sys
import time

from tqdm import tqdm

from core.files.console import printable, show

SECONDS_BETWEEN_LINES = 30.0


class LineProgress:
    """Number of lines done, the speed, and the estimated time left; to be closed."""

    def __init__(self, total: int | None, done: int) -> None:
        """
        Args:
            total: number of lines of the input, if known.
            done: number of lines done by an earlier job, not counted for the speed.
        """
        self._bar = tqdm(total=total, initial=done, unit=" lines", smoothing=0, file=sys.stderr, disable=None)
        self._start = self._last = time.monotonic()
        self._total, self._initial, self._done = total, done, done

    def update(self, done: int) -> None:
        """Set the number of lines done; shown at once or with the next refresh."""
        self._bar.update(done - self._done)
        self._done = done
        if self._bar.disable and time.monotonic() - self._last >= SECONDS_BETWEEN_LINES:
            self._print_line()

    def complete(self) -> None:
        """Set the total to the number of lines done."""
        self._total = self._bar.total = self._done

    def message(self, text: str) -> None:
        """Print a line above the bar."""
        tqdm.write(printable(text, "\t"), file=sys.stderr)

    def close(self) -> None:
        """Show the final state."""
        self._bar.close()
        if self._bar.disable:
            self._print_line()

    def _print_line(self) -> None:
        self._last = time.monotonic()
        seconds = self._last - self._start
        total = "?" if self._total is None else self._total
        speed = (self._done - self._initial) / seconds if seconds else 0.0
        left = ""
        if self._total is not None and speed and self._done < self._total:
            left = f", {tqdm.format_interval((self._total - self._done) / speed)} left"
        so_far = tqdm.format_interval(seconds)
        show(f"{self._done}/{total} lines, {speed:.1f} lines/s, {so_far} so far{left}")
