"""`blockyard keys`: made, shown once, listed without secrets, revoked."""

import os
import subprocess
import sys
from pathlib import Path

import httpx2
import orjson
import pytest
import redis

from service.access.keys import KEY
from tests.servers import free_port
from tests.service.cli.conftest import Command
from tests.service.running import serving


@pytest.fixture(autouse=True)
def here(redis_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The settings of whoever sits where Redis is; answers the audit log."""
    monkeypatch.setenv("BLOCKYARD_REDIS_URL", redis_url)
    monkeypatch.setenv("BLOCKYARD_AUDIT_LOG", str(tmp_path / "audit.log"))
    return tmp_path / "audit.log"


def test_a_key_is_made_listed_and_revoked(blockyard: Command, redis_url: str, here: Path) -> None:
    assert "no keys" in blockyard("keys", "list").err
    made = blockyard("keys", "create", "ada", "--role", "admin")
    assert made.code == 0
    text = made.out.strip()
    assert KEY.fullmatch(text)
    assert "shown this once" in made.err
    said = blockyard("keys", "create", "rita", "--role", "read", "--json")
    assert orjson.loads(said.out)["role"] == "read"
    listed = blockyard("keys", "list")
    assert "ada" in listed.out
    assert text not in listed.out
    assert [key["name"] for key in orjson.loads(blockyard("keys", "list", "--json").out)] == ["ada", "rita"]
    with serving(redis_url) as service:
        assert blockyard("jobs", "--url", service.url).code == 2
        assert blockyard("jobs", "--url", service.url, "--key", text).code == 0
    assert blockyard("keys", "revoke", "ada").code == 0
    assert "ada" not in blockyard("keys", "list").out
    lines = [orjson.loads(line) for line in here.read_bytes().splitlines()]
    assert [(line["action"], line["key"]) for line in lines] == [
        ("key created", "ada"), ("key created", "rita"), ("key revoked", "ada"),
    ]  # fmt: skip
    assert text not in here.read_text()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["create", "a b"], "name: must be letters"),
        (["create", "ada", "--role", "root"], "role: must be one of read, submit, admin, not 'root'"),
        (["create"], "NAME"),
        ([], "Missing command"),
        (["revoke", "nobody"], "there is no key 'nobody'"),
    ],
)
def test_mistakes_are_one_line(blockyard: Command, arguments: list[str], reason: str) -> None:
    said = blockyard("keys", *arguments)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert reason in said.err


def test_a_taken_name_is_said_to_be_so(blockyard: Command) -> None:
    blockyard("keys", "create", "ada")
    said = blockyard("keys", "create", "ada")
    assert said.code == 2
    assert "there is a key 'ada' already" in said.err


def test_no_redis_is_exit_code_three_and_tells_no_password(blockyard: Command) -> None:
    said = blockyard("keys", "list", "--redis-url", f"redis://:secret@127.0.0.1:{free_port()}/0")
    assert said.code == 3
    assert "secret" not in said.err


def test_a_folder_that_is_named_is_the_one_that_is_meant(
    blockyard: Command, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BLOCKYARD_REDIS_URL")
    monkeypatch.delenv("BLOCKYARD_AUDIT_LOG")
    for arguments in ("list",), ("create", "ada"), ("revoke", "ada"):
        said = blockyard("keys", *arguments, "--data", str(tmp_path))
        assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
        assert f"--data: no `blockyard up` with a Redis of its own runs on {tmp_path}" in said.err
    (tmp_path / "redis.url").write_text(f"{redis_url}\n")
    assert blockyard("keys", "create", "ada", "--data", str(tmp_path)).code == 0
    assert blockyard("keys", "revoke", "ada", "--data", str(tmp_path)).code == 0
    told = [orjson.loads(line)["action"] for line in (tmp_path / "audit.log").read_bytes().splitlines()]
    assert told == ["key created", "key revoked"]


@pytest.mark.parametrize("command", ["create", "list", "revoke"])
def test_help_fits(blockyard: Command, command: str) -> None:
    said = blockyard("keys", command, "--help")
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80


def start_api(url: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-P", "-m", "service.cli", "api", "--port", "0", *arguments]
    environment = {**os.environ, "BLOCKYARD_REDIS_URL": url}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_setting_that_is_wrong_is_named_in_one_line(
    blockyard: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOCKYARD_PORT", "eighty")
    monkeypatch.setenv("BLOCKYARD_ADMIN_KEY", "tooshort")
    said = blockyard("api")
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert "BLOCKYARD_PORT: " in said.err
    assert "BLOCKYARD_ADMIN_KEY: " in said.err
    assert "tooshort" not in said.err
    assert "went wrong" not in said.err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3"])
def test_without_a_key_only_this_machine_is_listened_to(redis_url: str, host: str) -> None:
    done = start_api(redis_url, "--host", host)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"not on {host}" in done.stderr
    assert "keys create" in done.stderr
    assert "--insecure" in done.stderr


def test_up_refuses_too_before_it_listens(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "service.cli", "up", "--data", str(tmp_path / "d"), "--host", "0.0.0.0"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BLOCKYARD_")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "no key exists" in done.stderr
    assert not (tmp_path / "d" / "redis.url").exists()


def test_with_a_key_or_by_wish_any_address_is_taken(blockyard: Command, redis_url: str) -> None:
    for arguments, status in (("--insecure",), 200), ((), 401):
        if not arguments:
            blockyard("keys", "create", "ada")
        port = free_port()
        command = [sys.executable, "-P", "-m", "service.cli", "api", "--host", "0.0.0.0", "--port", str(port), *arguments]
        with subprocess.Popen(command, env={**os.environ, "BLOCKYARD_REDIS_URL": redis_url}, stderr=subprocess.PIPE) as process:
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30,
                               transport=httpx2.HTTPTransport(retries=10)) as http:  # fmt: skip
                assert http.get("/v1/jobs", headers={"Host": "yard.example"}).status_code == status
            process.terminate()
            assert process.wait(30) in (0, -15)  # uvicorn ends by the signal that ended it
            lines = (process.stderr.read() if process.stderr else b"").splitlines()
        assert all("message" in orjson.loads(line) for line in lines)
        with redis.Redis.from_url(redis_url) as client:
            assert client.ping()
