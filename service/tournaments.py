"""Tournaments: what a job's matrix says about the policies of each field, beside the results of its scenarios.

A field is everybody who met under one ruleset at one number of players. Its pair matrix is what was measured; its ratings are
one number a policy that fits the pairs best, which orders the field and no more (`workers.stats.ratings`).
"""

from collections.abc import Sequence
from typing import Any, Final

from workers.engine.rules import resolve_ruleset
from workers.jobs.spec import Field, JobSpec, Scenario
from workers.stats.estimate import Moments, share_estimate
from workers.stats.ratings import Encounter, Ratings, rate, unrated_reason
from workers.stats.tally import Tally, json_integer, score_unit

NORMAL_QUANTILE: Final = 1.959963984540054
"""Half the width of a 95 % interval in standard errors: a rating rests on many blocks."""
NOT_PLAYED: Final = "ratings come once every pair of the field has been played to its end"


def tournament_documents(spec: JobSpec, tallies: Sequence[Tally]) -> list[dict[str, Any]]:
    """One object for each field of the job's matrix, in the matrix's order; `tallies` are those of all its scenarios."""
    return [_field_document(spec, part, tallies) for part in spec.fields]


def _field_document(spec: JobSpec, part: Field, tallies: Sequence[Tally]) -> dict[str, Any]:
    assert spec.matrix is not None
    policies = spec.matrix.policies
    last = part.first + len(part.pairs)
    met = list(zip(part.pairs, spec.scenarios[part.first : last], tallies[part.first : last], strict=True))
    encounters = [_encounter(pair, scenario, tally) for pair, scenario, tally in met]
    reason = _unrated(len(policies), met, encounters)
    # Policies that are equal meet in blocks of fewer rotations, so of other deals than the rest.
    common_deals = len({met.blocks for met in encounters}) == 1
    rated = rate(len(policies), encounters, common_deals=common_deals) if reason is None else None
    shares: list[list[float | None]] = [[None] * len(policies) for _ in policies]
    for (one, other), scenario, tally in met:
        units = _units(scenario)
        shares[one][other] = share_estimate(tally.blocks[0].scores, units).mean
        if part.players == 2:
            shares[other][one] = share_estimate(tally.blocks[1].scores, units).mean
    return {
        "ruleset": part.ruleset,
        "players": part.players,
        "seating": spec.matrix.seating,
        "policies": list(policies),
        "win_shares": shares,
        "pairs": [
            _pair_document(part.first + number, pair, scenario, tally) for number, (pair, scenario, tally) in enumerate(met)
        ],
        "ratings": None if rated is None else _ratings_document(spec, rated),
        "unrated": reason,
    }


def _pair_document(index: int, pair: tuple[int, int], scenario: Scenario, tally: Tally) -> dict[str, Any]:
    scores = tally.blocks[0].scores
    moments, share = Moments.of_histogram(scores), share_estimate(scores, _units(scenario))
    return {
        "scenario": index, "one": pair[0], "other": pair[1], "blocks": json_integer(moments.blocks),
        "matches": json_integer(tally.matches), "unfinished": json_integer(tally.unfinished), "units": _units(scenario),
        "score_sum": json_integer(moments.total), "score_square_sum": json_integer(moments.squares),
        "win_share": share.mean, "ci95": share.interval,
    }  # fmt: skip


def _ratings_document(spec: JobSpec, rated: Ratings) -> dict[str, Any]:
    assert spec.matrix is not None
    figures = zip(spec.matrix.policies, rated.points, rated.clustered_errors, rated.naive_errors, strict=True)
    return {
        "policies": [
            {
                "policy": policy, "points": points, "standard_error": error,
                "ci95": [points - NORMAL_QUANTILE * error, points + NORMAL_QUANTILE * error], "naive_standard_error": naive,
            }
            for policy, points, error, naive in figures
        ],
        "chi_squared": rated.chi_squared,
        "degrees": rated.degrees,
    }  # fmt: skip


def _encounter(pair: tuple[int, int], scenario: Scenario, tally: Tally) -> Encounter:
    moments, ruleset = Moments.of_histogram(tally.blocks[0].scores), resolve_ruleset(scenario.ruleset, scenario.players)
    # With partners the other policy sits on both sides, and what differs is one seat against one.
    other_seats = 1 if ruleset.partners else scenario.players - 1
    return Encounter(
        *pair, 1, other_seats, moments.blocks, tally.matches - tally.unfinished, moments.total, moments.squares,
        score_unit(ruleset), tuple(tally.clusters),
    )  # fmt: skip


def _unrated(
    policies: int, met: Sequence[tuple[tuple[int, int], Scenario, Tally]], encounters: Sequence[Encounter]
) -> str | None:
    """Why the field has no ratings, or None where it has."""
    if any(tally.matches < scenario.matches for _, scenario, tally in met):
        return NOT_PLAYED
    return unrated_reason(policies, encounters)


def _units(scenario: Scenario) -> int:
    """The greatest score of a block of the scenario."""
    return score_unit(resolve_ruleset(scenario.ruleset, scenario.players)) * scenario.rotations
