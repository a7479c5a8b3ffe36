"""Resumable downloads with retries and a checksum."""

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

from core.files.console import printable
from train.data.token_shards import DataError

CHUNK = 2**20
TIMEOUT = 30.0  # seconds without a byte
PAUSES = (1.0, 3.0, 10.0, 30.0, 60.0)  # seconds to wait after each failure in a row


@dataclass(frozen=True)
class Download:
    """A file on the web, with its expected size and SHA-256."""

    url: str
    size: int  # bytes
    sha256: str

    @property
    def name(self) -> str:
        """The file's name: the last part of the address."""
        return self.url.rsplit("/", 1)[-1]

    def fetch(self, folder: Path, pauses: tuple[float, ...] = PAUSES) -> Path:
        """Download the file into `folder`, resuming from the `.part` file of an earlier attempt.

        Returns:
            The file's path. An existing file of the right size is not checked again.

        Raises:
            DataError: no connection, or the content is not as expected; the message says how to get it by hand.
        """
        path = folder / self.name
        if path.is_file() and path.stat().st_size == self.size:
            return path
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{self.name}.part"
        failures = 0
        with tqdm(total=self.size, desc=self.name, unit="B", unit_scale=True, disable=None) as bar:
            while (done := part.stat().st_size if part.exists() else 0) < self.size:
                bar.update(done - bar.n)
                try:
                    self._fetch_rest(part, done, bar)
                except (OSError, http.client.HTTPException) as error:
                    has_progressed = part.exists() and part.stat().st_size > done
                    failures = 0 if has_progressed else failures + 1
                    if failures > len(pauses) or _is_permanent(error):
                        raise DataError(f"{self.url} cannot be downloaded ({error}): {self._advice(path)}") from error
                    pause = pauses[max(0, failures - 1)] if pauses else 0.0
                    bar.write(printable(f"{self.url}: {error}; retrying in {pause:g} s"), file=sys.stderr)
                    time.sleep(pause)
        self._check(part, path)
        part.replace(path)
        return path

    def _fetch_rest(self, part: Path, done: int, bar: "tqdm[Any]") -> None:
        request = urllib.request.Request(self.url, headers={"Range": f"bytes={done}-"} if done else {})
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            is_partial = response.status == http.HTTPStatus.PARTIAL_CONTENT  # other servers send the whole file again
            with part.open("ab" if is_partial else "wb") as file:
                while chunk := response.read1(CHUNK):
                    file.write(chunk)
                    bar.update(len(chunk))
        if part.stat().st_size < self.size:
            raise ConnectionError("the connection was closed early")

    def _check(self, part: Path, path: Path) -> None:
        digest = hashlib.sha256()
        with part.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
        content = f"{part.stat().st_size} bytes, SHA-256 {digest.hexdigest()}"
        if content != self._expected():
            part.unlink()
            raise DataError(f"{self.url} has changed: {content}, expected {self._expected()}: {self._advice(path)}")

    def _expected(self) -> str:
        return f"{self.size} bytes, SHA-256 {self.sha256}"

    def _advice(self, path: Path) -> str:
        return f"run the same command again to resume, or put the file at {path} yourself ({self._expected()})"


def _is_permanent(error: Exception) -> bool:
    """Whether retrying is useless: the server refuses, or the file cannot be written."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code < 500 and error.code not in (408, 429)
    return isinstance(error, OSError) and not isinstance(error, (urllib.error.URLError, ConnectionError, TimeoutError))
