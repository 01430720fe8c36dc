"""Hosts as network namespaces: made and taken away with iproute2, by root alone."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path


def ip(*words: str) -> None:
    """One command of iproute2."""
    subprocess.run(["ip", *words], check=True, capture_output=True)


def why_not() -> str:
    """Why hosts cannot be made here; empty where they can."""
    if not sys.platform.startswith("linux") or shutil.which("ip") is None:
        return "there is no iproute2"
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    probe = subprocess.run(["ip", "netns", "add", f"blockyard-probe-{os.getpid()}"], capture_output=True, check=False)
    if probe.returncode != 0:
        return f"network namespaces cannot be made: {probe.stderr.decode().strip()}"
    ip("netns", "delete", f"blockyard-probe-{os.getpid()}")
    return ""


@dataclass(frozen=True, slots=True)
class Host:
    """A host with an address of its own on the cluster's network; nothing else is to be reached from it."""

    namespace: str
    address: str

    def run(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
        """Starts a program on it; what it says is added to the log."""
        with log.open("ab") as said:
            return subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, *command],
                env=dict(environment), stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            )  # fmt: skip


@contextmanager
def cluster(network: str, names: Sequence[str]) -> Iterator[dict[str, Host]]:
    """Hosts by name at `<network>.2`, `.3`, ... on one switch, at which this machine has the address `.1`."""
    mark = f"by{os.getpid() % 100_000}"
    with ExitStack() as made:
        ip("link", "add", mark, "type", "bridge")
        made.callback(ip, "link", "delete", mark)
        ip("address", "add", f"{network}.1/24", "dev", mark)
        ip("link", "set", mark, "up")
        hosts = {}
        for number, name in enumerate(names, start=2):
            host = hosts[name] = Host(f"{mark}-{number}", f"{network}.{number}")
            ip("netns", "add", host.namespace)
            made.callback(ip, "netns", "delete", host.namespace)
            ip("link", "add", host.namespace, "type", "veth", "peer", "name", "uplink", "netns", host.namespace)
            ip("link", "set", host.namespace, "master", mark, "up")
            ip("-n", host.namespace, "address", "add", f"{host.address}/24", "dev", "uplink")
            ip("-n", host.namespace, "link", "set", "lo", "up")
            ip("-n", host.namespace, "link", "set", "uplink", "up")
        yield hosts
