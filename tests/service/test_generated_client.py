"""A client that a program writes from the OpenAPI document: it understands all of it, submits, watches and reads a job."""

import subprocess
from pathlib import Path

import httpx2
import pytest

from tests.servers import poll
from tests.service.running import Hands, Service

ROOT = Path(__file__).parents[2]
CONFIG = """
post_hooks: []
content_type_overrides:
  application/x-ndjson: text/plain
  image/svg+xml: text/plain
"""
"""No tidying up of what is made; lines of JSON and drawings are texts to it."""
PROGRAM = """
import sys, time
from yard import AuthenticatedClient
from yard.api.jobs import jobs_cancel, jobs_job, jobs_jobs, jobs_results, jobs_submit
from yard.models import JobAnswer, JobPage, JobRequest, Problem, ResultsPage, ScenarioRequest
from yard.types import UNSET

with AuthenticatedClient(base_url=sys.argv[1], token="none is needed") as client:
    order = JobRequest(name="by a program", seed=7, scenarios=[ScenarioRequest(policies=["heaviest", "random"], matches=64)])
    job = jobs_submit.sync(client=client, body=order, idempotency_key="once")
    assert isinstance(job, JobAnswer), job
    print(job.id, flush=True)
    while job.state != "done":
        time.sleep(0.05)
        job = jobs_job.sync(client=client, id=job.id)
    assert job.progress.matches_done == 64
    page = jobs_jobs.sync(client=client, limit=5)
    assert isinstance(page, JobPage) and page.items[0].id == job.id
    found = jobs_results.sync(client=client, id=job.id)
    assert isinstance(found, ResultsPage) and found.complete
    first = found.results[0]
    print(first.matches, first.policies[0].wins + first.policies[1].wins, first.estimates.policies[0].win_share)
    refused = jobs_submit.sync(client=client, body=JobRequest(scenarios=[]))
    assert isinstance(refused, Problem) and refused.errors[0].path == "scenarios", refused
    late = jobs_cancel.sync(client=client, id=job.id)
    assert isinstance(late, Problem) and late.status == 409
"""


@pytest.fixture(scope="module")
def generator() -> Path:
    """Where the generator's programs are, in an environment of their own, made where it is missing."""
    made = subprocess.run(
        ["bash", "-c", "set -euo pipefail; source deploy/environment.sh; make_generator"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=240, check=True,
    )  # fmt: skip
    return Path(made.stdout.strip().splitlines()[-1])


def test_a_generated_client_works(service: Service, http: httpx2.Client, hands: Hands, generator: Path, tmp_path: Path) -> None:
    (tmp_path / "openapi.json").write_bytes(http.get("/openapi.json").content)
    (tmp_path / "config.yaml").write_text(CONFIG)
    arguments = [
        "--path",
        "openapi.json",
        "--config",
        "config.yaml",
        "--output-path",
        "yard",
        "--meta",
        "none",
        "--fail-on-warning",
    ]
    made = subprocess.run(
        [generator / "openapi-python-client", "generate", *arguments],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    program = [generator / "python", "-W", "error", "-c", PROGRAM, service.url]
    with subprocess.Popen(program, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        poll(lambda: http.get("/v1/jobs").json()["items"] or running.poll() is not None)
        if running.poll() is None:
            hands.work()
        said, complained = running.communicate(timeout=60)
    assert running.returncode == 0, complained
    (item,) = http.get("/v1/jobs").json()["items"]
    result = http.get(f"/v1/jobs/{item['id']}/results").json()["results"][0]
    places = result["policies"]
    share = result["estimates"]["policies"][0]["win_share"]
    assert said.split() == [item["id"], "64", str(places[0]["wins"] + places[1]["wins"]), str(share)]
    assert item["name"] == "by a program"
