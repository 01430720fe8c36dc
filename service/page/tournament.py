"""The fields of a tournament as a job's page shows them: ratings, best first, and the pair matrix in the same order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service.labels import short_name
from service.tournaments import NOT_PLAYED, tournament_documents
from workers.engine.rules import resolve_ruleset
from workers.jobs.ledger import Ledger
from workers.jobs.records import FINISHED, JobRecord
from workers.jobs.spec import JobSpec
from workers.stats.ratings import NEVER_MET, ONE_SIDED

SCENARIOS_LIVE: Final = 500
"""A job of more scenarios shows its fields once it has ended: they are read whole for every picture."""
POLICIES_SHOWN: Final = 24
"""Of a larger field, those that are rated best: everybody against everybody is more than a page holds."""
HEAT_STEPS: Final = 10
"""Shades of a pair's cell, from nothing won (0) over an equal share (half way) to everything won."""

REASONS: Final = {NOT_PLAYED: "not_played", NEVER_MET: "parts", ONE_SIDED: "unbeaten"}
"""Why a field has no ratings, by name among the words of the page."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What the policy of a row won against `other`, that of a column: `share` in [0, 1], `heat` from 0 to `HEAT_STEPS`."""

    scenario: int
    """The scenario in which they met."""
    other: str
    share: float
    heat: int


@dataclass(frozen=True, slots=True)
class Row:
    """A policy of a field. `points` and `reach`, half its 95 % interval, are None without ratings, a cell without matches."""

    rank: int
    label: str
    points: float | None
    reach: float | None
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class FieldTable:
    """A field of `count` policies: rows of the best, and why it has no ratings (by `REASONS`), or how far these are from
    what was measured."""

    ruleset: str
    players: int
    count: int
    rows: tuple[Row, ...]
    unrated: str | None
    chi_squared: float | None
    degrees: int | None


def field_tables(ledger: Ledger, record: JobRecord, spec: JobSpec) -> list[FieldTable]:
    """The fields of a job's matrix as they stand; none without a matrix, or while there is too much of it to read."""
    if spec.matrix is None or (len(spec.scenarios) > SCENARIOS_LIVE and record.state not in FINISHED):
        return []
    return [_table(field) for field in tournament_documents(spec, ledger.tallies(record.id))]


def _table(field: Mapping[str, Any]) -> FieldTable:
    rated = field["ratings"]
    order = list(range(len(field["policies"])))
    if rated:
        order.sort(key=lambda place: -rated["policies"][place]["points"])
    shown = order[:POLICIES_SHOWN]
    met = {(pair["one"], pair["other"]): pair["scenario"] for pair in field["pairs"]}
    rows = tuple(_row(field, met, shown, rank) for rank in range(len(shown)))
    fit = (rated["chi_squared"], rated["degrees"]) if rated else (None, None)
    return FieldTable(
        short_name(field["ruleset"]), field["players"], len(order), rows, field["unrated"] and REASONS[field["unrated"]], *fit
    )


def _row(field: Mapping[str, Any], met: Mapping[tuple[int, int], int], order: Sequence[int], rank: int) -> Row:
    place = order[rank]
    rating = field["ratings"]["policies"][place] if field["ratings"] else None
    reach = (rating["ci95"][1] - rating["ci95"][0]) / 2 if rating else None
    equal = 1 / 2 if resolve_ruleset(field["ruleset"], field["players"]).partners else 1 / field["players"]
    cells = tuple(_cell(field, met, place, other, equal) for other in order)
    return Row(rank + 1, short_name(field["policies"][place]), rating and rating["points"], reach, cells)


def _cell(field: Mapping[str, Any], met: Mapping[tuple[int, int], int], place: int, other: int, equal: float) -> Cell | None:
    share = field["win_shares"][place][other]
    if share is None:
        return None
    scenario = met[(place, other) if (place, other) in met else (other, place)]
    warmth = share / equal / 2 if share < equal else 1 - (1 - share) / (1 - equal) / 2
    return Cell(scenario, short_name(field["policies"][other]), share, round(warmth * HEAT_STEPS))
