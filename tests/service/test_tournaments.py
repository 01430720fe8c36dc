"""Tournaments: pair matrices and ratings from tallies made by hand, with golden ratings, and from matches really played."""

import csv
import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from service.schemas.results import FieldResult
from service.tournament_tables import tournament_csv
from service.tournaments import tournament_documents
from tests.service.running import Hands
from workers.engine.play import play_blocks
from workers.jobs.spec import JobSpec, Matrix, make_scenario
from workers.stats.tally import BlockScores, Tally, score_unit, tally_rows

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "statistics.json").read_text())["ratings"]
POLICIES = ("heaviest", "random", {"prefer": ["double", "heaviest"]})


def job(matrix: Matrix) -> JobSpec:
    """A job with one listed scenario before the matrix."""
    return JobSpec((make_scenario(["random", "random"], 2), *matrix.scenarios()), 7, matrix=matrix)


def scored(scores: dict[int, int], clusters: list[int]) -> Tally:
    """A tally of 2-match blocks at two players of which the first place's histogram is given."""
    tally = Tally.empty(2)
    tally.matches = 2 * sum(scores.values())
    mirrored = Counter({2 - score: count for score, count in scores.items()})
    tally.blocks = [BlockScores(Counter(scores)), BlockScores(mirrored)]
    tally.clusters = clusters
    return tally


def histogram(blocks: int, total: int, squares: int) -> dict[int, int]:
    """The histogram of scores 0, 1 and 2 with these sums."""
    two = (squares - total) // 2
    return {0: blocks - (total - two), 1: total - 2 * two, 2: two}


def by_block(scores: dict[int, int]) -> list[int]:
    return [score for score, count in sorted(scores.items()) for _ in range(count)]


def golden_field() -> tuple[JobSpec, list[Tally]]:
    """The golden pairs, played on blocks in such an order that no pair goes with another: each score meets each equally."""
    spec = job(Matrix((2,), POLICIES, ("block",), 200))
    histograms = [histogram(*pair[2:]) for pair in GOLDEN["pairs"]]
    return spec, [Tally.empty(2), *(scored(scores, by_block(scores)) for scores in histograms)]


def test_a_field_made_by_hand_has_the_golden_ratings() -> None:
    spec, tallies = golden_field()
    (field,) = tournament_documents(spec, tallies)
    FieldResult.model_validate(field)
    assert (field["ruleset"], field["players"], field["seating"], field["unrated"]) == ("block", 2, "rotated", None)
    assert field["policies"] == list(POLICIES)
    # The scores sums of the golden pairs, out of 200 matches each.
    assert field["win_shares"] == [
        [None, pytest.approx(0.6), pytest.approx(0.7)],
        [pytest.approx(0.4), None, pytest.approx(0.575)],
        [pytest.approx(0.3), pytest.approx(0.425), None],
    ]
    assert [
        [pair["one"], pair["other"], pair["blocks"], pair["score_sum"], pair["score_square_sum"]] for pair in field["pairs"]
    ] == GOLDEN["pairs"]
    assert [(pair["scenario"], pair["units"], pair["matches"]) for pair in field["pairs"]] == [
        (1, 2, 200), (2, 2, 200), (3, 2, 200),
    ]  # fmt: skip
    rated = field["ratings"]
    assert [rating["points"] for rating in rated["policies"]] == pytest.approx(GOLDEN["elo"], abs=1e-9)
    assert [rating["naive_standard_error"] for rating in rated["policies"]] == pytest.approx(GOLDEN["se_naive"], abs=1e-9)
    assert rated["chi_squared"] == pytest.approx(GOLDEN["gof_chi2"], abs=1e-9)
    assert rated["degrees"] == GOLDEN["df"]
    for rating, alone in zip(rated["policies"], GOLDEN["se_clustered"], strict=True):
        low, high = rating["ci95"]
        assert (low + high) / 2 == pytest.approx(rating["points"])
        assert (high - low) / 2 == pytest.approx(1.96 * rating["standard_error"], rel=1e-4)
        # Sorted scores go together in all pairs, so that the errors are not those of independent pairs.
        assert rating["standard_error"] != pytest.approx(alone, rel=0.02)


def test_a_field_without_ratings_says_why() -> None:
    spec, tallies = golden_field()
    unfinished = [*tallies[:3], scored({1: 99}, [1] * 99)]
    (field,) = tournament_documents(spec, unfinished)
    assert (field["ratings"], field["unrated"]) == (
        None,
        "ratings come once every pair of the field has been played to its end",
    )
    assert field["win_shares"][2] == [pytest.approx(0.3), 0.5, None]
    always = [tallies[0], scored({2: 100}, [2] * 100), scored({2: 100}, [2] * 100), tallies[3]]
    (field,) = tournament_documents(spec, always)
    assert field["ratings"] is None
    assert "never lost or never won" in field["unrated"]
    assert field["pairs"][0]["win_share"] == 1.0
    begun = tournament_documents(spec, [Tally.empty(2)] * 4)[0]
    FieldResult.model_validate(begun)
    assert begun["win_shares"] == [[None] * 3] * 3


def test_with_partners_a_rating_says_what_a_change_of_one_member_does() -> None:
    matrix = Matrix((4,), ("heaviest", "random", "lightest"), ({"preset": "traditional", "partners": True},), 2400)
    spec = replace(job(matrix), scenarios=tuple(matrix.scenarios()))
    (field,) = tournament_documents(spec, [play(spec, number) for number in range(6)])
    FieldResult.model_validate(field)
    # One seat in four that is another policy, whose side would win half of the matches if it were equal.
    assert all(pair["units"] == 4 * score_unit(spec.scenarios[0].lineup(1).ruleset) for pair in field["pairs"])
    points = [rating["points"] for rating in field["ratings"]["policies"]]
    assert points[0] > points[1] > points[2]
    assert field["ratings"]["degrees"] == 4
    for (one, other), pair in zip(matrix.fields(0)[0].pairs, field["pairs"], strict=True):
        expected = 1 / (1 + 10 ** ((points[other] - points[one]) / 400))
        assert pair["win_share"] == pytest.approx(expected, abs=0.06)


def test_equal_policies_of_a_field_meet_on_other_deals_and_are_rated_as_independent() -> None:
    matrix = Matrix((2,), ("heaviest", "random", "heaviest"), ("block",), 1000)
    spec = replace(job(matrix), scenarios=tuple(matrix.scenarios()))
    (field,) = tournament_documents(spec, [play(spec, number) for number in range(3)])
    assert [pair["blocks"] for pair in field["pairs"]] == [500, 1000, 500]
    first, second, third = (rating["points"] for rating in field["ratings"]["policies"])
    assert first - second > 300
    assert abs(first - third) < 40


def play(spec: JobSpec, number: int) -> Tally:
    """The whole tally of a scenario."""
    scenario = spec.scenarios[number]
    lineup = scenario.lineup(spec.seed)
    return tally_rows(lineup, play_blocks(lineup, 0, scenario.blocks), 0)


def test_fields_of_a_matrix_come_in_its_order_and_rate_what_was_played() -> None:
    matrix = Matrix((3, 2), POLICIES, ("block", {"preset": "block", "ends": {"rounds": 2}}), 1200)
    spec = job(matrix)
    tallies = [play(spec, number) for number in range(len(spec.scenarios))]
    fields = tournament_documents(spec, tallies)
    assert [(field["ruleset"], field["players"], len(field["pairs"])) for field in fields] == [
        (ruleset, players, pairs) for ruleset in matrix.rulesets for players, pairs in ((3, 6), (2, 3))
    ]
    for field in fields:
        FieldResult.model_validate(field)
        points = {str(rating["policy"]): rating["points"] for rating in field["ratings"]["policies"]}
        assert points["heaviest"] > points["random"]
        assert sum(points.values()) == pytest.approx(0.0, abs=1e-6)
        assert all(
            0 < rating["standard_error"] < rating["naive_standard_error"] * 1.5 for rating in field["ratings"]["policies"]
        )
        for pair in field["pairs"]:
            tally = tallies[pair["scenario"]]
            assert spec.scenarios[pair["scenario"]].policies[:2] == (POLICIES[pair["one"]], POLICIES[pair["other"]])
            assert (pair["matches"], pair["score_sum"]) == (tally.matches, sum(tally.clusters))
            assert field["win_shares"][pair["one"]][pair["other"]] == pair["win_share"]


def test_the_service_gives_the_tournament_on_the_last_page(http: httpx2.Client, hands: Hands) -> None:
    matrix = {"players": [2], "policies": list(POLICIES), "matches": 300}
    body = {"seed": 7, "scenarios": [{"policies": ["random", "random"], "matches": 2}], "matrix": matrix}
    made = http.post("/v1/jobs", json=body).json()
    assert made["spec"]["matrix"] == {**matrix, "rulesets": ["block"], "seating": "rotated"}
    results = f"/v1/jobs/{made['id']}/results"
    before = http.get(results).json()
    assert before["tournament"][0]["ratings"] is None
    assert "played to its end" in before["tournament"][0]["unrated"]
    hands.work()
    assert http.get(results, params={"limit": 3}).json()["tournament"] is None
    page = http.get(results, params={"limit": 3, "cursor": 3}).json()
    assert page["next_cursor"] is None
    (field,) = page["tournament"]
    FieldResult.model_validate(field)
    spec = job(Matrix((2,), POLICIES, ("block",), 300))
    expected = tournament_documents(spec, [play(spec, number) for number in range(4)])
    assert page["tournament"] == json.loads(json.dumps(expected))
    assert field["ratings"] is not None
    plain = http.post("/v1/jobs", json={"scenarios": [{"policies": ["random", "random"], "matches": 2}]}).json()["id"]
    assert http.get(f"/v1/jobs/{plain}/results").json()["tournament"] is None


# As CSV


def read(text: str) -> list[dict[str, str]]:
    assert text.count("\r\n") == text.count("\n")
    return list(csv.DictReader(io.StringIO(text)))


def test_pairs_and_ratings_are_tables_too() -> None:
    spec, tallies = golden_field()
    fields = tournament_documents(spec, tallies)
    pairs, ratings = read(tournament_csv(fields, "pairs")), read(tournament_csv(fields, "ratings"))
    assert [[row["blocks"], row["score_sum"], row["score_square_sum"]] for row in pairs] == [
        [str(figure) for figure in pair[2:]] for pair in GOLDEN["pairs"]
    ]
    assert [(row["one"], row["other"]) for row in pairs][1] == ("heaviest", '{"prefer":["double","heaviest"]}')
    assert all(float(row["win_share_low"]) < float(row["win_share"]) < float(row["win_share_high"]) for row in pairs)
    assert [float(row["points"]) for row in ratings] == pytest.approx(GOLDEN["elo"], abs=1e-9)
    assert all(row["unrated"] == "" and float(row["points_low"]) < float(row["points"]) for row in ratings)
    unrated = read(tournament_csv(tournament_documents(spec, [Tally.empty(2)] * 4), "ratings"))
    assert [(row["policy"], row["points"]) for row in unrated][:2] == [("heaviest", ""), ("random", "")]
    assert "played to its end" in unrated[0]["unrated"]


def test_the_service_gives_a_matrix_as_csv_where_that_is_asked_for(http: httpx2.Client, hands: Hands) -> None:
    matrix = {"players": [2], "policies": list(POLICIES), "matches": 300}
    made = http.post("/v1/jobs", json={"seed": 7, "matrix": matrix}).json()
    hands.work()
    results, as_csv = f"/v1/jobs/{made['id']}/results", {"Accept": "text/csv"}
    (field,) = http.get(results).json()["tournament"]
    ratings = read(http.get(results, params={"table": "ratings"}, headers=as_csv).text)
    assert [float(row["points"]) for row in ratings] == [rating["points"] for rating in field["ratings"]["policies"]]
    assert len(read(http.get(results, params={"table": "pairs"}, headers=as_csv).text)) == 3
    assert len(read(http.get(results, headers=as_csv).text)) == 6
    assert http.get(results, params={"table": "heat"}, headers=as_csv).status_code == 422
    plain = http.post("/v1/jobs", json={"scenarios": [{"policies": ["random", "random"], "matches": 2}]}).json()["id"]
    assert read(http.get(f"/v1/jobs/{plain}/results", params={"table": "pairs"}, headers=as_csv).text) == []
