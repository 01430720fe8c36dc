"""Verdicts through the whole service: the same from one worker and two, when processes are killed, and on a second run.

What they must be is played here, look after look from the first block on, with nothing in between.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis

from tests.acceptance.conftest import Service, StartService
from tests.acceptance.test_whole_path import integers
from tests.servers import poll
from workers.engine.play import ENGINE_VERSION, play_blocks
from workers.regressions.spec import RegressionSpec, TestSpec
from workers.regressions.store import DUE
from workers.stats.sprt import log_likelihood_ratio
from workers.stats.tally import Tally, tally_rows

SEED = 2**62 + 83
TESTS: list[dict[str, Any]] = [
    {"name": "lightest", "players": 2, "candidate": "lightest", "baseline": "heaviest", "h0": -0.005, "h1": 0.0},
    {"name": "identical", "players": 3, "candidate": "double", "baseline": "double", "h0": -0.005, "h1": 0.0},
    # Hypotheses around the true share, a few thousandths apart: decided after many looks.
    {"name": "close", "players": 2, "candidate": "double", "baseline": "heaviest", "h0": 0.137, "h1": 0.147},
]
CAP = 600_000
SPEC: dict[str, Any] = {
    "name": "close-and-clear", "seed": str(SEED), "tests": [{**test, "max_matches": CAP} for test in TESTS],
}  # fmt: skip
COMPARED = ("name", "verdict", "llr", "lower", "upper", "looks", "blocks", "matches", "share", "share_ci95", "path")
README = (Path(__file__).parents[2] / "README.md").read_text()


def play_in_order() -> list[tuple[str, list[list[float]], Tally]]:
    """For each test its verdict, the path of its ratio, and the tally of the blocks up to the deciding look."""
    spec = RegressionSpec("x", tuple(TestSpec(**test) for test in SPEC["tests"]), seed=SEED)
    found = []
    for number, test in enumerate(spec.tests):
        scenario, planned = test.scenario(), spec.sequential(number)
        lineup, sums, path, decision = scenario.lineup(SEED), Tally.empty(test.players), list[list[float]](), "undecided"
        while decision == "undecided" and len(path) * planned.step < scenario.blocks:
            first = len(path) * planned.step
            sums.merge(tally_rows(lineup, play_blocks(lineup, first, planned.step), first))
            ratio = log_likelihood_ratio(sums.blocks[0].scores, planned.units, planned.s0, planned.s1)
            path.append([first + planned.step, ratio])
            decision = planned.bounds.decide(ratio)
        found.append((decision, path, sums))
    return found


def run(service: Service, *, kill: bool = False) -> list[dict[str, Any]]:
    """The tests of a run to its verdict, what a worker's haste decides left out.

    With `kill` every process that plays is killed as soon as the run is played, and then the first that replaces one.
    """
    with service.client as client:
        begun = client.run_once(SPEC)
        close = begun["tests"][2]["job"]
        if kill:
            poll(lambda: client.job(close)["state"] == "running", pause=0.005)
            killed = _players(service)
            for player in killed:
                player.kill()
            new: list[psutil.Process] = []
            poll(lambda: new.extend(set(_players(service)) - set(killed)) or new)
            new[0].kill()
        ended = client.wait_for_run(SPEC["name"], begun["id"])
    assert ended["state"] == "done"
    assert ended["verdict"] == "regressed"
    return [{name: test[name] for name in COMPARED} | {"results": integers(test["results"])} for test in ended["tests"]]


def _players(service: Service) -> list[psutil.Process]:
    """The processes that play: children of workers, which are children of the supervisor."""
    found: list[psutil.Process] = []
    for child in psutil.Process(service.process.pid).children():
        with suppress(psutil.NoSuchProcess):  # it has just ended
            found += child.children() if "worker" in child.cmdline() else []
    return found


def test_verdicts_are_those_of_playing_in_order_whatever_the_workers_do(start_service: StartService) -> None:
    expected = play_in_order()
    service = start_service(workers=1, chunk_blocks=128, lease_seconds=1, audit_every=0)
    first = run(service)
    for test, (decision, path, sums) in zip(first, expected, strict=True):
        assert (test["verdict"], test["looks"], test["path"]) == (decision, len(path), path)
        assert (test["matches"], test["llr"]) == (sums.matches, path[-1][1])
        assert test["results"]["policies"][0]["wins"] == sums.places[0].wins
        assert test["results"]["engine_version"] == ENGINE_VERSION
    lightest, identical, close = first
    assert (lightest["verdict"], identical["verdict"]) == ("regressed", "passed")
    assert lightest["blocks"] <= 3000
    assert lightest["share_ci95"][1] < 0.5
    assert identical["share"] == pytest.approx(1 / 3)
    assert close["looks"] >= 10
    assert run(service) == first
    service.stop()
    assert run(start_service(workers=2, chunk_blocks=128, lease_seconds=1, audit_every=0), kill=True) == first


def test_the_nightly_example_of_the_readme_runs_as_written_and_at_its_time(
    start_service: StartService, redis_url: str, tmp_path: Path
) -> None:
    service = start_service(workers=1, redis_url=redis_url)
    (example,) = [block for block in README.split("```sh\n")[1:] if block.startswith("cat >nightly.json")]
    environment = os.environ | {
        "BLOCKYARD_URL": service.url, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    written = subprocess.run(
        ["bash", "-euc", example.split("```")[0]], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert written.returncode == 0, written.stderr
    assert "passed" in written.stdout

    # A cron expression names minutes; what it comes to is the moment in Redis, which is set to some seconds ahead.
    due = int(time.time()) + 2
    with redis.Redis.from_url(redis_url) as client:
        assert client.zscore(DUE, "nightly") > due
        client.zadd(DUE, {"nightly": due})
    with service.client as client:
        poll(lambda: len(client.runs("nightly")) == 2, pause=0.1)
        scheduled = client.runs("nightly")[0]
        assert datetime.fromisoformat(scheduled["scheduled_at"] or "").timestamp() == due
        ended = client.wait_for_run("nightly", scheduled["id"])
        assert (ended["verdict"], ended["late"]) == ("passed", False)
        assert datetime.fromisoformat(client.regression("nightly")["next_run_at"]).timestamp() > due
        history = json.loads(_history(environment))
    assert len(history["items"]) == 2
    assert (history["items"][0]["id"], history["items"][0]["verdict"]) == (scheduled["id"], "passed")


def _history(environment: dict[str, str]) -> str:
    shown = subprocess.run(
        ["blockyard", "regress", "history", "nightly", "--json"], env=environment, capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip
    return shown.stdout
