"""The app with a model in memory."""

import runpy
import sys
import urllib.request
from pathlib import Path

import pytest

from core import Translator, app_server, load_checkpoint, serve

# Stands for the app: answers at the address that it is given, and prints the model that it is to open.
STAND_IN = """
import http.server, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(options["--checkpoint"].encode())
http.server.HTTPServer((options["--address"], int(options["--port"])), Handler).serve_forever()
"""


def test_the_app_gets_a_copy_of_the_model(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_server, "COMMAND", (sys.executable, "-c", STAND_IN))
    with serve(translator, "mine") as server:
        with urllib.request.urlopen(server.address, timeout=20) as answer:
            file = Path(answer.read().decode())
        assert file.name == "mine.safetensors"
        assert file.parent.stat().st_mode & 0o77 == 0, "nobody else may read it"
        found = load_checkpoint(file)
        assert found.config == translator.config
        assert repr(server) == f"Headlight at {server.address}"
        port = int(server.address.rpartition(":")[2])
        with pytest.raises(ValueError, match=rf"^port {port} of 127.0.0.1 is not free"):
            serve(translator, port=port)
    assert not file.parent.exists()


def test_an_app_that_does_not_start(translator: Translator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(app_server, "COMMAND", (sys.executable, "-c", "print('no module Streamlit')"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"^the app did not start at http://127.0.0.1:\d+. It printed:\nno module"):
        serve(translator)
    assert not list(tmp_path.iterdir())
    for name in ("", "a/b", ".."):
        with pytest.raises(ValueError, match=r"^name is .* expected the name of a file without its folder"):
            serve(translator, name)


def test_the_command_exists(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    python, flag, module = app_server.COMMAND
    assert (python, flag) == (sys.executable, "-m")
    monkeypatch.setattr(sys, "argv", [module, "--help"])
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(module, run_name="__main__")
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert all(option in printed for option in ("--checkpoint", "--address", "--port"))
