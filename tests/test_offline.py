"""A test fails if it, the app or a command tries to reach another machine."""

import contextlib
import socket
import subprocess
import sys
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from tests.fixtures import fail_if_refused

ELSEWHERE = "192.0.2.1"  # of the block for documentation, RFC 5737


def connect() -> None:
    """Try to connect, and hide the failure."""
    with contextlib.suppress(OSError):
        socket.create_connection((ELSEWHERE, 80), timeout=1)


def assert_reported(report: Path, message: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=message):
        fail_if_refused(report)
    fail_if_refused(report)  # each is reported once


def test_a_connection_of_the_test_is_reported(connections_report: Path) -> None:
    connect()
    assert_reported(connections_report, f"socket.getaddrinfo to {ELSEWHERE} by ")


def test_a_connection_of_a_forked_process_is_reported(connections_report: Path, processes: ForkServerContext) -> None:
    process = processes.Process(target=connect)
    process.start()
    process.join(60)
    assert_reported(connections_report, f"to {ELSEWHERE} by .*forkserver")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("s.connect(('192.0.2.1', 80))", "socket.connect to 192.0.2.1 by .* -c "),
        ("s.sendto(b'', ('192.0.2.1', 80))", "socket.sendto to 192.0.2.1"),
        ("socket.getaddrinfo('example.org', 80)", "socket.getaddrinfo to example.org"),
        ("socket.gethostbyname(b'example.org')", "socket.gethostbyname to example.org"),
        ("socket.create_connection(('2001:db8::1', 80))", "socket.getaddrinfo to 2001:db8::1"),
    ],
)
def test_connections_of_a_command_are_refused_and_reported(connections_report: Path, code: str, message: str) -> None:
    start = "import socket; s = socket.socket(type=socket.SOCK_DGRAM)\n"
    done = subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True)
    assert "ConnectionRefusedError" in done.stderr
    assert_reported(connections_report, message)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.53", socket.gethostname()])
def test_this_machine_can_be_reached(host: str, connections_report: Path) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            socket.getaddrinfo(host, 9)
            if host != socket.gethostname():
                sender.sendto(b"", (host, 9))
    except ConnectionRefusedError:  # as the tests refuse other machines
        raise
    except OSError as error:
        pytest.skip(f"this machine has no {host}: {error}")
    fail_if_refused(connections_report)
