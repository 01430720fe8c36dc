"""`blockyard up` as a process: what it restarts, what it refuses, what is left when it is killed."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from service.local.folder import hold_folder
from service.local.redis_server import find_program, server_command, server_process
from tests.servers import RedisServer, free_port, is_ready, named_children, poll

START_SECONDS = 240.0
"""A first start compiles the engine."""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "service.cli", "up", *arguments]


def surroundings(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("BLOCKYARD_")} | more


def refused(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A start that must fail, with one line."""
    done = subprocess.run(
        command(*arguments), env=surroundings(**environment), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done


@dataclass
class Up:
    """A running `blockyard up`."""

    process: subprocess.Popen[bytes]
    folder: Path
    log: Path
    url: str

    def children(self) -> dict[str, psutil.Process]:
        """Its children by what they are."""
        return named_children(self.process.pid)

    def is_ready(self) -> bool:
        """Whether the API answers that Redis is there and a worker too."""
        return is_ready(self.url, workers=1)


def start(folder: Path, log: Path, *arguments: str, **environment: str) -> Up:
    announced = log.with_suffix(".address")
    announced.unlink(missing_ok=True)
    with log.open("wb") as said:
        process = subprocess.Popen(
            command("--data", str(folder), "--workers", "1", "--announce", str(announced), *arguments),
            env=surroundings(**environment), stdout=said, stderr=said,
        )  # fmt: skip

    def is_up() -> bool:
        assert process.poll() is None, log.read_text()
        return announced.exists() and announced.read_text().endswith("\n")

    poll(is_up, START_SECONDS)
    return Up(process, folder, log, announced.read_text().strip())


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One service that the tests of this file use in turn; the last of them has killed it."""
    base = tmp_path_factory.mktemp("up")
    running = start(base / "data", base / "up.log")
    yield running
    if running.process.poll() is None:
        running.process.terminate()
        running.process.wait(60)


def test_addresses_are_told_once_everything_is_ready(up: Up) -> None:
    assert up.is_ready()
    said = up.log.read_text()
    for text in ("Blockyard is up, with 1 process that plays.", f"dashboard  {up.url}/", str(up.folder), "Ctrl-C stops it."):
        assert text in said
    assert set(up.children()) == {"redis", "api", "worker-1", "scheduler", "service.local.keeper"}
    flags = " ".join(up.children()["redis"].cmdline())
    assert f"127.0.0.1:{up.children()['redis'].net_connections('inet')[0].laddr.port}" in flags


def test_everything_listens_on_loopback_alone(up: Up) -> None:
    for child in psutil.Process(up.process.pid).children(recursive=True):
        listening = [each for each in child.net_connections("inet") if each.status == psutil.CONN_LISTEN]
        assert all(each.laddr.ip == "127.0.0.1" for each in listening), child


def test_second_start_on_the_same_folder_is_refused(up: Up) -> None:
    done = refused("--data", str(up.folder))
    assert done.returncode == 2
    assert f"data folder {up.folder}: another `blockyard up` runs on it" in done.stderr


@pytest.mark.parametrize("name", ["redis", "api", "worker-1", "scheduler"])
def test_whatever_dies_comes_back(up: Up, name: str) -> None:
    before = up.children()[name]
    before.kill()
    poll(lambda: up.children().get(name, before).pid != before.pid, 60)
    poll(up.is_ready, 120)
    assert f"{name} ended (signal SIGKILL); starting it again in 0.2 s" in up.log.read_text()


def test_killed_supervisor_takes_everything_with_it_within_five_seconds(up: Up) -> None:
    poll(lambda: up.children()["worker-1"].children(), 120)  # its child that plays, which is none of ours
    family = psutil.Process(up.process.pid).children(recursive=True)
    assert len(family) >= 6
    up.process.kill()
    up.process.wait(5)
    _, alive = psutil.wait_procs(family, 5)
    assert not alive
    with hold_folder(up.folder):  # the next one may go on at once
        pass


def test_taken_port_is_stepped_over_but_not_when_it_was_asked_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = refused("--data", str(tmp_path / "data"), "--port", str(port))
    assert done.returncode == 2
    assert f"--port {port}: the port is taken" in done.stderr


def test_operators_redis_is_used_and_an_orphan_of_the_folder_is_ended(tmp_path: Path, own_redis: RedisServer) -> None:
    folder = tmp_path / "data" / "redis"
    folder.mkdir(parents=True)
    port = free_port()
    with subprocess.Popen(server_command(find_program(), folder, port), stdout=subprocess.DEVNULL) as orphan:
        poll(lambda: server_process(port) == orphan.pid)
        running = start(tmp_path / "data", tmp_path / "one.log")
        assert orphan.wait(5) == 0
        assert f"ended the Redis server {orphan.pid} that an earlier run left" in running.log.read_text()
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(60) == 0
    with_own = start(tmp_path / "data", tmp_path / "two.log", BLOCKYARD_REDIS_URL=own_redis.url)
    assert "redis" not in with_own.children()
    assert own_redis.url in with_own.log.read_text()
    family = psutil.Process(with_own.process.pid).children(recursive=True)
    with_own.process.send_signal(signal.SIGINT)
    assert with_own.process.wait(60) == 0
    _, alive = psutil.wait_procs(family, 5)
    assert not alive
    assert own_redis.answers()


def test_no_redis_to_be_had_is_one_line(tmp_path: Path) -> None:
    url = f"redis://127.0.0.1:{free_port()}/0"
    done = refused("--data", str(tmp_path / "data"), BLOCKYARD_REDIS_URL=url)
    assert done.returncode == 3
    assert done.stderr.startswith(f"blockyard: BLOCKYARD_REDIS_URL: no Redis answers at {url}")


def test_folder_of_somebody_else_is_one_line() -> None:
    done = refused("--data", "/proc/blockyard")
    assert done.returncode == 2
    assert done.stderr.startswith("blockyard: data folder /proc/blockyard: ")
