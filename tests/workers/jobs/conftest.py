"""Benches for the tests of the ledger."""

from collections.abc import Iterator

import pytest

from tests.workers.jobs.bench import Bench, BenchMaker
from workers.jobs.ledger import Ledger
from workers.jobs.records import Permit
from workers.jobs.store import connect
from workers.settings import Settings


@pytest.fixture
def make_bench(redis_url: str) -> Iterator[BenchMaker]:
    """Makes a bench; keywords are settings. Its connections are closed at the end of the test."""
    made: list[Ledger] = []

    def make(url: str = redis_url, **settings: object) -> Bench:
        chosen = Settings(**{"chunk_blocks": 5, "audit_every": 0, "lease_seconds": 600, "worker_life_seconds": 600, **settings})
        sent: list[Permit] = []
        ledger = Ledger(connect(url), send=sent.append, settings=chosen)
        made.append(ledger)
        return Bench(ledger, sent)

    yield make
    for ledger in made:
        with ledger.store.reading() as redis:
            redis.connection_pool.disconnect()


@pytest.fixture
def bench(make_bench: BenchMaker) -> Bench:
    """A bench with one worker and chunks of five blocks."""
    bench = make_bench()
    bench.open()
    return bench
