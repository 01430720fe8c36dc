"""A result as it is written by `service.results`: these models describe it, in the OpenAPI document and to the tests."""

from typing import Annotated, Any, TypeAlias

from pydantic import ConfigDict, Field

from service.schemas.answers import ScenarioAnswer
from service.schemas.fields import Answer, Integer
from workers.jobs.spec import Seating

Histogram: TypeAlias = Annotated[
    list[Annotated[list[Integer], Field(min_length=2, max_length=2)]], Field(description="Ascending `[value, count]`.")
]
Interval: TypeAlias = Annotated[
    list[float], Field(min_length=2, max_length=2, description="95 % interval from block means; null where there is none.")
]


class ResultScenario(ScenarioAnswer):
    """The scenario that a result is of; equal fingerprints mean equal matches."""

    index: int
    fingerprint: str


class Counted(Answer):
    """Exact counts; with partners a win and its points are the side's, counted at both its seats, but a round is won by the
    seat that went out or that holds the side's lighter hand, and counted there alone."""

    wins: Integer
    shared_wins: Integer
    rounds_won: Integer
    points: Integer


class SeatResult(Counted):
    """What was counted at a seat, whoever sat there."""

    seat: int


class PlaceResult(Counted):
    """What was counted for a place of the scenario's list, wherever it sat."""

    policy: Any
    version: str
    fingerprint: str
    matches: Integer


class BlockResult(Answer):
    """A place's blocks: the histogram of their scores (0 to `units`), and the sums of its margin."""

    units: int
    count: Integer
    scores: Histogram
    margin_sum: Integer
    margin_square_sum: Integer


class PlaceEstimate(Answer):
    """What follows for a place; `elo` at 2 players alone, and null where it is infinite."""

    policy: Any
    win_share: float | None
    ci95: Interval | None
    elo: float | None
    mean_margin: float | None
    mean_margin_ci95: Interval | None


class Estimates(Answer):
    """What follows from the integers, as floats."""

    policies: list[PlaceEstimate]
    blocked_share: float | None
    rounds_per_match: float | None
    plies_per_round: float | None
    leader_round_win_share: float | None


class Result(Answer):
    """One scenario's result: exact integers, then estimates."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scenario: ResultScenario
    ruleset: dict[str, Any]
    seed: Integer
    engine_version: str
    matches: Integer
    unfinished: Integer
    draws: Integer
    rounds: Integer
    plies: Integer
    passes: Integer
    blocked_rounds: Integer
    tied_blocked_rounds: Integer
    leader_rounds_won: Integer
    seats: list[SeatResult]
    policies: list[PlaceResult]
    rounds_per_match: Histogram
    winning_margin: Histogram
    blocks: list[BlockResult]
    estimates: Estimates


class Pair(Answer):
    """Two policies of a field, by their places in its list: one seat of `one` against `other` in all others.

    `score_sum` and `score_square_sum` are over the scores of `one` in the blocks, each 0 to `units`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    scenario: int
    one: int
    other: int
    blocks: Integer
    matches: Integer
    unfinished: Integer
    units: int
    score_sum: Integer
    score_square_sum: Integer
    win_share: float | None
    ci95: Interval | None


class Rating(Answer):
    """A policy's rating: `points` of an Elo scale with mean 0. `standard_error` and `ci95` know that all pairs had the same
    deals and that blocks are the independent unit; `naive_standard_error` is what independent matches would have."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    policy: Any
    points: float
    standard_error: float
    ci95: Annotated[list[float], Field(min_length=2, max_length=2)]
    naive_standard_error: float


class Ratings(Answer):
    """The ratings of a field, in the order of its policies. They order it, no more: `chi_squared` on `degrees` of freedom
    tells how badly one number a policy fits the pairs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    policies: list[Rating]
    chi_squared: float
    degrees: int


class FieldResult(Answer):
    """What a matrix tells of its policies under one ruleset at one number of players.

    `win_shares[i][j]` is the share of matches that policy i won against j (one seat against a field of j at three players
    and more; with partners that of the side of i, whose partner is j too). Where there are no `ratings`, `unrated` says why.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ruleset: Any
    players: int
    seating: Seating
    policies: list[Any]
    win_shares: list[list[float | None]]
    pairs: list[Pair]
    ratings: Ratings | None
    unrated: str | None


class ResultsPage(Answer):
    """Results in the order of the scenarios; `complete` where no figure of the job will change any more.

    `tournament` is on the last page of a job with a matrix: one object for each ruleset and number of players.
    """

    results: list[Result]
    tournament: list[FieldResult] | None
    complete: bool
    next_cursor: str | None
