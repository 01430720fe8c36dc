"""What the tests of the service run on: the API in a thread, and a worker's work done by hand."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from service.app import create_app
from service.local.ports import listen
from service.server import Server
from service.settings import ServiceSettings
from service.state import ServiceState
from tests.servers import poll
from workers.jobs.keys import ROOT
from workers.jobs.ledger import Ledger
from workers.jobs.play_range import Table
from workers.jobs.records import Permit


@dataclass
class Service:
    """A running API."""

    url: str
    redis_url: str
    state: ServiceState
    server: Server


@contextmanager
def serving(redis_url: str, **settings: Any) -> Iterator[Service]:
    """The API until the end of the block; keywords are settings. It does not sweep, so that a test's own hands may work."""
    app = create_app(ServiceSettings(redis_url=redis_url, **{"sweep_seconds": 3600.0, "stream_interval": 0.1, **settings}))
    listener = listen(0)
    assert listener is not None
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=10)
    server = Server(config, app.state.service.feeds)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        poll(lambda: server.started)
        yield Service(url, redis_url, app.state.service, server)
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive(), "the server does not end"
        listener.close()


@dataclass
class Hands:
    """A worker's work done by hand: chunks are claimed, really played and recorded one after the other."""

    ledger: Ledger
    sent: list[Permit] = field(default_factory=list)

    def work(self, chunks: int = 1_000_000) -> int:
        """Plays up to so many chunks of what is queued; answers how many there were. Jobs must be there before."""
        self.ledger.beat("hands", "here", 1, 1, is_new=True)
        self.ledger.sweep()
        permit = self.sent.pop()
        generation, is_message, done = permit.generation, True, 0
        while done < chunks:
            claim = self.ledger.claim(permit.slot, generation, "hands", is_message=is_message)
            if claim.lease is None:
                break
            generation, is_message = claim.generation, False
            table = Table(self.ledger.spec(claim.lease.job_id))
            played = table.play(claim.lease.first, claim.lease.last)
            assert played is not None
            outcome = self.ledger.record(claim.lease, played, "hands")
            # A test that its looks have decided meanwhile takes no more.
            assert outcome == "recorded" or self.ledger.job(claim.lease.job_id).is_finished, outcome
            done += 1
        poll(self._is_folded)
        return done

    def _is_folded(self) -> bool:
        """Folds; the API's own fold may be at it just now, and then this one leaves the work to it."""
        self.ledger.fold()
        (unfolded,) = self.ledger.store.read(("SCARD", f"{ROOT}:unfolded"))
        return not unfolded
