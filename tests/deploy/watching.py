"""What the operators' rules and dashboards ask, and a real Prometheus to ask it of."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import typer.main
import yaml

from service.cli.main import app as command_line
from tests.servers import PATIENCE, free_port, poll

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "deploy/prometheus"
GRAFANA = ROOT / "deploy/grafana"
NAMESPACE = "blockyard"
"""Where what is scraped seems to run: that of the overlay for production."""
VARIABLES = {"$ruleset": ".*", "$players": ".*", "$__rate_interval": "5m"}


def program(name: str) -> str:
    """A program that this environment brings, or the machine; fails in one line where there is none."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    assert found, f"{name} is missing: bash deploy/test fetches it"
    return found


def check_command(words: Sequence[str]) -> None:
    """Fails where the command line does not know such a command or does not take such arguments; runs nothing."""
    command: Any = typer.main.get_command(command_line)
    arguments = list(words)
    while hasattr(command, "commands") and arguments:
        command = command.commands[arguments.pop(0)]
    command.make_context(words[0], arguments)


def rules() -> list[dict[str, Any]]:
    """Every recording and alert rule."""
    files = [yaml.safe_load(path.read_text()) for path in sorted((PROMETHEUS / "rules").glob("*.yml"))]
    return [rule for content in files for group in content["groups"] for rule in group["rules"]]


def longest_chunk_without_an_alert() -> int:
    """Seconds that a chunk may be played before operators hear of it."""
    (alert,) = [rule for rule in rules() if rule.get("alert") == "BlockyardLeaseOld"]
    return int(alert["expr"].rpartition(" > ")[2]) + 60 * int(alert["for"].removesuffix("m"))


def dashboards() -> dict[str, dict[str, Any]]:
    """Every committed dashboard by its file's name."""
    return {path.name: json.loads(path.read_text()) for path in sorted((GRAFANA / "dashboards").glob("*.json"))}


def dashboard_queries() -> list[str]:
    """Every expression of a dashboard, its variables set to everything."""
    found = []
    for dashboard in dashboards().values():
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                expression = target["expr"]
                for variable, value in VARIABLES.items():
                    expression = expression.replace(variable, value)
                found.append(expression)
    return found


@dataclass
class Prometheus:
    """A running server with the operators' configuration, other targets and a shorter interval apart."""

    url: str

    def get(self, path: str, **parameters: str) -> Any:
        """The data of an answer of its API."""
        answer = httpx2.get(f"{self.url}/api/v1/{path}", params=parameters, trust_env=False, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def ask(self, expression: str) -> dict[frozenset[tuple[str, str]], float]:
        """An instant query: value by labels."""
        data = self.get("query", query=expression)
        assert data["resultType"] == "vector", expression
        return {frozenset(sample["metric"].items()): float(sample["value"][1]) for sample in data["result"]}

    def value(self, expression: str) -> float | None:
        """The one value of a query, None where there is none yet."""
        values = list(self.ask(expression).values())
        assert len(values) <= 1, f"{expression} has {len(values)} values"
        return values[0] if values else None


@contextmanager
def watching(folder: Path, targets: Sequence[str], interval: str = "500ms") -> Iterator[Prometheus]:
    """A Prometheus that scrapes these `host:port` until the end of the block."""
    config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    config["global"] = dict.fromkeys(("scrape_interval", "evaluation_interval"), interval)
    config["rule_files"] = [str(PROMETHEUS / pattern) for pattern in config["rule_files"]]
    (scrape,) = config["scrape_configs"]
    del scrape["dns_sd_configs"]
    # In a cluster the operator adds the namespace.
    scrape["static_configs"] = [{"targets": list(targets), "labels": {"namespace": NAMESPACE}}]
    path = folder / "prometheus.yml"
    path.write_text(yaml.safe_dump(config))
    url = f"http://127.0.0.1:{free_port()}"
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [
                program("prometheus"), f"--config.file={path}", f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={url.removeprefix('http://')}",
            ],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
        )  # fmt: skip

    def ready() -> bool:
        assert process.poll() is None, (folder / "prometheus.log").read_text()
        try:
            return httpx2.get(f"{url}/-/ready", trust_env=False, timeout=30).status_code == 200
        except httpx2.TransportError:
            return False

    try:
        poll(ready)
        yield Prometheus(url)
    finally:
        process.terminate()
        process.wait(PATIENCE)
