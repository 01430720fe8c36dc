"""Jobs over HTTP: what is accepted, what comes back, and every verb."""

import csv
import io
import time
from typing import Any

import httpx2
import orjson
import pytest

from service.results import CSV_COLUMNS, result_document
from service.schemas.answers import JobAnswer, JobPage
from service.schemas.results import ResultsPage
from tests.service.running import Hands
from workers.engine.play import play_literally
from workers.jobs.spec import make_scenario
from workers.stats.tally import tally_rows

SMALL: dict[str, Any] = {"name": "small", "seed": 7, "scenarios": [{"policies": ["heaviest", "random"], "matches": 99}]}
MATRIX = {"players": [2, 3], "policies": ["random", "heaviest", {"prefer": ["double", "heaviest"]}], "matches": 10}


def submit(http: httpx2.Client, body: Any = SMALL, **headers: str) -> dict[str, Any]:
    answer = http.post("/v1/jobs", json=body, headers=headers)
    assert answer.status_code == 202, answer.text
    job: dict[str, Any] = answer.json()
    assert answer.headers["Location"] == f"/v1/jobs/{job['id']}"
    JobAnswer.model_validate(job)
    return job


def test_a_job_comes_back_as_it_was_sent(http: httpx2.Client) -> None:
    body = {**SMALL, "priority": "high", "labels": {"branch": "main", "build.number": "17"}}
    job = submit(http, body)
    assert job["state"] == "queued"
    assert (job["seed"], job["priority"], job["labels"]) == (7, "high", body["labels"])
    assert (job["matches_requested"], job["matches"]) == (99, 100)
    assert job["progress"] == {
        "matches_done": 0, "matches_total": 100, "matches_per_second": None, "eta_seconds": None
    }  # fmt: skip
    (scenario,) = job["spec"]["scenarios"]
    assert (scenario["players"], scenario["policies"], scenario["rotations"]) == (2, ["heaviest", "random"], 2)
    assert (scenario["ruleset"], scenario["seating"]) == ("block", "rotated")
    assert http.get(f"/v1/jobs/{job['id']}").json() == {**job, "waiting_for": job["waiting_for"]}


def test_scenarios_come_before_the_matrix_in_its_documented_order(http: httpx2.Client) -> None:
    job = submit(http, {**SMALL, "matrix": MATRIX})
    scenarios = job["spec"]["scenarios"]
    one, two, three = MATRIX["policies"]  # type: ignore[misc]
    expected = [["heaviest", "random"], [one, two], [one, three], [two, three]]
    expected += [[a, b, b] for a, b in ((one, two), (one, three), (two, one), (two, three), (three, one), (three, two))]
    assert [scenario["policies"] for scenario in scenarios] == expected
    assert job["scenario_count"] == len(expected)


def test_both_spellings_of_a_large_seed_are_one_seed(http: httpx2.Client) -> None:
    seed = 2**64 - 1
    raw = orjson.dumps({**SMALL, "seed": seed})
    number = http.post("/v1/jobs", content=raw, headers={"Content-Type": "application/json"}).json()
    assert number["seed"] == str(seed)
    assert submit(http, {**SMALL, "seed": str(seed)})["seed"] == str(seed)


def test_a_seed_is_drawn_where_none_is_given(http: httpx2.Client) -> None:
    body = {"scenarios": SMALL["scenarios"]}
    seeds = {submit(http, body)["seed"] for _ in range(5)}
    assert len(seeds) == 5
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_one_key_makes_one_job(http: httpx2.Client) -> None:
    body = {"scenarios": SMALL["scenarios"]}
    first = submit(http, body, **{"Idempotency-Key": "nightly-1"})
    # The same meaning in other words: the digest ignores white space and defaults.
    again = submit(http, {"scenarios": SMALL["scenarios"], "priority": "normal"}, **{"Idempotency-Key": "nightly-1"})
    assert (again["id"], again["seed"], again["spec"]) == (first["id"], first["seed"], first["spec"])
    other = http.post("/v1/jobs", json=SMALL, headers={"Idempotency-Key": "nightly-1"})
    assert other.status_code == 422
    assert other.json()["errors"][0]["path"] == "Idempotency-Key"
    assert len(http.get("/v1/jobs").json()["items"]) == 1
    assert submit(http, body, **{"Idempotency-Key": "nightly-2"})["id"] != first["id"]


def test_jobs_are_listed_newest_first_page_by_page(http: httpx2.Client) -> None:
    ids = [submit(http, {**SMALL, "name": str(number)})["id"] for number in range(5)]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = http.get("/v1/jobs", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        JobPage.model_validate(page)
        seen += [item["id"] for item in page["items"]]
        assert all("spec" not in item for item in page["items"])
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == ids[::-1]


def test_jobs_are_found_by_state_and_label(http: httpx2.Client) -> None:
    main = submit(http, {**SMALL, "labels": {"branch": "main"}})["id"]
    other = submit(http, {**SMALL, "labels": {"branch": "main=2"}})["id"]
    http.post(f"/v1/jobs/{other}/cancel")

    def ids(**query: str) -> list[str]:
        return [item["id"] for item in http.get("/v1/jobs", params=query).json()["items"]]

    assert ids(label="branch=main") == [main]
    assert ids(label="branch=main=2") == [other]
    assert ids(state="cancelled") == [other]
    assert ids(state="queued", label="branch=main") == [main]
    assert ids(label="branch=none") == []


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("limit=0", "limit"), ("limit=201", "limit"), ("limit=x", "limit"), ("state=gone", "state"), ("label=branch", "label"),
        ("cursor=x", "cursor"), ("colour=red", "colour"),
    ],
)  # fmt: skip
def test_what_cannot_be_listed_is_named(http: httpx2.Client, query: str, path: str) -> None:
    answer = http.get(f"/v1/jobs?{query}")
    assert answer.status_code == 422
    assert [error["path"] for error in answer.json()["errors"]] == [path]


def test_the_verbs_and_their_conflicts(http: httpx2.Client) -> None:
    job = submit(http)["id"]

    def post(verb: str) -> httpx2.Response:
        return http.post(f"/v1/jobs/{job}/{verb}")

    for _ in range(2):
        assert post("pause").json()["state"] == "paused"
    for _ in range(2):
        assert post("resume").json()["state"] == "queued"
    assert http.delete(f"/v1/jobs/{job}").status_code == 409
    for _ in range(2):
        assert post("cancel").json()["state"] == "cancelled"
    refused = post("pause")
    assert refused.status_code == 409
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert post("restart").json()["state"] == "queued"
    post("cancel")
    for _ in range(2):
        assert http.delete(f"/v1/jobs/{job}").status_code == 204
    assert http.get(f"/v1/jobs/{job}").status_code == post("cancel").status_code == 404
    assert http.delete(f"/v1/jobs/{job[:-1]}").status_code == 404, "there never was one"


@pytest.mark.parametrize("path", ["", "/results", "/events", "/scenarios/0/matches/0", "/scenarios/0/matches"])
@pytest.mark.parametrize("job_id", ["none", "{}", "a:b", "%00", "x" * 500])
def test_an_unknown_job_is_not_found(http: httpx2.Client, path: str, job_id: str) -> None:
    answer = http.get(f"/v1/jobs/{job_id}{path}")
    assert answer.status_code == 404
    assert answer.json()["status"] == 404


def test_results_equal_what_the_literal_rules_play(http: httpx2.Client, hands: Hands) -> None:
    job = submit(http)
    before = http.get(f"/v1/jobs/{job['id']}/results").json()
    assert (before["complete"], before["results"][0]["matches"]) == (False, 0)
    assert hands.work(chunks=1) == 1
    part = http.get(f"/v1/jobs/{job['id']}/results").json()
    assert not part["complete"]
    assert 0 < part["results"][0]["matches"] < 100
    hands.work()
    page = http.get(f"/v1/jobs/{job['id']}/results").json()
    ResultsPage.model_validate(page)
    assert page["complete"]
    assert page["next_cursor"] is None
    scenario = make_scenario(["heaviest", "random"], 99)
    lineup = scenario.lineup(7)
    tally = tally_rows(lineup, play_literally(lineup, 0, scenario.blocks), 0)
    assert page["results"] == orjson.loads(orjson.dumps([result_document(scenario, 7, tally, job["engine_version"])]))


def test_results_come_in_pages_and_as_csv(http: httpx2.Client, hands: Hands) -> None:
    job = submit(http, {"seed": 1, "matrix": MATRIX})["id"]
    hands.work()
    whole = http.get(f"/v1/jobs/{job}/results").json()["results"]
    assert [result["scenario"]["index"] for result in whole] == list(range(9))
    paged: list[Any] = []
    params: dict[str, Any] = {"limit": 4}
    while True:
        page = http.get(f"/v1/jobs/{job}/results", params=params).json()
        paged += page["results"]
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
    assert paged == whole
    answer = http.get(f"/v1/jobs/{job}/results", headers={"Accept": "text/csv"})
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert list(rows[0]) == list(CSV_COLUMNS)
    places = [(str(result["scenario"]["index"]), str(policy["wins"])) for result in whole for policy in result["policies"]]
    assert [(row["scenario"], row["wins"]) for row in rows] == places
    assert http.get(f"/v1/jobs/{job}/results?cursor=100").json()["results"] == []


@pytest.mark.parametrize(
    ("accept", "is_csv"),
    [
        ("text/csv", True), ("text/csv;q=0.5, application/json", False), ("application/json;q=0.4,text/csv;q=0.5", True),
        ("*/*", False), ("text/csv;q=0", False), ("text/csv;q=x", False),
    ],
)  # fmt: skip
def test_the_accept_header_decides_the_format(http: httpx2.Client, accept: str, is_csv: bool) -> None:
    job = submit(http)["id"]
    answer = http.get(f"/v1/jobs/{job}/results", headers={"Accept": accept})
    assert answer.headers["Content-Type"].startswith("text/csv" if is_csv else "application/json")


def test_ten_thousand_scenarios_are_taken_in_good_time(http: httpx2.Client) -> None:
    scenario = {"policies": ["heaviest", "random"], "matches": 2}
    begun = time.monotonic()
    job = submit(http, {"seed": 1, "scenarios": [scenario] * 10_000})
    assert job["scenario_count"] == 10_000
    assert time.monotonic() - begun < 20
    page = http.get(f"/v1/jobs/{job['id']}/results", params={"cursor": 9_990}).json()
    assert len(page["results"]) == 10
