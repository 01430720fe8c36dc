"""A real API process's inside: uvicorn on a free port in a thread, on a real Redis; and real schedulers beside it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
import redis

from tests.servers import PATIENCE, RedisServer, poll
from tests.service.running import Hands, Service, serving
from workers.jobs.ledger import Ledger
from workers.jobs.records import Permit
from workers.jobs.store import connect
from workers.settings import Settings


@pytest.fixture(scope="module")
def running(redis_server: RedisServer) -> Iterator[Service]:
    """One API for the tests of a file: left running, it would fold and sweep among the tests of the ledger.

    It begins on an empty database: else it would move runs of an earlier file on, while the first test believes it empty.
    """
    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
    with serving(redis_server.url) as service:
        yield service


@pytest.fixture
def service(running: Service, redis_url: str) -> Service:
    """The API on an empty database."""
    assert running.redis_url == redis_url
    return running


@pytest.fixture
def http(service: Service) -> Iterator[httpx2.Client]:
    """A client of the API."""
    with httpx2.Client(base_url=service.url, trust_env=False, timeout=60) as client:
        yield client


@pytest.fixture
def hands(service: Service) -> Hands:
    """A worker by hand, with small chunks."""
    sent: list[Permit] = []
    settings = Settings(chunk_blocks=16, audit_every=0, lease_seconds=60)
    return Hands(Ledger(connect(service.redis_url), send=sent.append, settings=settings), sent)


@pytest.fixture
def stored(service: Service) -> Iterator[Callable[[], dict[bytes, bytes]]]:
    """Everything that is in Redis, to show that a refused request changes nothing."""
    with redis.Redis.from_url(service.redis_url) as client:

        def dump() -> dict[bytes, bytes]:
            return {key: client.dump(key) for key in sorted(client.scan_iter(count=1000))}  # type: ignore[misc]

        yield dump


def _off_by(seconds: float) -> str:
    """Python that puts the clock of its process off."""
    if not seconds:
        return ""
    return f"""
import datetime, time
true = time.time
class Off(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(true() + {seconds}, tz)
time.time, datetime.datetime = (lambda: true() + {seconds}), Off
"""


@pytest.fixture
def scheduler_factory(redis_url: str, tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Starts real schedulers: `scheduler_factory(webhook_secret="...")`, keywords being settings. It answers with the log.

    With `clock`, the scheduler's own clock is off by so many seconds. It waits until the scheduler runs, and stops every one
    at the end of the test.
    """
    started: list[subprocess.Popen[bytes]] = []

    def start(*, clock: float = 0.0, **settings: object) -> Path:
        log = tmp_path / f"scheduler-{len(started)}.log"
        environment = os.environ | {"BLOCKYARD_REDIS_URL": redis_url}
        environment |= {f"BLOCKYARD_{setting.upper()}": str(value) for setting, value in settings.items()}
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-c", f"{_off_by(clock)}from workers.scheduler import run; run()"],
                env=environment, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
            )  # fmt: skip
        started.append(process)

        def is_ready() -> bool:
            assert process.poll() is None, log.read_text()
            return "the scheduler runs" in log.read_text()

        poll(is_ready)
        return log

    yield start
    for process in started:
        process.terminate()
    for process in started:
        assert process.wait(PATIENCE) in (0, -signal.SIGKILL)
