"""The container's health check, as its file has it, on a server that this machine runs."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTAINERFILE = ROOT / "viz_app" / "server" / "Containerfile"
PORT = "8501"
PATIENCE = "timeout=4"
START_TIMEOUT = 120  # seconds


@pytest.fixture
def port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def listens(port: str) -> bool:
    """Whether a server takes connections at a port of this machine."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", int(port))) == 0


@pytest.fixture
def server(port: str, tiny_checkpoint: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """The server that the container starts, in one process."""
    command = [sys.executable, "-m", "viz_app.server.command", "--address", "0.0.0.0", "--port", port]
    command += ["--checkpoint", str(tiny_checkpoint)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as running:
        yield running
        running.kill()


@pytest.fixture
def is_healthy(port: str) -> Callable[..., bool]:
    found = re.search(r"^HEALTHCHECK [^[]*CMD (\[.*\])$", CONTAINERFILE.read_text("utf-8"), re.M)
    assert found
    python, *rest = json.loads(found[1])
    assert python.endswith("/python")
    assert sum(each.count(PORT) for each in rest) == sum(each.count(PATIENCE) for each in rest) == 1

    def check(timeout: float = 1, **variables: str) -> bool:
        own = (each.replace(PORT, port).replace(PATIENCE, f"timeout={timeout}") for each in rest)
        command, environment = [sys.executable, *own], {**os.environ, **variables}
        return subprocess.run(command, env=environment, check=False, capture_output=True, timeout=60).returncode == 0

    return check


@pytest.mark.skipif(os.name != "posix", reason="containers run Linux, where a signal can stop a process for a while")
def test_a_server_is_healthy_while_it_answers(
    server: "subprocess.Popen[bytes]", port: str, is_healthy: Callable[..., bool]
) -> None:
    """Not before it listens, while it hangs, or after it has ended; podman hands on proxies that cannot reach it."""
    assert not is_healthy()
    end = time.monotonic() + START_TIMEOUT
    while not listens(port):  # which takes less than to ask how it is
        assert server.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    server.send_signal(signal.SIGSTOP)
    assert not is_healthy(timeout=0.1)
    server.send_signal(signal.SIGCONT)
    while not is_healthy():
        assert time.monotonic() < end
    assert is_healthy(http_proxy="http://127.0.0.1:9", HTTP_PROXY="http://127.0.0.1:9", no_proxy="")
    server.terminate()
    server.wait(20)
    assert not is_healthy()
