"""Results explain themselves, and show what was played even where a policy has changed since."""

import csv
import io
from dataclasses import replace
from typing import Any

import pytest

from service.results import CSV_COLUMNS, result_document, results_csv
from workers.engine.play import ENGINE_VERSION, play_blocks
from workers.errors import Conflict
from workers.jobs.spec import Scenario, make_scenario
from workers.stats.tally import Tally, tally_rows

SEED = 2**60


def played(scenario: Scenario) -> Tally:
    lineup = scenario.lineup(SEED)
    return tally_rows(lineup, play_blocks(lineup, 0, scenario.blocks), 0)


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    scenario = make_scenario(["heaviest", {"prefer": ["double", "random"]}], 401)
    return result_document(scenario, SEED, played(scenario), ENGINE_VERSION, index=3)


def test_a_result_has_exact_integers_first_and_says_what_it_is_of(result: dict[str, Any]) -> None:
    assert result["matches"] == 402
    assert result["scenario"]["matches_requested"] == 401
    assert (result["scenario"]["index"], result["seed"]) == (3, str(SEED))
    assert result["ruleset"]["ends"] == {"target": 100, "at": "reach"}
    assert sum(place["wins"] for place in result["policies"]) == 402 - result["unfinished"]
    for place, block in zip(result["policies"], result["blocks"], strict=True):
        assert block["units"] == 2
        assert sum(count for _, count in block["scores"]) == block["count"] == 201
        assert sum(score * count for score, count in block["scores"]) == place["wins"]
    assert sum(block["margin_sum"] for block in result["blocks"]) == 0
    points = [seat["points"] for seat in result["seats"]]
    assert sum(points) == sum(place["points"] for place in result["policies"])


def test_estimates_follow_from_the_integers(result: dict[str, Any]) -> None:
    estimates = result["estimates"]
    first, second = estimates["policies"]
    assert first["win_share"] == result["policies"][0]["wins"] / 402
    assert first["win_share"] + second["win_share"] == pytest.approx(1.0)
    assert first["ci95"][0] <= first["win_share"] <= first["ci95"][1]
    assert first["elo"] == pytest.approx(-second["elo"])
    assert first["mean_margin"] == pytest.approx(-second["mean_margin"])
    assert first["mean_margin"] == pytest.approx(
        (result["policies"][0]["points"] - result["policies"][1]["points"]) / 402
    )
    assert estimates["blocked_share"] == result["blocked_rounds"] / result["rounds"]
    assert estimates["plies_per_round"] == result["plies"] / result["rounds"]


def test_a_scenario_not_begun_has_no_estimates_but_is_shown() -> None:
    empty = result_document(make_scenario(["random"] * 3, 9), 1, Tally.empty(3), ENGINE_VERSION)
    assert empty["matches"] == 0
    assert empty["estimates"]["policies"][0]["win_share"] is None
    assert empty["estimates"]["blocked_share"] is None


def test_csv_has_a_line_for_each_place(result: dict[str, Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(results_csv([result]))))
    assert tuple(rows[0]) == CSV_COLUMNS
    assert [row["policy"] for row in rows] == ["heaviest", '{"prefer":["double","random"]}']
    assert [int(row["wins"]) for row in rows] == [place["wins"] for place in result["policies"]]
    assert rows[0]["seed"] == str(SEED)


def test_a_policy_that_has_changed_is_not_played_but_its_results_are_shown() -> None:
    scenario = make_scenario(["heaviest", "random"], 10)
    tally = played(scenario)
    since = replace(scenario, fingerprints=("0" * 16, scenario.fingerprints[1]), versions=("0", "1"))
    shown = result_document(since, SEED, tally, ENGINE_VERSION)
    assert (shown["policies"][0]["fingerprint"], shown["policies"][0]["version"]) == ("0" * 16, "0")
    with pytest.raises(Conflict, match="heaviest in place 0 has changed"):
        since.lineup_as_made(SEED)
    assert since.renewed() == scenario
    gone = replace(scenario, policies=("nobody", "random"))
    assert result_document(gone, SEED, tally, ENGINE_VERSION)["policies"][0]["policy"] == "nobody"
    with pytest.raises(Conflict, match="nobody"):
        gone.lineup_as_made(SEED)
