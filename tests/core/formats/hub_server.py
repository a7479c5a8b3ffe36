"""A server on this machine that speaks the protocol of the Hugging Face Hub, as far as a download needs it."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Hub:
    """What the server has, and what was requested.

    Attributes:
        models: contents of files by the name of a model and their own.
        commits: by the name of a model; the only branch is main.
        requests: method and path of each.
    """

    def __init__(self) -> None:
        self.address = ""
        self.models: dict[str, dict[str, bytes]] = {}
        self.commits: dict[str, str] = {}
        self.requests: list[str] = []

    def add(self, name: str, folder: Path, **more: bytes) -> str:
        """Add a model with the files of a folder, and return its commit."""
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        self.models[name] = files | {each.replace("__", "."): data for each, data in more.items()}
        digest = hashlib.sha1(b"".join(self.models[name].values()), usedforsecurity=False)
        self.commits[name] = digest.hexdigest()
        return self.commits[name]

    def fetched(self) -> set[str]:
        """Names of the files whose contents were requested."""
        paths = (each.removeprefix("GET ") for each in self.requests if each.startswith("GET ") and "/resolve/" in each)
        return {path.rpartition("/")[2] for path in paths}


@contextmanager
def running_hub() -> Iterator[Hub]:
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.requests.append(f"{self.command} {self.path}")
            path = self.path.partition("?")[0]
            for name, files in hub.models.items():
                commit = hub.commits[name]
                for revision in ("main", commit):
                    if path == f"/api/models/{name}/revision/{revision}":
                        siblings = [{"rfilename": file} for file in files]
                        return self.answer(json.dumps({"id": name, "sha": commit, "siblings": siblings}).encode())
                    file = path.removeprefix(f"/{name}/resolve/{revision}/")
                    if file in files:
                        return self.answer(files[file], commit)
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None

        do_HEAD = do_GET  # noqa: N815

        def answer(self, content: bytes, commit: str = "") -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            if commit:
                self.send_header("X-Repo-Commit", commit)
                self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
