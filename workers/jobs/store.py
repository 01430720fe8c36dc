"""The wire to Redis: connections, scripts, and one error for everything that keeps Redis from answering."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any, Final

from redis import Redis, exceptions
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from workers.errors import LedgerUnavailable
from workers.jobs.keys import ROOT

REFUSALS: Final = (
    "OOM", "MISCONF", "READONLY", "LOADING", "MASTERDOWN", "NOREPLICAS", "BUSY", "CLUSTERDOWN", "NOPERM", "NOAUTH",
)  # fmt: skip
"""First words of the errors by which a sound Redis refuses to read or write just now."""


def connect(url: str, timeout: float = 5.0) -> Redis:
    """A client that gives up after `timeout` seconds and tries once more on a broken connection.

    Every script bears being sent twice, so a second try can neither lose nor double anything. Raises
    `LedgerUnavailable` where the address cannot be read.
    """
    try:
        return Redis.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=min(timeout, 2.0),
            socket_keepalive=True,
            health_check_interval=30,
            retry=Retry(ConstantBackoff(0.05), 1),
        )
    except ValueError as error:
        raise LedgerUnavailable(f"the address of Redis cannot be read: {error}") from None


@contextmanager
def reaching_redis() -> Iterator[None]:
    """Turns whatever keeps Redis from answering or writing into `LedgerUnavailable`."""
    try:
        yield
    except (exceptions.ConnectionError, exceptions.TimeoutError, OSError) as error:
        raise LedgerUnavailable(f"Redis does not answer: {error}") from error
    except exceptions.ResponseError as error:
        # redis-py has classes of its own for most refusals; an error inside a script keeps its first word only.
        if type(error) is not exceptions.ResponseError or str(error).removeprefix("ERR ").startswith(REFUSALS):
            raise LedgerUnavailable(f"Redis refuses: {error}") from error
        raise


@cache
def script_text(name: str) -> str:
    """A script as Redis gets it: the prelude, then the file of that name."""
    folder = files("workers.jobs") / "scripts"
    return (folder / "prelude.lua").read_text() + (folder / f"{name}.lua").read_text()


class Store:
    """A Redis client with the ledger's scripts. Threads may share it."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._scripts: dict[str, Any] = {}

    def run(self, name: str, *arguments: str | int | float | bytes) -> Any:
        """Runs a script by its digest; a server that has forgotten it is taught again."""
        script = self._scripts.get(name)
        if script is None:
            script = self._scripts[name] = self._redis.register_script(script_text(name))
        with reaching_redis():
            return script(keys=[ROOT], args=arguments)

    @contextmanager
    def reading(self) -> Iterator[Redis]:
        """The client, for plain reads."""
        with reaching_redis():
            yield self._redis

    def read(self, *commands: tuple[Any, ...]) -> list[Any]:
        """The answers to several commands, at one moment and in one round trip."""
        with reaching_redis():
            pipeline: Any = self._redis.pipeline(transaction=True)
            for command in commands:
                pipeline.execute_command(*command)
            answers: list[Any] = pipeline.execute()
            return answers
