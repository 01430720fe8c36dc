"""The wire to Redis: connections, scripts, and one error for everything that keeps Redis from answering."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

from redis import Redis, exceptions
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from workers.errors import InvalidInput, LedgerUnavailable
from workers.jobs.keys import ROOT

REFUSALS: Final = (
    "OOM", "MISCONF", "READONLY", "LOADING", "MASTERDOWN", "NOREPLICAS", "BUSY", "CLUSTERDOWN", "NOPERM", "NOAUTH",
)  # fmt: skip
"""First words of the errors by which a sound Redis refuses to read or write just now."""


def connect(url: str, timeout: float = 5.0) -> Redis:
    """A client that gives up after `timeout` seconds and tries once more on a broken connection.

    Every script bears being sent twice, so a second try can neither lose nor double anything. Raises
    `InvalidInput` where the address cannot be read.
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
        raise InvalidInput.at("redis_url", f"must be an address such as redis://127.0.0.1:6379/0: {error}") from None


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


@cache
def script_digest(name: str) -> str:
    """The name by which Redis knows the script."""
    return hashlib.sha1(script_text(name).encode(), usedforsecurity=False).hexdigest()


def _is_unknown(answer: object) -> bool:
    return isinstance(answer, exceptions.NoScriptError)


Call: TypeAlias = tuple[str | int | float | bytes, ...]
"""A script's name and its arguments."""


class Store:
    """A Redis client with the ledger's scripts. Threads may share it."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def run(self, *call: str | int | float | bytes) -> Any:
        """Runs a script: its name, then its arguments."""
        return self.run_all(call)[0]

    def run_all(self, *calls: Call) -> list[Any]:
        """Runs scripts one after the other in one round trip, by their digests; a server that forgot them is taught again.

        If one raises, those after it have run nevertheless.
        """
        with reaching_redis():
            answers = self._send(calls)
            if any(map(_is_unknown, answers)):
                for name, *_ in calls:
                    self._redis.script_load(script_text(str(name)))
                again = iter(self._send([c for c, a in zip(calls, answers, strict=True) if _is_unknown(a)]))
                answers = [next(again) if _is_unknown(answer) else answer for answer in answers]
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
            return answers

    def _send(self, calls: Sequence[Call]) -> list[Any]:
        pipeline: Any = self._redis.pipeline(transaction=False)
        for name, *arguments in calls:
            pipeline.execute_command("EVALSHA", script_digest(str(name)), 1, ROOT, *arguments)
        answers: list[Any] = pipeline.execute(raise_on_error=False)
        return answers

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
