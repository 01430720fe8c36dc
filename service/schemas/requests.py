"""What users send. Unknown fields are refused, and each value is taken in its own type alone: "1000", 1.5 and true are no
number of matches."""

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field

from service.schemas.fields import (
    MAX_NAME,
    MAX_PAGE,
    JobState,
    Labels,
    Matches,
    Players,
    PolicyField,
    Query,
    Request,
    RulesetField,
    Seed,
    printable,
)
from workers.jobs.spec import Priority, Seating

ResultsTable: TypeAlias = Literal["scenarios", "pairs", "ratings"]


class ScenarioRequest(Request):
    """One line-up. `players` defaults to the number of policies; a list of another length is refused."""

    policies: Annotated[list[PolicyField], Field(min_length=1, max_length=8)]
    matches: Matches
    players: Players | None = None
    ruleset: RulesetField = "block"
    seating: Seating = "rotated"


class MatrixRequest(Request):
    """Many line-ups at once, expanded in this order: rulesets as listed, in each the player counts as listed, in each the
    pairs of policies: unordered at 2 players, ordered (one against a field of the other) at 3 and more."""

    players: Annotated[list[Players], Field(min_length=1, max_length=7)]
    policies: Annotated[list[PolicyField], Field(min_length=2)]
    matches: Matches
    rulesets: Annotated[list[RulesetField], Field(default_factory=lambda: ["block"], min_length=1)]
    seating: Seating = "rotated"


class JobRequest(Request):
    """A batch: `scenarios`, or a `matrix`, or both (the matrix comes after the scenarios)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "heaviest against the field",
                    "seed": 7,
                    "priority": "normal",
                    "labels": {"branch": "main"},
                    "scenarios": [{"players": 2, "policies": ["heaviest", "random"], "matches": 1_000_000}],
                    "matrix": {
                        "players": [2, 3, 4],
                        "policies": ["random", "heaviest", {"prefer": ["double", "heaviest"]}],
                        "rulesets": ["block"],
                        "matches": 100_000,
                    },
                }
            ]
        }
    )

    name: Annotated[str, Field(max_length=MAX_NAME), AfterValidator(printable)] = ""
    seed: Seed | None = None
    priority: Priority = "normal"
    labels: Annotated[Labels, Field(default_factory=dict)]
    scenarios: Annotated[list[ScenarioRequest], Field(default_factory=list)]
    matrix: MatrixRequest | None = None


class JobsQuery(Query):
    """Which jobs to list, newest first."""

    state: JobState | None = None
    label: Annotated[
        str | None,
        Field(max_length=400, description="`key=value`: jobs that carry this label.", json_schema_extra={"pattern": "="}),
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 50
    cursor: Annotated[
        str | None,
        Field(
            max_length=200,
            description="`next_cursor` of the page before.",
            json_schema_extra={"pattern": "^[0-9]{1,15}$"},
        ),
    ] = None


class ResultsQuery(Query):
    """Which results to list, in the order of the scenarios."""

    limit: Annotated[int | None, Field(ge=1, le=MAX_PAGE, description="Default 100; as CSV, all that follow.")] = None
    cursor: Annotated[int, Field(ge=0, description="`next_cursor` of the page before: the first scenario to show.")] = 0
    table: Annotated[
        ResultsTable, Field(description="As CSV: the places of all scenarios, or a matrix's pairs, or its ratings.")
    ] = "scenarios"


class MatchesQuery(Query):
    """Which matches of a scenario to replay."""

    first: Annotated[int, Field(ge=0, alias="from", description="The first match.")] = 0
    count: Annotated[int | None, Field(ge=1, description="How many matches; by default 100.")] = None


class DrawingQuery(Query):
    """Which moment of a round to draw."""

    ply: Annotated[int | None, Field(ge=0, description="Plies played; by default all of the round.")] = None
