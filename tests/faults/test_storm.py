"""Kills at random, for as long as one likes: `--storm MINUTES`; by default a short one. `--storm-seed` repeats its choices."""

import secrets
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event, Thread

import psutil
import pytest
import redis

from tests.faults.proxy import cut, kill_sender
from tests.faults.yard import CHUNKS, Trial, Up, Yard, opened_yard, start_up
from tests.servers import poll

pytestmark = pytest.mark.slow
"""Long, and its bound on a stop is for a machine that does nothing else."""

DEFAULT_SECONDS = 20.0
PAUSE = (1.0, 3.0)
"""Seconds from one fault to the next."""
LONGEST_STOP = 10.0
"""Seconds for which progress may stand still under kills alone; measured 0.7 s (three minutes, two cores)."""
PACE = 0.08
SCRIPTS = ("claim", "record", "renew", "sweep", "beat", "fold_begin", "fold_read", "fold_write", "fold_end")


@dataclass
class Storm:
    """The service, what hits it, and what has been seen."""

    yard: Yard
    base: Path
    random: Random
    up: Up
    hits: Counter[str] = field(default_factory=Counter)
    trial: Trial | None = None
    redis_died: bool = False
    longest_stop: float = 0.0
    calm: Event = field(default_factory=Event)

    def player(self) -> None:
        """A process that plays is killed."""
        if family := self.up.players():
            with suppress(psutil.NoSuchProcess):
                self.random.choice(family).kill()

    def part(self) -> None:
        """A worker, the API or the scheduler is killed."""
        with suppress(KeyError, psutil.NoSuchProcess):
            self.up.children()[self.random.choice(["worker-1", "worker-2", "api", "scheduler"])].kill()

    def sleeper(self) -> None:
        """A process that plays is stopped for a while."""
        with suppress(IndexError, psutil.NoSuchProcess):
            process = self.random.choice(self.up.players())
            process.suspend()
            self.calm.wait(self.random.uniform(0.5, 2.5))
            process.resume()

    def keeper(self) -> None:
        """The process that would end what a killed supervisor leaves is killed."""
        with suppress(KeyError, psutil.NoSuchProcess):
            self.up.children()["service.local.keeper"].kill()
            poll(lambda: "service.local.keeper" in self.up.children())

    def server(self) -> None:
        """Redis is killed and goes on from its append-only file."""
        self.redis_died = True
        self.yard.server.stop(signal.SIGKILL)
        self.yard.server.start()

    def memory(self) -> None:
        """Redis has no memory left for a while."""
        with redis.Redis.from_url(self.yard.server.url) as client:
            client.config_set("maxmemory", "1")
            self.calm.wait(self.random.uniform(0.2, 1.5))
            client.config_set("maxmemory", "0")

    def wire(self) -> None:
        """Every connection is cut."""
        self.yard.proxy.break_connections()

    def cable(self) -> None:
        """Nothing passes for a while."""
        self.yard.proxy.swallow()
        self.calm.wait(self.random.uniform(0.2, 2.0))
        self.yard.proxy.mend()

    def moment(self) -> None:
        """Whoever runs a certain script next is killed or cut off, before or after it has run."""
        name, moment = self.random.choice(SCRIPTS), self.random.choice(["before", "after"])
        self.yard.proxy.at(name, moment, self.random.choice([kill_sender, cut]))

    def supervisor(self) -> None:
        """`up` is killed, all that it has started ends, and it is started again."""
        self.up.kill()
        self.up = start_up(self.base, redis_url=self.yard.proxy.url)

    def kills(self) -> list[Callable[[], None]]:
        """Deaths alone, of whatever `up` brings back by itself."""
        return [self.player, self.part, self.server]

    def faults(self) -> list[Callable[[], None]]:
        """What may happen, the likelier more often."""
        usual = [self.player, self.part, self.moment]
        return [*usual * 3, self.sleeper, self.keeper, self.server, self.memory, self.wire, self.cable, self.supervisor]

    def blow(self, seconds: float, faults: list[Callable[[], None]]) -> None:
        """These faults at random for so long, while one job after the other is played and proved."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.go_on()
            fault = self.random.choice(faults)
            fault()
            self.hits[fault.__name__] += 1
            self.calm.wait(self.random.uniform(*PAUSE))
        if self.trial is not None:
            self.trial.prove(redis_died=self.redis_died)
            self.hits["jobs"] += 1

    def go_on(self) -> None:
        """A job that has ended is proved, and the next begins."""
        if self.trial is not None and self.trial.ledger.job(self.trial.job_id).is_finished:
            self.trial.prove(redis_died=self.redis_died)
            self.hits["jobs"] += 1
            self.trial = None
        if self.trial is None:
            self.redis_died = False
            self.trial = self.yard.begin(PACE)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Notes the longest time without a chunk recorded while a job was under way."""
        over = Event()

        def watch() -> None:
            last, since = (self.trial, 0), time.monotonic()
            while not over.wait(0.05):
                trial = self.trial
                now = (trial, len(self.yard.witness.answers.get(trial.job_id, [])) if trial else 0)
                if now != last or trial is None or now[1] >= CHUNKS:
                    last, since = now, time.monotonic()
                self.longest_stop = max(self.longest_stop, time.monotonic() - since)

        watcher = Thread(target=watch)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", ["kills", "faults"])
def test_storm(kind: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    minutes, given = request.config.getoption("--storm"), request.config.getoption("--storm-seed")
    seconds = DEFAULT_SECONDS if minutes is None else 60 * minutes
    seed = secrets.randbelow(2**32) if given is None else given

    def tell(text: str) -> None:
        sys.stdout.write(f"{text}\n")  # shown beside a failure
        with capsys.disabled():
            sys.stdout.write(f"\n{text}\n")

    tell(f"storm of {kind}, {seconds:.0f} s, --storm-seed {seed}")
    (tmp_path / "redis").mkdir()
    with opened_yard(tmp_path / "redis") as yard:
        begun = time.monotonic()
        up = start_up(tmp_path / "up", redis_url=yard.proxy.url)
        start_seconds = time.monotonic() - begun
        storm = Storm(yard, tmp_path / "up", Random(seed), up)
        try:
            with storm.watched():
                storm.blow(seconds, getattr(storm, kind)())
        finally:
            yard.proxy.clear()
            yard.proxy.mend()
            tell(
                f"storm of {kind}, seed {seed}: {dict(storm.hits)}, {yard.proxy.cuts} connections cut, "
                f"{yard.ledger.figures().chunks}, longest stop {storm.longest_stop:.1f} s, start {start_seconds:.1f} s"
            )
            poll(storm.up.is_ready, 120)
            storm.up.stop()
        assert storm.hits["jobs"] >= 1
        # The supervisor's death is made good by the test, which then waits for the whole service.
        assert storm.longest_stop < (LONGEST_STOP if kind == "kills" else max(LONGEST_STOP, 2 * start_seconds + LONGEST_STOP))
