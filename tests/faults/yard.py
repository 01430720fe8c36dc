"""What the faults are let loose on: a job of a few hundred chunks, and the proof that nothing was lost or counted twice."""

import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

from service.client import Client
from tests.faults.proxy import Command, Proxy, delay
from tests.servers import RedisServer, is_ready, named_children, poll
from workers.jobs.figures import Figures
from workers.jobs.ledger import Ledger
from workers.jobs.play_range import Table
from workers.jobs.queue import open_ledger
from workers.jobs.spec import JobSpec, make_scenario
from workers.settings import Settings
from workers.stats.tally import Tally

CHUNKS: Final = 240
CHUNK_BLOCKS: Final = 20
START_SECONDS: Final = 240.0
"""A first start compiles the engine."""
END_SECONDS: Final = 120.0
"""After this a job that is not done counts as lost."""
PACE: Final = 0.02
"""Seconds by which every result is held up on its way: so there is time to hit a job whose chunks take a millisecond."""

SETTINGS: Final = {
    "chunk_blocks": CHUNK_BLOCKS, "lease_seconds": 1.0, "permit_patience_seconds": 1.0, "permit_seconds": 0.5,
    "worker_life_seconds": 3.0, "beat_seconds": 0.5, "sweep_seconds": 0.25, "redis_timeout_seconds": 2.0,
}  # fmt: skip
"""Under these what was lost comes back soon."""


def make_spec(seed: int, chunks: int = CHUNKS, chunk_blocks: int = CHUNK_BLOCKS) -> JobSpec:
    """A job of so many chunks (a multiple of 4) for two, three and four players."""
    quarter = chunks // 4 * chunk_blocks
    return JobSpec(
        (
            make_scenario(["heaviest", "random"], 2 * 2 * quarter),
            make_scenario(["random", "heaviest", "lightest"], 3 * quarter),
            make_scenario(["double", "random", "double", "random"], 2 * quarter),
        ),
        seed=seed,
    )  # fmt: skip


def direct_play(spec: JobSpec) -> list[Tally]:
    """The tallies of the job, played here in one go and undisturbed."""
    table = Table(spec)
    played = table.play(0, table.places.blocks)
    assert played is not None
    return [tally for _, tally in played.tallies]


@dataclass
class Witness:
    """Notes what the ledger answered to `record`, as it passed the proxy: a count that owes nothing to the ledger's own."""

    answers: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)

    def __call__(self, command: Command) -> None:
        """Notes one answer."""
        if command.name == "record" and command.answer.startswith(b"$"):
            job_id, _, kind, first, last = (word.decode() for word in command.arguments[:5])
            if kind == "c":
                outcome = command.answer.split(b"\r\n")[1].decode()
                self.answers.setdefault(job_id, []).append((outcome, int(first), int(last)))

    def recorded(self, job_id: str) -> list[tuple[int, int]]:
        """The blocks that were taken, in their order on the job's line."""
        return sorted((first, last) for outcome, first, last in self.answers.get(job_id, []) if outcome == "recorded")

    def check(self, job_id: str, blocks: int, *, is_complete: bool = True) -> None:
        """No block was taken twice; and every block was, unless answers may have died with Redis."""
        at = 0
        for first, last in self.recorded(job_id):
            assert first >= at, f"blocks {first} to {at - 1} were taken twice"
            assert first == at or not is_complete, f"blocks {at} to {first - 1} were never taken"
            at = last
        assert at == blocks or not is_complete


@dataclass
class Trial:
    """A job under way, and what the figures were before it."""

    ledger: Ledger
    spec: JobSpec
    job_id: str
    before: Figures
    witness: Witness | None = None

    def count(self, outcome: str) -> int:
        """Chunks with this outcome since the job was submitted."""
        return self.ledger.figures().chunks[outcome] - self.before.chunks[outcome]

    def until_recorded(self, chunks: int) -> None:
        """Waits until so many chunks have been taken and folded."""
        poll(lambda: self.count("recorded") >= chunks, END_SECONDS)

    def prove(self, chunks: int = CHUNKS, *, redis_died: bool = False) -> None:
        """The job ends well; its integers are those of direct play, and every figure says so too."""
        poll(lambda: self.ledger.job(self.job_id).is_finished, END_SECONDS, pause=0.05)
        record = self.ledger.job(self.job_id)
        assert (record.state, record.error) == ("done", None)
        tallies = direct_play(self.spec)
        assert self.ledger.tallies(self.job_id) == tallies
        assert record.matches_done == self.spec.matches
        figures = self.ledger.figures()
        assert self.count("recorded") == chunks
        for name in ("matches", "rounds", "plies"):
            counted = sum(getattr(figures, name).values()) - sum(getattr(self.before, name).values())
            assert counted == sum(getattr(tally, name) for tally in tallies), name
        assert figures.leased_chunks == 0
        if self.witness is not None:
            blocks = sum(scenario.blocks for scenario in self.spec.scenarios)
            self.witness.check(self.job_id, blocks, is_complete=not redis_died)


@dataclass
class Yard:
    """A Redis, the proxy before it, and a ledger that reaches Redis past the proxy."""

    server: RedisServer
    proxy: Proxy
    ledger: Ledger
    witness: Witness
    trials: int = 0

    def begin(self, pace: float = PACE, chunks: int = CHUNKS) -> Trial:
        """Submits a job whose seed no other trial has; all rules at the proxy are new."""
        self.proxy.clear()
        self.proxy.at("record", "before", delay(pace), times=10**9)
        self.trials += 1
        spec = make_spec(2**63 + self.trials, chunks)
        before = self.ledger.figures()
        return Trial(self.ledger, spec, self.ledger.submit(spec)[0].id, before, self.witness)


@contextmanager
def opened_yard(folder: Path, *options: str) -> Iterator[Yard]:
    """A yard on an empty folder, until the end of the block."""
    server = RedisServer(folder, options=options)
    server.start()
    proxy, witness = Proxy(server.port), Witness()
    proxy.observers.append(witness)
    try:
        yield Yard(server, proxy, open_ledger(Settings(redis_url=server.url, **SETTINGS)), witness)
    finally:
        proxy.close()
        server.stop()


@dataclass
class Up:
    """A running `blockyard up`."""

    process: subprocess.Popen[bytes]
    data: Path
    log: Path
    url: str

    @property
    def client(self) -> Client:
        """A client of its API."""
        return Client(self.url)

    def children(self) -> dict[str, psutil.Process]:
        """The processes that the supervisor has started, by what they are."""
        return named_children(self.process.pid)

    def has_new(self, name: str, was: int) -> bool:
        """Whether a child of this name runs under another process id than it had."""
        child = self.children().get(name)
        return child is not None and child.pid != was

    def players(self) -> list[psutil.Process]:
        """The workers' children, which play."""
        found = []
        for name, child in self.children().items():
            if name.startswith("worker"):
                with suppress(psutil.NoSuchProcess):
                    found += child.children()
        return found

    def log_of(self, name: str) -> str:
        """What a child has logged."""
        return (self.data / "logs" / f"{name}.log").read_text(errors="replace")

    def is_ready(self) -> bool:
        """Whether the API answers, Redis and a worker being there."""
        return is_ready(self.url, workers=1)

    def matches_total(self) -> int:
        """The matches that /metrics shows."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        return sum(int(float(value)) for value in re.findall(r"^blockyard_matches_total\{.*\} (\S+)$", text, re.MULTILINE))

    def kill(self) -> None:
        """SIGKILL to the supervisor; everything that it has started ends within five seconds."""
        family = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        self.process.wait(5)
        _, alive = psutil.wait_procs(family, 5)
        assert not alive, f"{alive} outlived the supervisor"

    def stop(self) -> None:
        """SIGTERM, and it ends well with all its family."""
        if self.process.poll() is None:
            family = psutil.Process(self.process.pid).children(recursive=True)
            self.process.terminate()
            assert self.process.wait(90) == 0, self.log.read_text()
            _, alive = psutil.wait_procs(family, 5)
            assert not alive


def start_up(base: Path, workers: int = 2, redis_url: str | None = None, **settings: object) -> Up:
    """Starts `blockyard up` on the data folder below `base`, and waits until everything is ready."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BLOCKYARD_")}
    environment |= {f"BLOCKYARD_{name.upper()}": str(value) for name, value in {**SETTINGS, **settings}.items()}
    if redis_url is not None:
        environment["BLOCKYARD_REDIS_URL"] = redis_url
    base.mkdir(parents=True, exist_ok=True)
    announced, log = base / "address", base / "up.log"
    announced.unlink(missing_ok=True)
    command = [sys.executable, "-P", "-m", "service.cli", "up", "--data", str(base / "data"), "--workers", str(workers)]
    with log.open("ab") as said:
        process = subprocess.Popen([*command, "--announce", str(announced)], env=environment, stdout=said, stderr=said)

    def has_address() -> bool:
        assert process.poll() is None, log.read_text()
        return announced.exists() and announced.read_text().endswith("\n")

    poll(has_address, START_SECONDS)
    return Up(process, base / "data", log, announced.read_text().strip())
