"""The whole service on this machine: Redis, API, workers and scheduler under one supervisor, until it is told to stop."""

import http.client
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

from service.access.opening import check_address
from service.local.bond import PYTHON_MODULE, Bond
from service.local.errors import LocalError
from service.local.folder import DataFolder, hold_folder
from service.local.ports import LOOPBACK, first_free, listen, listen_from
from service.local.redis_server import (
    DEFAULT_PORT,
    STOP_SECONDS,
    URL_VARIABLE,
    check_operators_redis,
    find_program,
    operators_url,
    server_command,
    server_process,
    stop_orphan,
    without_password,
)
from service.local.supervisor import ChildBroken, ChildSpec, Supervisor
from service.settings import ServiceSettings

API_PORT: Final = 8000
AUDIT_VARIABLE: Final = "BLOCKYARD_AUDIT_LOG"
NICE_VARIABLE: Final = "BLOCKYARD_NICENESS"
NICENESS: Final = "5"
"""Players stand back for the API beside them, whose answers are waited for."""
QUICK_SECONDS: Final = 8.0
"""Workers that are not ready after this are compiling the engine, which is worth a word."""
SAME_REQUEST_SECONDS: Final = 1.0
API_STOP_SECONDS: Final = 8.0
WORKER_STOP_SECONDS: Final = 15.0
"""A worker finishes the chunk in its hands; what it cannot finish is played again elsewhere."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to start: `workers` processes that play, the API on `port` (None: 8000 or the next free one)."""

    data: Path
    workers: int
    port: int | None = None
    host: str = LOOPBACK
    insecure: bool = False
    """Whether everybody is let in, from anywhere, while there is no key."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the running service answers."""

    api: str
    redis: str
    data: Path


def up(plan: Plan, *, say: Callable[[str], None], announce: Callable[[Addresses], None]) -> None:
    """Run the service until SIGINT or SIGTERM; then stop all of it, last started first. A second signal hurries.

    `say` is told one-line notes, `announce` the addresses once everything is ready. Raises `LocalError` where the service
    cannot be run, `OpenToStrangers` where it would let anybody in; whatever was started by then has been stopped.
    """
    with StopSignals() as stop, hold_folder(plan.data) as folder, ExitStack() as resources:
        resources.callback(folder.redis_note.unlink, missing_ok=True)
        bond = Bond()
        resources.callback(bond.close)
        supervisor = Supervisor(bond, folder.logs, say)
        try:
            addresses = _start(plan, folder, resources, supervisor, stop, say)
            if addresses is not None:
                announce(addresses)
                supervisor.wait(lambda: bool(stop))
        finally:
            supervisor.stop(hurry=lambda: stop.hurry)


class StopSignals:
    """Hears requests to stop (SIGINT, SIGTERM, SIGHUP) while its block runs; true once there was one.

    `hurry` is true once there was another, later one: Ctrl-C also reaches a script around us, which then sends its own.
    """

    def __init__(self) -> None:
        self.hurry = False
        self._first = 0.0
        self._before: dict[signal.Signals, object] = {}

    def __bool__(self) -> bool:
        return self._first > 0

    def __enter__(self) -> "StopSignals":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal gave back

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        self._first = self._first or now
        self.hurry = now - self._first > SAME_REQUEST_SECONDS


def _api_socket(port: int | None, host: str) -> socket.socket:
    """The socket that the API will answer on. It is held here, so that the port stays ours while the API restarts."""
    if port is not None:
        server = listen(port, host)
        if server is None:
            raise LocalError(f"--port {port}: the port is taken; choose another, or leave --port out to step over it")
        return server
    return listen_from(API_PORT, host)


def _start(
    plan: Plan,
    folder: DataFolder,
    resources: ExitStack,
    supervisor: Supervisor,
    stop: StopSignals,
    say: Callable[[str], None],
) -> Addresses | None:
    """Start everything and wait until it is ready; None where it was told to stop before."""
    url = _start_redis(folder, supervisor, stop, say)
    if stop:
        return None
    if operators_url() is None:
        folder.redis_note.write_text(f"{url}\n")
    check_address(ServiceSettings(redis_url=url, host=plan.host, insecure=plan.insecure or ServiceSettings().insecure))
    server = resources.enter_context(closing(_api_socket(plan.port, plan.host)))
    port = server.getsockname()[1]
    if plan.port is None and port != API_PORT:
        say(f"port {API_PORT} is taken; using {port}")
    environment = {AUDIT_VARIABLE: str(folder.audit), NICE_VARIABLE: NICENESS, **os.environ, URL_VARIABLE: url}
    blockyard = (*PYTHON_MODULE, "service.cli")
    here = _reachable(plan.host)
    api = ["api", "--host", plan.host, "--port", str(port), "--descriptor", str(server.fileno())]
    if plan.insecure:
        api.append("--insecure")
    supervisor.start(
        ChildSpec("api", (*blockyard, *api), environment, ready=lambda _: _answers(here, port, "/healthz"),
                  stop_seconds=API_STOP_SECONDS, descriptors=(server.fileno(),))
    )  # fmt: skip
    for name, processes in _workers(plan.workers):
        supervisor.start(
            ChildSpec(name, (*blockyard, "worker", "--processes", str(processes)), environment,
                      ready=lambda _: _answers(here, port, "/readyz?workers=1"), stop_seconds=WORKER_STOP_SECONDS)
        )  # fmt: skip
    supervisor.start(ChildSpec("scheduler", (*blockyard, "scheduler"), environment))

    def ready() -> bool:
        return bool(stop) or all(child.ready for child in supervisor.children)

    if not supervisor.wait(ready, QUICK_SECONDS):
        say("still starting; a first start compiles the engine, which takes a while")
        supervisor.wait(ready)
    return None if stop else Addresses(f"http://{_in_url(here)}:{port}", without_password(url), folder.path)


def _workers(processes: int) -> list[tuple[str, int]]:
    """Workers by name, and how many of the processes that play each has.

    Two, where one can spare some: when one dies the other plays on, and each can audit what the other has played.
    """
    if processes == 1:
        return [("worker-1", 1)]
    return [("worker-1", (processes + 1) // 2), ("worker-2", processes // 2)]


def _start_redis(folder: DataFolder, supervisor: Supervisor, stop: StopSignals, say: Callable[[str], None]) -> str:
    """The URL of a Redis that answers: the operator's, or one that is started here."""
    if url := operators_url():
        check_operators_redis(url)
        return url
    program = find_program()
    for orphan in stop_orphan(folder.redis):
        say(f"ended the Redis server {orphan} that an earlier run left on this data folder")
    port = first_free(DEFAULT_PORT)
    while not _redis_takes(port, program, folder, supervisor, stop):
        port = first_free(port)
    return f"redis://{LOOPBACK}:{port}/0"


def _redis_takes(port: int, program: Path, folder: DataFolder, supervisor: Supervisor, stop: StopSignals) -> bool:
    """Start the server on this port; False where another program took the port between the look and the start."""
    command = server_command(program, folder.redis, port)
    spec = ChildSpec("redis", command, os.environ, ready=_own_server(port), patience=1, stop_seconds=STOP_SECONDS)
    child = supervisor.start(spec)
    try:
        return supervisor.wait(lambda: bool(stop) or child.ready)
    except ChildBroken:
        if first_free(port) == port:
            raise
        supervisor.forget(child)
        return False


def _own_server(port: int) -> Callable[[int], bool]:
    return lambda process: server_process(port) == process


def _reachable(host: str) -> str:
    """An address at which what listens on `host` can be reached from here."""
    return {"0.0.0.0": LOOPBACK, "::": "::1"}.get(host, host)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _answers(host: str, port: int, path: str) -> bool:
    """Whether the API answers this with 200 within a second."""
    connection = http.client.HTTPConnection(host, port, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
