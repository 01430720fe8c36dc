"""An API with keys: one for each role, and one more that submits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx2
import pytest
import redis

from service.access.caller import Role
from service.access.keys import KeyStore
from tests.servers import RedisServer
from tests.service.running import Service, serving
from workers.jobs.store import Store, connect

ROLES: tuple[tuple[str, Role], ...] = (("rita", "read"), ("sam", "submit"), ("sue", "submit"), ("ada", "admin"))


@dataclass
class Guarded:
    """The API, the texts of its keys by name, and the store of its keys."""

    service: Service
    keys: dict[str, str]
    store: KeyStore

    def client(self, name: str | None, **headers: str) -> httpx2.Client:
        """A client with the key of this name, or without one."""
        given = {"Authorization": f"Bearer {self.keys[name]}"} if name else {}
        return httpx2.Client(base_url=self.service.url, trust_env=False, timeout=60, headers={**given, **headers})


def make_keys(url: str) -> tuple[dict[str, str], KeyStore]:
    with redis.Redis.from_url(url) as client:
        client.flushall()
    store = KeyStore(Store(connect(url)))
    return {name: store.create(name, role)[1] for name, role in ROLES}, store


@pytest.fixture(scope="module")
def guarded(redis_server: RedisServer) -> Iterator[Guarded]:
    """One API for the tests of a file, which leave its keys alone."""
    keys, store = make_keys(redis_server.url)
    with serving(redis_server.url) as service:
        yield Guarded(service, keys, store)


@pytest.fixture
def as_(guarded: Guarded) -> Iterator[Callable[[str | None], httpx2.Client]]:
    """`as_("sam")` is a client with sam's key, `as_(None)` one without."""
    opened: list[httpx2.Client] = []

    def client(name: str | None) -> httpx2.Client:
        opened.append(guarded.client(name))
        return opened[-1]

    yield client
    for each in opened:
        each.close()
