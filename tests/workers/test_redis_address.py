"""Redis by URL: with a password, and over TLS with a certificate that is checked.

The server in the wheel is built without TLS, so a terminator of the test's own stands before it, as `stunnel` would.
"""

import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import trustme

from tests.servers import RedisServer, WorkerFactory, poll
from workers.errors import LedgerUnavailable
from workers.jobs.ledger import Ledger
from workers.jobs.queue import make_app, open_ledger
from workers.jobs.spec import JobSpec, make_scenario
from workers.settings import Settings

PASSWORD = "open-sesame-42"
SPEC = JobSpec((make_scenario(["heaviest", "random"], 64),), seed=1)


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that asks for a password."""
    folder = tmp_path / "locked"
    folder.mkdir()
    server = RedisServer(folder, password=PASSWORD)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """The file with a certificate authority; beside it is a server's certificate for 127.0.0.1."""
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "authority.pem")
    made.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    return tmp_path / "authority.pem"


@pytest.fixture
def tls_port(locked: RedisServer, authority: Path) -> Iterator[int]:
    """The port of a TLS terminator before that server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.with_name("server.pem"))
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as open_ones:

        def accept() -> None:
            while True:
                try:
                    plain, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=meet, args=(plain,), daemon=True).start()

        def meet(plain: socket.socket) -> None:
            with suppress(OSError):  # a client that does not trust us leaves at once
                secret = context.wrap_socket(plain, server_side=True)
                behind = socket.create_connection(("127.0.0.1", locked.port))
                for end in (secret, behind):
                    open_ones.callback(end.close)
                threading.Thread(target=pump, args=(behind, secret), daemon=True).start()
                pump(secret, behind)

        def pump(source: socket.socket, goal: socket.socket) -> None:
            with suppress(OSError, ValueError):
                while data := source.recv(65536):
                    goal.sendall(data)
            for end in (source, goal):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def test_a_job_is_played_over_tls_with_a_password(tls_port: int, authority: Path, worker_factory: WorkerFactory) -> None:
    url = f"rediss://:{PASSWORD}@127.0.0.1:{tls_port}/0?ssl_ca_certs={authority}"
    ledger = open_ledger(Settings(redis_url=url))
    worker = worker_factory(url=url)
    job = ledger.submit(SPEC)[0]
    poll(lambda: ledger.job(job.id).state == "done")
    assert worker.stop() == 0
    assert PASSWORD not in worker.log.read_text()


def test_a_certificate_that_nobody_vouches_for_is_refused(tls_port: int) -> None:
    url = f"rediss://:{PASSWORD}@127.0.0.1:{tls_port}/0"
    with pytest.raises(LedgerUnavailable, match=r"(?i)certificate"):
        open_ledger(Settings(redis_url=url)).ping()
    # The broker's connection is another's work: it must not be laxer.
    connection = make_app(Settings(redis_url=url)).connection_for_write()
    with pytest.raises(Exception, match=r"(?i)certificate"):
        connection.default_channel.client.ping()
    open_ledger(Settings(redis_url=f"{url}?ssl_cert_reqs=none&ssl_check_hostname=false")).ping()


@pytest.mark.parametrize("given", ["", ":wrong-secret-77@"])
def test_a_wrong_password_is_said_and_not_shown(locked: RedisServer, given: str) -> None:
    url = f"redis://{given}127.0.0.1:{locked.port}/0"
    with pytest.raises(LedgerUnavailable) as refusal:
        Ledger(open_ledger(Settings(redis_url=url)).store._redis).ping()
    assert "wrong-secret-77" not in str(refusal.value)
    if not given:
        return
    for arguments in (["worker"], ["up", "--data", str(locked.folder.parent / "data")], ["keys", "list"]):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "service.cli", *arguments], env={**os.environ, "BLOCKYARD_REDIS_URL": url},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 3, done.stderr
        assert "wrong-secret-77" not in done.stdout + done.stderr
        assert done.stderr.count("\n") == 1, done.stderr


def test_the_operators_password_is_masked_where_addresses_are_told(locked: RedisServer, tmp_path: Path) -> None:
    """`up` prints where Redis is, and its children log: none of it tells the password."""
    announced = tmp_path / "address"
    command = [sys.executable, "-P", "-m", "service.cli", "up", "--workers", "1", "--data", str(tmp_path / "up")]
    log = tmp_path / "up.log"
    with (
        log.open("wb") as said,
        subprocess.Popen(
            [*command, "--announce", str(announced)],
            env={**os.environ, "BLOCKYARD_REDIS_URL": locked.url},
            stdout=said,
            stderr=said,
        ) as process,
    ):
        try:
            poll(lambda: announced.exists() or process.poll() is not None, 240)
            assert "redis://:***@127.0.0.1" in log.read_text()
        finally:
            process.terminate()
            process.wait(60)
    for file in (tmp_path / "up").rglob("*"):
        if file.is_file():
            assert PASSWORD.encode() not in file.read_bytes(), file
    assert PASSWORD not in log.read_text()
