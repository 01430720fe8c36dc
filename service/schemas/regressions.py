"""Strategy regressions and their runs, as they are sent and shown. Names of fields are those of `workers.regressions.spec`."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, ConfigDict, Field

from service.schemas.fields import (
    MAX_NAME,
    MAX_PAGE,
    Answer,
    Integer,
    Labels,
    Players,
    PolicyField,
    Query,
    Request,
    RulesetField,
    Seed,
    printable,
)
from service.schemas.results import Interval, Result
from workers.jobs.sequential import Verdict
from workers.regressions.spec import MAX_TESTS, Measure

MAX_URL: Final = 2000
EXAMPLE: Final[dict[str, Any]] = {
    "name": "nightly", "schedule": "0 2 * * *", "timezone": "UTC", "seed": 77, "alpha": 0.05, "beta": 0.05,
    "tests": [
        {
            "name": "two seats", "players": 2, "candidate": {"prefer": ["double", "heaviest"]},
            "baseline": {"name": "heaviest", "version": "1"}, "h0": -0.002, "h1": 0.0, "max_matches": 20_000_000,
        },
    ],
}  # fmt: skip


def _web_address(value: str) -> str:
    """An address that a webhook may have; whether it is public is judged when it is called."""
    try:
        parts = urlsplit(value)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or not value.isprintable() or " " in value:
        raise ValueError("must be the address of a web server, such as https://hooks.example/blockyard")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must hold no user or password: whoever may read the regression would see it")
    return value


Level: TypeAlias = Annotated[float, Field(description="Above 0 and below 0.5.")]
Difference: TypeAlias = Annotated[float, Field(description="The candidate's share less an equal one.")]
TestName: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(printable)]


class TestRequest(Request):
    """One test: the candidate once in every seat of every deal against a field of the baseline, up to `max_matches`."""

    __test__ = False  # pytest: no test class

    name: TestName
    players: Players
    candidate: PolicyField
    baseline: PolicyField
    h0: Difference
    h1: Difference
    max_matches: Annotated[int, Field(ge=1, description="The cap; rounded down to whole looks.")]
    ruleset: RulesetField = "block"
    measure: Measure = "win_share"


class RegressionRequest(Request):
    """A regression. Without `schedule` it runs when asked; without `seed` each run gets its own."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: Annotated[str | None, Field(max_length=MAX_NAME, description="If given, the name in the path.")] = None
    tests: Annotated[list[TestRequest], Field(min_length=1, max_length=MAX_TESTS)]
    alpha: Level = 0.05
    beta: Level = 0.05
    schedule: Annotated[str | None, Field(max_length=200, description="A cron expression of five fields.")] = None
    timezone: Annotated[str, Field(max_length=100, description="Where the schedule's clock hangs.")] = "UTC"
    seed: Seed | None = None
    webhook: Annotated[str | None, Field(max_length=MAX_URL), AfterValidator(_web_address)] = None


class RunRequest(Request):
    """A run: `candidate` replaces that of every test, for this run alone."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"candidate": "lightest", "labels": {"branch": "main"}}]})

    candidate: PolicyField | None = None
    labels: Annotated[Labels, Field(default_factory=dict)]


class RunOnceRequest(RegressionRequest):
    """A regression to be run once and not stored. Its schedule does not count."""

    model_config = ConfigDict(json_schema_extra={"examples": [{**EXAMPLE, "labels": {"branch": "main"}}]})

    name: Annotated[str, Field(max_length=MAX_NAME)]
    labels: Annotated[Labels, Field(default_factory=dict)]


class PromoteRequest(Request):
    """Which candidate becomes the baseline: that of a run, or by default the regression's."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"run": "nightly-20261130T020000Z"}]})

    run: Annotated[str | None, Field(max_length=MAX_NAME, description="A run's id.")] = None


class RunsQuery(Query):
    """Which runs to list, newest first."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 50
    cursor: Annotated[
        str | None,
        Field(max_length=MAX_NAME, description="`next_cursor` of the page before: the run that those wanted follow."),
    ] = None


class TestAnswer(Answer):
    """A test as it is stored."""

    __test__ = False

    name: str
    players: int
    ruleset: Any
    candidate: Any
    baseline: Any
    measure: Measure
    h0: float
    h1: float
    max_matches: Integer


class RegressionSpecAnswer(Answer):
    """A regression as it was put, every default filled in."""

    name: str
    schedule: str | None
    timezone: str
    seed: Integer | None
    alpha: float
    beta: float
    tests: list[TestAnswer]
    webhook: str | None


class LastRun(Answer):
    """The newest run in short."""

    id: str
    state: Literal["running", "done"]
    verdict: Verdict | None
    created_at: datetime
    finished_at: datetime | None


class RegressionAnswer(RegressionSpecAnswer):
    """A regression, when it runs next, and its newest run. `pinned` has the fingerprint of each promoted baseline by test."""

    pinned: dict[str, str]
    next_run_at: datetime | None
    last_run: LastRun | None


class RegressionList(Answer):
    """Every regression by name."""

    items: list[RegressionAnswer]


class TestReportAnswer(Answer):
    """How a test stands, or how it ended; `verdict` is null while it is under way.

    `share` and `share_ci95` are plain while it runs and median-unbiased once it has stopped. `path` lists `[blocks, llr]`
    at every look. `matches_saved` were spared by deciding before the cap, `overrun_blocks` were played beyond the deciding
    look and enter nothing. `results` is what was played up to the last look; the run keeps it.
    """

    __test__ = False

    name: str
    verdict: Verdict | None
    job: str
    llr: float
    lower: float
    upper: float
    looks: int
    blocks: Integer
    matches: Integer
    matches_saved: Integer
    overrun_blocks: Integer
    share: float | None
    share_ci95: Interval | None
    path: list[Annotated[list[int | float], Field(min_length=2, max_length=2)]]
    error: str | None
    engine_version: str
    results: Result | None


class RunAnswer(Answer):
    """A run; its verdict is the worst of its tests'. `late` marks one that began long after its scheduled time."""

    id: str
    regression: str
    state: Literal["running", "done"]
    verdict: Verdict | None
    labels: dict[str, str]
    created_at: datetime
    scheduled_at: datetime | None
    late: bool
    finished_at: datetime | None
    seed: Integer
    engine_version: str
    tests: list[TestReportAnswer]
    spec: Annotated[RegressionSpecAnswer, Field(description="What was run.")]


class RunList(Answer):
    """A page of a regression's runs, newest first; `next_cursor` is null on the last."""

    items: list[RunAnswer]
    next_cursor: str | None
