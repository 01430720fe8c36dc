"""Free ports on this machine."""

import errno
import socket
from typing import Final

from service.local.errors import LocalError

LOOPBACK: Final = "127.0.0.1"
HIGHEST: Final = 65535
BACKLOG: Final = 1024
"""Connections that wait while the server restarts."""
STEPS: Final = 100
"""Taken ports that are stepped over before giving up."""


def listen(port: int, host: str = LOOPBACK) -> socket.socket | None:
    """A socket that listens on this port, or None where it is taken. Raises `LocalError` for a port one may never take."""
    # The protocol is named, or asyncio does not know connections for TCP and lets each answer wait 40 ms for an
    # acknowledgement (Nagle's algorithm).
    server = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # As servers do: a port whose last connections are only lingering counts as free.
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server.bind((host, port))
        server.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        server.close()
        if isinstance(error, UnicodeError):
            raise LocalError(f"{host!r} is no address to listen on") from error
        if error.errno == errno.EADDRINUSE:
            return None
        raise LocalError(f"port {port} on {host}: {error.strerror}") from error
    return server


def listen_from(port: int, host: str = LOOPBACK) -> socket.socket:
    """A socket that listens on the first free port from `port` upwards."""
    last = min(port + STEPS, HIGHEST) if port else 0
    for candidate in range(port, last + 1):
        if server := listen(candidate, host):
            return server
    raise LocalError(f"no free port from {port} to {last} on {host}")


def first_free(port: int, host: str = LOOPBACK) -> int:
    """The first port from `port` upwards that nobody listens on."""
    with listen_from(port, host) as server:
        return int(server.getsockname()[1])
