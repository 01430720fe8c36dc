"""Regressions over HTTP: refused and stored, run by a real worker and a real scheduler, announced, scheduled, promoted."""

import hashlib
import hmac
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import orjson
import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from service import metrics as metrics_module
from service.schemas.regressions import EXAMPLE, RegressionAnswer, RunAnswer
from tests.servers import WorkerFactory, poll
from tests.service.running import Service, serving
from tests.service.test_refusals import paths_of
from workers.regressions.store import DUE

StartScheduler = Callable[..., Path]
Stored = Callable[[], dict[bytes, bytes]]
TEST: dict[str, Any] = {
    "name": "two seats", "players": 2, "candidate": "lightest", "baseline": "heaviest", "h0": -0.02, "h1": 0.0,
    "max_matches": 40_000,
}  # fmt: skip
EQUAL = {**TEST, "name": "equal", "candidate": "heaviest"}
GONE = {**TEST, "baseline": {"name": "heaviest", "version": "0"}}
"""Fails at once, by the name of its baseline: a run that needs nobody to play it."""
SECRET = "a secret of the operator"


def spec(*tests: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"seed": 77, "tests": list(tests or (TEST,)), **more}


def put(http: httpx2.Client, *tests: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = http.put("/v1/regressions/nightly", json=spec(*tests, **more))
    assert answer.is_success, answer.text
    stored: dict[str, Any] = answer.json()
    return stored


def start(http: httpx2.Client, **body: Any) -> str:
    """Begins a run of the regression; answers its address."""
    answer = http.post("/v1/regressions/nightly/runs", json=body)
    assert answer.status_code == 202, answer.text
    location = answer.headers["Location"]
    assert location == f"/v1/regressions/nightly/runs/{answer.json()['id']}"
    return location


def ended(http: httpx2.Client, location: str) -> dict[str, Any]:
    poll(lambda: http.get(location).json()["state"] == "done", pause=0.1)
    run: dict[str, Any] = http.get(location).json()
    RunAnswer.model_validate(run)
    return run


@dataclass
class Receiver:
    """A web server that takes webhooks: the headers and body of each."""

    url: str = ""
    taken: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.taken.append((dict(self.headers.items()), body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        found.url = f"http://127.0.0.1:{server.server_port}/hook"
        yield found
        server.shutdown()
        thread.join()


@pytest.fixture
def near(redis_url: str) -> Iterator[httpx2.Client]:
    """A client of an API whose operator lets webhooks call this machine."""
    with (
        serving(redis_url, webhook_allow_private=True) as service,
        httpx2.Client(base_url=service.url, trust_env=False, timeout=60) as client,
    ):
        yield client


# Stored


def test_a_regression_is_new_once_then_changed_then_gone(http: httpx2.Client) -> None:
    first = http.put("/v1/regressions/nightly", json=spec(name="nightly", schedule="0 2 * * *", timezone="Europe/Istanbul"))
    assert (first.status_code, first.headers["Location"]) == (201, "/v1/regressions/nightly")
    assert RegressionAnswer.model_validate(first.json()).tests[0].ruleset == "block"
    assert first.json()["next_run_at"][11:] == "23:00:00Z"
    second = http.put("/v1/regressions/nightly", json=spec(EQUAL))
    assert (second.status_code, second.json()["next_run_at"]) == (200, None)
    assert http.get("/v1/regressions/nightly").json() == second.json()
    assert http.get("/v1/regressions").json() == {"items": [second.json()]}
    assert http.delete("/v1/regressions/nightly").status_code == 204
    assert http.get("/v1/regressions").json() == {"items": []}
    assert http.get("/v1/regressions/nightly").status_code == 404


def test_a_large_seed_travels_as_digits(http: httpx2.Client) -> None:
    assert put(http, seed=str(2**64 - 1))["seed"] == str(2**64 - 1)
    assert put(http, seed=2**53 - 1)["seed"] == 2**53 - 1


def test_the_example_is_accepted(http: httpx2.Client) -> None:
    document = http.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    assert schemas["RegressionRequest"]["examples"] == [EXAMPLE]
    assert http.put("/v1/regressions/nightly", json=EXAMPLE).status_code == 201
    (example,) = schemas["RunRequest"]["examples"]
    assert http.post("/v1/regressions/nightly/runs", json=example).status_code == 202
    (once,) = schemas["RunOnceRequest"]["examples"]
    assert http.post("/v1/regression-runs", json=once).status_code == 202


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (spec(name="weekly"), "name"),
        (spec(colour="red"), "colour"),
        ({"seed": 1}, "tests"),
        ({"tests": []}, "tests"),
        (spec(TEST, TEST), "tests[1].name"),
        (spec({**TEST, "candidate": "nobody"}), "tests[0].candidate"),
        (spec({**TEST, "candidate": None}), "tests[0].candidate"),
        (spec({**TEST, "h0": "low"}), "tests[0].h0"),
        (spec({**TEST, "h0": 0.1}), "tests[0].h0"),
        (spec({**TEST, "measure": "margin"}), "tests[0].measure"),
        (spec({**TEST, "max_matches": 511}), "tests[0].max_matches"),
        (spec({**TEST, "max_matches": 10**12 + 1}), "tests[0].max_matches"),
        (spec({**TEST, "max_matches": 2**64 - 1}), "tests[0].max_matches"),
        (spec({**TEST, "players": 9}), "tests[0].players"),
        (spec({**TEST, "players": 5}), "tests[0].ruleset"),
        (spec(alpha=0), "alpha"),
        (spec(beta=0.5), "beta"),
        (spec(schedule="nightly"), "schedule"),
        (spec(timezone="Mars/Base"), "timezone"),
        (spec(seed=-1), "seed"),
        (spec(webhook="ftp://hooks.example"), "webhook"),
        (spec(webhook="https://"), "webhook"),
        (spec(webhook="http://[1"), "webhook"),
        (spec(webhook="https://user:password@hooks.example"), "webhook"),
        (spec(webhook="http://127.0.0.1:8000/hook"), "webhook"),
        (spec(webhook="http://[::ffff:10.0.0.1]/hook"), "webhook"),
        (spec(webhook="http://169.254.169.254/latest"), "webhook"),
        (spec(webhook="http://localhost/hook"), "webhook"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_stored(http: httpx2.Client, stored: Stored, body: Any, path: str) -> None:
    before = stored()
    assert paths_of(http.put("/v1/regressions/nightly", json=body))[0].startswith(path)
    assert stored() == before


@pytest.mark.parametrize("name", ["-x", "a b", "x" * 61, "x" * 300])
def test_a_name_that_cannot_be_is_refused_or_not_found(http: httpx2.Client, name: str) -> None:
    assert "name" in paths_of(http.put(f"/v1/regressions/{name}", json=spec()))
    assert http.get(f"/v1/regressions/{name}").status_code == 404
    assert http.get(f"/v1/regressions/{name}/runs").status_code == 404


def test_what_is_not_there_is_not_found(http: httpx2.Client) -> None:
    for path in ("", "/runs", "/runs/x", "/runs/a b"):
        assert http.get(f"/v1/regressions/nightly{path}").status_code == 404, path
    assert http.delete("/v1/regressions/nightly").status_code == 404
    assert http.post("/v1/regressions/nightly/runs").status_code == 404
    assert http.post("/v1/regressions/nightly/promote").status_code == 404
    put(http)
    assert http.get("/v1/regressions/nightly/runs").json() == {"items": [], "next_cursor": None}
    assert http.post("/v1/regressions/nightly/promote", json={"run": "x"}).status_code == 404


def test_a_run_s_candidate_is_refused_by_its_own_name(http: httpx2.Client, stored: Stored) -> None:
    put(http, TEST, EQUAL)
    before = stored()
    runs = "/v1/regressions/nightly/runs"
    assert paths_of(http.post(runs, json={"candidate": "nobody"})) == ["candidate"]
    assert paths_of(http.post(runs, json={"candidate": {"prefer": ["beauty"]}})) == ["candidate.prefer[0]"]
    assert paths_of(http.post(runs, json={"candidate": 7})) == ["candidate"]
    assert paths_of(http.post(runs, json={"labels": {"a": 1}})) == ["labels.a"]
    assert stored() == before


# Played


def test_a_weaker_candidate_is_caught_and_told_and_an_equal_one_passes(
    near: httpx2.Client, worker_factory: WorkerFactory, scheduler_factory: StartScheduler, receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(metrics_module, "CACHE_SECONDS", 0.0)
    worker_factory()
    scheduler_factory(webhook_allow_private=1, webhook_secret=SECRET)
    put(near, TEST, EQUAL, webhook=receiver.url)
    location = start(near, labels={"branch": "main"})
    run = ended(near, location)
    assert (run["verdict"], run["labels"], run["seed"], run["late"]) == ("regressed", {"branch": "main"}, 77, False)
    assert run["scheduled_at"] is None
    assert run["created_at"] < run["finished_at"]
    weaker, equal = run["tests"]
    assert (weaker["verdict"], equal["verdict"]) == ("regressed", "passed")
    assert weaker["llr"] <= weaker["lower"] < 0
    assert equal["llr"] >= equal["upper"] > 0
    for test in run["tests"]:
        assert test["matches"] + test["matches_saved"] == 78 * 256 * 2
        assert test["matches_saved"] > 0
        assert test["blocks"] == 256 * test["looks"] == 256 * len(test["path"])
        assert test["results"]["matches"] == test["matches"]
        assert test["results"]["policies"][0]["policy"] == ("lightest" if test is weaker else "heaviest")
        assert test["results"]["engine_version"] == test["engine_version"] == run["engine_version"]
        assert test["share_ci95"][0] <= test["share"] <= test["share_ci95"][1]
    assert run["spec"]["tests"][0]["candidate"] == "lightest"

    again = ended(near, start(near))
    assert again["id"] != run["id"]
    for one, other in zip(run["tests"], again["tests"], strict=True):
        assert (one["path"], one["results"]) == (other["path"], other["results"])
    listed = near.get("/v1/regressions/nightly/runs").json()["items"]
    assert [item["id"] for item in listed] == [again["id"], run["id"]]
    assert listed[1] == run
    assert near.get("/v1/regressions/nightly").json()["last_run"]["verdict"] == "regressed"
    first = near.get("/v1/regressions/nightly/runs", params={"limit": 1}).json()
    assert first == {"items": [again], "next_cursor": again["id"]}
    second = near.get("/v1/regressions/nightly/runs", params={"limit": 1, "cursor": first["next_cursor"]}).json()
    assert second == {"items": [run], "next_cursor": None}
    assert near.get("/v1/regressions/nightly/runs", params={"cursor": run["id"]}).json() == {"items": [], "next_cursor": None}
    astray = near.get("/v1/regressions/nightly/runs", params={"cursor": "nightly"})
    assert (astray.status_code, astray.json()["detail"].partition(":")[0]) == (404, "cursor")

    poll(lambda: len(receiver.taken) == 2)
    _check_announcement(*receiver.taken[0], regression="nightly", run=run["id"], verdict="regressed")

    samples = {
        (sample.name, sample.labels.get("test")): sample.value
        for family in text_string_to_metric_families(near.get("/metrics").text)
        for sample in family.samples
        if sample.labels.get("regression") == "nightly"
    }
    assert samples["blockyard_regression_verdict", "two seats"] == -1
    assert samples["blockyard_regression_verdict", "equal"] == 1
    assert samples["blockyard_regression_llr", "equal"] == equal["llr"]
    finished = datetime.fromisoformat(again["finished_at"]).timestamp()
    assert samples["blockyard_regression_last_run_timestamp_seconds", None] == pytest.approx(finished, abs=1e-3)

    # What has ended is kept whole, with its integers and fingerprints, also where its jobs are gone.
    assert near.delete(f"/v1/jobs/{weaker['job']}").status_code == 204
    assert near.get(location).json() == run
    assert weaker["results"]["policies"][0]["fingerprint"]

    once = near.post("/v1/regression-runs", json=spec(EQUAL, name="once", labels={"pull": "1"}))
    assert once.status_code == 202
    assert ended(near, once.headers["Location"])["verdict"] == "passed"
    assert near.get("/v1/regressions/once").status_code == 404
    assert [item["id"] for item in near.get("/v1/regressions/once/runs").json()["items"]] == [once.json()["id"]]
    assert near.get(f"/v1/regressions/nightly/runs/{once.json()['id']}").status_code == 404
    assert SECRET not in near.get("/v1/regressions/nightly").text + near.get(location).text + near.get("/metrics").text


def _check_announcement(headers: dict[str, str], body: bytes, **expected: str) -> None:
    assert orjson.loads(body) == {"event": "verdict", "late": False, **expected}
    parts = dict(part.split("=") for part in headers["Blockyard-Signature"].split(","))
    signed = parts["t"].encode() + b"." + body
    assert parts["v1"] == hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    assert abs(int(parts["t"]) - datetime.now(UTC).timestamp()) < 120


def test_a_webhook_to_this_machine_is_refused_without_the_setting(
    near: httpx2.Client, scheduler_factory: StartScheduler, receiver: Receiver
) -> None:
    """Also one that was stored while the setting was there: the address is judged again whenever it is called."""
    log = scheduler_factory(webhook_secret=SECRET)
    put(near, GONE, webhook=receiver.url)
    run = near.get(start(near)).json()
    assert (run["state"], run["verdict"]) == ("done", "failed")
    assert "baseline.version: policy heaviest has no version '0'" in run["tests"][0]["error"]
    assert run["tests"][0]["results"] is None
    poll(lambda: "127.0.0.1 is not a public address" in log.read_text())
    assert receiver.taken == []
    assert SECRET not in log.read_text()


def test_schedulers_with_clocks_apart_one_of_them_killed_begin_what_is_due_once(
    http: httpx2.Client, service: Service, scheduler_factory: StartScheduler
) -> None:
    now = datetime.now(UTC)
    minute = now.replace(second=0, microsecond=0)
    scheduler_factory()
    (killed,) = [child for child in psutil.Process().children() if "workers.scheduler" in " ".join(child.cmdline())]
    for clock in (-90_000, 90_000):
        scheduler_factory(clock=clock)
    stored = put(http, GONE, schedule=f"{minute.minute} {minute.hour} * * *")
    assert stored["next_run_at"] > now.isoformat()
    # The minute that has just begun is made the next to run: what follows does not wait for a clock.
    service.state.ledger.store.read(("ZADD", DUE, minute.timestamp(), "nightly"))
    killed.kill()
    poll(lambda: http.get("/v1/regressions/nightly/runs").json()["items"])
    poll(lambda: http.get("/v1/regressions/nightly").json()["next_run_at"] > now.isoformat())
    # Each of the others has looked at least once more by now.
    time.sleep(2.5)
    (run,) = http.get("/v1/regressions/nightly/runs").json()["items"]
    assert run["id"] == f"nightly-{minute:%Y%m%dT%H%M%SZ}"
    assert datetime.fromisoformat(run["scheduled_at"]) == minute
    following = datetime.fromisoformat(http.get("/v1/regressions/nightly").json()["next_run_at"])
    assert following == minute + timedelta(days=1)


# Steered


def test_a_run_under_way_keeps_its_regression_until_it_is_stopped(http: httpx2.Client, service: Service) -> None:
    put(http)
    location = start(http, candidate="double")
    run = http.get(location).json()
    assert (run["state"], run["verdict"], run["finished_at"]) == ("running", None, None)
    (test,) = run["tests"]
    assert (test["verdict"], test["looks"], test["share"], test["path"]) == (None, 0, None, [])
    assert run["spec"]["tests"][0]["candidate"] == "double"
    assert http.get("/v1/regressions/nightly").json()["tests"][0]["candidate"] == "lightest"
    assert http.delete("/v1/regressions/nightly").status_code == 409
    assert http.post(f"/v1/jobs/{test['job']}/cancel").status_code == 200
    service.state.regressions.advance()
    assert http.get(location).json()["verdict"] == "stopped"
    assert http.delete("/v1/regressions/nightly").status_code == 204
    assert http.get(location).status_code == 404


def test_the_candidate_of_a_run_is_promoted(http: httpx2.Client) -> None:
    put(http, GONE)
    location = start(http, candidate={"prefer": ["double", "lightest"]})
    promoted = http.post("/v1/regressions/nightly/promote", json={"run": location.rpartition("/")[2]})
    assert promoted.status_code == 200
    assert promoted.json()["tests"][0]["baseline"] == {"prefer": ["double", "lightest"]}
    own = http.post("/v1/regressions/nightly/promote").json()
    assert own["tests"][0]["baseline"] == {"name": "lightest", "version": "1"}
    assert list(own["pinned"]) == ["two seats"]
    assert http.get("/v1/regressions/nightly").json() == own
    assert put(http, GONE, EQUAL)["pinned"] == {}
    other = http.post("/v1/regressions/nightly/promote", json={"run": location.rpartition("/")[2]})
    assert other.status_code == 409
