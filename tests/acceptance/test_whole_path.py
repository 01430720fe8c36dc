"""A batch goes in over HTTP and exact results come out: the integers of the service are those of `simulate`."""

import os
from typing import Any

import pytest

from tests.acceptance.conftest import Service, StartService, simulate

SEED = 2**63 + 12345
SCENARIOS: list[dict[str, Any]] = [
    {"players": 2, "policies": ["heaviest", "random"], "matches": 12_001},
    {"players": 3, "policies": ["double", "random_tile", "random_tile"], "matches": 9_000},
    {"players": 4, "policies": ["random", "lightest", "random", "lightest"], "matches": 8_000, "seating": "fixed"},
    {"players": 4, "policies": ["heaviest", "double", "random", "lightest"], "matches": 7_998},
]


def integers(result: dict[str, Any]) -> dict[str, Any]:
    """A result without what is derived, and without the place of its scenario in the job."""
    kept = {name: value for name, value in result.items() if name != "estimates"}
    kept["scenario"] = {name: value for name, value in kept["scenario"].items() if name != "index"}
    return kept


@pytest.fixture(scope="module")
def simulated() -> list[dict[str, Any]]:
    """What `blockyard simulate` gives for each scenario."""
    return [simulate(scenario, SEED) for scenario in SCENARIOS]


def play(service: Service) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The job, done, and its results."""
    with service.client as client:
        job = client.submit({"name": "the whole path", "seed": str(SEED), "scenarios": SCENARIOS})
        ended = client.wait(job["id"])
        results = client.results(job["id"])
    assert ended["state"] == "done"
    assert results["complete"]
    return dict(ended), results["results"]


def test_one_worker_gives_the_integers_of_simulate(
    start_service: StartService, simulated: list[dict[str, Any]]
) -> None:
    job, results = play(start_service(workers=1, chunk_blocks=64))
    assert [integers(result) for result in results] == [integers(result) for result in simulated]
    assert job["matches_requested"] == sum(scenario["matches"] for scenario in SCENARIOS)
    assert job["matches"] == 12_002 + 9_000 + 8_000 + 8_000
    assert sum(result["matches"] for result in results) == job["matches"]


def test_two_workers_share_the_work_and_change_nothing(
    start_service: StartService, simulated: list[dict[str, Any]]
) -> None:
    service = start_service(workers=2, chunk_blocks=64)
    _, results = play(service)
    assert [integers(result) for result in results] == [integers(result) for result in simulated]
    with service.client as client:
        children = [child["chunks"] for worker in client.workers() for child in worker["children"]]
    assert len(children) == 2
    assert sum(children) >= 200
    assert min(children) * 5 >= sum(children)


def test_the_service_stops_completely_and_goes_on_where_it_ended(start_service: StartService) -> None:
    first = start_service(workers=1)
    with first.client as client:
        job = client.submit({"seed": 1, "scenarios": [{"policies": ["random", "heaviest"], "matches": 2_000}]})
        client.wait(job["id"])
        before = client.results(job["id"])["results"]
    assert first.stop() in (0, 130)
    second = start_service(workers=1)
    with second.client as client:
        assert client.job(job["id"])["state"] == "done"
        assert client.results(job["id"])["results"] == before


def test_players_stand_back_for_the_api_beside_them(start_service: StartService) -> None:
    service = start_service(workers=1)
    nice = {"worker": set[int](), "api": set[int]()}
    for process in service.family():
        for what in nice:
            if what in process.cmdline():
                nice[what].add(process.nice())
    here = os.nice(0)
    assert nice == {"worker": {min(here + 5, 19)}, "api": {here}}
