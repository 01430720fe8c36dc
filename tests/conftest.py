"""Fixtures that all tests share: nothing here is a stand-in."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from hypothesis import settings

from tests.servers import RedisServer, RunningWorker, WorkerFactory, poll
from workers.jobs.ledger import Ledger
from workers.jobs.store import connect

# The same examples each time: a red run is of the change that was made. `deploy/test --slow` and pytest by hand draw new ones.
settings.register_profile("repeated", derandomize=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Here rather than beside the storm, since options are read before deeper folders are."""
    group = parser.getgroup("blockyard")
    group.addoption("--storm", type=float, metavar="MINUTES", help="how long the storm of random kills lasts (default: 20 s)")
    group.addoption("--storm-seed", type=int, metavar="SEED", help="repeats the choices of a storm")


def pytest_configure() -> None:
    """Lets Ctrl-C through to the programs that tests start: a shell's job in the background is told to ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """The server that tests share, each with an empty database."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A server of the test's own, to be killed and started again."""
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    server.start()
    yield server
    server.stop(signal.SIGKILL)


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The address of an empty database."""
    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
    return redis_server.url


@pytest.fixture
def worker_factory(redis_url: str, tmp_path: Path) -> Iterator[WorkerFactory]:
    """Starts real workers: `worker_factory(name="one", processes=1, chunk_blocks=4, ...)`, keywords being settings.

    It waits until the worker is ready, and stops every worker at the end of the test.
    """
    started: list[RunningWorker] = []

    def start(name: str = "one", processes: int = 1, url: str = redis_url, **settings: object) -> RunningWorker:
        environment = os.environ | {"BLOCKYARD_REDIS_URL": url}
        environment |= {f"BLOCKYARD_{setting.upper()}": str(value) for setting, value in settings.items()}
        log = tmp_path / f"worker-{name}-{len(started)}.log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-c", f"from workers.app import run_worker; run_worker({processes}, {name!r})"],
                env=environment, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
            )  # fmt: skip
        worker = RunningWorker(name, process, log)
        started.append(worker)
        ledger = Ledger(connect(url))

        def is_ready() -> bool:
            assert process.poll() is None, log.read_text()
            return any(record.name == name and record.pid == process.pid for record in ledger.workers())

        poll(is_ready, patience=120)
        return worker

    yield start
    for worker in started:
        if worker.process.poll() is None:
            worker.stop()


@pytest.fixture
def running_worker(worker_factory: WorkerFactory) -> RunningWorker:
    """One worker with one process."""
    return worker_factory()
