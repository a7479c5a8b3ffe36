"""Launch of the app and of a browser, for tests, screenshots and benchmarks."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.app_server import HOST, answers, free_port
from viz_app.session.environment import CHECKPOINT_VARIABLE
from viz_app.session.models import ROOT

_DISABLED = ("gpu", "quic", "background-networking", "component-update", "sync", "dev-shm-usage")
CHROMIUM_FLAGS = ["--no-sandbox", "--no-first-run", *(f"--disable-{each}" for each in _DISABLED)]


def find_chromium() -> str | None:
    """Return the path of the system's Chromium or Chrome, or else of Playwright's."""
    folders = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    names = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
    installed = sorted(folders.glob("chromium-*/chrome-linux*/chrome"))
    return next(filter(None, map(shutil.which, names)), None) or next(map(str, installed), None)


@contextmanager
def running_app(
    checkpoint: str | Path | None = None, root: Path = ROOT, script: str = "viz_app/main.py"
) -> Iterator[str]:
    """Run the app in a separate process, on a free port, and yield its address as soon as it answers.

    Args:
        checkpoint: to start with; None: the shipped one.
        root: the folder to start in; another checkout of the project runs its own code.
        script: the script that Streamlit runs, relative to `root`.

    Raises:
        RuntimeError: it does not start; the message includes its output.
    """
    port = free_port()
    environment = {**os.environ, **({CHECKPOINT_VARIABLE: str(checkpoint)} if checkpoint else {})}
    if root != ROOT:  # the environment may have this checkout installed
        environment["PYTHONPATH"] = str(root)
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port)]
    with tempfile.TemporaryFile("w+") as output:
        server = subprocess.Popen(
            command, cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            address = f"http://{HOST}:{port}"
            if not answers(address, server):
                output.seek(0)
                raise RuntimeError(f"the app did not start:\n{output.read()}")
            yield address
        finally:
            server.terminate()
            server.wait(20)
