"""A real browser before real pages: Chromium, and a service that holds something of everything to look at."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.servers import PATIENCE, RedisServer, poll
from tests.service.running import Hands, Service, serving
from workers.jobs.ledger import Ledger
from workers.jobs.records import Permit
from workers.jobs.store import connect
from workers.settings import Settings

LONG = "W" * 120
"""A name that breaks nowhere."""
SHARED: dict[str, Any] = {
    "name": f"three rulesets {LONG}", "seed": 7, "labels": {LONG[:60]: LONG},
    "scenarios": [
        {"policies": ["heaviest", {"prefer": ["double", "heaviest"]}], "matches": 64},
        {"policies": ["random"] * 4, "matches": 8, "ruleset": {"preset": "traditional", "partners": True}},
        {"policies": ["random", "heaviest"], "matches": 8, "ruleset": {"preset": "draw", "set": 9, "hand": 12}},
    ],
}  # fmt: skip
ALONE = {"name": "alone", "seed": 3, "scenarios": [{"policies": ["heaviest", "random"], "matches": 640}]}
EVERYBODY = {
    "name": "everybody", "seed": 5,
    "matrix": {
        "players": [2, 3], "policies": ["random", "heaviest", "lightest", {"prefer": ["double", "heaviest"]}], "matches": 96,
    },
}  # fmt: skip
NIGHTLY = {
    "seed": 77, "schedule": "0 2 * * *",
    "tests": [
        {
            "name": name, "players": 2, "candidate": candidate, "baseline": "heaviest", "h0": -0.02, "h1": 0.0,
            "max_matches": 4000,
        }
        for name, candidate in (("worse", "lightest"), ("equal", "heaviest"))
    ],
}  # fmt: skip


def find_browser() -> str | None:
    """Where Chromium is: a package puts it under one of these names."""
    return next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, without a window. Playwright keeps an event loop running meanwhile, which other files must not meet."""
    place = find_browser()
    if place is None:
        pytest.skip("no Chromium on the PATH; get it with: sudo apt-get install chromium")
    # In a container root has no sandbox to put its pages into; they are ours.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=place, args=arguments)
        yield chromium
        chromium.close()


@dataclass
class Site:
    """A service with something of everything; paths of its pages by name."""

    service: Service
    hands: Hands
    http: httpx2.Client
    paths: dict[str, str]

    @property
    def url(self) -> str:
        """Where it answers."""
        return self.service.url


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The service on a Redis of its own, its work done by hand."""
    redis = RedisServer(tmp_path_factory.mktemp("redis"))
    redis.start()
    sent: list[Permit] = []
    try:
        with (
            serving(redis.url) as service,
            httpx2.Client(base_url=service.url, trust_env=False, timeout=60) as http,
        ):
            ledger = Ledger(
                connect(redis.url), send=sent.append, settings=Settings(chunk_blocks=64, audit_every=0, lease_seconds=60)
            )
            hands = Hands(ledger, sent)
            yield Site(service, hands, http, _fill(service, hands, http))
    finally:
        redis.stop()


def _fill(service: Service, hands: Hands, http: httpx2.Client) -> dict[str, str]:
    """Jobs that are done, paused and queued, and a regression that has run."""
    shared, alone, everybody = (http.post("/v1/jobs", json=job).json()["id"] for job in (SHARED, ALONE, EVERYBODY))
    hands.work()
    http.put("/v1/regressions/nightly", json=NIGHTLY).raise_for_status()
    run = http.post("/v1/regressions/nightly/runs", json={"labels": {LONG[:60]: LONG}}).json()["id"]
    hands.work()

    def has_ended() -> bool:
        service.state.regressions.advance()
        return bool(http.get(f"/v1/regressions/nightly/runs/{run}").json()["state"] == "done")

    poll(has_ended, pause=0.1)
    paused = http.post("/v1/jobs", json=SHARED).json()["id"]
    http.post(f"/v1/jobs/{paused}/pause")
    return {
        "jobs": "/", "none": "/?state=failed", "job": f"/jobs/{shared}", "alone": f"/jobs/{alone}",
        "paused": f"/jobs/{paused}", "tournament": f"/jobs/{everybody}", "scenario": f"/jobs/{shared}/scenarios/1",
        "matches": f"/jobs/{shared}/scenarios/0/matches", "dealt": f"/jobs/{shared}/scenarios/0/matches/3?round=1&ply=0",
        "replay": f"/jobs/{shared}/scenarios/2/matches/5?round=1", "partners": f"/jobs/{shared}/scenarios/1/matches/2?ply=9",
        "submit": "/submit", "workers": "/workers", "regressions": "/regressions", "regression": "/regressions/nightly",
        "run": f"/regressions/nightly/runs/{run}", "rules": "/rules",
        "calls": "/docs", "models": "/docs/models", "login": "/login", "missing": "/jobs/nosuch",
    }  # fmt: skip
