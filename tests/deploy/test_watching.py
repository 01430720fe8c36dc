"""The operators' rules and dashboards: sound, each shown to fire or to answer, on the metrics of a real service."""

import math
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
import redis
import yaml

from service.client import Client
from tests.deploy.manifests import documents, of_kind
from tests.deploy.watching import GRAFANA, PROMETHEUS, Prometheus, dashboard_queries, dashboards, program, rules, watching
from tests.servers import RedisServer, RunningWorker, WorkerFactory, poll
from tests.service.running import serving

METRIC = re.compile(r"\bblockyard_[a-z0-9_]+")
RECORDED = re.compile(r"\bblockyard:[a-z0-9_]+:[a-z0-9_]+")
RULE_TESTS = sorted((PROMETHEUS / "tests").glob("*.yml"))
ALERTS = [rule for rule in rules() if "alert" in rule]
RECORDINGS = [rule for rule in rules() if "record" in rule]


def rule_tests(*names: str, folder: Path = PROMETHEUS / "tests") -> subprocess.CompletedProcess[str]:
    files = [folder / name for name in names or [path.name for path in RULE_TESTS]]
    return subprocess.run([program("promtool"), "test", "rules", *files], capture_output=True, text=True, check=False)


def cases_of(name: str) -> list[dict[str, Any]]:
    """The tests of an alert."""
    cases = [case for path in RULE_TESTS for case in yaml.safe_load(path.read_text())["tests"]]
    return [test for case in cases for test in case.get("alert_rule_test", []) if test["alertname"] == name]


def test_configuration_and_rules_are_valid() -> None:
    command = [program("promtool"), "check", "config", "--lint=all", "--lint-fatal", PROMETHEUS / "prometheus.yml"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr


def test_every_rule_does_what_its_tests_say() -> None:
    said = rule_tests()
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.parametrize("alert", ALERTS, ids=lambda rule: rule["alert"])
def test_every_alert_is_shown_to_fire_and_explained(alert: dict[str, Any]) -> None:
    cases = cases_of(alert["alert"])
    assert any(case.get("exp_alerts") for case in cases), "no test shows it firing"
    if "for" in alert or "rate(" in alert["expr"]:
        assert any(not case.get("exp_alerts") for case in cases), "no test shows it silent"
    assert alert["labels"]["severity"] in ("warning", "critical")
    assert set(alert["annotations"]) == {"summary", "description", "runbook_url"}
    assert alert["annotations"]["runbook_url"] == f"OPERATIONS.md#{alert['alert'].lower()}"
    assert f"\n### {alert['alert']}\n" in (PROMETHEUS.parent / "OPERATIONS.md").read_text()


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda rule: rule["record"])
def test_every_recording_is_asked_by_a_test(recording: dict[str, Any]) -> None:
    cases = yaml.safe_load((PROMETHEUS / "tests/recording.yml").read_text())["tests"]
    asked = [test for case in cases for test in case["promql_expr_test"] if recording["record"] in test["expr"]]
    assert any(test["exp_samples"] for test in asked)


@pytest.mark.parametrize(
    ("tests", "was", "becomes"),
    [("alerts.yml", "for: 5m", "for: 0s"), ("alerts.yml", "== -1", "== 0"), ("recording.yml", "max ", "sum ")],
)
def test_rule_tests_can_fail(tmp_path: Path, tests: str, was: str, becomes: str) -> None:
    for folder in ("rules", "tests"):
        (tmp_path / folder).mkdir()
        for path in (PROMETHEUS / folder).glob("*.yml"):
            text = path.read_text()
            (tmp_path / folder / path.name).write_text(text.replace(was, becomes) if folder == "rules" else text)
    assert rule_tests(tests, folder=tmp_path / "tests").returncode != 0


def test_dashboards_are_what_the_script_makes(tmp_path: Path) -> None:
    script = tmp_path / "dashboards.py"
    script.write_bytes((GRAFANA / "dashboards.py").read_bytes())
    subprocess.run([sys.executable, script], check=True)
    made = {path.name: path.read_text() for path in (tmp_path / "dashboards").iterdir()}
    assert made == {path.name: path.read_text() for path in (GRAFANA / "dashboards").iterdir()}


def test_dashboards_explain_themselves() -> None:
    assert {dashboard["title"] for dashboard in dashboards().values()} == {"Service", "Jobs", "Regressions"}
    for dashboard in dashboards().values():
        taken: set[tuple[int, int]] = set()
        assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
        for panel in dashboard["panels"]:
            defaults = panel["fieldConfig"]["defaults"]
            assert panel["description"].endswith("."), panel["title"]
            assert defaults["unit"], panel["title"]
            assert defaults["thresholds"]["steps"][0]["value"] is None
            assert all(target["legendFormat"] for target in panel["targets"]), panel["title"]
            for target in panel["targets"]:
                if re.fullmatch(r"\d+%", target["legendFormat"]):
                    assert target["legendFormat"] in panel["description"], "whoever reads a quantile is told of what"
                if "rate(" in target["expr"] and "_quantile(" not in target["expr"]:
                    assert defaults["unit"] in ("cps", "reqps"), f"{panel['title']}: a rate is a second's"
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            assert at["x"] + at["w"] <= 24, panel["title"]
            assert not taken & cells, f"{panel['title']} lies over another panel"
            taken |= cells
        names = {variable["name"] for variable in dashboard["templating"]["list"]}
        used = set(re.findall(r"\$\{?([a-z]+)\b", str(dashboard["panels"])))
        assert used == names, dashboard["title"]
    assert {"ruleset", "players"} <= {item["name"] for item in dashboards()["jobs.json"]["templating"]["list"]}


def test_provisioning_names_what_is_there() -> None:
    (source,) = yaml.safe_load((GRAFANA / "provisioning/datasources/prometheus.yaml").read_text())["datasources"]
    (provider,) = yaml.safe_load((GRAFANA / "provisioning/dashboards/blockyard.yaml").read_text())["providers"]
    for dashboard in dashboards().values():
        assert dashboard["templating"]["list"][0]["current"]["value"] == source["uid"]
    assert provider["type"] == "file"


def test_no_answer_is_made_up() -> None:
    for expression in [*dashboard_queries(), *(rule["expr"] for rule in rules())]:
        assert "vector(" not in expression, expression
        assert set(RECORDED.findall(expression)) <= {rule["record"] for rule in RECORDINGS}, expression


TAKEN = re.compile(r"(max|sum) (without|by) \(([^)]*)\) \((?:rate\(|increase\()?$")
COUNTED = ("count without (instance, pod) (", "absent(")
"""What asks for the replicas themselves."""


@pytest.mark.parametrize("expression", sorted({*dashboard_queries(), *(rule["expr"] for rule in rules())}))
def test_replicas_are_taken_together(expression: str) -> None:
    """What they tell alike counts once, what each counts for itself adds up; no figure is left one for each of them."""
    for metric in METRIC.finditer(expression):
        before = expression[: metric.start()]
        if metric[0] == "blockyard_redis_up" and before.endswith(COUNTED):
            continue
        taken = TAKEN.search(before)
        assert taken, f"{metric[0]} is taken replica by replica"
        how, without, labels = taken.groups()
        left = {"instance", "pod"} & set(labels.split(", "))
        assert how == ("sum" if metric[0].startswith("blockyard_http_") else "max"), metric[0]
        assert left == ({"instance", "pod"} if without == "without" else set()), metric[0]


SHORT = {"preset": "block", "ends": {"target": 40}}
JOB = {
    "seed": 11,
    "scenarios": [
        {"policies": ["heaviest", "random"], "matches": 500_000},
        {
            "policies": ["random", "heaviest", "double"],
            "matches": 200_000,
            "ruleset": {"preset": "block", "ends": {"target": 40}},
        },
    ],
}
FIRST = {**JOB, "scenarios": [{**scenario, "matches": 12} for scenario in JOB["scenarios"]]}  # type: ignore[index, attr-defined]
EQUAL = {"name": "equal", "players": 2, "candidate": "heaviest", "baseline": "heaviest", "h0": -0.3, "h1": 0.0}
NIGHTLY = {"seed": 7, "schedule": "0 2 * * *", "tests": [{**EQUAL, "max_matches": 512}]}


def played(client: Client, *jobs: str) -> dict[tuple[str, str, str], int]:
    """What the results of jobs add up to, by metric, ruleset and players."""
    found: dict[tuple[str, str, str], int] = {}
    for job in jobs:
        for result, (ruleset, players) in zip(client.results(job)["results"], [("block", "2"), ("block+", "3")], strict=False):
            for name in ("matches", "rounds", "plies"):
                key = (name, ruleset, players)
                found[key] = found.get(key, 0) + int(result[name])
    return found


def work_under_watch(
    folder: Path, redis_url: str, worker_factory: WorkerFactory,
    disturb: Callable[[Client, str, RunningWorker], None] | None = None,
) -> None:  # fmt: skip
    """A regression and a job on a worker and two replicas, `disturb` in between; then everything that operators ask."""
    with (
        serving(redis_url, sweep_seconds=0.2, fold_seconds=0.1) as one,
        serving(redis_url, sweep_seconds=0.2, fold_seconds=0.1) as two,
        redis.Redis.from_url(redis_url) as store,
        watching(folder, [api.url.removeprefix("http://") for api in (one, two)]) as prometheus,
        Client(one.url) as client,
    ):
        store.config_set("maxmemory", 2**30)
        poll(lambda: prometheus.value("max(blockyard_redis_up)") == 1, pause=0.1)
        moving = Moving(prometheus)
        worker = worker_factory(url=redis_url, audit_every=1, chunk_seconds=0.1)
        http = httpx2.Client(base_url=one.url, trust_env=False, timeout=30)
        http.put("/v1/regressions/nightly", json=NIGHTLY).raise_for_status()
        run = http.post("/v1/regressions/nightly/runs", json={}).raise_for_status().json()["id"]
        first = client.submit(FIRST)["id"]
        client.wait(first)
        # A counter's first value tells of no increase: the job begins once its series have been seen.
        poll(lambda: len(prometheus.ask("max without (instance) (blockyard_matches_total)")) == 2, pause=0.1)
        seen = prometheus.value("sum(blockyard:matches:rate5m)") or 0.0
        job = client.submit(JOB)["id"]
        if disturb is not None:
            disturb(client, job, worker)
        client.wait(job)
        poll(lambda: http.get(f"/v1/regressions/nightly/runs/{run}").json()["state"] == "done", pause=0.1)
        expected = played(client, first, job, f"{run}.0")
        for url, requests in ((one.url, 3), (two.url, 4)):
            for _ in range(requests):
                httpx2.get(f"{url}/v1/policies", trust_env=False, timeout=30).raise_for_status()

        def told(name: str, ruleset: str, players: str) -> float | None:
            selector = f'blockyard_{name}_total{{ruleset="{ruleset}",players="{players}"}}'
            return prometheus.value(f"max without (instance) ({selector})")

        poll(lambda: all(told(*key) == count for key, count in expected.items()), pause=0.2)
        poll(lambda: prometheus.value('sum(blockyard_http_requests_total{route="/v1/policies"})') == 7, pause=0.2)
        poll(lambda: (prometheus.value("sum(blockyard:matches:rate5m)") or 0.0) > seen, pause=0.2)
        everything_answers(prometheus)
        moving.wait()
        for query in scaling_queries():
            assert (prometheus.value(f"max_over_time(({query})[5m:500ms])") or 0) > 0, "workers are wanted while there is work"
        poll(lambda: all(prometheus.value(query) == 0 for query in scaling_queries()), pause=0.2)
        http.close()


STEADY = ("blockyard_redis_up", "blockyard_redis_memory_limit_bytes", "blockyard_jobs_without_engine", "blockyard:http_errors")
"""What a job that goes well does not move: an alert's rule test shows each of them at other values."""


class Moving:
    """Knows every query of every dashboard as it was before, and which have moved since: no series, then some, counts too."""

    def __init__(self, prometheus: Prometheus) -> None:
        self._prometheus = prometheus
        self._begun = time.monotonic()
        self._first = {query: set(prometheus.ask(query)) for query in set(dashboard_queries()) if not _is_steady(query)}

    def wait(self) -> None:
        """Until every query has moved; names those that do not."""
        with suppress(AssertionError):
            poll(self._all_have, pause=0.2)
        assert not list(self._first), "these did not move"

    def _all_have(self) -> bool:
        for query, first in list(self._first.items()):
            # Chunks are short: what they moved for a moment is found among all that was seen since.
            seconds = max(1, int(time.monotonic() - self._begun))
            changes = self._prometheus.ask(f"changes(({query})[{seconds}s:500ms])")
            named = {frozenset(pair for pair in labels if pair[0] != "__name__") for labels in first}
            if any(count > 0 or labels not in named for labels, count in changes.items()):
                del self._first[query]
        return not self._first


def _is_steady(query: str) -> bool:
    return any(name in query for name in STEADY)


BY_LOAD = {"BlockyardApiErrors", "BlockyardApiSlow"}
"""What a busy machine, or a test that takes Redis away, may rightly bring up."""


def scaling_queries() -> list[str]:
    """What decides how many workers a cluster runs."""
    (scaled,) = of_kind(documents("production"), "ScaledObject")
    return [trigger["metadata"]["query"] for trigger in scaled["spec"]["triggers"]]


def everything_answers(prometheus: Prometheus) -> None:
    """Every recording and every query of a dashboard has a number, every rule is sound, every metric is known."""
    names = set(prometheus.get("label/__name__/values"))
    for expression in [*dashboard_queries(), *(rule["expr"] for rule in rules())]:
        assert set(METRIC.findall(expression)) <= names, expression
    recorded = [rule[part] for rule in RECORDINGS for part in ("expr", "record")]
    for expression in [*dashboard_queries(), *recorded, *scaling_queries()]:
        poll(lambda query=expression: any(not math.isnan(v) for v in prometheus.ask(query).values()), pause=0.1, patience=30)  # type: ignore[misc]
        assert not {label for labels in prometheus.ask(expression) for label, _ in labels} & {"instance", "pod"}, expression
    groups = prometheus.get("rules")["groups"]
    assert sum(len(group["rules"]) for group in groups) == len(rules())
    for rule in (rule for group in groups for rule in group["rules"]):
        assert rule["health"] == "ok", rule
    for alert in ALERTS:
        if alert["alert"] not in BY_LOAD:
            assert prometheus.ask(alert["expr"]) == {}, alert["alert"]  # all is well; its tests show each firing


def test_a_real_prometheus_sees_a_real_job(tmp_path: Path, redis_url: str, worker_factory: WorkerFactory) -> None:
    try:
        work_under_watch(tmp_path, redis_url, worker_factory)
    finally:
        with redis.Redis.from_url(redis_url) as client:
            client.config_set("maxmemory", 0)


@pytest.mark.slow
def test_counters_are_exact_after_kills_and_a_restart_of_redis(
    tmp_path: Path, own_redis: RedisServer, worker_factory: WorkerFactory
) -> None:
    def disturb(client: Client, job: str, worker: RunningWorker) -> None:
        poll(lambda: client.job(job)["progress"]["matches_done"] > 0)
        for child in worker.children():
            child.kill()
        own_redis.stop(9)
        own_redis.start()
        with redis.Redis.from_url(own_redis.url) as store:
            store.config_set("maxmemory", 2**30)
        worker.stop(9)
        worker_factory(name="two", url=own_redis.url, audit_every=1, chunk_seconds=0.1)

    work_under_watch(tmp_path, own_redis.url, worker_factory, disturb)
