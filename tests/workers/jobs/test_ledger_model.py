"""Any interleaving of claims, results, losses and wishes keeps the ledger's promises.

The model knows what was recorded, by job and chunk; at every step the ledger must agree, and in the end every job that
was not stopped is played to its end and has exactly the integers of an undisturbed run.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
import redis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from tests.servers import RedisServer
from tests.workers.jobs.bench import Bench, batch, made_up, whole_job
from workers.errors import Conflict
from workers.jobs.keys import LEASES
from workers.jobs.ledger import Ledger
from workers.jobs.records import Lease, Permit
from workers.jobs.spec import JobSpec
from workers.jobs.store import connect
from workers.settings import Settings
from workers.stats.tally import Tally

WORKERS = ("one", "two")
BAD_HOUR = (8, 8, 3, 2, 2, 1, 2, 2)
"""Weights of the events of a burst."""


@dataclass
class ModelJob:
    """What the model believes of a job."""

    spec: JobSpec
    state: str = "live"
    is_paused: bool = False
    runs: int = 0
    raised: set[int] = field(default_factory=set)
    """First blocks of the chunks that have raised once."""
    taken: dict[int, int] = field(default_factory=dict)
    """Recorded chunks: first block to end."""

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to record."""
        return sum(last - first for first, last in self.taken.items()) == sum(s.blocks for s in self.spec.scenarios)

    def tallies(self) -> list[Tally]:
        """The sums of what was recorded."""
        sums = [Tally.empty(scenario.players) for scenario in self.spec.scenarios]
        for first, last in self.taken.items():
            for scenario, tally in made_up(self.spec, first, last).tallies:
                sums[scenario].merge(tally)
        return sums


class LedgerModel(RuleBasedStateMachine):
    """The ledger under any sequence of events; `server` is given by the test."""

    server: RedisServer

    @initialize(chunk_blocks=st.integers(0, 7), audit_every=st.sampled_from([0, 1, 3]))
    def begin(self, chunk_blocks: int, audit_every: int) -> None:
        """An empty database, two workers, chunks of a fixed or of a measured size."""
        with redis.Redis(port=self.server.port) as client:
            client.flushall()
        sent: list[Permit] = []
        chosen = Settings(
            chunk_blocks=chunk_blocks, first_chunk_blocks=2, chunk_growth=2, audit_every=audit_every, lease_seconds=600,
            permit_patience_seconds=600, worker_life_seconds=600, audit_patience_seconds=0.001,
        )  # fmt: skip
        self.bench = Bench(Ledger(connect(self.server.url), send=sent.append, settings=chosen), sent)
        self.ledger = self.bench.ledger
        for worker in WORKERS:
            self.bench.open(worker)
        self.jobs: dict[str, ModelJob] = {}
        self.held: list[tuple[Lease, int]] = []
        """Leases that some worker believes to hold, with the run of the job that they belong to."""
        self.recorded = 0
        self.matches = 0

    @precondition(lambda self: len(self.jobs) < 4)
    @rule(
        blocks=st.lists(st.integers(1, 15), min_size=1, max_size=4), owner=st.sampled_from("ab"),
        priority=st.sampled_from(["low", "high"]), step=st.sampled_from([0, 4]),
    )  # fmt: skip
    def submit(self, blocks: list[int], owner: str, priority: str, step: int) -> None:
        """A job arrives."""
        spec = batch(*blocks, priority=priority)
        record, _ = self.ledger.submit(spec, owner=owner, steps={0: step})
        self.jobs[record.id] = ModelJob(spec)

    @rule(workers=st.lists(st.sampled_from(WORKERS), min_size=1, max_size=4))
    def claim(self, workers: list[str]) -> None:
        """Workers claim; only a job that is live and not paused may be handed out, and no chunk twice at a time."""
        for worker in workers:
            if worker not in self.bench.held and not self.bench.sent:
                self.ledger.sweep()
            if worker not in self.bench.held and not self.bench.sent:
                continue
            lease = self.bench.claim(worker).lease
            if lease is None:
                continue
            job = self.jobs[lease.job_id]
            assert job.state == "live"
            assert not job.is_paused
            assert (job.taken.get(lease.first) == lease.last) is lease.is_audit
            if not lease.is_audit:
                assert all(lease.last <= first or last <= lease.first for first, last in job.taken.items())
            self.held.append((lease, job.runs))

    @precondition(lambda self: self.held)
    @rule(places=st.lists(st.integers(0, 50), min_size=1, max_size=4), keep=st.booleans())
    def record(self, places: list[int], keep: bool) -> None:
        """Results arrive in any order, perhaps late, perhaps not for the last time (`keep`)."""
        for place in places:
            if not self.held:
                return
            lease, run = self.held[place % len(self.held)]
            if not keep:
                del self.held[place % len(self.held)]
            job = self.jobs[lease.job_id]
            outcome = self.ledger.record(lease, made_up(job.spec, lease.first, lease.last), "one")
            if run != job.runs or job.state != "live":
                assert outcome == "refused"
            elif lease.is_audit:
                assert outcome in ("agreed", "duplicate")
            elif lease.first in job.taken:
                assert outcome == "duplicate"
            else:
                assert outcome == "recorded"
                job.taken[lease.first] = lease.last
                self.recorded += 1

    @precondition(lambda self: self.held)
    @rule(place=st.integers(0, 50), trouble=st.sampled_from(["crash", "crash", "fail"]))
    def stumble(self, place: int, trouble: str) -> None:
        """A worker forgets what it plays, or its chunk raises; the second time its job has failed."""
        lease, _ = self.held.pop(place % len(self.held))
        if trouble == "crash":
            return
        outcome = self.ledger.fail(lease, "broken")
        job = self.jobs[lease.job_id]
        if outcome == "failed":
            assert lease.first in job.raised
            job.state = "failed"
        elif outcome == "retried":
            job.raised.add(lease.first)

    @rule(lost=st.booleans())
    def sweep(self, lost: bool) -> None:
        """A sweep, perhaps after the time of all leases has run out."""
        if lost:
            self.lose_everything()
        self.ledger.sweep()

    def lose_everything(self) -> None:
        """All leases run out."""
        with self.ledger.store.reading() as client:
            for name in client.zrange(LEASES, 0, -1):
                client.zadd(LEASES, {name: 1})
        self.ledger.sweep()

    @rule()
    def fold(self) -> None:
        """A fold; afterwards the sums are those of the recorded chunks, and finished jobs are done."""
        self.ledger.fold()
        for job_id, job in self.jobs.items():
            assert self.ledger.tallies(job_id) == job.tallies()

    @precondition(lambda self: self.jobs)
    @rule(place=st.integers(0, 3), verb=st.sampled_from(["pause", "resume", "resume", "restart", "cancel"]))
    def wish(self, place: int, verb: str) -> None:
        """A user wants something."""
        job_id = sorted(self.jobs)[place % len(self.jobs)]
        job = self.jobs[job_id]
        was = self.ledger.job(job_id).state
        try:
            now = getattr(self.ledger, verb)(job_id).state
        except Conflict:
            assert was in ("done", "cancelled", "failed")
            assert verb != "restart"
            assert self.ledger.job(job_id).state == was
            return
        if verb == "cancel":
            assert now == "cancelled"
            job.state = "cancelled"
        elif verb == "pause":
            assert now == "paused"
            job.is_paused = True
        elif verb == "resume":
            assert now in ("queued", "running")
            job.is_paused = False
        elif was in ("done", "cancelled", "failed"):
            assert now == "queued"
            job.runs += 1
            job.state, job.is_paused, job.taken, job.raised = "live", False, {}, set()

    @rule(seed=st.integers(0, 2**32 - 1))
    def burst(self, seed: int) -> None:
        """Many events at once, as likely as in a bad hour: single rules alone seldom get far into a job."""
        random = Random(seed)
        for _ in range(25):
            event = random.choices(["claim", "record", "again", "stumble", "sweep", "lose", "fold", "wish"], BAD_HOUR)[0]
            places = [random.randrange(50) for _ in range(3)]
            if event == "claim":
                self.claim(random.choices(WORKERS, k=3))
            elif event in ("record", "again"):
                self.record(places, keep=event == "again")
            elif event == "stumble" and self.held:
                self.stumble(places[0], random.choice(["crash", "crash", "crash", "fail"]))
            elif event in ("sweep", "lose"):
                self.sweep(lost=event == "lose")
            elif event == "fold":
                self.fold()
            elif event == "wish" and self.jobs:
                self.wish(places[0], random.choice(["pause", "resume", "resume", "cancel", "restart", "restart"]))
            self.states_agree()

    @invariant()
    def states_agree(self) -> None:
        """What a job shows is what the model knows."""
        for job_id, job in getattr(self, "jobs", {}).items():
            shown = self.ledger.job(job_id)
            if shown.state == "done":
                assert job.is_finished
                assert shown.matches_done == shown.matches
                assert self.ledger.tallies(job_id) == whole_job(job.spec)
                job.state = "done"
            elif job.state == "live":
                assert shown.state == "paused" if job.is_paused else shown.state in ("queued", "running")
            else:
                assert shown.state == job.state

    def teardown(self) -> None:
        """Everything that is not stopped comes to its end, whatever happened; the counters equal the integers."""
        if not hasattr(self, "jobs"):
            return
        for job_id, job in self.jobs.items():
            if job.state == "live" and job.is_paused:
                self.ledger.resume(job_id)
        self.lose_everything()
        for _ in range(400):
            for worker in WORKERS:
                if worker in self.bench.held or self.bench.sent:
                    lease = self.bench.claim(worker).lease
                    if lease is not None and self.bench.record(lease, worker) == "recorded":
                        self.recorded += 1
            self.ledger.fold()
            if all(self.ledger.job(job_id).is_finished for job_id in self.jobs):
                break
            self.ledger.sweep()
        for job_id, job in self.jobs.items():
            if job.state == "live":
                assert self.ledger.job(job_id).state == "done"
                assert self.ledger.tallies(job_id) == whole_job(job.spec)
        figures = self.ledger.figures()
        assert figures.leased_chunks == 0
        if not any(job.runs for job in self.jobs.values()):
            assert figures.chunks["recorded"] == self.recorded
            assert sum(figures.matches.values()) == sum(self.ledger.job(job_id).matches_done for job_id in self.jobs)


@pytest.fixture
def model(tmp_path: Path) -> Iterator[type[LedgerModel]]:
    """The model on a server of its own that need not wait for the disk: thousands of steps, and no crash of Redis."""
    LedgerModel.server = RedisServer(tmp_path, options=("--appendonly", "no"))
    LedgerModel.server.start()
    yield LedgerModel
    LedgerModel.server.stop()


def test_any_interleaving_keeps_the_promises(model: type[LedgerModel]) -> None:
    run_state_machine_as_test(
        model,
        settings=settings(
            max_examples=25, stateful_step_count=12, deadline=None, print_blob=True,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_any_interleaving_keeps_the_promises_at_length(model: type[LedgerModel]) -> None:
    run_state_machine_as_test(
        model,
        settings=settings(
            max_examples=1000, stateful_step_count=30, deadline=None, print_blob=True,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )  # fmt: skip
