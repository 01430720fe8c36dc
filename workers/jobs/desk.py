"""What all sides of the ledger share: the store, the settings, stored specs, and the way to send a permit."""

import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any, Final

import orjson
from redis import Redis

from workers.errors import NotFound
from workers.jobs.keys import job_key
from workers.jobs.records import Permit
from workers.jobs.spec import JobSpec
from workers.jobs.store import Store
from workers.settings import Settings

SendPermit = Callable[[Permit], None]

log = logging.getLogger(__name__)

CACHED_SPECS: Final = 32


class Desk:
    """The ledger's common ground. Threads may share it; a forked process opens its own."""

    def __init__(self, redis: Redis, *, send: SendPermit | None = None, settings: Settings | None = None) -> None:
        """`redis` answers in bytes (see `store.connect`). Without `send`, waking and repairing permits is left to others."""
        self.settings = settings or Settings()
        self.store = Store(redis)
        self._send = send
        self.name = secrets.token_hex(4)
        """Tells this ledger from those of other processes."""
        self._specs: OrderedDict[tuple[str, str], JobSpec] = OrderedDict()
        self._specs_lock = Lock()

    def spec(self, job_id: str, run: str = "") -> JobSpec:
        """What the job plays; raises `NotFound`. With its `run` it is read once and kept, since it never changes."""
        with self._specs_lock:
            if run and (kept := self._specs.get((job_id, run))):
                self._specs.move_to_end((job_id, run))
                return kept
        with self.store.reading() as redis:
            stored: Any = redis.get(job_key(job_id, "spec"))
        if stored is None:
            raise NotFound(f"there is no job {job_id}")
        spec = JobSpec.from_json(orjson.loads(stored))
        if run:
            with self._specs_lock:
                self._specs[job_id, run] = spec
                if len(self._specs) > CACHED_SPECS:
                    self._specs.popitem(last=False)
        return spec

    @property
    def may_send(self) -> str:
        """For scripts: `1` where issued permits can be sent from here."""
        return "1" if self._send else "0"

    def send_permits(self, permits: Iterable[Permit]) -> int:
        """Sends permits; answers how many. One that cannot be sent is issued anew by a later sweep."""
        count = 0
        for permit in permits:
            if self._send is None:
                break
            try:
                self._send(permit)
            except Exception as error:
                log.info("a permit could not be sent and will be issued again: %s", error)
                break
            count += 1
        return count


def permits(issued: Iterable[list[bytes]]) -> list[Permit]:
    """The permits that a script has issued."""
    return [Permit(*(text.decode() for text in parts)) for parts in issued]


def milliseconds(seconds: float) -> int:
    """Whole milliseconds, as the scripts count time."""
    return round(seconds * 1000)
