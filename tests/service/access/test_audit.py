"""The audit log: who submitted, cancelled, promoted; a line of JSON each, in a file of its own or in the log."""

import logging
from pathlib import Path
from typing import Any

import orjson
import pytest

from service.access.audit import Audit
from service.access.caller import CALLER, Caller
from tests.service.access.conftest import Guarded, make_keys
from tests.service.running import serving

JOB: dict[str, Any] = {"scenarios": [{"policies": ["heaviest", "random"], "matches": 64}]}
REGRESSION: dict[str, Any] = {
    "tests": [{"name": "two", "players": 2, "candidate": "heaviest", "baseline": "random", "h0": -0.02, "h1": 0.0,
               "max_matches": 1000}],
}  # fmt: skip


def test_who_did_what_is_told_once_each(redis_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keys, store = make_keys(redis_url)
    file = tmp_path / "audit.log"
    with caplog.at_level(logging.INFO, "service"), serving(redis_url, audit_log=str(file)) as service:
        guarded = Guarded(service, keys, store)
        with guarded.client("sam") as sam, guarded.client("ada") as ada:
            headers = {"Idempotency-Key": "k", "X-Request-Id": "first"}
            job = sam.post("/v1/jobs", json=JOB, headers=headers).json()["id"]
            sam.post("/v1/jobs", json=JOB, headers=headers)
            sam.post("/v1/jobs", json={})
            sam.get("/v1/jobs")
            for verb in ("pause", "resume"):
                sam.post(f"/v1/jobs/{job}/{verb}")
            ada.post(f"/v1/jobs/{job}/cancel", headers={"X-Request-Id": "second"})
            ada.post(f"/v1/jobs/{job}/restart")
            ada.delete(f"/v1/jobs/{job}")
            ada.post(f"/v1/jobs/{job}/cancel")
            ada.delete(f"/v1/jobs/{job}")
            ada.put("/v1/regressions/nightly", json=REGRESSION)
            run = sam.post("/v1/regressions/nightly/runs").json()["id"]
            ada.post("/v1/regressions/nightly/promote", json={"run": run})
            ada.delete("/v1/regressions/other")
            service.state.ledger.beat("w", "here", 1, 1, is_new=True)
            ada.post("/v1/workers/w/drain")
    lines = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    assert [(line["by"], line["action"]) for line in lines] == [
        ("sam", "job submitted"), ("sam", "job paused"), ("sam", "job resumed"), ("ada", "job cancelled"),
        ("ada", "job restarted"), ("ada", "job cancelled"), ("ada", "job deleted"), ("ada", "regression put"),
        ("sam", "regression run"), ("ada", "regression promoted"), ("ada", "worker drained"),
    ]  # fmt: skip
    assert (lines[0]["job"], lines[0]["request_id"], lines[0]["role"]) == (job, "first", "submit")
    assert (lines[3]["owner"], lines[3]["request_id"]) == ("sam", "second")
    assert lines[9]["baselines"]["two"]["name"] == "heaviest"
    assert file.stat().st_mode & 0o777 == 0o600
    answers = [vars(record) for record in caplog.records if record.name == "service.middleware"]
    assert {"by": "sam", "route": "/v1/jobs", "status": 202, "method": "POST"}.items() <= answers[0].items()


def test_without_a_file_the_log_tells_it(caplog: pytest.LogCaptureFixture) -> None:
    token = CALLER.set(Caller("sam", "submit"))
    with caplog.at_level(logging.INFO, "service"):
        Audit(None)("job submitted", job="a")
    CALLER.reset(token)
    (record,) = caplog.records
    assert (record.getMessage(), vars(record)["by"], vars(record)["job"]) == ("job submitted", "sam", "a")


def test_a_file_that_cannot_be_written_stops_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Audit(str(tmp_path / "none" / "audit.log"))("job submitted", job="a")
    assert "cannot be written" in caplog.text
