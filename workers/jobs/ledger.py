"""The ledger: every job, chunk and result, kept in Redis so that nothing is lost and nothing is counted twice.

A chunk's way: `claim` hands it out under a lease, `record` takes its result into the job's journal once, `fold` adds
the journal to the sums, `sweep` brings back what was lost on the way. A message of the queue is a permit to work,
nothing more: all truth is here, and changes only by scripts that may be sent twice.
"""

import re
import secrets
import time
from collections.abc import Mapping
from typing import Any, Final

import orjson

from workers.engine.play import ENGINE_VERSION
from workers.errors import Conflict, IdempotencyMismatch, InvalidInput, NotFound, QuotaExceeded
from workers.jobs import figures as counted
from workers.jobs.desk import milliseconds, permits
from workers.jobs.figures import Figures
from workers.jobs.fold import FoldDesk
from workers.jobs.keys import (
    EXPIRING,
    JOBS,
    LEASE_TERMS,
    LOADS,
    METRICS,
    PACE,
    VERSIONS,
    WORKERS,
    deleted_key,
    job_key,
    label_key,
    state_key,
    worker_key,
)
from workers.jobs.play_range import Places
from workers.jobs.records import (
    NO_QUOTA,
    STATES,
    Fields,
    JobRecord,
    Quota,
    WorkerRecord,
    fields,
    job_record,
    paired,
    worker_record,
)  # fmt: skip
from workers.jobs.sequential import LOOKS_AHEAD, SequentialTest, TestState
from workers.jobs.spec import PRIORITY_WEIGHTS, JobSpec
from workers.jobs.work import WorkDesk
from workers.logs import REQUEST_ID

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,99}")
"""What a job id or a worker's name may be: a part of a key, a word in a script."""

QUOTA_RETRY_SECONDS: Final = 5
"""When to ask again where too much is under way: jobs end when they end."""
DELETED_SECONDS: Final = 86400
"""How long it is known of a deleted job that it was there: whoever got no answer asks again."""
PAGE: Final = 100
"""Jobs read at once while a list is filtered."""


class Ledger(WorkDesk, FoldDesk):
    """All of it by one name. Every method raises `LedgerUnavailable` while Redis does not answer or refuses to write."""

    def ping(self) -> None:
        """Returns if Redis answers."""
        with self.store.reading() as redis:
            redis.ping()

    def submit(
        self,
        spec: JobSpec,
        *,
        job_id: str | None = None,
        idempotency_key: str | None = None,
        request_digest: str | None = None,
        owner: str = "anonymous",
        steps: Mapping[int, int] | None = None,
        test: SequentialTest | None = None,
        keep: bool = False,
        quota: Quota = NO_QUOTA,
    ) -> tuple[JobRecord, bool]:
        """Stores a job and wakes the workers; answers its record and whether it is new.

        The same id, or the same key of the same owner, with the same digest answers with the job that is there; with another
        digest it raises `IdempotencyMismatch`. `steps`: scenario to the number of blocks whose multiples no chunk
        crosses. With a `test` the job's one scenario is a sequential test, which ends it as
        soon as a look decides. `keep`: never expires. Raises `QuotaExceeded` where a new job would be more than the owner may
        have under way.
        """
        job_id = job_id or new_job_id()
        if not NAME.fullmatch(job_id):
            raise InvalidInput.at("id", "must be letters, digits, and any of _ . @ - after the first")
        places = Places(spec)
        steps = {0: test.step} if test else dict(steps or {})
        stored: dict[str, str | int] = {
            "name": spec.name, "seed": str(spec.seed), "priority": spec.priority, "weight": PRIORITY_WEIGHTS[spec.priority],
            "labels": orjson.dumps(dict(spec.labels)).decode(), "scenario_count": len(spec.scenarios),
            "matches_requested": sum(scenario.matches_requested for scenario in spec.scenarios), "matches": spec.matches,
            "blocks": places.blocks, "steps": orjson.dumps({str(scenario): step for scenario, step in steps.items()}).decode(),
            "test": orjson.dumps(test.to_json()).decode() if test else "",
            "look_ahead": LOOKS_AHEAD * test.step if test else 0, "keep": int(keep),
            "cursor": 0, "cursor_scenario": 0, "watermark": 0, "folded": 0, "matches_done": 0, "rate": 0,
            "virtual": 0, "request_id": REQUEST_ID.get(),
        }  # fmt: skip
        outcome, known, issued, fields_of_job, versions, clock = self.store.run(
            "submit", job_id, orjson.dumps(spec.to_json()), places.layout(steps), owner, idempotency_key or "",
            request_digest or "", spec.engine_version, milliseconds(self.settings.permit_patience_seconds), self.may_send,
            quota.jobs, quota.matches, spec.matches, *(part for pair in stored.items() for part in pair),
        )  # fmt: skip
        if outcome == b"other":
            raise IdempotencyMismatch("this idempotency key was used before with another request")
        if outcome == b"quota":
            raise _excess(known.decode(), quota, owner)
        self.send_permits(permits(issued))
        # The job as it stands came along: a second question would double what a submission costs.
        if not fields_of_job:
            raise NotFound(f"there is no job {known.decode()}")
        now = int(clock) / 1000
        live = live_versions(paired(versions), now)
        return job_record(known.decode(), fields(paired(fields_of_job)), now, live), outcome == b"created"

    def job(self, job_id: str) -> JobRecord:
        """The job as it stands; raises `NotFound`."""
        found = self._records([job_id])
        if not found:
            raise NotFound(f"there is no job {job_id}")
        return found[0]

    def jobs(
        self, state: str | None = None, label: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[JobRecord], str | None]:
        """Jobs, newest first, and where the next page begins (None at the end). `label` is written `name=value`.

        Raises `InvalidInput` for a state or a cursor that cannot be.
        """
        if state is not None and state not in STATES:
            raise InvalidInput.at("state", f"must be one of {', '.join(STATES)}, not {state!r}")
        if cursor is not None and not re.fullmatch(r"[0-9]{1,15}", cursor):
            raise InvalidInput.at("cursor", "is none that a list of jobs has given")
        index = label_key(label) if label is not None else state_key(state) if state is not None else JOBS
        page: list[JobRecord] = []
        last = cursor
        while True:
            bound = f"({cursor}" if cursor is not None else "+inf"
            with self.store.reading() as redis:
                found: Any = redis.zrevrangebyscore(index, bound, "-inf", start=0, num=PAGE, withscores=True)
            records = {record.id: record for record in self._records([job_id.decode() for job_id, _ in found])}
            for job_id, sequence in found:
                cursor = str(int(sequence))
                record = records.get(job_id.decode())
                if record is not None and (state is None or record.state == state):
                    if len(page) == limit:
                        return page, last
                    page.append(record)
                    last = cursor
            if len(found) < PAGE:
                return page, None

    def cancel(self, job_id: str) -> JobRecord:
        """Ends a job now: nothing more is claimed, and late results are refused. Raises `NotFound`, `Conflict`."""
        return self._change("cancel", job_id)

    def pause(self, job_id: str) -> JobRecord:
        """Stops handing out chunks; those being played are still taken. Raises `NotFound`, `Conflict`."""
        return self._change("pause", job_id)

    def resume(self, job_id: str) -> JobRecord:
        """Goes on with a paused job. Raises `NotFound`, `Conflict`."""
        return self._change("resume", job_id)

    def restart(self, job_id: str, *, quota: Quota = NO_QUOTA) -> JobRecord:
        """Plays a job anew from its first block, with this engine version: a finished one, or one whose engine is gone.

        A job that is under way with this engine version stays as it is. Raises `NotFound`, `Conflict`;
        `QuotaExceeded` where its owner has too much under way.
        """
        try:
            spec = self.spec(job_id).renewed()
        except InvalidInput as refusal:
            raise Conflict(f"the job cannot be played again: {refusal}") from None
        with self.store.reading() as redis:
            steps: Any = redis.hget(job_key(job_id), "steps")
        layout = Places(spec).layout({int(scenario): step for scenario, step in orjson.loads(steps or b"{}").items()})
        return self._change(
            "restart", job_id, ENGINE_VERSION, orjson.dumps(spec.to_json()), layout, REQUEST_ID.get(), quota.jobs, quota.matches
        )

    def check_quota(self, owner: str, jobs: int, matches: int, quota: Quota) -> None:
        """Raises `QuotaExceeded` where so many more jobs with so many matches are more than an owner may have under way."""
        with self.store.reading() as redis:
            stored: Any = redis.hmget(LOADS, f"{owner}|jobs", f"{owner}|matches")
        if quota.jobs and int(stored[0] or 0) + jobs > quota.jobs:
            raise _excess("jobs", quota, owner)
        if quota.matches and int(stored[1] or 0) + matches > quota.matches:
            raise _excess("matches", quota, owner)

    def test(self, job_id: str) -> tuple[SequentialTest | None, TestState]:
        """The sequential test that the job is, if it is one, and how far it has come; raises `NotFound`."""
        with self.store.reading() as redis:
            stored: Any = redis.hmget(job_key(job_id), "sequence", "test", "test_state")
        if stored[0] is None:
            raise NotFound(f"there is no job {job_id}")
        test = SequentialTest.from_json(orjson.loads(stored[1])) if stored[1] else None
        return test, TestState.from_json(orjson.loads(stored[2])) if stored[2] else TestState()

    def owner(self, job_id: str) -> str:
        """Who owns a job, or owned it until it was deleted lately; raises `NotFound`."""
        present, deleted = self.store.read(("HGET", job_key(job_id), "owner"), ("GET", deleted_key(job_id)))
        found = deleted if present is None else present
        if found is None:
            raise NotFound(f"there is no job {job_id}")
        return str(found.decode())

    def delete(self, job_id: str) -> bool:
        """Forgets a finished job; whether it was there. For a day a second wish finds it done, not that there is no such job.

        Raises `NotFound`, and `Conflict` while it is live.
        """
        return self._change_only("delete", job_id, DELETED_SECONDS)

    def expire(self) -> int:
        """Forgets jobs that finished longer ago than the retention, at most a page of them; answers how many."""
        with self.store.reading() as redis:
            clock: Any = redis.time()
            until = milliseconds(clock[0] - self.settings.retention_seconds)
            expired: Any = redis.zrangebyscore(EXPIRING, "-inf", until, start=0, num=PAGE)
        for job_id in expired:
            try:
                self._change_only("delete", job_id.decode(), 0)
            except (NotFound, Conflict):
                continue
        return len(expired)

    def workers(self) -> list[WorkerRecord]:
        """The live workers by name, each with what its processes have recorded."""
        with self.store.reading() as redis:
            names: Any = redis.zrange(WORKERS, 0, -1)
        commands = [("HGETALL", worker_key(name.decode(), part)) for name in names for part in ("", "recorded")]
        answers = self.store.read(*commands) if commands else []
        found = [
            worker_record(name.decode(), fields(answers[2 * place]), fields(answers[2 * place + 1]))
            for place, name in enumerate(names)
            if answers[2 * place].get(b"host")
        ]
        return sorted(found, key=lambda worker: worker.name)

    def worker_count(self) -> int:
        """How many workers are alive."""
        with self.store.reading() as redis:
            return int(redis.zcard(WORKERS))

    def drain(self, name: str) -> None:
        """Has a worker finish its chunks, take no more, and end. Raises `NotFound`."""
        if not any(worker.name == name for worker in self.workers()):
            raise NotFound(f"there is no worker {name}")
        with self.store.reading() as redis:
            redis.hset(worker_key(name), "draining", "1")

    def beat(self, name: str, host: str, pid: int, processes: int, *, is_new: bool, version: str = ENGINE_VERSION) -> bool:
        """A worker's sign of life; answers whether it shall drain."""
        life = milliseconds(self.settings.worker_life_seconds)
        return bool(self.store.run("beat", name, host, pid, processes, version, life, "1" if is_new else "0") == 1)

    def leave(self, name: str) -> None:
        """A worker has stopped in good order."""
        self.store.read(("ZREM", WORKERS, name), ("DEL", worker_key(name), worker_key(name, "recorded")))

    def pace(self) -> list[int]:
        """Matches recorded in each stretch of ten seconds of the last hour, the oldest first; this one is left out."""
        clock, ring = self.store.read(("TIME",), ("HGETALL", PACE))
        return counted.pace_figures(fields(ring), clock[0])

    def figures(self) -> Figures:
        """Everything that metrics show, at one moment."""
        clock, metrics_hash, terms, memory, versions, *totals = self.store.read(
            ("TIME",), ("HGETALL", METRICS), ("HVALS", LEASE_TERMS), ("INFO", "memory"), ("HGETALL", VERSIONS),
            *(("ZCARD", state_key(state)) for state in STATES),
        )  # fmt: skip
        metrics = fields(metrics_hash)
        now = clock[0] + clock[1] / 1e6
        pending, jobs_without_engine = self._pending(live_versions(versions, now))
        granted = [int(term.split()[2]) / 1000 for term in terms]
        workers = self.workers()
        processes = sum(worker.processes for worker in workers)
        busy = sum(worker.busy_ratio * worker.processes for worker in workers)
        return Figures(
            matches=counted.play_figures(metrics, "matches"),
            rounds=counted.play_figures(metrics, "rounds"),
            plies=counted.play_figures(metrics, "plies"),
            chunks=counted.outcome_figures(metrics, "chunks", counted.CHUNK_OUTCOMES),
            audits=counted.outcome_figures(metrics, "audits", counted.AUDIT_OUTCOMES),
            chunk_seconds=counted.histogram_figures(metrics, "chunk_seconds", counted.CHUNK_SECONDS_BOUNDS),
            job_wait_seconds=counted.histogram_figures(metrics, "job_wait_seconds", counted.JOB_WAIT_BOUNDS),
            jobs=dict(zip(STATES, totals, strict=True)),
            pending_chunks=pending,
            jobs_without_engine=jobs_without_engine,
            leased_chunks=len(granted),
            oldest_lease_seconds=max(0.0, now - min(granted, default=now)),
            workers=len(workers),
            worker_busy_ratio=busy / processes if processes else 0.0,
            redis_bytes=int(memory["used_memory"]),
            redis_limit_bytes=int(memory["maxmemory"]),
        )

    def _pending(self, versions: frozenset[str]) -> tuple[dict[str, int], int]:
        """Waiting chunks by priority, and how many live jobs have an engine version that is none of these."""
        pending, without_engine = dict.fromkeys(PRIORITY_WEIGHTS, 0), 0
        with self.store.reading() as redis:
            live: Any = [*redis.zrange(state_key("queued"), 0, -1), *redis.zrange(state_key("running"), 0, -1)]
        commands: list[tuple[str, ...]] = []
        for job_id in (job_id.decode() for job_id in live):
            commands.append(("HMGET", job_key(job_id), "priority", "blocks", "cursor", "chunk_blocks", "engine_version"))
            commands.append(("LLEN", job_key(job_id, "retry")))
        answers = self.store.read(*commands) if commands else []
        for (priority, blocks, cursor, size, version), retries in zip(answers[::2], answers[1::2], strict=True):
            if priority is not None:
                left = int(blocks) - int(cursor)
                chunks = -(-left // int(size)) if int(size or 0) else min(left, 1)
                pending[priority.decode()] += chunks + retries
                without_engine += version.decode() not in versions
        return {str(priority): chunks for priority, chunks in pending.items()}, without_engine

    def _records(self, job_ids: list[str]) -> list[JobRecord]:
        answers = self.store.read(("TIME",), ("HGETALL", VERSIONS), *(("HGETALL", job_key(job_id)) for job_id in job_ids))
        clock, versions, *hashes = answers
        now = clock[0] + clock[1] / 1e6
        live = live_versions(versions, now)
        found: list[tuple[str, Fields]] = [(job_id, fields(stored)) for job_id, stored in zip(job_ids, hashes, strict=True)]
        return [job_record(job_id, stored, now, live) for job_id, stored in found if stored]

    def _change(self, verb: str, job_id: str, *arguments: str | bytes | int) -> JobRecord:
        self._change_only(verb, job_id, *arguments)
        return self.job(job_id)

    def _change_only(self, verb: str, job_id: str, *arguments: str | bytes | int) -> bool:
        patience = milliseconds(self.settings.permit_patience_seconds)
        outcome, issued = self.store.run("change", verb, job_id, patience, self.may_send, *arguments)
        if outcome == b"missing":
            raise NotFound(f"there is no job {job_id}")
        if outcome == b"conflict":
            state = self.job(job_id).state
            raise Conflict(f"a job that is {state} cannot be {CHANGED[verb]}")
        if outcome in (b"jobs", b"matches"):
            limits = arguments[-2:]
            raise _excess(outcome.decode(), Quota(*map(int, limits)), self.job(job_id).owner)
        self.send_permits(permits(issued))
        return bool(outcome == b"changed")


def live_versions(stored: Mapping[bytes, bytes], now: float) -> frozenset[str]:
    """The engine versions that a worker has which is alive at `now`, in unix seconds."""
    return frozenset(version for version, until in fields(stored).items() if int(until) / 1000 > now)


def _excess(what: str, quota: Quota, owner: str) -> QuotaExceeded:
    most = f"{quota.jobs:,} jobs" if what == "jobs" else f"{quota.matches:,} matches"
    return QuotaExceeded(f"{owner} may have at most {most} under way at once; wait until some have ended", QUOTA_RETRY_SECONDS)


def new_job_id() -> str:
    """A fresh id: later ones sort after earlier ones, so jobs with equal claims to be served come in their order.

    Of a millisecond's several submissions too: it begins with microseconds.
    """
    return f"{time.time_ns() // 1_000:013x}{secrets.token_hex(4)}"


CHANGED: Final[Mapping[str, str]] = {
    "cancel": "cancelled", "pause": "paused", "resume": "resumed", "restart": "restarted", "delete": "deleted",
}  # fmt: skip
