"""The service's counted figures: how they lie in Redis, and one frozen picture of them for whoever shows metrics."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from workers.jobs.spec import RulesetValue, Scenario
from workers.stats.tally import Tally

CHUNK_SECONDS_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the buckets for the time of a chunk; it aims at half a second."""
JOB_WAIT_BOUNDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Upper bounds of the buckets for the time from a job's submission to its first chunk."""

CHUNK_OUTCOMES: Final = ("recorded", "duplicate", "abandoned", "failed")
AUDIT_OUTCOMES: Final = ("agreed", "differed")
PACE_SECONDS: Final = 10
"""Length of a stretch of the pace, as the scripts have it."""
PACE_STRETCHES: Final = 360
"""Stretches that are kept: an hour."""
PLAY_COUNTS: Final = ("matches", "rounds", "plies")


@dataclass(frozen=True, slots=True)
class HistogramFigures:
    """`counts[i]` values lie at or below `bounds[i]` and above the bound before; the last count is of those beyond all."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float
    """Sum of the values."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything that metrics show of the ledger, at one moment.

    Counters never fall and count each recorded chunk once, whatever was killed; gauges are of this moment.
    """

    matches: Mapping[tuple[str, int], int]
    """By ruleset label and players, as `rounds` and `plies`."""
    rounds: Mapping[tuple[str, int], int]
    plies: Mapping[tuple[str, int], int]
    chunks: Mapping[str, int]
    audits: Mapping[str, int]
    chunk_seconds: HistogramFigures
    job_wait_seconds: HistogramFigures
    jobs: Mapping[str, int]
    """Jobs by state."""
    pending_chunks: Mapping[str, int]
    """By priority; estimated from the size of each job's last chunk, a job not yet begun counting as one."""
    jobs_without_engine: int
    """Queued and running jobs whose engine version no live worker has."""
    leased_chunks: int
    oldest_lease_seconds: float
    workers: int
    worker_busy_ratio: float
    """Mean over the workers' processes, 0 to 1; 0 without workers."""
    redis_bytes: int
    """Memory that Redis uses."""
    redis_limit_bytes: int
    """Memory at which Redis begins to refuse; 0 where it has no limit."""


def ruleset_label(ruleset: RulesetValue) -> str:
    """The preset's name, with `+` where something is overridden: a bounded set of labels."""
    if isinstance(ruleset, str):
        return ruleset
    return f"{ruleset.get('preset', 'block')}{'+' if set(ruleset) - {'preset'} else ''}"


def play_increments(scenario: Scenario, tally: Tally) -> dict[str, int]:
    """What a tally of the scenario adds to the counters, by field of the metrics' hash."""
    return {f"{name}|{ruleset_label(scenario.ruleset)}|{scenario.players}": getattr(tally, name) for name in PLAY_COUNTS}


def chunk_increments(seconds: float) -> dict[str, int]:
    """What a recorded chunk adds to the counters."""
    bucket = bisect_left(CHUNK_SECONDS_BOUNDS, seconds)
    return {"chunks|recorded": 1, f"chunk_seconds|{bucket}": 1, "chunk_seconds|sum": round(seconds * 1e6)}


def play_figures(metrics: Mapping[str, str], name: str) -> dict[tuple[str, int], int]:
    """One of the counters of play, by ruleset label and players."""
    found = {}
    for field, value in metrics.items():
        if field.startswith(f"{name}|"):
            _, label, players = field.rsplit("|", 2)
            found[label, int(players)] = int(value)
    return found


def outcome_figures(metrics: Mapping[str, str], name: str, outcomes: tuple[str, ...]) -> dict[str, int]:
    """A counter by outcome, with 0 for what never happened."""
    return {outcome: int(metrics.get(f"{name}|{outcome}", 0)) for outcome in outcomes}


def histogram_figures(metrics: Mapping[str, str], name: str, bounds: tuple[float, ...]) -> HistogramFigures:
    """A histogram; its sum is stored in millionths."""
    counts = tuple(int(metrics.get(f"{name}|{bucket}", 0)) for bucket in range(len(bounds) + 1))
    return HistogramFigures(bounds, counts, int(metrics.get(f"{name}|sum", 0)) / 1e6)


def sum_increments(parts: list[dict[str, int]]) -> Counter[str]:
    """Several increments as one."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return total


def pace_figures(ring: Mapping[str, str], now: float) -> list[int]:
    """Matches of each stretch of the last hour, the oldest first, up to the one before that of the unix second `now`."""
    last = int(now) // PACE_SECONDS
    pairs = (entry.split() for entry in ring.values())
    kept = {int(stretch): int(matches) for stretch, matches in pairs}
    return [kept.get(stretch, 0) for stretch in range(last - PACE_STRETCHES + 1, last)]
