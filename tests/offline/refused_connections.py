"""Refuse connections to other machines, in this process and in every Python process that it starts.

Python imports it at its start, by way of sitecustomize.py, as tests/conftest.py puts this folder on PYTHONPATH. A test
fails during which a line was added to the file `REPORT`. Sockets opened by compiled libraries are not seen.
"""

import ipaddress
import os
import socket
import sys

REPORT = "HEADLIGHT_TEST_CONNECTIONS"  # environment variable: the path of the file
THIS_MACHINE = frozenset({"", "localhost", socket.gethostname()})


def is_outside(name: str) -> bool:
    """Whether a host is another machine."""
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return name.lower() not in THIS_MACHINE
    return not (address.is_loopback or address.is_unspecified)


def refuse(event: str, arguments: tuple[object, ...]) -> None:
    """Audit hook: report and refuse connections to other machines, datagrams, and look-ups of their names."""
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None  # an address of a Unix socket is no tuple
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else str(host or "")
    if is_outside(host):
        message = f"{event} to {host} by {' '.join(sys.orig_argv)}"
        if report := os.environ.get(REPORT):
            with open(report, "a", encoding="utf-8") as file:
                file.write(f"{message}\n")
        raise ConnectionRefusedError(f"{message}: tests reach no other machine")


sys.addaudithook(refuse)
