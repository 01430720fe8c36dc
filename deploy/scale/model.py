"""A discrete-event model of the ledger: processes that play, the one Redis that they wait for, and what keeps it in order.

Redis is one thread that works in turns: it takes all requests that are there, runs them one after the other, writes what they
changed to disk once, and only then answers them all. So waiting for the disk is shared by all who wait, processor time adds up.
What a process does: play a chunk, hand its result in and get the next in one exchange, and after a permit's time stand in line
again. Beside that workers beat, one process sweeps, one folds. Times are seconds.
"""

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Final

from workers.jobs.fold import ENTRIES
from workers.jobs.upkeep import CROWD
from workers.jobs.work import TURN
from workers.settings import Settings


@dataclass(frozen=True, slots=True)
class Costs:
    """What was measured. Those of Redis are its processor time, without the wait for the disk, which is `flush`."""

    flush: float
    """A turn's wait for the disk."""
    exchange: float
    """Redis: a result recorded and the next chunk claimed."""
    exchange_outside: float
    """The rest of an exchange: the process's own work and the way to Redis and back."""
    turnover: float
    """Redis: a permit sent, received and acknowledged."""
    turnover_outside: float
    """The rest of that, as long as Redis is idle."""
    fold_entry: float
    """Redis: a result read from the journal."""
    fold_entry_outside: float
    """The folding process: a result added to the sums."""
    poll: float
    """Redis: a process looks whether there is something to sweep or to fold, and there is not."""
    beat: float
    """Redis: a worker's sign of life."""
    sweep: float
    """Redis: a sweep where nobody works."""
    sweep_worker: float
    """Redis: what each worker with one process adds to a sweep, its permits included."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A cluster: so many playing processes, so many of them to a worker, with chunks of so many seconds."""

    processes: int
    chunk: float = Settings.model_fields["chunk_seconds"].default
    to_a_worker: int = 4
    permit: float = Settings.model_fields["permit_seconds"].default
    spread: float = 0.2
    """Chunks take up to this part more or less than planned, evenly."""
    seconds: float = 0.0
    """How long the model runs; 0: long enough for some chunks of every process."""

    @property
    def workers(self) -> int:
        """Workers, the last perhaps with fewer processes."""
        return math.ceil(self.processes / self.to_a_worker)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it after the first third of the time."""

    chunks_per_second: float
    efficiency: float
    """Part of their time that processes play."""
    redis_load: float
    """Part of its time that Redis works or waits for the disk."""
    waiting: float
    """Mean seconds from a result's being handed in to the next chunk."""
    unfolded: float
    """Chunks a second that are recorded and not folded: above 0 results fall behind for as long as the work goes on."""


@dataclass(slots=True)
class _Request:
    cost: float
    writes: bool
    answered: Callable[[], None]


@dataclass(slots=True)
class _Redis:
    """One thread, in turns."""

    model: "_Model"
    flush: float
    line: deque[_Request] = field(default_factory=deque)
    is_busy: bool = False
    busy_seconds: float = 0.0

    def ask(self, cost: float, answered: Callable[[], None], *, writes: bool = True) -> None:
        """A request arrives."""
        self.line.append(_Request(cost, writes, answered))
        if not self.is_busy:
            self._turn()

    def _turn(self) -> None:
        self.is_busy = True
        taken, self.line = self.line, deque()
        spent = sum(request.cost for request in taken) + (self.flush if any(request.writes for request in taken) else 0.0)
        self.busy_seconds += spent
        self.model.after(spent, lambda: self._end(taken))

    def _end(self, taken: deque[_Request]) -> None:
        self.is_busy = False
        for request in taken:
            request.answered()
        if self.line and not self.is_busy:
            self._turn()


class _Model:
    """The clock, and everybody's doings."""

    def __init__(self, plan: Plan, costs: Costs, settings: Settings) -> None:
        self.plan, self.costs, self.settings = plan, costs, settings
        self.random = Random(plan.processes)
        self.now = 0.0
        self.redis = _Redis(self, costs.flush)
        self.recorded = self.journal = self.folded = 0
        self.played = self.waited = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers: Final = count()

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        """`what` happens so much later."""
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), what))

    def run(self, until: float) -> None:
        """Everything up to that moment happens."""
        while self._events and self._events[0][0] <= until:
            self.now, _, what = heapq.heappop(self._events)
            what()
        self.now = until

    def begin(self) -> None:
        """Everybody begins, at moments of their own."""
        for _ in range(self.plan.processes):
            self.after(self.random.random() * self.plan.chunk, lambda: self._play(self.now + self.plan.permit))
        workers, settings, costs = self.plan.workers, self.settings, self.costs
        crowd = min(workers, CROWD)
        self._every(settings.beat_seconds, workers, costs.beat + costs.poll)
        self._every(settings.sweep_seconds, crowd, costs.poll, writes=False)
        self._every(settings.fold_seconds, crowd, costs.poll, writes=False)
        self._every(settings.sweep_seconds * TURN, 1, costs.sweep + costs.sweep_worker * self.plan.processes)
        self._fold()

    def _every(self, seconds: float, callers: int, cost: float, *, writes: bool = True) -> None:
        """So many callers ask at their interval; each waits for its answer before it asks again."""

        def happen() -> None:
            self.redis.ask(cost, lambda: self.after(seconds, happen), writes=writes)

        for _ in range(callers):
            self.after(self.random.random() * seconds, happen)

    def _play(self, permit_end: float) -> None:
        spread = self.plan.spread
        seconds = self.plan.chunk * self.random.uniform(1 - spread, 1 + spread)
        self.after(seconds, lambda: self._hand_in(seconds, permit_end))

    def _hand_in(self, seconds: float, permit_end: float) -> None:
        self.played += seconds
        begun, costs = self.now, self.costs

        def answered() -> None:
            self.recorded += 1
            self.journal += 1
            self.after(costs.exchange_outside, go_on)

        def go_on() -> None:
            if self.now < permit_end:
                self.waited += self.now - begun
                self._play(permit_end)
            else:
                self.redis.ask(costs.turnover, lambda: self.after(costs.turnover_outside, return_))

        def return_() -> None:
            self.waited += self.now - begun
            self._play(self.now + self.plan.permit)

        self.redis.ask(costs.exchange, answered)

    def _fold(self) -> None:
        """One process at a time: a part of the journal is read, added up outside, and written."""
        entries = min(self.journal, ENTRIES)
        if not entries:
            self.after(self.settings.fold_seconds, self._fold)
            return

        def written() -> None:
            self.journal -= entries
            self.folded += entries
            self.after(0.0 if self.journal else self.settings.fold_seconds, self._fold)

        def read() -> None:
            self.after(self.costs.fold_entry_outside * entries, lambda: self.redis.ask(self.costs.poll, written))

        self.redis.ask(self.costs.fold_entry * entries, read, writes=False)


def simulate(plan: Plan, costs: Costs, settings: Settings | None = None) -> Outcome:
    """What the plan comes to."""
    model = _Model(plan, costs, settings or Settings())
    seconds = plan.seconds or 30.0 + 5 * max(plan.chunk, plan.permit)
    model.begin()
    begun = seconds / 3
    model.run(begun)
    recorded, folded, played, waited, busy = (
        model.recorded, model.folded, model.played, model.waited, model.redis.busy_seconds,
    )  # fmt: skip
    model.run(seconds)
    elapsed = seconds - begun
    chunks = model.recorded - recorded
    return Outcome(
        chunks_per_second=chunks / elapsed,
        efficiency=(model.played - played) / (elapsed * plan.processes),
        redis_load=min(1.0, (model.redis.busy_seconds - busy) / elapsed),
        waiting=(model.waited - waited) / chunks if chunks else math.inf,
        unfolded=max(0.0, (chunks - (model.folded - folded)) / elapsed),
    )
