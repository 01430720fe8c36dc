"""The worker's side of the ledger: a chunk is claimed, its lease renewed, its result recorded or its failure told."""

import hashlib
import os
from typing import Any, Final

import orjson

from workers.engine.play import ENGINE_VERSION
from workers.jobs.desk import Desk, milliseconds, permits
from workers.jobs.figures import JOB_WAIT_BOUNDS
from workers.jobs.keys import QUEUES, SWEPT
from workers.jobs.play_range import Played
from workers.jobs.records import Claim, Lease
from workers.jobs.store import Call

MAX_RAISED: Final = 2
"""A chunk whose play raises is repeated once; the second time fails the job."""
MAX_LOST: Final = 25
"""Leases that a chunk may lose before its job fails: workers are killed for reasons of their own."""

TURN: Final = 0.8
"""Part of the time between sweeps for which nobody else sweeps: less than all of it, so that a single process never misses
its own turn."""

WAIT_BOUNDS: Final = " ".join(str(milliseconds(bound)) for bound in JOB_WAIT_BOUNDS)


class WorkDesk(Desk):
    """Claim, renew, record, fail, sweep: each one script, each safe to be sent twice."""

    def claim(
        self, slot: str, generation: str, worker: str, *, is_message: bool = False, version: str = ENGINE_VERSION
    ) -> Claim:
        """The next chunk for a permit.

        `is_message` says that the permit has just been received: it then gets a new generation, so that the same message
        delivered twice works once. Outcomes: `work` with a lease; `later` (what is left waits for another worker or a
        slower chunk: ask again soon); `idle` (the permit is parked, there is nothing to do); `drain` (the worker shall take
        no more); `stale` (another message has this slot).
        """
        return _claim(self.store.run(*self._claim_call(slot, generation, worker, is_message, version)))

    def renew(
        self, lease: Lease, slot: str, generation: str, worker: str, busy_seconds: float, version: str = ENGINE_VERSION
    ) -> bool:
        """Keeps the lease and its permit; False when the result is no longer wanted. `busy_seconds` since the last call."""
        settings = self.settings
        answer = self.store.run(
            "renew", version, slot, generation, *lease.name, lease.token, milliseconds(settings.lease_seconds),
            milliseconds(settings.permit_patience_seconds), worker, milliseconds(busy_seconds),
        )  # fmt: skip
        return bool(answer == 1)

    def record(self, lease: Lease, played: Played, worker: str, busy_seconds: float = 0.0, process: int | None = None) -> str:
        """Takes a result once: `recorded`, `duplicate`, `refused`, or of an audit `agreed`, `differed`.

        It is refused where the job has ended, or where Redis has lost what it had handed out.
        A lease that has run out in the meantime does not matter: whoever plays the blocks, the result is the same.
        """
        outcome: bytes = self.store.run(*self._record_call(lease, played, worker, busy_seconds, process))
        return outcome.decode()

    def record_and_claim(
        self, lease: Lease, played: Played, worker: str, busy_seconds: float, slot: str, generation: str
    ) -> tuple[str, Claim]:
        """Records a chunk and claims the next in one round trip: a playing process waits for Redis once a chunk."""
        outcome, answer = self.store.run_all(
            self._record_call(lease, played, worker, busy_seconds, None),
            self._claim_call(slot, generation, worker, False, ENGINE_VERSION),
        )
        return outcome.decode(), _claim(answer)

    def fail(self, lease: Lease, reason: str) -> str:
        """Tells that the play raised: `retried` the first time, then `failed`; `refused` where the lease was lost."""
        outcome: bytes = self.store.run("fail", *lease.name, lease.token, reason, MAX_RAISED)
        return outcome.decode()

    def sweep_in_turn(self) -> int:
        """Sweeps, unless somebody has begun to a moment ago; answers the permits sent.

        To be called every second or so, by any number of processes.
        """
        with self.store.reading() as redis:
            is_due = redis.set(SWEPT, "", nx=True, px=milliseconds(TURN * self.settings.sweep_seconds))
        return self.sweep() if is_due else 0

    def sweep(self) -> int:
        """Brings back lost chunks and permits and wakes parked permits where there is work; answers the permits sent."""
        settings = self.settings
        issued = self.store.run(
            "sweep", milliseconds(settings.permit_patience_seconds), settings.permits_per_process, self.may_send, QUEUES,
            MAX_LOST,
        )  # fmt: skip
        return self.send_permits(permits(issued))

    def _claim_call(self, slot: str, generation: str, worker: str, is_message: bool, version: str) -> Call:
        settings = self.settings
        return (
            "claim", version, slot, generation, "1" if is_message else "0", worker,
            milliseconds(settings.lease_seconds), milliseconds(settings.permit_patience_seconds), settings.chunk_seconds,
            settings.chunk_blocks, settings.first_chunk_blocks, settings.chunk_growth, settings.chunk_scenarios,
            milliseconds(settings.audit_patience_seconds), WAIT_BOUNDS,
        )  # fmt: skip

    def _record_call(self, lease: Lease, played: Played, worker: str, busy_seconds: float, process: int | None) -> Call:
        tallies = orjson.dumps([[scenario, tally.to_json()] for scenario, tally in played.tallies])
        entry = b'{"first":%d,"blocks":%d,"seconds":%.6f,"tallies":%s}' % (
            lease.first, lease.last - lease.first, played.seconds, tallies,
        )  # fmt: skip
        speeds = [value for speed in played.speeds for value in (speed.field, speed.blocks, f"{speed.seconds:.6f}")]
        return (
            "record", *lease.name, hashlib.sha256(tallies).hexdigest(), entry, f"{played.seconds:.6f}", worker,
            process or os.getpid(), played.matches, self.settings.audit_every, milliseconds(busy_seconds), *speeds,
        )  # fmt: skip


def _claim(answer: list[bytes]) -> Claim:
    texts: list[Any] = [text.decode() for text in answer]
    if texts[0] == "work":
        _, generation, job_id, run, kind, first, last, token, request_id = texts
        return Claim("work", generation, Lease(job_id, run, kind == "a", int(first), int(last), token, request_id))
    return Claim(texts[0], texts[-1])
