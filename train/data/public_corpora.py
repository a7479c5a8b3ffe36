"""Public parallel corpora: addresses, checksums, and the files of each side."""

import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

from core.files.file_writing import write_atomically
from train.data.download import Download
from train.data.parallel_text import ParallelText
from train.data.token_shards import DataError


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
