"""Results as users read them: one object a scenario, the same from the service and from `simulate`, and the same as CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from workers.engine.rules import resolve_ruleset
from workers.jobs.spec import Scenario, scenario_fingerprint
from workers.stats.estimate import Moments, elo, margin_estimate, share_estimate
from workers.stats.tally import PLAIN_COUNTS, Tally, json_integer, score_unit

CSV_COLUMNS = (
    "scenario", "players", "ruleset", "seating", "seed", "place", "policy", "matches", "wins", "shared_wins", "rounds_won",
    "points", "win_share", "win_share_low", "win_share_high", "elo", "mean_margin", "mean_margin_low", "mean_margin_high",
    "unfinished", "draws", "rounds", "plies", "passes", "blocked_rounds", "tied_blocked_rounds", "leader_rounds_won",
    "engine_version", "scenario_fingerprint", "policy_fingerprint",
)  # fmt: skip


def result_document(
    scenario: Scenario, seed: int, tally: Tally, engine_version: str, *, index: int = 0
) -> dict[str, Any]:
    """The result of one scenario: exact integers first, what is derived from them under `estimates`."""
    # Nothing is looked up by name: a result shows what was played, also where a policy has changed or gone since.
    ruleset = resolve_ruleset(scenario.ruleset, scenario.players)
    integers = tally.to_json()
    places = integers.pop("places")
    seats = integers.pop("seats")
    blocks = integers.pop("blocks")
    del integers["clusters"]  # an aid of the ratings (`service.tournaments`)
    units = score_unit(ruleset) * scenario.rotations
    fingerprint = scenario_fingerprint(scenario, seed, engine_version)
    return {
        "scenario": {**scenario.to_json(), "index": index, "fingerprint": fingerprint},
        "ruleset": ruleset.to_json(),
        "seed": json_integer(seed),
        "engine_version": engine_version,
        **integers,
        "seats": [{"seat": seat, **counts} for seat, counts in enumerate(seats)],
        "policies": [
            {
                "policy": policy,
                "version": scenario.versions[place],
                "fingerprint": scenario.fingerprints[place],
                "matches": json_integer(tally.matches),
                **counts,
            }
            for place, (policy, counts) in enumerate(zip(scenario.policies, places, strict=True))
        ],
        "blocks": [
            {"units": units, "count": json_integer(tally.matches // scenario.rotations), **block} for block in blocks
        ],
        "estimates": _estimates(scenario, tally, units),
    }


def _estimates(scenario: Scenario, tally: Tally, units: int) -> dict[str, Any]:
    return {
        "policies": [_place_estimates(scenario, tally, place, units) for place in range(scenario.players)],
        "blocked_share": _ratio(tally.blocked_rounds, tally.rounds),
        "rounds_per_match": _ratio(tally.rounds, tally.matches),
        "plies_per_round": _ratio(tally.plies, tally.rounds),
        "leader_round_win_share": _ratio(tally.leader_rounds_won, tally.rounds),
    }


def _place_estimates(scenario: Scenario, tally: Tally, place: int, units: int) -> dict[str, Any]:
    block = tally.blocks[place]
    share = share_estimate(block.scores, units)
    moments = Moments(sum(block.scores.values()), block.margin_sum, block.margin_square_sum)
    margin = margin_estimate(moments, scenario.players, scenario.rotations)
    return {
        "policy": scenario.policies[place],
        "win_share": share.mean,
        "ci95": share.interval,
        "elo": elo(share.mean, scenario.players) if scenario.players == 2 and share.mean is not None else None,
        "mean_margin": margin.mean,
        "mean_margin_ci95": margin.interval,
    }


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def policy_label(value: object) -> str:
    """A policy on one line: its name, or its JSON where it is more than a name."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def results_csv(results: Sequence[Mapping[str, Any]], *, header: bool = True) -> str:
    """One line for each place of each scenario, under `CSV_COLUMNS`; empty where a figure does not exist."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\r\n")
    if header:
        writer.writeheader()
    for result in results:
        for place, (policy, estimate) in enumerate(
            zip(result["policies"], result["estimates"]["policies"], strict=True)
        ):
            writer.writerow(_csv_row(result, place, policy, estimate))
    return text.getvalue()


def _csv_row(
    result: Mapping[str, Any], place: int, policy: Mapping[str, Any], estimate: Mapping[str, Any]
) -> dict[str, Any]:
    scenario = result["scenario"]
    share_low, share_high = estimate["ci95"] or (None, None)
    margin_low, margin_high = estimate["mean_margin_ci95"] or (None, None)
    return {
        "scenario": scenario["index"], "players": scenario["players"], "ruleset": policy_label(scenario["ruleset"]),
        "seating": scenario["seating"], "seed": result["seed"], "place": place, "policy": policy_label(policy["policy"]),
        **{name: policy[name] for name in ("matches", "wins", "shared_wins", "rounds_won", "points")},
        "win_share": estimate["win_share"], "win_share_low": share_low, "win_share_high": share_high,
        "elo": estimate["elo"], "mean_margin": estimate["mean_margin"], "mean_margin_low": margin_low,
        "mean_margin_high": margin_high,
        **{name: result[name] for name in PLAIN_COUNTS if name != "matches"},
        "engine_version": result["engine_version"], "scenario_fingerprint": scenario["fingerprint"],
        "policy_fingerprint": policy["fingerprint"],
    }  # fmt: skip
