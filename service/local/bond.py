"""Ties child processes to this one: when it ends, however it ends, they end within moments.

Two ties, either of which would do: the keeper (see `keeper.py`), on every system and for grandchildren too; and on Linux
the kernel's own signal to a direct child when its parent dies.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Final

PYTHON_MODULE: Final = (sys.executable, "-P", "-m")
"""Runs a module of this installation, whatever lies in the folder that the user stands in."""
PR_SET_PDEATHSIG: Final = 1
"""The number of the request in Linux's prctl(2)."""


class Bond:
    """Starts children, each the leader of a process group, and ends whole groups.

    Use it from the main thread only: the kernel's signal is tied to the thread that started a child.
    """

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._keeper = self._start_keeper()

    @property
    def keeper(self) -> int:
        """The keeper's process id."""
        return self._keeper.pid

    def start(
        self, command: Sequence[str], log: IO[bytes], environment: Mapping[str, str], descriptors: Sequence[int] = ()
    ) -> subprocess.Popen[bytes]:
        """Start a child that writes to `log` and inherits these descriptors.

        It gets a session of its own, so that the terminal's Ctrl-C reaches the supervisor alone.
        """
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=dict(environment), start_new_session=True,
            pass_fds=descriptors, preexec_fn=die_with_parent(),
        )  # fmt: skip
        self._groups.add(child.pid)
        self._tell("+", child.pid)
        return child

    def end_group(self, group: int) -> None:
        """Kill what is left of a child's group, the child itself included."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
        self._groups.discard(group)
        self._tell("-", group)

    def watch_keeper(self) -> None:
        """Replace the keeper if something ended it."""
        if self._keeper.poll() is not None:
            self._keeper = self._start_keeper()
            for group in self._groups:
                self._tell("+", group)

    def close(self) -> None:
        """End every group that is left, then the keeper."""
        for group in list(self._groups):
            self.end_group(group)
        pipe = self._keeper.stdin
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
        self._keeper.wait()

    def _start_keeper(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*PYTHON_MODULE, "service.local.keeper"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def _tell(self, sign: str, group: int) -> None:
        pipe = self._keeper.stdin
        if pipe is None:
            return
        with suppress(BrokenPipeError):
            pipe.write(f"{sign}{group}\n".encode())
            pipe.flush()


def die_with_parent() -> "_DieWithParent | None":
    """What a new child of this process runs before its program starts: None where the kernel has no such tie."""
    if not sys.platform.startswith("linux"):
        return None
    return _DieWithParent(ctypes.CDLL(None, use_errno=True), os.getpid())


class _DieWithParent:
    """Everything is looked up before the fork; after it only the one system call is made."""

    def __init__(self, library: ctypes.CDLL, parent: int) -> None:
        self.prctl = library.prctl
        self.parent = parent

    def __call__(self) -> None:
        self.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self.parent:  # it died before the tie was made
            os._exit(1)
