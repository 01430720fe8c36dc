"""What the service answers. Whole numbers over 2^53 travel as strings, times as RFC 3339 in UTC."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from service.schemas.fields import Answer, Integer, JobState
from workers.jobs.records import JobRecord, WorkerRecord
from workers.jobs.spec import JobSpec, Priority, Seating
from workers.stats.tally import json_integer


class Progress(Answer):
    """How far a job is; rate and time left are null while unknown."""

    matches_done: Integer
    matches_total: Integer
    matches_per_second: float | None
    eta_seconds: float | None


class ScenarioAnswer(Answer):
    """A scenario as it is played: `matches` in whole blocks of `rotations` matches."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    players: int
    policies: list[Any]
    ruleset: Any
    seating: Seating
    matches_requested: Integer
    matches: Integer
    rotations: int


class SpecAnswer(Answer):
    """What was asked for; the scenarios of its matrix come last."""

    name: str
    seed: Integer
    priority: Priority
    labels: dict[str, str]
    scenarios: list[ScenarioAnswer]
    matrix: dict[str, Any] | None


class JobSummary(Answer):
    """A job without its scenarios. `waiting_for` is the engine version that no worker has, `error` why it failed."""

    id: str
    name: str
    state: JobState
    error: str | None
    waiting_for: str | None
    progress: Progress
    seed: Integer
    priority: Priority
    labels: dict[str, str]
    owner: Annotated[str, Field(description="The name of the key that submitted it.", examples=["anonymous"])]
    engine_version: str
    scenario_count: int
    matches_requested: Integer
    matches: Integer
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class JobAnswer(JobSummary):
    """A job with its spec."""

    spec: SpecAnswer


class JobPage(Answer):
    """A page of jobs; `next_cursor` is null on the last."""

    items: list[JobSummary]
    next_cursor: str | None


class ProcessAnswer(Answer):
    """One playing process of a worker, and what it has recorded since the worker started."""

    pid: int
    chunks: Integer
    matches: Integer


class WorkerAnswer(Answer):
    """A live worker: `processes` of it play. What it recorded counts from its start."""

    name: str
    host: str
    pid: int
    processes: int
    engine_version: str
    started_at: datetime | None
    busy_ratio: float
    draining: bool
    chunks: Integer
    matches: Integer
    children: list[ProcessAnswer]
    """The processes that have recorded a chunk."""


class WorkersAnswer(Answer):
    """All workers that are alive."""

    items: list[WorkerAnswer]


class Described(Answer):
    """Something that can be named, with what it does and its parameters as JSON Schema."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str
    summary: str


class DescribedList(Answer):
    """Everything of a kind that can be named."""

    items: list[Described]


class Health(Answer):
    """The process is alive."""

    status: Literal["alive"] = "alive"


class Readiness(Answer):
    """Redis answers; `workers` are alive."""

    status: Literal["ready"] = "ready"
    workers: int


class Reason(Answer):
    """What is wrong with one field."""

    path: Annotated[str, Field(examples=["scenarios[0].policies[1]"])]
    message: str


class Problem(Answer):
    """RFC 9457; `errors` names every field that is wrong, and is empty where no field is."""

    type: Annotated[str, Field(examples=["urn:blockyard:problem:invalid-input"])]
    title: str
    status: int
    detail: str
    errors: list[Reason]


def moment(seconds: float | None) -> datetime | None:
    """Unix seconds as a time in UTC."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def summary_fields(record: JobRecord) -> dict[str, Any]:
    """A job record under the names of `JobSummary`."""
    return {
        "id": record.id,
        "name": record.name,
        "state": record.state,
        "error": record.error,
        "waiting_for": record.waiting_for,
        "progress": {
            "matches_done": json_integer(record.matches_done),
            "matches_total": json_integer(record.matches),
            "matches_per_second": record.matches_per_second,
            "eta_seconds": record.eta_seconds,
        },
        "seed": json_integer(record.seed),
        "priority": record.priority,
        "labels": dict(record.labels),
        "owner": record.owner,
        "engine_version": record.engine_version,
        "scenario_count": record.scenario_count,
        "matches_requested": json_integer(record.matches_requested),
        "matches": json_integer(record.matches),
        "created_at": moment(record.created_at),
        "started_at": moment(record.started_at),
        "finished_at": moment(record.finished_at),
    }


def job_summary(record: JobRecord) -> JobSummary:
    """A job as lists and events show it."""
    return JobSummary.model_validate(summary_fields(record))


def job_answer(record: JobRecord, spec: JobSpec) -> JobAnswer:
    """A job with its scenarios."""
    return JobAnswer.model_validate({**summary_fields(record), "spec": spec_fields(spec)})


def spec_fields(spec: JobSpec) -> dict[str, Any]:
    """A spec under the names of `SpecAnswer`."""
    return {
        "name": spec.name,
        "seed": json_integer(spec.seed),
        "priority": spec.priority,
        "labels": dict(spec.labels),
        "scenarios": [scenario.to_json() for scenario in spec.scenarios],
        "matrix": spec.matrix and spec.matrix.to_json(),
    }


def worker_answer(record: WorkerRecord) -> WorkerAnswer:
    """A worker as lists show it."""
    return WorkerAnswer(
        name=record.name, host=record.host, pid=record.pid, processes=record.processes, engine_version=record.engine_version,
        started_at=moment(record.started_at), busy_ratio=record.busy_ratio, draining=record.draining,
        chunks=json_integer(record.chunks), matches=json_integer(record.matches),
        children=[
            ProcessAnswer(pid=child.pid, chunks=json_integer(child.chunks), matches=json_integer(child.matches))
            for child in record.children
        ],
    )  # fmt: skip
