"""Whom webhooks may call: the open internet alone, unless a setting allows more; and how one attempt behaves."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.servers import poll
from workers.jobs.ledger import Ledger
from workers.jobs.store import connect
from workers.regressions import webhook
from workers.regressions.store import RegressionStore
from workers.regressions.webhook import AddressRefusedError, deliver_due, is_public
from workers.settings import Settings

PRIVATE = (
    "127.0.0.1", "127.255.0.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
    "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1",
    "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "2002:7f00:1::", "2002:a00:1::",
    "2001:0:7f00:1::",
)  # fmt: skip
PUBLIC = ("8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::")


@pytest.mark.parametrize("address", PRIVATE)
def test_what_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public(address: str) -> None:
    assert is_public(address)


def test_each_of_a_names_addresses_is_judged_and_a_judged_one_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[str] = []

    def look_up(_host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answer, port)) for answer in answers]

    monkeypatch.setattr(webhook.socket, "getaddrinfo", look_up)
    answers[:] = ["8.8.8.8", "127.0.0.1"]
    with pytest.raises(AddressRefusedError, match=r"hooks\.example is not a public address"):
        webhook._public_target("https://hooks.example/x", allow_private=False)
    answers[:] = ["8.8.8.8"]
    target = webhook._public_target("https://hooks.example:8443/x?y=1", allow_private=False)
    assert target == ("https://8.8.8.8:8443/x?y=1", "hooks.example:8443")
    answers[:] = ["::1"]
    assert webhook._public_target("http://hooks.example/", allow_private=True)[0] == "http://[::1]:80/"


@pytest.mark.parametrize(
    "url", ["http://localhost/", "http://127.0.0.1:80/", "http://0x7f.1/", "http://2130706433/", "http://[::1]/", "ftp://8.8.8.8/",
            "http:///x", "http://[::ffff:127.0.0.1]/", "http://0/"],
)  # fmt: skip
def test_however_this_machine_is_spelt(url: str) -> None:
    with pytest.raises(AddressRefusedError):
        webhook._public_target(url, allow_private=False)


@contextmanager
def answering(reply: Callable[[socket.socket], None]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that answers each call with `reply`; gives its address and what it was sent."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    request = b""
                    while not request.endswith(b"}"):
                        request += connection.recv(65536)
                    heard.append(request)
                    reply(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/", heard
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def test_a_redirect_is_not_followed_and_counts_as_not_taken() -> None:
    with answering(lambda it: it.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as (goal, reached):

        def redirect(connection: socket.socket) -> None:
            connection.sendall(b"HTTP/1.1 307 Go\r\nLocation: " + goal.encode() + b"\r\nContent-Length: 0\r\n\r\n")

        with answering(redirect) as (url, heard):
            assert not webhook._attempt(url, b"{}", Settings(webhook_allow_private=True))
        assert heard
        assert not reached


def test_an_endless_answer_is_not_read() -> None:
    def pour(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                connection.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        except OSError:
            return

    with answering(pour) as (url, _):
        assert webhook._attempt(url, b"{}", Settings(webhook_allow_private=True))


def test_a_trickle_ends_with_the_attempts_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "ATTEMPT_SECONDS", 0.3)
    over = threading.Event()

    def trickle(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        try:
            while not over.wait(0.05):
                connection.sendall(b"X-Y: z\r\n")
        except OSError:
            return

    with answering(trickle) as (url, _):
        assert not webhook._attempt(url, b"{}", Settings(webhook_allow_private=True))
        over.set()


def test_an_announcement_is_tried_again_later_and_given_up_in_the_end(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RegressionStore(Ledger(connect(redis_url)))
    monkeypatch.setattr(webhook, "FIRST_PAUSE", 0.0)
    with answering(lambda it: it.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")) as (url, heard):
        told = b'{"url":"%s","attempt":1,"body":{"run":"r"}}' % url.encode()
        store.ledger.store.read(("ZADD", webhook.WAITING, 0, told))
        poll(lambda: deliver_due(store, Settings(webhook_allow_private=True)) or not waiting(store), pause=0.0)
        assert len(heard) == webhook.ATTEMPTS
        assert b'{"run":"r"}' in heard[0]


def waiting(store: RegressionStore) -> int:
    with store.ledger.store.reading() as redis:
        return int(redis.zcard(webhook.WAITING))
