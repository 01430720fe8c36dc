"""The whole service as its user starts it: `blockyard up` on a fresh data folder, spoken to over HTTP."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from service.client import Client
from tests.servers import poll

START_SECONDS = 180.0
"""A first start compiles the engine."""


def blockyard(*arguments: str, **settings: object) -> subprocess.CompletedProcess[str]:
    """One run of the command line, as a user without a terminal meets it."""
    return subprocess.run(
        [sys.executable, "-m", "service.cli", *arguments],
        env=os.environ | {f"BLOCKYARD_{name.upper()}": str(value) for name, value in settings.items()},
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )


def simulate(scenario: dict[str, Any], seed: int) -> dict[str, Any]:
    """The result that `blockyard simulate` gives for a scenario."""
    policies = [part for policy in scenario["policies"] for part in ("--policy", policy)]
    run = blockyard(
        "simulate", "--players", str(scenario["players"]), *policies, "--matches", str(scenario["matches"]),
        "--seed", str(seed), "--seating", scenario.get("seating", "rotated"), "--processes", "2", "--json",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    result: dict[str, Any] = json.loads(run.stdout)["results"][0]
    return result


@dataclass
class Service:
    """A running `blockyard up`."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path

    @property
    def client(self) -> Client:
        """A client of it."""
        return Client(self.url)

    def family(self) -> list[psutil.Process]:
        """Every process that it has started."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def stop(self) -> int:
        """Ctrl-C, and the exit code once everything has ended."""
        family = self.family()
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(60)
        _, alive = psutil.wait_procs(family, 5)
        assert not alive
        return code


StartService = Callable[..., Service]


@pytest.fixture
def start_service(tmp_path: Path) -> Iterator[StartService]:
    """Starts `blockyard up --workers N` with settings from keywords, and stops it at the end."""
    started: list[Service] = []

    def start(workers: int = 1, **settings: object) -> Service:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BLOCKYARD_REDIS")}
        environment |= {f"BLOCKYARD_{name.upper()}": str(value) for name, value in settings.items()}
        announced, log = tmp_path / "address", tmp_path / f"up-{len(started)}.log"
        announced.unlink(missing_ok=True)
        command = [sys.executable, "-m", "service.cli", "up", "--workers", str(workers), "--announce", str(announced)]
        with log.open("w") as said:
            process = subprocess.Popen(
                [*command, "--data", str(tmp_path / "data")], env=environment, stdout=said, stderr=subprocess.STDOUT
            )

        def has_address() -> bool:
            assert process.poll() is None, log.read_text()
            return announced.exists() and announced.read_text().endswith("\n")

        poll(has_address, START_SECONDS)
        service = Service(process, announced.read_text().strip(), log)
        started.append(service)
        return service

    yield start
    for service in started:
        if service.process.poll() is None:
            service.stop()
