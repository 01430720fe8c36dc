"""What the service answers, as types. Whole numbers over 2^53 come as strings of digits."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict

State: TypeAlias = Literal["queued", "running", "paused", "done", "cancelled", "failed"]
ResultsTable: TypeAlias = Literal["scenarios", "pairs", "ratings"]
Integer: TypeAlias = int | str
Document: TypeAlias = Mapping[str, Any]
Described: TypeAlias = dict[str, Any]
ENDED: Final = ("done", "cancelled", "failed")
Verdict: TypeAlias = Literal["passed", "regressed", "inconclusive", "stopped", "failed"]


class Progress(TypedDict):
    """How far a job is; rate and time left are None while unknown."""

    matches_done: Integer
    matches_total: Integer
    matches_per_second: float | None
    eta_seconds: float | None


class Job(TypedDict):
    """A job; `spec` is left out of lists and events."""

    id: str
    name: str
    state: State
    error: str | None
    waiting_for: str | None
    progress: Progress
    seed: Integer
    priority: str
    labels: dict[str, str]
    owner: str
    engine_version: str
    scenario_count: int
    matches_requested: Integer
    matches: Integer
    created_at: str
    started_at: str | None
    finished_at: str | None
    spec: NotRequired[dict[str, Any]]


class JobPage(TypedDict):
    """A page of jobs, newest first; `next_cursor` is None on the last."""

    items: list[Job]
    next_cursor: str | None


class Results(TypedDict):
    """The results of all scenarios so far; `complete` once nothing can change any more.

    A job with a matrix has a `tournament` too: pair matrix and ratings of each ruleset and number of players.
    """

    results: list[dict[str, Any]]
    tournament: list[dict[str, Any]] | None
    complete: bool


class Run(TypedDict):
    """A run of a regression; `verdict` is None while its `state` is running."""

    id: str
    regression: str
    state: Literal["running", "done"]
    verdict: Verdict | None
    labels: dict[str, str]
    created_at: str
    scheduled_at: str | None
    late: bool
    finished_at: str | None
    seed: Integer
    engine_version: str
    tests: list[dict[str, Any]]
    spec: dict[str, Any]


class Event(TypedDict):
    """One message of a job's stream: `progress` while it runs, `done` at its end."""

    event: str
    job: dict[str, Any]
