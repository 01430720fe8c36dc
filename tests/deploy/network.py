"""Who may call whom: what the network policies of an overlay come to, by the rules of Kubernetes."""

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.deploy.manifests import Document, of_kind, pods, ports_of

OWN = "kubernetes.io/metadata.name"
"""The label by which every namespace has its own name."""


@dataclass(frozen=True)
class End:
    """Somebody who calls or is called: a pod, or an address outside of the cluster."""

    name: str
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    address: str = ""
    names: Mapping[str, int] = field(default_factory=dict)
    """Its ports by their names."""


def ends(found: list[Document], namespace: str) -> dict[str, End]:
    """The pods of an overlay."""
    return {
        name: End(
            name, namespace, template["metadata"]["labels"],
            names={
                port["name"]: port["containerPort"]
                for container in template["spec"]["containers"] for port in container.get("ports", [])
            },
        )
        for name, template in pods(found).items()
    }  # fmt: skip


def offered(found: list[Document]) -> set[int]:
    """Every port that some pod has."""
    return {port for template in pods(found).values() for port in ports_of(template) if isinstance(port, int)}


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a selector takes these labels; an empty one takes all."""
    for term in selector.get("matchExpressions", []):
        assert term["operator"] == "In", term
        if labels.get(term["key"]) not in term["values"]:
            return False
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def may_call(found: list[Document], caller: End, called: End, port: int, protocol: str = "TCP") -> bool:
    """Whether a connection is let out of the one and into the other."""
    let_out = _lets(found, caller, "Egress", called, called, port, protocol)
    return let_out and _lets(found, called, "Ingress", caller, called, port, protocol)


def _lets(found: list[Document], owner: End, direction: str, other: End, called: End, port: int, protocol: str) -> bool:
    about = [policy for policy in _about(found, owner) if direction in policy["spec"]["policyTypes"]]
    if not about:
        return True  # nothing is denied to whom no policy is about
    side = "to" if direction == "Egress" else "from"
    rules = [(policy, rule) for policy in about for rule in policy["spec"].get(direction.lower(), [])]
    return any(
        _is_port(rule, called, port, protocol)
        and (side not in rule or any(_is_peer(peer, policy, other) for peer in rule[side]))
        for policy, rule in rules
    )


def _about(found: list[Document], end: End) -> Iterator[Document]:
    for policy in of_kind(found, "NetworkPolicy"):
        if end.namespace == policy["metadata"]["namespace"] and matches(policy["spec"]["podSelector"], end.labels):
            yield policy


def _is_port(rule: Document, called: End, port: int, protocol: str) -> bool:
    if "ports" not in rule:
        return True
    return any(
        entry.get("protocol", "TCP") == protocol and called.names.get(entry["port"], entry["port"]) == port
        for entry in rule["ports"]
    )


def _is_peer(peer: Document, policy: Document, other: End) -> bool:
    if "ipBlock" in peer:
        if not other.address:
            return False
        address = ipaddress.ip_address(other.address)
        block = peer["ipBlock"]
        return address in ipaddress.ip_network(block["cidr"]) and not any(
            address in ipaddress.ip_network(kept) for kept in block.get("except", [])
        )
    if other.address:
        return False
    if "namespaceSelector" in peer:
        if not matches(peer["namespaceSelector"], {OWN: other.namespace}):
            return False
    elif other.namespace != policy["metadata"]["namespace"]:
        return False
    return matches(peer.get("podSelector", {}), other.labels)
