"""Who reaches whom by the network policies: everybody whom he needs, and nobody else."""

import pytest

from tests.deploy.manifests import OVERLAYS, PREVIOUS, documents, namespace
from tests.deploy.network import End, ends, may_call, offered

REDIS, API, NAMES_PORT, WEB = 6379, 8000, 53, 443
NEEDED = {
    ("api", "redis", REDIS), ("worker", "redis", REDIS), ("scheduler", "redis", REDIS), ("worker-previous", "redis", REDIS),
    ("nightly", "api", API), ("ingress-nginx", "api", API), ("monitoring", "api", API),
}  # fmt: skip
"""Who has to reach whom; nobody else may."""


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_everybody_reaches_whom_he_needs_and_nobody_else(overlay: str) -> None:
    found = documents(overlay)
    if overlay == "production":
        found += documents(PREVIOUS)
    own = ends(found, namespace(found))
    strangers = {name: End(name, name) for name in ("ingress-nginx", "monitoring", "kube-system", "default")}
    ports = offered(found) | {NAMES_PORT, WEB, 80}
    open_ = {
        (caller.name, called.name, port)
        for caller in [*own.values(), *strangers.values()]
        for called in own.values()
        for port in ports
        if caller is not called and may_call(found, caller, called, port)
    }
    assert open_ == {path for path in NEEDED if path[0] in own or path[0] in strangers}

    dns = End("names", "kube-system", {"k8s-app": "kube-dns"})
    outside = [
        dns, strangers["default"], strangers["kube-system"],
        *(End(address, address=address) for address in ("203.0.113.7", "10.1.2.3", "169.254.169.254", "192.168.3.4")),
    ]  # fmt: skip
    for caller in own.values():
        out = {
            (called.name, port, protocol)
            for called in outside for port in ports for protocol in ("TCP", "UDP")
            if may_call(found, caller, called, port, protocol)
        }  # fmt: skip
        webhooks = {("203.0.113.7", WEB, "TCP")} if caller.name == "scheduler" else set()
        assert out == {("names", NAMES_PORT, "TCP"), ("names", NAMES_PORT, "UDP")} | webhooks, caller.name
