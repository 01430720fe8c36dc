"""The script that makes the README's kind of table, on a small job of a real service; and the job that is committed."""

import json
import runpy
from pathlib import Path

import pytest

from service.client import Client
from tests.service.running import Hands, Service
from workers.engine.policies.resolve import CONSULTING, NAMED
from workers.jobs.spec import make_scenario

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy/policies_table.py"
SMALL = {
    "seed": 3,
    "matrix": {"players": [2, 3], "policies": ["random", {"name": "linear", "version": "1"}], "matches": 600},
}  # fmt: skip


def test_it_prints_a_row_for_each_policy_best_first(
    service: Service, hands: Hands, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOCKYARD_URL", service.url)
    with Client(service.url) as client:
        job = client.submit(SMALL)["id"]
    hands.work()
    runpy.run_path(str(SCRIPT))["main"](job, with_speeds=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "**2 players**; an equal share is 50.0"
    assert lines[4].startswith("| 1 linear 1 |  | 9")
    assert lines[5].startswith("| 2 random | ")
    assert lines[7] == "**3 players**; an equal share is 33.3"
    one, other = (float(lines[row].split("|")[column].split("±")[0]) for row, column in ((4, 3), (5, 2)))
    assert one + other == pytest.approx(100, abs=0.11)


def test_the_committed_job_has_every_shipped_policy_against_every_other() -> None:
    job = json.loads((ROOT / "deploy/policies.json").read_text())
    shipped = {each.name for each in (*NAMED, *CONSULTING)}
    for players in (2, 3, 4):
        fast = [json.dumps(policy) for policy in job["matrix"]["policies"]]
        met = {(one, other) for one in fast for other in fast if one != other}
        for scenario in job["scenarios"]:
            if len(scenario["policies"]) == players:
                make_scenario(scenario["policies"], scenario["matches"])
                one, other = map(json.dumps, scenario["policies"][:2])
                met |= {(one, other)} if players > 2 else {(one, other), (other, one)}
        names = {one for one, _ in met}
        assert {json.loads(name)["name"] if name.startswith("{") else json.loads(name) for name in names} == shipped
        # With more than two players a field of those that search is met only by those that search too.
        assert met == {
            (one, other) for one in names for other in names
            if one != other and (players == 2 or one not in fast or other in fast)
        }  # fmt: skip
