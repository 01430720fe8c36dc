"""Ports: taken ones are seen and stepped over."""

import socket
from collections.abc import Iterator

import pytest

from service.local import ports
from service.local.errors import LocalError


@pytest.fixture
def taken() -> Iterator[socket.socket]:
    """A socket that listens on a port of its own."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_taken_port_is_seen_and_stepped_over(taken: socket.socket) -> None:
    port = taken.getsockname()[1]
    assert ports.listen(port) is None
    with ports.listen_from(port) as next_one:
        assert port < next_one.getsockname()[1] <= port + ports.STEPS
    assert ports.first_free(port) > port


def test_free_port_is_taken_as_it_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with ports.listen_from(port) as ours:
        assert ours.getsockname()[1] == port


def test_range_that_is_used_up_is_said(taken: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "STEPS", 0)
    with pytest.raises(LocalError, match="no free port"):
        ports.listen_from(taken.getsockname()[1])


def test_address_that_is_not_ours_is_an_error() -> None:
    with pytest.raises(LocalError, match=r"port 65000 on 203\.0\.113\.1"):
        ports.listen(65000, "203.0.113.1")
