"""The fold: journals of recorded chunks become sums of scenarios, counters of the service, and finished jobs.

Any process may fold at any time. A lock keeps them from doing the same work; what keeps the sums right is that
they, the counters and the journal's position move on in one script, which refuses if the position has changed.
"""

import secrets
from collections import Counter
from dataclasses import dataclass
from math import exp
from typing import Any, Final, TypeAlias

import orjson

from workers.errors import NotFound
from workers.jobs.desk import Desk, milliseconds
from workers.jobs.figures import chunk_increments, play_increments
from workers.jobs.keys import job_key
from workers.jobs.sequential import Pending, SequentialTest, TestState, take_looks
from workers.stats.tally import Tally

LOCK_MILLISECONDS: Final = 3000
ENTRIES: Final = 256
"""Journal entries of one step of the fold."""
SMOOTHING_SECONDS: Final = 4.0
"""The time over which a job's speed is smoothed."""


Position: TypeAlias = tuple[str, str, str, int]
"""Where a fold stands: job, run, entries folded before, entries read now."""


@dataclass(frozen=True, slots=True)
class FoldedChunk:
    """A journal entry: a recorded chunk's place on the job's line of blocks, its seconds, its tallies by scenario."""

    first: int
    blocks: int
    seconds: float
    tallies: list[tuple[int, Tally]]


class FoldDesk(Desk):
    """Folding, and reading what has been folded."""

    def fold(self, patience: float = 0.0) -> int:
        """Folds every journal that has entries; answers the entries folded. To be called a few times a second.

        Nothing is done where another ledger has begun a fold within `patience` seconds: it will do it again.
        """
        token = secrets.token_hex(8)
        asked = ("fold_begin", token, LOCK_MILLISECONDS, self.name, milliseconds(patience))
        unfolded = [job_id.decode() for job_id in self.store.run(*asked)]
        if not unfolded:
            return 0
        try:
            return sum(self.fold_job(job_id) for job_id in unfolded)
        finally:
            self.store.run("fold_end", token)

    def fold_job(self, job_id: str) -> int:
        """Folds one job's journal to its end; answers the entries folded."""
        total = 0
        outcome = b"more"
        while outcome == b"more":
            outcome, entries = self._fold_step(job_id)
            total += entries
        return total

    def tallies(self, job_id: str, first: int = 0, count: int | None = None) -> list[Tally]:
        """The folded sums of scenarios `first` to `first + count - 1`, empty for those not begun; raises `NotFound`."""
        scenarios = self.spec(job_id).scenarios[first : None if count is None else first + count]
        sums = self._sums(job_id, range(first, first + len(scenarios)))
        return [sums.get(first + place) or Tally.empty(scenario.players) for place, scenario in enumerate(scenarios)]

    def _fold_step(self, job_id: str) -> tuple[bytes, int]:
        now, stored, entries = self.store.run("fold_read", job_id, ENTRIES)
        if stored[0] is None:
            return b"stale", 0
        run, folded, matches_done, rate, rate_at, test, test_state = (text.decode() if text else "" for text in stored)
        try:
            scenarios = self.spec(job_id, run).scenarios
        except NotFound:
            return b"stale", 0
        chunks = [_chunk(entry) for entry in entries]
        increments: Counter[str] = Counter()
        matches = 0
        for chunk in chunks:
            increments.update(chunk_increments(chunk.seconds))
            for scenario, tally in chunk.tallies:
                increments.update(play_increments(scenarios[scenario], tally))
                matches += tally.matches
        elapsed = max(int(now) - int(rate_at or 0), 1) / 1000
        smoothed = _smooth(float(rate or 0), matches / elapsed, elapsed, is_first=matches_done == "0")
        position = (job_id, run, folded, len(entries))
        counters = [part for field, increment in increments.items() for part in (field, increment)]
        if test:
            outcome = self._write_looks(position, test, test_state, chunks, scenarios[0].players, smoothed, counters)
        else:
            outcome = self._write_sums(position, chunks, matches, smoothed, counters)
        return outcome, 0 if outcome == b"stale" else len(entries)

    def _write_sums(
        self, position: Position, chunks: list[FoldedChunk], matches: int, rate: float, counters: list[str | int]
    ) -> bytes:
        sums: dict[int, Tally] = {}
        for chunk in chunks:
            for scenario, tally in chunk.tallies:
                if scenario in sums:
                    sums[scenario].merge(tally)
                else:
                    sums[scenario] = tally
        for scenario, known in self._sums(position[0], list(sums)).items():
            sums[scenario].merge(known)
        outcome: bytes = self.store.run(
            "fold_write", *position, matches, f"{rate:.6f}", len(sums),
            *(part for scenario, tally in sums.items() for part in (scenario, orjson.dumps(tally.to_json()))), *counters,
        )  # fmt: skip
        return outcome

    def _write_looks(
        self, position: Position, test_text: str, state_text: str, chunks: list[FoldedChunk], players: int, rate: float,
        counters: list[str | int],
    ) -> bytes:  # fmt: skip
        job_id = position[0]
        test = SequentialTest.from_json(orjson.loads(test_text))
        state = TestState.from_json(orjson.loads(state_text)) if state_text else TestState()
        with self.store.reading() as redis:
            waiting: Any = redis.get(job_key(job_id, "pending"))
        pending = Pending.from_json(orjson.loads(waiting)) if waiting else Pending()
        for chunk in chunks:
            for _, tally in chunk.tallies:
                pending.add(chunk.first // test.step, chunk.blocks, tally)
        sums = self._sums(job_id, [0]).get(0) or Tally.empty(players)
        take_looks(test, state, pending, sums)
        outcome: bytes = self.store.run(
            "look_write", *position, sums.matches, f"{rate:.6f}", orjson.dumps(sums.to_json()), orjson.dumps(state.to_json()),
            orjson.dumps(pending.to_json()), "0" if state.decision == "undecided" else "1", *counters,
        )  # fmt: skip
        return outcome

    def _sums(self, job_id: str, scenarios: range | list[int]) -> dict[int, Tally]:
        if not scenarios:
            return {}
        with self.store.reading() as redis:
            stored: Any = redis.hmget(job_key(job_id, "sums"), [str(scenario) for scenario in scenarios])
        return {scenario: Tally.from_json(orjson.loads(blob)) for scenario, blob in zip(scenarios, stored, strict=True) if blob}


def _chunk(entry: bytes) -> FoldedChunk:
    value = orjson.loads(entry)
    tallies = [(scenario, Tally.from_json(tally)) for scenario, tally in value["tallies"]]
    return FoldedChunk(value["first"], value["blocks"], value["seconds"], tallies)


def _smooth(old: float, measured: float, elapsed: float, *, is_first: bool) -> float:
    """An average of the speed that forgets with the time constant above."""
    if is_first:
        return measured
    weight = 1 - exp(-elapsed / SMOOTHING_SECONDS)
    return old + weight * (measured - old)
