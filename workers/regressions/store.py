"""Regressions and their runs in Redis. They never expire.

A run's document is written once, its outcome once: whoever comes second changes nothing, so any process may do either.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from workers.errors import NotFound
from workers.jobs.keys import ROOT
from workers.jobs.ledger import Ledger
from workers.regressions.spec import RegressionSpec

REGRESSIONS: Final = f"{ROOT}:regressions"
"""Hash of all regressions: name to spec."""
PINS: Final = f"{ROOT}:regressions:pins"
"""Hash: name to the fingerprints of promoted baselines by test."""
DUE: Final = f"{ROOT}:regressions:due"
"""Sorted set of scheduled regressions by the unix second of their next run."""
LIVE: Final = f"{ROOT}:runs:live"
"""Set of the runs that have no verdict yet."""
RUNS_PAGE: Final = 50


def runs_key(name: str) -> str:
    """Sorted set of a regression's runs by the moment of their creation."""
    return f"{ROOT}:regression:{name}:runs"


def run_key(run_id: str) -> str:
    """Hash of a run: its document, and its outcome once it has one."""
    return f"{ROOT}:run:{run_id}"


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it was begun. `late` marks one that was scheduled for a time when no scheduler ran; times are unix seconds."""

    id: str
    regression: str
    spec: RegressionSpec
    seed: int
    labels: Mapping[str, str]
    created_at: float
    scheduled_at: float | None = None
    late: bool = False
    pins: Mapping[str, str] = field(default_factory=dict)
    """Test to the fingerprint that its baseline must have."""
    owner: str = "anonymous"

    def job_id(self, number: int) -> str:
        """The job that plays test `number`."""
        return f"{self.id}.{number}"

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        stored = {name: getattr(self, name) for name in self.__slots__}
        return stored | {
            "spec": self.spec.to_json(),
            "seed": str(self.seed),
            "labels": dict(self.labels),
            "pins": dict(self.pins),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Run":
        """The run that `to_json` wrote."""
        return cls(**{**value, "spec": RegressionSpec.from_json(value["spec"]), "seed": int(value["seed"])})


class RegressionStore:
    """Reading and writing; raises `LedgerUnavailable` while Redis does not answer."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def now(self) -> datetime:
        """Redis's clock: schedulers on machines whose clocks differ still agree on what is due."""
        with self.ledger.store.reading() as redis:
            clock: Any = redis.time()
        return datetime.fromtimestamp(clock[0] + clock[1] / 1e6, UTC)

    def save(self, spec: RegressionSpec, due: datetime | None, pins: Mapping[str, str] | None = None) -> None:
        """Stores a regression and when it runs next (None: only when asked)."""
        schedule = ("ZADD", DUE, due.timestamp(), spec.name) if due else ("ZREM", DUE, spec.name)
        self.ledger.store.read(
            ("HSET", REGRESSIONS, spec.name, orjson.dumps(spec.to_json())),
            ("HSET", PINS, spec.name, orjson.dumps(dict(pins or {}))),
            schedule,
        )

    def load(self, name: str) -> RegressionSpec:
        """A regression; raises `NotFound`."""
        with self.ledger.store.reading() as redis:
            stored: Any = redis.hget(REGRESSIONS, name)
        if stored is None:
            raise NotFound(f"there is no regression {name}")
        return RegressionSpec.from_json(orjson.loads(stored))

    def pins(self, name: str) -> dict[str, str]:
        """The fingerprints of a regression's promoted baselines, by test."""
        with self.ledger.store.reading() as redis:
            stored: Any = redis.hget(PINS, name)
        return dict(orjson.loads(stored)) if stored else {}

    def all(self) -> list[RegressionSpec]:
        """Every regression by name."""
        with self.ledger.store.reading() as redis:
            stored: Any = redis.hgetall(REGRESSIONS)
        return [RegressionSpec.from_json(orjson.loads(text)) for _, text in sorted(stored.items())]

    def forget(self, name: str) -> None:
        """Removes a regression with its history; its jobs stay until they are deleted."""
        runs = [run.id for run in self.runs(name, limit=-1)]
        self.ledger.store.read(
            ("HDEL", REGRESSIONS, name), ("HDEL", PINS, name), ("ZREM", DUE, name), ("DEL", runs_key(name)),
            *(("DEL", run_key(run_id)) for run_id in runs),
        )  # fmt: skip

    def due(self, now: datetime) -> list[str]:
        """The regressions whose next run is due."""
        with self.ledger.store.reading() as redis:
            names: Any = redis.zrangebyscore(DUE, "-inf", now.timestamp())
        return [name.decode() for name in names]

    def due_at(self, name: str) -> datetime | None:
        """When a regression runs next."""
        with self.ledger.store.reading() as redis:
            moment: Any = redis.zscore(DUE, name)
        return None if moment is None else datetime.fromtimestamp(moment, UTC)

    def plan(self, name: str, due: datetime) -> None:
        """Sets when a scheduled regression runs next, unless it is no longer scheduled."""
        self.ledger.store.read(("ZADD", DUE, "XX", "GT", due.timestamp(), name))

    def begin(self, run: Run, announcement: bytes = b"") -> None:
        """Stores a run, and what its webhook is told, once: whoever comes second changes nothing."""
        self.ledger.store.run("run_begin", run.id, run.regression, run.created_at, orjson.dumps(run.to_json()), announcement)

    def run(self, run_id: str) -> Run:
        """A run; raises `NotFound`."""
        with self.ledger.store.reading() as redis:
            stored: Any = redis.hget(run_key(run_id), "document")
        if stored is None:
            raise NotFound(f"there is no run {run_id}")
        return Run.from_json(orjson.loads(stored))

    def runs(self, name: str, limit: int = RUNS_PAGE, after: str | None = None) -> list[Run]:
        """A regression's runs, newest first, those that follow the run `after` where one is named; all where `limit` is
        negative. Raises `NotFound` where the regression has no run `after`: it may have had one, and been deleted since."""
        with self.ledger.store.reading() as redis:
            place: Any = redis.zrevrank(runs_key(name), after) if after is not None else -1
            if place is None:
                raise NotFound(f"cursor: there is no run {after!r} of the regression {name} for others to follow")
            ids: Any = redis.zrevrange(runs_key(name), place + 1, limit if limit < 0 else place + limit)
        stored = self._fields([run_id.decode() for run_id in ids], "document")
        # A run whose regression was deleted in between has no document any more.
        return [Run.from_json(orjson.loads(document)) for document in stored if document is not None]

    def live(self) -> list[str]:
        """Runs without a verdict."""
        with self.ledger.store.reading() as redis:
            ids: Any = redis.smembers(LIVE)
        return sorted(run_id.decode() for run_id in ids)

    def outcome(self, run_id: str) -> dict[str, Any] | None:
        """A run's outcome once it has one."""
        return self.outcomes([run_id])[0]

    def outcomes(self, run_ids: Sequence[str]) -> list[dict[str, Any] | None]:
        """The outcomes of several runs, None for each that has none yet."""
        return [None if stored is None else dict(orjson.loads(stored)) for stored in self._fields(run_ids, "outcome")]

    def _fields(self, run_ids: Sequence[str], name: str) -> list[bytes | None]:
        """One field of several runs, in one round trip."""
        return self.ledger.store.read(*(("HGET", run_key(run_id), name) for run_id in run_ids)) if run_ids else []

    def conclude(self, run_id: str, outcome: Mapping[str, Any], announcement: bytes = b"") -> None:
        """Stores a run's outcome, and what its webhook is told, once: whoever comes second changes nothing."""
        self.ledger.store.run("run_conclude", run_id, orjson.dumps(dict(outcome)), announcement)
