"""What commands that play here share: a warm engine, and the number of cores."""

import os
import time
from typing import TYPE_CHECKING

from service.cli.output import note

if TYPE_CHECKING:
    from workers.engine.play import Lineup


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def warm_engine(lineup: "Lineup") -> float:
    """Load the compiled kernel that plays a line-up, or compile it with a word to the user; returns the seconds it took."""
    begun = time.perf_counter()
    from workers.engine import compile as compiler
    from workers.engine.play import LITERAL, kernel_of, warm_up

    kernel = kernel_of(lineup.ruleset, lineup.policies)
    if kernel != LITERAL and compiler.is_cold(kernel):
        note("compiling the engine, once; this takes a while")
    warm_up(kernel)
    return time.perf_counter() - begun
