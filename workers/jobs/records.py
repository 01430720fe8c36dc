"""What the ledger shows and hands out: frozen values, and how they are read from Redis's hashes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import orjson

State: TypeAlias = Literal["queued", "running", "paused", "done", "cancelled", "failed"]
STATES: Final[tuple[State, ...]] = ("queued", "running", "paused", "done", "cancelled", "failed")
FINISHED: Final[frozenset[State]] = frozenset({"done", "cancelled", "failed"})

Fields: TypeAlias = Mapping[str, str]

STALE_RATE_SECONDS: Final = 15.0
"""A speed measured longer ago than this says nothing about a running job."""


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job as it stands. Times are unix seconds by Redis's clock, None for what has not happened."""

    id: str
    name: str
    seed: int
    priority: str
    labels: Mapping[str, str]
    owner: str
    state: State
    error: str | None
    """Why it failed."""
    waiting_for: str | None
    """What a live job lacks to go on, such as a worker of its engine version."""
    engine_version: str
    scenario_count: int
    matches_requested: int
    matches: int
    matches_done: int
    """Matches in the sums that `tallies` shows; equal to `matches` once the state is done."""
    matches_per_second: float | None
    """Smoothed while it runs, over the whole time when it is done."""
    eta_seconds: float | None
    created_at: float
    started_at: float | None
    finished_at: float | None
    request_id: str = ""
    """The request that submitted it, or restarted it last."""

    @property
    def is_finished(self) -> bool:
        """Whether nothing will be added any more, short of a restart."""
        return self.state in FINISHED


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """One process of a worker, and what it recorded since the worker started."""

    pid: int
    chunks: int
    matches: int


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A live worker: one parent with `processes` children that play."""

    name: str
    host: str
    pid: int
    processes: int
    engine_version: str
    started_at: float
    busy_ratio: float
    """Share of its processes' time spent playing, smoothed over the last beats: 0 to 1."""
    draining: bool
    chunks: int
    matches: int
    children: tuple[ProcessRecord, ...]
    """The processes that have recorded a chunk."""


@dataclass(frozen=True, slots=True)
class Quota:
    """What an owner may have under way at once: jobs that have not ended, and their matches. 0: as many as one likes."""

    jobs: int
    matches: int


NO_QUOTA: Final = Quota(0, 0)


@dataclass(frozen=True, slots=True)
class Permit:
    """The right of one message to make a worker of an engine version work; a newer generation ends it."""

    version: str
    slot: str
    generation: str


@dataclass(frozen=True, slots=True)
class Lease:
    """Blocks `first` to `last - 1` of a job's line of blocks, held by a worker until they are recorded or the lease runs out.

    `run` tells a restarted job from what it was before; `is_audit` says that the blocks are played again to be compared.
    """

    job_id: str
    run: str
    is_audit: bool
    first: int
    last: int
    token: str
    request_id: str = ""
    """The request that submitted the job, for what is logged about it."""

    @property
    def name(self) -> tuple[str, str, str, int, int]:
        """How the scripts name it: job, run, kind, first block, end."""
        return self.job_id, self.run, "a" if self.is_audit else "c", self.first, self.last


@dataclass(frozen=True, slots=True)
class Claim:
    """The answer to a claim. `generation` is what the permit is from now on."""

    outcome: Literal["work", "later", "idle", "drain", "stale"]
    generation: str = ""
    lease: Lease | None = None


def fields(pairs: Mapping[bytes, bytes]) -> dict[str, str]:
    """A hash of texts."""
    return {name.decode(): value.decode() for name, value in pairs.items()}


def paired(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    """A hash that a script answered: name, value, name, value, ..."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def seconds(milliseconds: str | None) -> float | None:
    """Unix seconds of a stored time; None where it is absent or 0."""
    return int(milliseconds) / 1000 if milliseconds and milliseconds != "0" else None


def job_record(job_id: str, stored: Fields, now: float, live_versions: frozenset[str]) -> JobRecord:
    """A job's record from its hash, at Redis's time `now`."""
    state: State = next(state for state in STATES if state == stored["state"])
    matches, matches_done = int(stored["matches"]), int(stored["matches_done"])
    started_at, finished_at = seconds(stored.get("started_at")), seconds(stored.get("finished_at"))
    rate: float | None = None
    if state == "running" and now - (seconds(stored.get("rate_at")) or 0.0) < STALE_RATE_SECONDS:
        rate = float(stored["rate"]) or None
    elif state == "done" and started_at and finished_at:
        rate = matches_done / max(finished_at - started_at, 0.001)
    version = stored["engine_version"]
    is_stuck = state in ("queued", "running") and version not in live_versions
    return JobRecord(
        id=job_id,
        name=stored["name"],
        seed=int(stored["seed"]),
        priority=stored["priority"],
        labels=orjson.loads(stored["labels"]),
        owner=stored["owner"],
        state=state,
        error=stored.get("error") or None,
        waiting_for=f"a worker of engine version {version}" if is_stuck else None,
        engine_version=version,
        scenario_count=int(stored["scenario_count"]),
        matches_requested=int(stored["matches_requested"]),
        matches=matches,
        matches_done=matches_done,
        matches_per_second=rate,
        eta_seconds=(matches - matches_done) / rate if rate and state == "running" else None,
        created_at=seconds(stored["created_at"]) or 0.0,
        started_at=started_at,
        finished_at=finished_at,
        request_id=stored.get("request_id", ""),
    )


def worker_record(name: str, stored: Fields, recorded: Fields) -> WorkerRecord:
    """A worker's record from its two hashes."""
    children = [
        ProcessRecord(int(field.removesuffix(" chunks")), int(count), int(recorded.get(field.replace("chunks", "matches"), 0)))
        for field, count in recorded.items()
        if field.endswith(" chunks")
    ]
    return WorkerRecord(
        name=name,
        host=stored["host"],
        pid=int(stored["pid"]),
        processes=int(stored["processes"]),
        engine_version=stored["engine_version"],
        started_at=seconds(stored["started_at"]) or 0.0,
        busy_ratio=float(stored["ratio"]),
        draining=stored.get("draining") == "1",
        chunks=sum(child.chunks for child in children),
        matches=sum(child.matches for child in children),
        children=tuple(sorted(children, key=lambda child: child.pid)),
    )
