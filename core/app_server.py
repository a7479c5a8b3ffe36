"""The app with a model that is in memory, in a process of its own.

`core` does not import the app: it starts its command as a user would, with a checkpoint in a private temporary folder.
"""

import atexit
import html
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from core.formats.checkpoint import save_checkpoint
from core.formats.output_folder import storage_type
from core.translator import Translator

COMMAND = (sys.executable, "-m", "viz_app.server.command")  # `headlight`, whether or not it is on the path
HOST = "127.0.0.1"
START_TIMEOUT = 120.0  # seconds that the app may take to start on a busy machine
STOP_TIMEOUT = 20.0  # seconds that it may take to end


class AppServer:
    """A running app, which ends with `stop`, at the end of a `with` block, or with this Python process.

    Attributes:
        address: to open in a browser on this machine.
    """

    def __init__(self, address: str, process: "subprocess.Popen[bytes]", folder: Path) -> None:
        self.address = address
        self._process = process
        self._folder = folder
        atexit.register(self.stop)

    def stop(self) -> None:
        """End the app, and remove the copy of the model."""
        _end(self._process, self._folder)
        atexit.unregister(self.stop)

    def wait(self) -> None:
        """Return when the app has ended, or end it on Ctrl+C: for scripts, which would end it otherwise."""
        try:
            self._process.wait()
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()

    def __enter__(self) -> "AppServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Headlight at {self.address}"

    def _repr_html_(self) -> str:
        """A link, in a notebook."""
        address = html.escape(self.address)
        return f'<a href="{address}" target="_blank" rel="noopener">{html.escape(repr(self))}</a>'


def serve(translator: Translator, name: str = "model", port: int | None = None) -> AppServer:
    """Start the app on this machine with a model as the one that is open, under a name, on a free port or a given one.

    The app has a copy of the model, as `save_checkpoint` writes it, in a temporary folder that only this user may read.

    Raises:
        ValueError: the name is empty or has a separator of folders, or another program has the port; or see
            `save_checkpoint`.
        RuntimeError: the app does not start; the message has what it printed.
    """
    if name in ("", "..") or Path(name).name != name:
        raise ValueError(f"name is {name!r:.60}, expected the name of a file without its folder")
    port = free_port(port or 0)
    folder = Path(tempfile.mkdtemp(prefix="headlight-"))
    file, output = folder / f"{name}.safetensors", folder / "output.txt"
    address, process = f"http://{HOST}:{port}", None
    options = ["--checkpoint", str(file), "--address", HOST, "--port", str(port), "--", "--server.headless", "true"]
    try:
        save_checkpoint(
            file, translator.model, translator.tokenizer, translator.training, storage_type(translator.model)
        )
        with output.open("wb") as log:
            process = subprocess.Popen(
                [*COMMAND, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        if not answers(address, process):
            printed = output.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"the app did not start at {address}. It printed:\n{printed}")
    except BaseException:
        _end(process, folder)
        raise
    return AppServer(address, process, folder)


def free_port(port: int = 0) -> int:
    """Return the port, or any free one for 0.

    Raises:
        ValueError: it is not free.
    """
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # of an app that has just ended
        try:
            free.bind((HOST, port))
        except OSError as error:
            raise ValueError(f"port {port} of {HOST} is not free ({error.strerror}): give another, or none") from error
        return free.getsockname()[1]


def answers(address: str, process: "subprocess.Popen[bytes]") -> bool:
    """Whether the app at an address answers before it ends, or before `START_TIMEOUT`."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # 127.0.0.1 needs no proxy
    end = time.monotonic() + START_TIMEOUT
    while time.monotonic() < end and process.poll() is None:
        try:
            with opener.open(f"{address}/_stcore/health", timeout=5):
                return True
        except OSError:
            time.sleep(0.1)
    return False


def _end(process: "subprocess.Popen[bytes] | None", folder: Path) -> None:
    if process is not None and process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    shutil.rmtree(folder, ignore_errors=True)
