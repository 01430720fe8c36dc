"""The look-up order of Redis, and servers that are left behind."""

import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from service.local import redis_server
from service.local.errors import NoRedis
from service.local.ports import first_free
from tests.servers import poll


def fake_program(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_operators_url_comes_first() -> None:
    assert redis_server.operators_url({"BLOCKYARD_REDIS_URL": "redis://there:1/0"}) == "redis://there:1/0"
    assert redis_server.operators_url({"BLOCKYARD_REDIS_URL": ""}) is None
    assert redis_server.operators_url({}) is None


def test_path_comes_before_the_wheel(tmp_path: Path) -> None:
    valkey = fake_program(tmp_path / "b", "valkey-server")
    assert redis_server.find_program({"PATH": str(tmp_path / "b")}) == valkey
    redis = fake_program(tmp_path / "b", "redis-server")
    assert redis_server.find_program({"PATH": str(tmp_path / "b")}) == redis


def test_wheel_comes_last_and_brings_a_real_server(tmp_path: Path) -> None:
    program = redis_server.find_program({"PATH": str(tmp_path)})
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert "v=8" in answer.stdout


def test_no_redis_at_all_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_server.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(NoRedis, match="apt-get install redis-server") as refusal:
        redis_server.find_program({"PATH": str(tmp_path)})
    assert "\n" not in str(refusal.value)


def test_operators_redis_that_does_not_answer_is_named_without_its_password() -> None:
    port = first_free(20000)
    with pytest.raises(NoRedis, match="BLOCKYARD_REDIS_URL") as refusal:
        redis_server.check_operators_redis(f"redis://me:secret@127.0.0.1:{port}/0")
    assert "secret" not in str(refusal.value)
    assert f"127.0.0.1:{port}" in str(refusal.value)
    with pytest.raises(NoRedis):
        redis_server.check_operators_redis("nonsense")


def test_server_keeps_everything_and_is_private(tmp_path: Path) -> None:
    command = redis_server.server_command(Path("server"), tmp_path, 7000)
    text = " ".join(command)
    for flag in ("appendonly yes", "appendfsync always", "maxmemory-policy noeviction", "bind 127.0.0.1", "port 7000"):
        assert f"--{flag}" in text
    assert command[command.index("--save") + 1] == ""


def test_orphan_on_the_same_folder_is_ended_and_no_other(tmp_path: Path) -> None:
    program = redis_server.find_program()
    servers = {}
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
        port = first_free(21000)
        command = redis_server.server_command(program, tmp_path / name, port)
        servers[name] = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        poll(lambda name=name, port=port: redis_server.server_process(port) == servers[name].pid)
    try:
        os.kill(servers["mine"].pid, 0)
        assert redis_server.stop_orphan(tmp_path / "mine") == [servers["mine"].pid]
        assert servers["mine"].wait(10) == 0
        assert psutil.pid_exists(servers["other"].pid)
        assert servers["other"].poll() is None
        assert redis_server.stop_orphan(tmp_path / "mine") == []
    finally:
        for server in servers.values():
            server.send_signal(signal.SIGKILL)
            server.wait()
