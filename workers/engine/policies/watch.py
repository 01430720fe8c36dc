"""A limit on the processor time of one decision by code that is not ours.

One thread watches the decision that another is at, by that thread's own processor clock, and has an exception raised in it when
it is over the limit. Python raises it between two of its instructions: code that never comes back to Python is not stopped, and
is over the limit whenever it does.
"""

import ctypes
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

SECONDS_VARIABLE: Final = "BLOCKYARD_DECISION_SECONDS"
DEFAULT_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.05
_IDLE_LOOKS: Final = 100
"""Looks without a decision after which the watching thread ends."""


class TookTooLong(BaseException):
    """The decision is over its limit. Not an `Exception`, so that code that catches those does not catch it."""


@dataclass(slots=True)
class _Decision:
    thread: int
    clock: int
    end: float


_changing = threading.Lock()
_decisions: Final[dict[int, _Decision]] = {}
"""By thread: what is being decided."""
_watch: threading.Thread | None = None
_watching_process = 0


def decision_seconds() -> float:
    """The limit, from the environment; what is no positive number there leaves the default."""
    try:
        wanted = float(os.environ.get(SECONDS_VARIABLE, DEFAULT_SECONDS))
    except ValueError:
        return DEFAULT_SECONDS
    return wanted if wanted > 0 else DEFAULT_SECONDS


@contextmanager
def watched(seconds: float) -> Iterator[None]:
    """The body is one decision of this thread; raises `TookTooLong` once it has taken so much processor time."""
    thread = threading.get_ident()
    end = time.thread_time() + seconds
    decision = _Decision(thread, time.pthread_getcpuclockid(thread), end)
    with _changing:
        _decisions[thread] = decision
        _see_to_the_watch()
    try:
        yield
    finally:
        with _changing:
            del _decisions[thread]
    if time.thread_time() > end:
        raise TookTooLong


def _see_to_the_watch() -> None:
    """Only the process that began the thread has it: a fork begins its own."""
    global _watch, _watching_process
    if _watch is None or not _watch.is_alive() or _watching_process != os.getpid():
        _watch, _watching_process = threading.Thread(target=_look, name="decisions", daemon=True), os.getpid()
        _watch.start()


def _look() -> None:
    global _watch
    idle = 0
    while True:
        time.sleep(_LOOK_SECONDS)
        with _changing:
            idle = 0 if _decisions else idle + 1
            if idle > _IDLE_LOOKS:
                _watch = None
                return
            for decision in _decisions.values():
                if time.clock_gettime(decision.clock) > decision.end:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(decision.thread), ctypes.py_object(TookTooLong))
                    # Whoever catches even this is told again a little later.
                    decision.end += 1.0
