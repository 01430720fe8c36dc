"""What commands that play here share: a warm engine, and the number of cores."""

import os
import time

from service.cli.output import note


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def warm_engine() -> float:
    """Load the compiled engine, or compile it with a word to the user; returns the seconds that it took."""
    begun = time.perf_counter()
    from workers.engine import compile as compiler
    from workers.engine.play import warm_up

    if compiler.is_cold():
        note("compiling the engine, once; this takes a while")
    warm_up()
    return time.perf_counter() - begun
