"""Public parallel corpora: addresses, checksums, and the files of each side."""

import http.client
import shutil
import sys
import tarfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from core.files.console import printable
from core.files.file_writing import file_digest, write_atomically
from train.data.parallel_text import ParallelText
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
        content = f"{part.stat().st_size} bytes, SHA-256 {file_digest(part)}"
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


@dataclass(frozen=True)
class CorpusPart:
    """The two sides of a text: members of an archive, or two downloads."""

    archive: Download | None
    source: str | Download
    target: str | Download

    def fetch(self, folder: Path) -> tuple[Path, Path]:
        """Download both sides into `folder`, and return their paths."""
        source, target = (self._fetch(side, folder) for side in (self.source, self.target))
        return source, target

    def _fetch(self, side: str | Download, folder: Path) -> Path:
        if isinstance(side, Download):
            return side.fetch(folder)
        path = folder / Path(side).name
        if not path.exists():
            assert self.archive
            _extract(self.archive.fetch(folder), side, path)
        return path


@dataclass(frozen=True)
class NamedSet:
    """Training and validation text."""

    train: tuple[CorpusPart, ...]
    valid: tuple[CorpusPart, ...]

    def fetch(self, folder: Path) -> tuple[ParallelText, ParallelText]:
        """Download the files missing from `folder`.

        Raises:
            DataError: a file cannot be downloaded, or has changed.
        """
        sides = [[part.fetch(folder) for part in parts] for parts in (self.train, self.valid)]
        train, valid = (
            ParallelText([source for source, _ in files], [target for _, target in files]) for files in sides
        )
        return train, valid


def _extract(archive: Path, member: str, path: Path) -> None:
    def copy(temporary: Path) -> None:
        try:
            with tarfile.open(archive) as file, temporary.open("wb") as target:
                source = file.extractfile(member)
                if source is None:
                    raise DataError(f"{archive}: {member} is not a file")
                shutil.copyfileobj(source, target)
        except (KeyError, tarfile.TarError, EOFError) as error:
            raise DataError(f"{member} cannot be extracted from {archive}: {error}") from error

    write_atomically(path, copy)


_WMT = "https://www.statmt.org"
_EUROPARL = Download(
    f"{_WMT}/wmt13/training-parallel-europarl-v7.tgz",
    657632379,
    "0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7",
)
_COMMON_CRAWL = Download(
    f"{_WMT}/wmt13/training-parallel-commoncrawl.tgz",
    918311367,
    "c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5",
)
_NEWS = Download(
    f"{_WMT}/wmt14/training-parallel-nc-v9.tgz",
    80418416,
    "cb8953f292298e6877ae433c98912b927cb0766b303f4540512ddd286c748485",
)
_UN = Download(
    f"{_WMT}/wmt13/training-parallel-un.tgz",
    2365634246,
    "29141b5c1eba149a94f7a59d3b1a834b2e47fe0f8758d68dcd77a3d3f497ee47",
)
_GIGA = Download(
    f"{_WMT}/wmt10/training-giga-fren.tar",
    2595102720,
    "3ff8319f6919393520559bfbc7ad6a747ec81b3abc7be9993b338d4b017b4d9a",
)
_DEV = Download(
    "https://data.statmt.org/wmt19/translation-task/dev.tgz",
    38654961,
    "7a7deccf82ebb05ba508dba5eb21356492224e8f630ec4f992132b029b4b25e7",
)


def _wmt14(language: str) -> tuple[CorpusPart, ...]:
    stems = (
        (_EUROPARL, "training/europarl-v7"),
        (_COMMON_CRAWL, "commoncrawl"),
        (_NEWS, "training/news-commentary-v9"),
    )
    return tuple(
        CorpusPart(archive, f"{stem}.{language}-en.en", f"{stem}.{language}-en.{language}") for archive, stem in stems
    )


def _newstest2013(language: str) -> tuple[CorpusPart, ...]:
    return (CorpusPart(_DEV, "dev/newstest2013.en", f"dev/newstest2013.{language}"),)


_MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw"

SETS: dict[str, NamedSet] = {
    "wmt14-en-de": NamedSet(_wmt14("de"), _newstest2013("de")),
    "wmt14-en-fr": NamedSet(
        (
            *_wmt14("fr"),
            CorpusPart(_UN, "un/undoc.2000.fr-en.en", "un/undoc.2000.fr-en.fr"),
            CorpusPart(_GIGA, "giga-fren.release2.fixed.en.gz", "giga-fren.release2.fixed.fr.gz"),
        ),
        _newstest2013("fr"),
    ),
    "multi30k": NamedSet(
        (
            CorpusPart(
                None,
                Download(
                    f"{_MULTI30K}/train.en.gz",
                    568929,
                    "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
                ),
                Download(
                    f"{_MULTI30K}/train.de.gz",
                    637044,
                    "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
                ),
            ),
        ),
        (
            CorpusPart(
                None,
                Download(
                    f"{_MULTI30K}/val.en.gz", 21650, "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"
                ),
                Download(
                    f"{_MULTI30K}/val.de.gz", 24681, "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"
                ),
            ),
        ),
    ),
}
