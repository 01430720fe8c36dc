"""The manifests: each overlay renders, is valid, refers to what is there, and is confined."""

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import redis
from cronsim import CronSim

from service.app import create_app
from service.metrics import ledger_metrics
from service.settings import ServiceSettings
from tests.deploy.bare_root import NOBODY
from tests.deploy.manifests import (
    K8S,
    OVERLAYS,
    PREVIOUS,
    Document,
    containers,
    documents,
    namespace,
    of_kind,
    pods,
    problems,
    rendered,
)
from tests.deploy.watching import PROMETHEUS, check_command, longest_chunk_without_an_alert, program, rules
from workers.jobs.ledger import Ledger
from workers.jobs.store import connect

VERSION = "1.34"
CUSTOM = {"PodMonitor", "PrometheusRule", "ScaledObject"}
METRIC = re.compile(r"\bblockyard_[a-z0-9_]+")
HTTP = {"blockyard_http_requests_total", "blockyard_http_request_seconds_bucket"}


@pytest.fixture(scope="module")
def routes() -> set[str]:
    """What the application answers."""
    return {route.path for route in create_app(ServiceSettings()).state.routes}


@pytest.mark.parametrize("overlay", [*OVERLAYS, PREVIOUS])
def test_overlay_is_strictly_valid(overlay: str, tmp_path: Path) -> None:
    path = tmp_path / f"{overlay}.yaml"
    path.write_text(rendered(overlay))
    command = [program("kubernetes-validate"), "--strict", "--kubernetes-version", VERSION, path]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    report = said.stdout + said.stderr
    assert said.returncode == 0, report
    passed = len(re.findall(r" passed for resource ", report))
    assert passed == sum(document["kind"] not in CUSTOM for document in documents(overlay)), report


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_everything_points_at_something(overlay: str, routes: set[str]) -> None:
    found = documents(overlay)
    assert problems(found, routes) == []
    assert {document["metadata"].get("namespace") for document in found} == {None, namespace(found)}
    assert [document["kind"] for document in found if "namespace" not in document["metadata"]] == ["Namespace"]


def one(found: list[Document], kind: str, name: str) -> Document:
    (item,) = [item for item in of_kind(found, kind) if item["metadata"]["name"] == name]
    return item


def rule(found: list[Document]) -> Document:
    """The first rule."""
    first: Document = one(found, "PrometheusRule", "blockyard")["spec"]["groups"][0]["rules"][0]
    return first


def trigger(found: list[Document]) -> Document:
    """What the workers' number follows."""
    (only,) = one(found, "ScaledObject", "worker")["spec"]["triggers"]
    metadata: Document = only["metadata"]
    return metadata


def processes(found: list[Document]) -> int:
    """Playing processes of a worker."""
    (container,) = pods(found)["worker"]["spec"]["containers"]
    return int(container["args"][container["args"].index("--processes") + 1])


WRONG: dict[str, Callable[[list[Document]], object]] = {
    "scales": lambda found: one(found, "ScaledObject", "worker")["spec"]["scaleTargetRef"].update(name="wroker"),
    "is unknown": lambda found: one(found, "ScaledObject", "worker")["spec"].update(minReplicas=1),
    "rules[0].exp is unknown": lambda found: rule(found).update(exp=""),
    "rules[0].expr is missing": lambda found: rule(found).pop("expr"),
    "rules[0].for may not be '5'": lambda found: rule(found).update({"for": "5"}),
    "threshold may not be 40": lambda found: trigger(found).update(threshold=40),
    "query is missing": lambda found: trigger(found).pop("query"),
    "PodMonitor blockyard asks": lambda found: one(found, "PodMonitor", "blockyard")["spec"]["podMetricsEndpoints"][0].update(
        path="/metric"
    ),
    "nightly calls": lambda found: pods(found)["nightly"]["spec"]["containers"][0]["env"][0].update(value="http://api:8000"),
    "ingress leads": lambda found: one(found, "Service", "api")["spec"]["ports"][0].update(name="web"),
    "selects": lambda found: one(found, "Service", "redis")["spec"]["selector"].update(part="redis"),
    "uses port": lambda found: one(found, "PodMonitor", "blockyard")["spec"]["podMetricsEndpoints"][0].update(port="metrics"),
    "opens port": lambda found: one(found, "NetworkPolicy", "worker")["spec"]["egress"][0]["ports"][0].update(port=6380),
    "nothing answers": lambda found: pods(found)["api"]["spec"]["containers"][0]["readinessProbe"]["httpGet"].update(
        path="/ready"
    ),
    "unknown secret": lambda found: pods(found)["worker"]["spec"]["containers"][0]["env"][0]["valueFrom"][
        "secretKeyRef"
    ].update(name="redis"),
    "spreads": lambda found: pods(found)["worker"]["spec"]["topologySpreadConstraints"][0]["labelSelector"][
        "matchLabels"
    ].update(part="worker"),
    "mounts": lambda found: pods(found)["redis"]["spec"]["volumes"].clear(),
    "no service": lambda found: one(found, "StatefulSet", "redis")["spec"].update(serviceName="valkey"),
}


@pytest.mark.parametrize("problem", WRONG)
def test_what_points_nowhere_is_found(problem: str, routes: set[str]) -> None:
    found = copy.deepcopy(documents("production"))
    WRONG[problem](found)
    assert any(problem in told for told in problems(found, routes))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_pod_is_confined(overlay: str) -> None:
    found = documents(overlay)
    for name, template in pods(found).items():
        spec = template["spec"]
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["runAsUser"] == (999 if name == "redis" else int(NOBODY)), "as its image has it"
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True, name
            assert context["allowPrivilegeEscalation"] is False, name
            assert context["capabilities"] == {"drop": ["ALL"]}, name
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}, name
            assert "memory" in container["resources"]["limits"], name
            assert re.fullmatch(r"(valkey/valkey|blockyard):[0-9]+\.[0-9]+\.[0-9]+(-[a-z]+)?", container["image"]), name
    denied = one(found, "NetworkPolicy", "default-deny")["spec"]
    assert denied == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    policies = {policy["metadata"]["name"] for policy in of_kind(found, "NetworkPolicy")}
    assert policies >= set(pods(found)), "a component without a policy of its own reaches nothing"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_container_runs_a_command_with_settings_that_exist(overlay: str) -> None:
    known = {f"BLOCKYARD_{name.upper()}" for name in ServiceSettings.model_fields} | {"BLOCKYARD_URL", "BLOCKYARD_KEY"}
    ours = [container for container in containers(documents(overlay)) if container["image"].startswith("blockyard:")]
    assert {container["name"] for container in ours} == {"api", "worker", "scheduler", "nightly"}
    for container in ours:
        given = {variable["name"] for variable in container["env"]}
        assert given <= known, container["name"]
        if container["name"] == "api":
            assert "BLOCKYARD_ADMIN_KEY" in given, "without a key it does not listen to anything but loopback"
        check_command(container["args"])


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_workers_play_on_as_many_cores_as_they_have(overlay: str) -> None:
    found = documents(overlay)
    (container,) = pods(found)["worker"]["spec"]["containers"]
    assert float(container["resources"]["limits"]["cpu"]) == processes(found)
    assert "replicas" not in one(found, "Deployment", "worker")["spec"], "it would fight the autoscaler"


@pytest.mark.parametrize("overlay", [*OVERLAYS, PREVIOUS])
def test_everybody_is_given_time_to_end(overlay: str) -> None:
    """A worker for any chunk of whose length no alert tells; an API for its own wait, after the one for its callers."""
    longest = longest_chunk_without_an_alert()
    for name, template in pods(documents(overlay)).items():
        spec = template["spec"]
        grace = spec.get("terminationGracePeriodSeconds", 30)
        if name.startswith("worker"):
            assert grace > longest, "it is killed while it plays"
        if name == "api":
            (container,) = spec["containers"]
            program, seconds = container["lifecycle"]["preStop"]["exec"]["command"]
            assert program == "sleep"
            assert grace > int(seconds) + 2 * ServiceSettings().shutdown_seconds


QUERY_CASES = """
rule_files: []
tests:
  - interval: 15s
    input_series:
      - {series: 'blockyard_pending_chunks{namespace="NAMESPACE", pod="one", priority="high"}', values: "100"}
      - {series: 'blockyard_pending_chunks{namespace="NAMESPACE", pod="two", priority="high"}', values: "100"}
      - {series: 'blockyard_pending_chunks{namespace="NAMESPACE", pod="two", priority="low"}', values: "20"}
      - {series: 'blockyard_leased_chunks{namespace="NAMESPACE", pod="one"}', values: "LEASED"}
      - {series: 'blockyard_leased_chunks{namespace="NAMESPACE", pod="two"}', values: "LEASED"}
      - {series: 'blockyard_pending_chunks{namespace="another", pod="three", priority="low"}', values: "5000x100"}
      - {series: 'blockyard_leased_chunks{namespace="another", pod="three"}', values: "80x100"}
    promql_expr_test:
      - {expr: EXPRESSION, eval_time: 0s, exp_samples: [{value: WANTED}]}
      - {expr: EXPRESSION, eval_time: 10m, exp_samples: []}
"""
"""A hundred and twenty chunks wait, seven workers play with every process, as two replicas tell; then nobody tells a thing."""


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_workers_follow_the_work_of_their_own_installation_and_stay_where_nobody_knows(overlay: str, tmp_path: Path) -> None:
    found = documents(overlay)
    spec, asked = one(found, "ScaledObject", "worker")["spec"], trigger(found)
    waiting = int(re.findall(r" / (\d+) ", asked["query"])[0])
    cases = {
        "EXPRESSION": json.dumps(asked["query"]), "NAMESPACE": namespace(found), "LEASED": str(7 * processes(found)),
        "WANTED": str(120 // waiting + 7),
    }  # fmt: skip
    text = QUERY_CASES
    for word, meaning in cases.items():
        text = text.replace(word, meaning)
    (tmp_path / "query.yml").write_text(text)
    said = subprocess.run(
        [program("promtool"), "test", "rules", tmp_path / "query.yml"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert float(asked["threshold"]) == 1, "its answer is workers"
    assert (spec["minReplicaCount"], float(asked["activationThreshold"])) == (0, 0), "none where there is no work"
    assert asked["ignoreNullValues"] == "false", "no answer is no work, and busy workers are taken away"
    assert "fallback" not in spec


def test_workers_of_the_previous_release_are_like_the_others_and_apart_from_them(routes: set[str]) -> None:
    """Beside production: no selector takes the pods of both, and they are as many as is said."""
    production, previous = documents("production"), documents(PREVIOUS)
    assert {document["kind"] for document in previous} == {"Deployment", "NetworkPolicy", "PodDisruptionBudget"}
    assert problems(production + previous, routes) == []
    assert {document["metadata"]["namespace"] for document in previous} == {namespace(production)}
    assert len(pods(production + previous)) == len(pods(production)) + 1
    assert pods(previous)["worker-previous"]["spec"]["containers"][0]["args"] == ["worker", "--processes", "4"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_nodes_can_be_emptied_and_never_take_everybody(overlay: str) -> None:
    found = documents(overlay)
    scaled = {item["spec"]["scaleTargetRef"]["name"]: item["spec"] for item in of_kind(found, "HorizontalPodAutoscaler")}
    assert all(spec["minReplicas"] < spec["maxReplicas"] for spec in scaled.values())
    budgets = {item["metadata"]["name"]: item["spec"] for item in of_kind(found, "PodDisruptionBudget")}
    for item in of_kind(found, "Deployment"):
        name = item["metadata"]["name"]
        least = scaled[name]["minReplicas"] if name in scaled else item["spec"].get("replicas", 0)
        assert name in budgets or least == 1, name
        if name in budgets:
            assert budgets[name].get("minAvailable", 0) < max(least, 1), f"no node with {name} can be emptied"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_there_is_a_place_to_write_to_and_a_time_to_run_at(overlay: str) -> None:
    found = documents(overlay)
    for name, template in pods(found).items():
        if name == "redis":
            continue
        volumes = {volume["name"]: volume.get("emptyDir") for volume in template["spec"]["volumes"]}
        for container in template["spec"]["containers"]:
            mounts = {mount["mountPath"]: volumes[mount["name"]] for mount in container["volumeMounts"]}
            assert mounts == {"/tmp": {"medium": "Memory", "sizeLimit": "64Mi"}}, name  # as the image's test has it
    nightly = one(found, "CronJob", "nightly")["spec"]
    assert nightly["timeZone"] == "Etc/UTC"
    next(CronSim(nightly["schedule"], datetime.now(UTC)))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_ingress_lets_through_what_the_service_takes(overlay: str) -> None:
    annotations = one(documents(overlay), "Ingress", "api")["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/proxy-body-size"] == f"{ServiceSettings().max_body_bytes // 2**20}m"
    assert annotations["nginx.ingress.kubernetes.io/proxy-buffering"] == "off"


def test_rules_are_those_of_prometheus(tmp_path: Path) -> None:
    subprocess.run([sys.executable, PROMETHEUS / "kubernetes.py", tmp_path / "rules.yaml"], check=True)
    assert (tmp_path / "rules.yaml").read_text() == (K8S / "base/monitoring/rules.yaml").read_text()
    (manifest,) = of_kind(documents("production"), "PrometheusRule")
    assert [rule for group in manifest["spec"]["groups"] for rule in group["rules"]] == rules()


def test_metrics_that_scale_and_alert_exist(redis_url: str) -> None:
    ledger = Ledger(connect(redis_url))
    with redis.Redis.from_url(redis_url) as client:
        client.config_set("maxmemory", 2**30)
        try:
            families = ledger_metrics(ledger)
        finally:
            client.config_set("maxmemory", 0)
    names = {f"{family.name}_total" if family.type == "counter" else family.name for family in families} | HTTP
    (scaled,) = of_kind(documents("production"), "ScaledObject")
    asked = [trigger["metadata"]["query"] for trigger in scaled["spec"]["triggers"]] + [rule["expr"] for rule in rules()]
    assert {name for expression in asked for name in METRIC.findall(expression)} <= names
