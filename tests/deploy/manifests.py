"""Manifests as kustomize renders them, and what can be wrong between them that no schema knows."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.deploy.watching import program

K8S = Path(__file__).parents[2] / "k8s"
OVERLAYS = ("dev", "production")
PREVIOUS = "previous-workers"
"""What is laid beside production for the time of an upgrade."""
SECRETS = {
    "blockyard-redis": {"url", "password"},
    "blockyard-webhook": {"secret"},
    "blockyard-admin": {"key"},
    "blockyard-nightly": {"key"},
}
"""The secrets that an operator makes, as deploy/OPERATIONS.md tells."""

Document = dict[str, Any]

ANY: Any = object()
DURATION = re.compile(r"([1-9]\d*(ms|[smhd]))+")
TEXT = re.compile(r"(?s).*\S.*")
NUMBER = re.compile(r"\d+(\.\d+)?")
SHAPES: Mapping[str, Any] = {
    "PodMonitor": {
        "selector!": {"matchLabels!": ANY},
        "podMetricsEndpoints!": [{"port!": TEXT, "path!": TEXT, "interval": DURATION}],
    },
    "PrometheusRule": {
        "groups!": [
            {
                "name!": TEXT,
                "rules!": [
                    {"record": TEXT, "alert": TEXT, "expr!": TEXT, "for": DURATION, "labels": ANY, "annotations": ANY},
                ],
            }
        ]
    },
    "ScaledObject": {
        "scaleTargetRef!": {"apiVersion": TEXT, "kind": TEXT, "name!": TEXT},
        "minReplicaCount": int,
        "maxReplicaCount": int,
        "pollingInterval": int,
        "cooldownPeriod": int,
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": ANY, "scaleUp": ANY}}},
        "triggers!": [
            {
                "type!": re.compile("prometheus"),
                "metadata!": {  # strings all of them
                    "serverAddress!": re.compile(r"http://[a-z-]+(\.[a-z-]+)*:\d+"),
                    "query!": TEXT,
                    "threshold!": NUMBER,
                    "activationThreshold": NUMBER,
                    "ignoreNullValues": re.compile("true|false"),
                },
            },
        ],
    },
}
"""The custom resources as far as they are used here, from their definitions, since validators let anything pass: keys, of which
those with `!` are required, and a type or a pattern for each value."""


@cache
def rendered(overlay: str) -> str:
    """The overlay as kubectl renders it."""
    command = [program("kubectl"), "kustomize", K8S / "overlays" / overlay]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def documents(overlay: str) -> list[Document]:
    """Every object of an overlay."""
    return list(yaml.safe_load_all(rendered(overlay)))


def namespace(found: list[Document]) -> str:
    """Where an overlay's objects are."""
    (space,) = of_kind(found, "Namespace")
    return str(space["metadata"]["name"])


def of_kind(found: list[Document], *kinds: str) -> list[Document]:
    """Those of these kinds."""
    return [document for document in found if document["kind"] in kinds]


def pods(found: list[Document]) -> dict[str, Document]:
    """The template of every workload by its name."""
    templates = {item["metadata"]["name"]: item["spec"]["template"] for item in of_kind(found, "Deployment", "StatefulSet")}
    jobs = of_kind(found, "CronJob")
    return templates | {job["metadata"]["name"]: job["spec"]["jobTemplate"]["spec"]["template"] for job in jobs}


def containers(found: list[Document]) -> list[Document]:
    """Every container."""
    return [container for pod in pods(found).values() for container in pod["spec"]["containers"]]


def misfits(value: Any, shape: Any, path: str) -> Iterator[str]:
    """What a custom resource has and should not, or has not and should."""
    if isinstance(shape, list):
        if not isinstance(value, list) or not value:
            yield f"{path} must be a list of something"
        else:
            for place, item in enumerate(value):
                yield from misfits(item, shape[0], f"{path}[{place}]")
    elif isinstance(shape, dict):
        known = {key.removesuffix("!"): inner for key, inner in shape.items()}
        yield from (f"{path}.{key[:-1]} is missing" for key in shape if key.endswith("!") and key[:-1] not in value)
        for key, inner in value.items():
            if key in known:
                yield from misfits(inner, known[key], f"{path}.{key}")
            else:
                yield f"{path}.{key} is unknown"
    elif isinstance(shape, re.Pattern):
        if not isinstance(value, str) or not shape.fullmatch(value):
            yield f"{path} may not be {value!r}"
    elif shape is not ANY and type(value) is not shape:
        yield f"{path} may not be {value!r}"


def problems(found: list[Document], routes: set[str]) -> list[str]:
    """References that point nowhere, ports and probes that nothing answers, keys that do not exist."""
    templates = pods(found)
    told = [
        *_references(found, templates),
        *_selectors(found, templates, routes),
        *_inside(found, templates, routes),
        *_spread(templates),
    ]
    for document in found:
        if document["kind"] in SHAPES:
            told += misfits(document["spec"], SHAPES[document["kind"]], document["kind"])
    return told


def selected(templates: Mapping[str, Document], selector: Mapping[str, Any]) -> list[str]:
    """The workloads whose pods a selector takes."""

    def takes(labels: Mapping[str, str]) -> bool:
        wanted = selector.get("matchLabels", {})
        listed = selector.get("matchExpressions", [])
        return all(labels.get(key) == value for key, value in wanted.items()) and all(
            labels.get(term["key"]) in term["values"] for term in listed
        )

    return [name for name, template in templates.items() if takes(template["metadata"]["labels"])]


def ports_of(template: Document) -> set[Any]:
    """The ports of a pod, by name and by number."""
    ports = [port for container in template["spec"]["containers"] for port in container.get("ports", [])]
    return {port["name"] for port in ports} | {port["containerPort"] for port in ports}


def _references(found: list[Document], templates: Mapping[str, Document]) -> Iterator[str]:
    names = {(item["kind"], item["metadata"]["name"]) for item in found}
    for item in of_kind(found, "HorizontalPodAutoscaler", "ScaledObject"):
        target = item["spec"]["scaleTargetRef"]
        if (target["kind"], target["name"]) not in names:
            yield f"{item['kind']} scales {target['name']}, which is not there"
    services = {item["metadata"]["name"]: item for item in of_kind(found, "Service")}
    for ingress in of_kind(found, "Ingress"):
        for rule in ingress["spec"]["rules"]:
            for path in rule["http"]["paths"]:
                backend = path["backend"]["service"]
                service = services.get(backend["name"])
                if service is None or backend["port"]["name"] not in {port["name"] for port in service["spec"]["ports"]}:
                    yield f"the ingress leads to {backend}, which is not there"
    for item in of_kind(found, "StatefulSet"):
        if item["spec"]["serviceName"] not in services:
            yield f"{item['metadata']['name']} has no service {item['spec']['serviceName']}"
    for name, template in templates.items():
        for volume in template["spec"].get("volumes", []):
            if "configMap" in volume and ("ConfigMap", volume["configMap"]["name"]) not in names:
                yield f"{name} mounts {volume['configMap']['name']}, which is not there"
        for container in template["spec"]["containers"]:
            for variable in container.get("env", []):
                secret = variable.get("valueFrom", {}).get("secretKeyRef")
                if secret and secret["key"] not in SECRETS.get(secret["name"], set()):
                    yield f"{name} reads the unknown secret {secret['name']}/{secret['key']}"
                if variable["name"] == "BLOCKYARD_URL" and not _is_served(variable["value"], services):
                    yield f"{name} calls {variable['value']}, which is not there"


def _is_served(url: str, services: Mapping[str, Document]) -> bool:
    called = urlsplit(url)
    service = services.get(called.hostname or "")
    return service is not None and (called.port or 80) in {port["port"] for port in service["spec"]["ports"]}


def _selectors(found: list[Document], templates: Mapping[str, Document], routes: set[str]) -> Iterator[str]:
    for item in of_kind(found, "Deployment", "StatefulSet", "PodDisruptionBudget", "PodMonitor", "Service"):
        spec = item["spec"]
        selector = {"matchLabels": spec["selector"]} if item["kind"] == "Service" else spec["selector"]
        taken = selected(templates, selector)
        what = f"{item['kind']} {item['metadata']['name']}"
        if len(taken) != 1:
            yield f"{what} selects {taken}"
            continue
        yield from (
            f"{what} asks {end['path']}, which nothing answers"
            for end in spec.get("podMetricsEndpoints", [])
            if end["path"] not in routes
        )
        offered = ports_of(templates[taken[0]])
        used = [port["targetPort"] for port in spec.get("ports", [])] + [
            end["port"] for end in spec.get("podMetricsEndpoints", [])
        ]
        yield from (f"{what} uses port {port}, which {taken[0]} has not" for port in used if port not in offered)
    for policy in of_kind(found, "NetworkPolicy"):
        yield from _policy(policy, templates)


def _policy(policy: Document, templates: Mapping[str, Document]) -> Iterator[str]:
    name, spec = policy["metadata"]["name"], policy["spec"]
    owners = selected(templates, spec["podSelector"])
    if not owners:
        yield f"policy {name} is about no pod"
    for direction, side in (("ingress", "from"), ("egress", "to")):
        for rule in spec.get(direction, []):
            inside = [peer for peer in rule[side] if set(peer) == {"podSelector"}]
            peers = [pod for peer in inside for pod in selected(templates, peer["podSelector"])]
            if inside and not peers:
                yield f"policy {name} opens to no pod"
            answering = owners if direction == "ingress" else peers
            for pod in answering:
                for port in rule.get("ports", []):
                    if port["port"] not in ports_of(templates[pod]):
                        yield f"policy {name} opens port {port['port']}, which {pod} has not"


def _spread(templates: Mapping[str, Document]) -> Iterator[str]:
    for name, template in templates.items():
        for constraint in template["spec"].get("topologySpreadConstraints", []):
            if selected(templates, constraint["labelSelector"]) != [name]:
                yield f"{name} spreads others than itself"


def _inside(found: list[Document], templates: Mapping[str, Document], routes: set[str]) -> Iterator[str]:
    claims = {
        item["metadata"]["name"]: {claim["metadata"]["name"] for claim in item["spec"].get("volumeClaimTemplates", [])}
        for item in of_kind(found, "StatefulSet")
    }
    for name, template in templates.items():
        volumes = {volume["name"] for volume in template["spec"].get("volumes", [])} | claims.get(name, set())
        for container in template["spec"]["containers"]:
            mounted = {mount["name"] for mount in container.get("volumeMounts", [])}
            yield from (f"{name} mounts {volume}, which is not there" for volume in mounted - volumes)
            for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
                asked = container.get(kind, {}).get("httpGet")
                if asked and (asked["path"] not in routes or asked["port"] not in ports_of(template)):
                    yield f"the {kind} of {name} asks {asked}, which nothing answers"
