"""The supervisor: starts child processes, restarts what dies, stops everything in order."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from service.local.bond import Bond
from service.local.errors import LocalError

POLL_SECONDS: Final = 0.1
FIRST_DELAY: Final = 0.2
LONGEST_DELAY: Final = 5.0
"""Restarts wait 0.2 s, twice as long after each failure in a row, and never longer than this.

Who was killed has not failed: whoever comes and kills does not make the service slower to come back."""
HEALTHY_SECONDS: Final = 1.0
"""A child that was ready and ran this long starts anew with the first delay: it ran into something, it is not broken."""
LONGEST_LOG: Final = 16 * 2**20


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What to run and how to treat it."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    ready: Callable[[int], bool] = lambda _: True
    """Asked with the child's process id until it says yes."""
    patience: int = 5
    """Failures before it was ever ready after which it counts as broken."""
    stop_seconds: float = 10.0
    """How long it may take to end by itself when it is asked to (SIGTERM)."""
    descriptors: Sequence[int] = ()
    """Open files that it inherits."""


@dataclass(slots=True)
class Child:
    """A child as it fares."""

    spec: ChildSpec
    log: Path
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    restart_at: float = 0.0
    ready: bool = False
    ever_ready: bool = False
    failures: int = 0
    restarts: int = field(default=0)

    @property
    def broken(self) -> bool:
        """Whether it keeps failing without ever having been ready."""
        return not self.ever_ready and self.failures >= self.spec.patience

    def last_words(self) -> str:
        """The last line that it logged."""
        lines = self.log.read_text(errors="replace").strip().splitlines() if self.log.exists() else []
        return _told(lines[-1].strip()) if lines else "it said nothing"


class ChildBroken(LocalError):
    """A child does not come up, however often it is started."""

    def __init__(self, child: Child) -> None:
        super().__init__(f"{child.spec.name} does not start: {child.last_words()} (log: {child.log})")
        self.child = child


class Supervisor:
    """Keeps children running, in the order in which they were started; stops them in the opposite order.

    `warn` is told, in one line each, what died and what is done about it. Use it from the main thread only.
    """

    def __init__(self, bond: Bond, logs: Path, warn: Callable[[str], None]) -> None:
        self.children: list[Child] = []
        self._bond = bond
        self._logs = logs
        self._warn = warn

    def start(self, spec: ChildSpec) -> Child:
        """Start a child; its log of the last time is kept beside the new one."""
        log = self._logs / f"{spec.name}.log"
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        child = Child(spec, log)
        self.children.append(child)
        self._launch(child)
        return child

    def watch(self) -> None:
        """One look at everything: note what became ready, restart what died."""
        self._bond.watch_keeper()
        for child in self.children:
            self._look_at(child)

    def wait(self, condition: Callable[[], bool], seconds: float | None = None) -> bool:
        """Watch until the condition holds (True) or the time is over (False). Raises `ChildBroken`."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            self.watch()
            for child in self.children:
                if child.broken:
                    raise ChildBroken(child)
            if condition():
                return True
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(POLL_SECONDS)

    def forget(self, child: Child) -> None:
        """End a child at once and no longer care for it."""
        self.children.remove(child)
        self._end(child)

    def stop(self, hurry: Callable[[], bool] = lambda: False) -> None:
        """Stop everything, last started first; once `hurry()` says yes, without waiting for anything."""
        for child in reversed(self.children):
            process = child.process
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGTERM)
                deadline = time.monotonic() + child.spec.stop_seconds
                while process.poll() is None and time.monotonic() < deadline and not hurry():
                    time.sleep(POLL_SECONDS / 2)
                if process.poll() is None and not hurry():
                    self._warn(f"{child.spec.name} does not stop by itself; ending it")
            self._end(child)
        self.children.clear()

    def _look_at(self, child: Child) -> None:
        now = time.monotonic()
        if child.process is None:
            if now >= child.restart_at:
                child.restarts += 1
                self._launch(child)
            return
        code = child.process.poll()
        if code is None:
            if not child.ready and child.spec.ready(child.process.pid):
                child.ready = child.ever_ready = True
            _bound(child.log)
            return
        self._end(child)
        healthy = child.ready and now - child.started_at >= HEALTHY_SECONDS
        child.failures = 1 if healthy else child.failures + 1
        was_killed = code == -signal.SIGKILL and child.ever_ready
        delay = FIRST_DELAY if was_killed else min(FIRST_DELAY * 2 ** (child.failures - 1), LONGEST_DELAY)
        child.restart_at = now + delay
        if not child.broken:
            self._warn(f"{child.spec.name} ended ({_ending(code)}); starting it again in {delay:.1f} s (log: {child.log})")

    def _launch(self, child: Child) -> None:
        with child.log.open("ab") as log:
            child.process = self._bond.start(child.spec.command, log, child.spec.environment, child.spec.descriptors)
        child.started_at = time.monotonic()
        child.ready = False

    def _end(self, child: Child) -> None:
        """End the child with all that it started: a dead worker parent may leave its pool behind."""
        if child.process is not None:
            self._bond.end_group(child.process.pid)
            child.process.wait()
            child.process = None


def _told(line: str) -> str:
    """What a line of a log says, be it JSON or text."""
    try:
        found = json.loads(line)
        return str(found["message"])
    except (ValueError, TypeError, KeyError):
        return line


def _ending(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _bound(log: Path) -> None:
    """Keep a log from growing for ever: children append to it, so it can be copied and emptied under them."""
    if log.stat().st_size > LONGEST_LOG:
        shutil.copyfile(log, log.with_suffix(".log.1"))
        os.truncate(log, 0)
