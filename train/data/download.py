"""Downloads that survive a bad line: what is there is kept, the rest is fetched, and the whole is checked."""

import hashlib
import http.client
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from train.data.token_shards import DataError

CHUNK = 2**20
TIMEOUT = 30.0  # seconds without a byte
PAUSES = (1.0, 3.0, 10.0, 30.0, 60.0)  # seconds to wait after each failure in a row


@dataclass(frozen=True)
class Download:
    """A file somewhere, and what it must be."""

    url: str
    size: int  # bytes
    sha256: str

    @property
    def name(self) -> str:
        """The last part of its address."""
        return self.url.rsplit("/", 1)[-1]

    def fetch(self, folder: Path, pauses: tuple[float, ...] = PAUSES) -> Path:
        """Have the file in `folder`, going on from what an earlier attempt left in a `.part` beside it.

        Returns:
            Its path. A file that is there already, with the right size, is taken as it is: it was checked when it came.

        Raises:
            DataError: no connection, or what came is not the file; the message says how to get it by hand.
        """
        path = folder / self.name
        if path.is_file() and path.stat().st_size == self.size:
            return path
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{self.name}.part"
        failures = 0
        with tqdm(total=self.size, desc=self.name, unit="B", unit_scale=True, disable=None) as bar:
            while (had := part.stat().st_size if part.exists() else 0) < self.size:
                bar.update(had - bar.n)
                try:
                    self._fetch_rest(part, had, bar)
                except (OSError, http.client.HTTPException) as error:
                    came = part.exists() and part.stat().st_size > had
                    failures = 0 if came else failures + 1
                    if failures > len(pauses) or _is_hopeless(error):
                        raise DataError(f"{self.url} cannot be downloaded ({error}): {self._by_hand(path)}") from error
                    pause = pauses[max(0, failures - 1)] if pauses else 0.0
                    bar.write(f"{self.url}: {error}; trying again in {pause:g} s", file=sys.stderr)
                    time.sleep(pause)
        self._check(part, path)
        part.replace(path)
        return path

    def _fetch_rest(self, part: Path, had: int, bar: "tqdm[Any]") -> None:
        request = urllib.request.Request(self.url, headers={"Range": f"bytes={had}-"} if had else {})
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            goes_on = response.status == http.HTTPStatus.PARTIAL_CONTENT  # a server that cannot sends all of it again
            with part.open("ab" if goes_on else "wb") as file:
                while chunk := response.read1(CHUNK):
                    file.write(chunk)
                    bar.update(len(chunk))
        if part.stat().st_size < self.size:
            raise ConnectionError("the connection was cut")

    def _check(self, part: Path, path: Path) -> None:
        digest = hashlib.sha256()
        with part.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
        found = f"{part.stat().st_size} bytes, SHA-256 {digest.hexdigest()}"
        if found != self._expected():
            part.unlink()
            raise DataError(
                f"{self.url} is not what it was: {found}, expected {self._expected()}: {self._by_hand(path)}"
            )

    def _expected(self) -> str:
        return f"{self.size} bytes, SHA-256 {self.sha256}"

    def _by_hand(self, path: Path) -> str:
        return (
            f"run the same command again to go on from what has come, or put the file at {path} yourself "
            f"({self._expected()})"
        )


def _is_hopeless(error: Exception) -> bool:
    """Whether trying again is of no use: the server said no, or nothing can be written here."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code < 500 and error.code not in (408, 429)
    return isinstance(error, OSError) and not isinstance(error, (urllib.error.URLError, ConnectionError, TimeoutError))
