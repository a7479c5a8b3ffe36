"""Downloads from a local server with faults."""

import hashlib
import io
import tarfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from train.__main__ import main
from train.data.public_corpora import SETS, CorpusPart, Download, NamedSet
from train.data.token_shards import DataError, TokenShards

CONTENT = bytes(range(256)) * 400
QUICK = (0.0, 0.0)


class Server:
    """Serves files with the faults of `behave`, and records the requested ranges."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"/file.bin": CONTENT}
        # of the n-th request: bytes until the connection is closed
        self.cut_after: Callable[[int], int | None] = lambda request: None
        self.ranges: list[str | None] = []
        self.knows_ranges = True
        self.status: Callable[[int], int] = lambda request: 200

    def handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                number = len(server.ranges)
                wanted = self.headers.get("Range")
                server.ranges.append(wanted)
                if server.status(number) != 200 or self.path not in server.files:
                    self.send_error(404 if self.path not in server.files else server.status(number))
                    return
                content = server.files[self.path]
                start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and server.knows_ranges else 0
                self.send_response(206 if start else 200)
                self.send_header("Content-Length", str(len(content) - start))
                self.end_headers()
                cut = server.cut_after(number)
                self.wfile.write(content[start:] if cut is None else content[start : start + cut])
                self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


@contextmanager
def running(server: Server) -> Generator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), server.handler()) as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.server_port}"
        finally:
            listener.shutdown()
            thread.join()


@pytest.fixture
def server() -> Server:
    return Server()


def download(address: str, content: bytes = CONTENT, name: str = "file.bin") -> Download:
    return Download(f"{address}/{name}", len(content), hashlib.sha256(content).hexdigest())


def test_a_complete_file_is_downloaded_once(tmp_path: Path, server: Server) -> None:
    with running(server) as address:
        assert download(address).fetch(tmp_path / "new").read_bytes() == CONTENT
        download(address).fetch(tmp_path / "new")
    assert server.ranges == [None]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file.bin"]


def test_closed_connections_are_resumed(tmp_path: Path, server: Server) -> None:
    server.cut_after = lambda request: 30_000 if request < 3 else None
    with running(server) as address:
        assert download(address).fetch(tmp_path, QUICK).read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=30000-", "bytes=60000-", "bytes=90000-"]


def test_an_earlier_attempt_is_resumed(tmp_path: Path, server: Server) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:100_000])
    with running(server) as address:
        assert download(address).fetch(tmp_path, QUICK).read_bytes() == CONTENT
    assert server.ranges == ["bytes=100000-"]


def test_a_server_without_ranges_sends_the_whole_file(tmp_path: Path, server: Server) -> None:
    server.knows_ranges = False
    server.cut_after = lambda request: 50_000 if request == 0 else None
    with running(server) as address:
        assert download(address).fetch(tmp_path, QUICK).read_bytes() == CONTENT
    assert len(server.ranges) == 2


def test_server_errors_are_retried_a_few_times(tmp_path: Path, server: Server) -> None:
    server.status = lambda request: 503 if request < 2 else 200
    with running(server) as address:
        assert download(address).fetch(tmp_path / "a", QUICK).read_bytes() == CONTENT
    server.status = lambda request: 503
    server.ranges.clear()
    with (
        running(server) as address,
        pytest.raises(DataError, match=r"cannot be downloaded \(HTTP Error 503.*put the file at .*b/file.bin yourself"),
    ):
        download(address).fetch(tmp_path / "b", QUICK)
    assert len(server.ranges) == 1 + len(QUICK)


def test_a_missing_file_is_not_requested_again(tmp_path: Path, server: Server) -> None:
    with running(server) as address, pytest.raises(DataError, match="HTTP Error 404"):
        download(address, name="none.bin").fetch(tmp_path, QUICK)
    assert len(server.ranges) == 1


def test_no_network_is_an_error_with_advice(tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    with running(server) as address:
        pass  # closed at once
    with pytest.raises(DataError, match=r"cannot be downloaded \(.*refused.*run the same command again to resume"):
        download(address).fetch(tmp_path, QUICK)
    lines = capsys.readouterr().err.splitlines()  # one for each attempt
    assert len(lines) == len(QUICK)
    assert all("refused" in line and line.endswith("retrying in 0 s") for line in lines)


def test_a_changed_file_is_refused_and_removed(tmp_path: Path, server: Server) -> None:
    server.files["/file.bin"] = CONTENT[::-1]
    with (
        running(server) as address,
        pytest.raises(DataError, match=r"has changed: 102400 bytes, SHA-256 .*, expected 102400 bytes"),
    ):
        download(address).fetch(tmp_path, QUICK)
    assert not list(tmp_path.iterdir())


def archive(members: dict[str, str]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return file.getvalue()


def test_a_named_set_is_downloaded_and_prepared(
    tmp_path: Path,
    server: Server,
    parallel_text: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    english, german = ("".join(f"{line}\n" for line in side) for side in zip(*parallel_text, strict=True))
    packed = archive({"training/small.en": english, "training/small.de": german})
    server.files = {"/small.tgz": packed, "/val.en": english.encode(), "/val.de": german.encode()}
    with running(server) as address:
        train = CorpusPart(download(address, packed, "small.tgz"), "training/small.en", "training/small.de")
        valid = CorpusPart(
            None, download(address, english.encode(), "val.en"), download(address, german.encode(), "val.de")
        )
        monkeypatch.setitem(SETS, "multi30k", NamedSet((train,), (valid,)))
        arguments = ["prepare", str(tmp_path / "data"), "--set", "multi30k", "--vocab-size", "400"]
        assert main(arguments) == 0
        assert (
            len(TokenShards(tmp_path / "data" / "train"))
            == len(TokenShards(tmp_path / "data" / "valid"))
            == len(parallel_text)
        )
        assert len(server.ranges) == 3
        assert main([*arguments, "--source", "mine.en"]) == 1
        assert "--set multi30k brings its own text: leave out mine.en" in capsys.readouterr().err
        lacking = CorpusPart(download(address, packed, "small.tgz"), "training/other.en", "training/small.de")
        with pytest.raises(DataError, match=r"training/other.en cannot be extracted from .*small.tgz"):
            lacking.fetch(tmp_path / "again")


def test_sets_name_every_file_once_and_completely() -> None:
    assert {"wmt14-en-de", "wmt14-en-fr", "multi30k"} <= SETS.keys()
    for named in SETS.values():
        for part in (*named.train, *named.valid):
            for item in (part.archive, part.source, part.target):
                if isinstance(item, Download):
                    assert len(bytes.fromhex(item.sha256)) == 32
                    assert item.size > 0
                    assert item.url.startswith("https://")
