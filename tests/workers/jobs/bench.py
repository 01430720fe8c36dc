"""A ledger on a real server, worked by hand: permits are caught instead of sent, results are made up but telling."""

from collections.abc import Callable
from dataclasses import dataclass, field

from workers.jobs.keys import LEASES
from workers.jobs.ledger import Ledger
from workers.jobs.play_range import Places, Played, Speed
from workers.jobs.records import Claim, Lease, Permit
from workers.jobs.spec import JobSpec, make_scenario
from workers.stats.tally import Tally


def made_up(spec: JobSpec, first: int, last: int, seconds: float = 0.5) -> Played:
    """A result by which every block can be told: round and ply counts are sums over numbers and squares of the blocks."""
    places = Places(spec)
    tallies, speeds = [], []
    for run in places.runs(first, last):
        scenario = spec.scenarios[run.scenario]
        tally = Tally.empty(scenario.players)
        blocks = range(run.first_block + 1, run.first_block + run.blocks + 1)
        tally.matches = run.blocks * scenario.rotations
        tally.rounds, tally.plies = sum(blocks), sum(block * block for block in blocks)
        tallies.append((run.scenario, tally))
        share = seconds * run.blocks / (last - first)
        speeds.append(Speed(f"s{run.scenario}", run.blocks, share))
        speeds += [Speed(f"t{trait}", run.blocks, share) for trait in places.traits[run.scenario]]
    return Played(tallies, speeds, seconds)


def whole_job(spec: JobSpec) -> list[Tally]:
    """What all chunks of a job sum up to."""
    return [tally for _, tally in made_up(spec, 0, Places(spec).blocks).tallies]


def batch(*blocks: int, priority: str = "normal", **more: object) -> JobSpec:
    """A job with a scenario of so many blocks of two matches each."""
    scenarios = tuple(make_scenario(["heaviest", "random"], 2 * count) for count in blocks)
    return JobSpec(scenarios, 7, priority=priority, **more)  # type: ignore[arg-type]


def expire_leases(ledger: Ledger) -> None:
    """Lets every lease run out now."""
    with ledger.store.reading() as redis:
        for name in redis.zrange(LEASES, 0, -1):
            redis.zadd(LEASES, {name: 1})


@dataclass
class Bench:
    """One pair of hands for all sides of the ledger."""

    ledger: Ledger
    sent: list[Permit] = field(default_factory=list)
    held: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By worker: slot and generation of its permit."""

    def open(self, worker: str = "one", processes: int = 1) -> None:
        """A worker appears and a sweep issues permits."""
        self.ledger.beat(worker, "here", 1, processes, is_new=True)
        self.ledger.sweep()

    def claim(self, worker: str = "one") -> Claim:
        """A claim with the worker's permit; where it has none, or one that went idle, with the next that was sent."""
        is_message = worker not in self.held
        if is_message:
            permit = self.sent.pop(0)
            self.held[worker] = permit.slot, permit.generation
        slot, generation = self.held[worker]
        claim = self.ledger.claim(slot, generation, worker, is_message=is_message)
        if claim.outcome in ("idle", "stale"):
            del self.held[worker]
        else:
            self.held[worker] = slot, claim.generation
        return claim

    def lease(self, worker: str = "one") -> Lease:
        """A claim that must bring work."""
        lease = self.claim(worker).lease
        assert lease is not None
        return lease

    def record(self, lease: Lease, worker: str = "one", seconds: float = 0.5) -> str:
        """The made-up result of a lease is recorded."""
        played = made_up(self.ledger.spec(lease.job_id), lease.first, lease.last, seconds)
        return self.ledger.record(lease, played, worker)

    def work_off(self, worker: str = "one") -> list[Lease]:
        """Claims and records until nothing is left, then folds."""
        done = []
        while (claim := self.claim(worker)).lease is not None:
            self.record(claim.lease, worker)
            done.append(claim.lease)
        self.ledger.fold()
        return done


BenchMaker = Callable[..., Bench]
