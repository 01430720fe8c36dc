"""Replays over HTTP: they are the matches that were counted, and refused where they would be others."""

from collections import Counter
from typing import Any
from xml.etree import ElementTree

import httpx2
import orjson
import pytest
import redis

from service.routes import replays
from service.schemas.replays import MatchLine, Replay
from tests.service.running import Hands, Service
from workers.errors import PlayFailed
from workers.jobs.keys import job_key

JOB: dict[str, Any] = {
    "seed": 5,
    "scenarios": [
        {"policies": ["heaviest", "random"], "matches": 40},
        {"policies": ["random", "heaviest", {"prefer": ["double", "heaviest"]}], "matches": 9, "seating": "fixed"},
    ],
}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def job(http: httpx2.Client) -> str:
    """The path of a job's scenarios; nothing of it has been played."""
    return f"/v1/jobs/{http.post('/v1/jobs', json=JOB).json()['id']}/scenarios"


def lines(http: httpx2.Client, path: str, **query: Any) -> list[MatchLine]:
    answer = http.get(path, params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    return [MatchLine.model_validate_json(line) for line in answer.text.splitlines()]


@pytest.mark.parametrize("scenario", [0, 1])
def test_the_lines_add_up_to_the_results(http: httpx2.Client, job: str, hands: Hands, scenario: int) -> None:
    hands.work()
    found = lines(http, f"{job}/{scenario}/matches", count=1000)
    result = http.get(job.removesuffix("/scenarios") + "/results").json()["results"][scenario]
    assert [line.match for line in found] == list(range(result["matches"]))
    assert sum(line.rounds for line in found) == result["rounds"]
    by_seat = Counter(line.winner for line in found)
    assert [by_seat[seat["seat"]] for seat in result["seats"]] == [seat["wins"] for seat in result["seats"]]
    by_place = Counter(line.seated[line.winner] for line in found if line.winner is not None)
    assert [by_place[place] for place in range(len(result["policies"]))] == [each["wins"] for each in result["policies"]]
    for line in found:
        assert line.policies == [JOB["scenarios"][scenario]["policies"][place] for place in line.seated]


def test_a_match_in_full_agrees_with_its_line(http: httpx2.Client, job: str) -> None:
    replay = Replay.model_validate(http.get(f"{job}/0/matches/7").json())
    (line,) = lines(http, f"{job}/0/matches", **{"from": 7, "count": 1})
    assert (replay.scenario, replay.match, replay.block, replay.rotation) == (0, 7, 3, 1)
    assert (replay.seated, replay.policies) == ([1, 0], ["random", "heaviest"])
    assert (replay.scores, replay.winners, len(replay.rounds)) == (line.scores, line.winners, line.rounds)
    assert replay.rounds[-1].scores == replay.scores
    for played in replay.rounds:
        placed = [ply.placement.tile for ply in played.plies if ply.placement is not None]
        assert played.plies[-1].line == placed


def test_a_listing_is_bounded(http: httpx2.Client, job: str) -> None:
    assert [line.match for line in lines(http, f"{job}/0/matches", **{"from": 38, "count": 10})] == [38, 39]
    assert http.get(f"{job}/0/matches", params={"from": 40}).status_code == 404
    refused = http.get(f"{job}/0/matches", params={"count": 1001})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["path"] == "count"
    assert http.get(f"{job}/0/matches", params={"from": -1}).json()["errors"][0]["path"] == "from"


@pytest.mark.parametrize(
    "path", ["/2/matches/0", "/0/matches/40", "/0/matches/0/rounds/999.svg", "/0/matches/0/rounds/0.svg?ply=99", "/1/matches/9"]
)
def test_what_was_not_played_is_not_found(http: httpx2.Client, job: str, path: str) -> None:
    assert http.get(job + path).status_code == 404


@pytest.mark.parametrize("path", ["/x/matches/0", "/0/matches/-1", "/0/matches/1.5", "/0/matches/0/rounds/x.svg"])
def test_what_is_no_number_is_named(http: httpx2.Client, job: str, path: str) -> None:
    answer = http.get(job + path)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] in ("k", "m", "r")


@pytest.mark.parametrize("change", ["engine_version", "fingerprints", "policies"])
def test_a_match_that_would_be_another_is_refused(http: httpx2.Client, service: Service, job: str, change: str) -> None:
    key = job_key(job.split("/")[3], "spec")
    with redis.Redis.from_url(service.redis_url) as client:
        spec = orjson.loads(client.get(key))  # type: ignore[arg-type]
        if change == "engine_version":
            spec["engine_version"] = "0"
        elif change == "fingerprints":
            spec["scenarios"][0]["fingerprints"][1] = "0" * 16
        else:
            spec["scenarios"][0]["policies"][1] = "retired"
        client.set(key, orjson.dumps(spec))
    for path in ("/0/matches/0", "/0/matches", "/0/matches/0/rounds/0.svg"):
        answer = http.get(job + path)
        assert answer.status_code == 409, path
        assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_round_is_drawn_tile_by_tile(http: httpx2.Client, job: str) -> None:
    replay = Replay.model_validate(http.get(f"{job}/0/matches/0").json())
    plies = replay.rounds[0].plies
    for ply in (0, 1, len(plies)):
        answer = http.get(f"{job}/0/matches/0/rounds/0.svg", params={"ply": ply})
        assert answer.headers["Content-Type"].startswith("image/svg+xml")
        assert "style-src 'sha256-" in answer.headers["Content-Security-Policy"]
        drawn = ElementTree.fromstring(answer.text).findall(f"{SVG}g")
        assert len(drawn) == sum(each.placement is not None for each in plies[:ply])
    whole = http.get(f"{job}/0/matches/0/rounds/0.svg")
    assert whole.content == answer.content


def test_a_policy_that_fails_again_is_no_fault_of_the_service(
    http: httpx2.Client, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PlayFailed("match 7: seat 1 chose [0|0], which is not legal")

    monkeypatch.setattr(replays, "replay_document", fail)
    answer = http.get(f"{job}/0/matches/7")
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:blockyard:problem:play-failed")
    assert "seat 1 chose [0|0]" in answer.json()["detail"]
