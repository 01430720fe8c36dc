"""The fold: journals of recorded chunks become sums of scenarios, counters of the service, and finished jobs.

Any process may fold at any time. A lock keeps them from doing the same work; what keeps the sums right is that
they, the counters and the journal's position move on in one script, which refuses if the position has changed.
"""

import secrets
from collections import Counter
from math import exp
from typing import Any, Final

import orjson

from workers.errors import NotFound
from workers.jobs.desk import Desk
from workers.jobs.figures import chunk_increments, play_increments
from workers.jobs.keys import job_key
from workers.stats.tally import Tally

LOCK_MILLISECONDS: Final = 3000
ENTRIES: Final = 256
"""Journal entries of one step of the fold."""
SMOOTHING_SECONDS: Final = 4.0
"""The time over which a job's speed is smoothed."""


class FoldDesk(Desk):
    """Folding, and reading what has been folded."""

    def fold(self) -> int:
        """Folds every journal that has entries; answers the entries folded. To be called a few times a second."""
        token = secrets.token_hex(8)
        unfolded = [job_id.decode() for job_id in self.store.run("fold_begin", token, LOCK_MILLISECONDS)]
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
        run, folded, matches_done, rate, rate_at, _ = (text.decode() if text else "0" for text in stored)
        try:
            scenarios = self.spec(job_id, run).scenarios
        except NotFound:
            return b"stale", 0
        fresh: dict[int, Tally] = {}
        increments: Counter[str] = Counter()
        for entry in map(orjson.loads, entries):
            increments.update(chunk_increments(entry["seconds"]))
            for scenario, value in entry["tallies"]:
                fresh.setdefault(scenario, Tally.empty(scenarios[scenario].players)).merge(Tally.from_json(value))
        matches = 0
        for scenario, tally in fresh.items():
            increments.update(play_increments(scenarios[scenario], tally))
            matches += tally.matches
        for scenario, known in self._sums(job_id, list(fresh)).items():
            fresh[scenario].merge(known)
        elapsed = max(int(now) - int(rate_at), 1) / 1000
        outcome: bytes = self.store.run(
            "fold_write", job_id, run, folded, len(entries), matches,
            f"{_smooth(float(rate), matches / elapsed, elapsed, is_first=matches_done == '0'):.6f}", len(fresh),
            *(part for scenario, tally in fresh.items() for part in (scenario, orjson.dumps(tally.to_json()))),
            *(part for field, increment in increments.items() for part in (field, increment)),
        )  # fmt: skip
        return outcome, 0 if outcome == b"stale" else len(entries)

    def _sums(self, job_id: str, scenarios: range | list[int]) -> dict[int, Tally]:
        if not scenarios:
            return {}
        with self.store.reading() as redis:
            stored: Any = redis.hmget(job_key(job_id, "sums"), [str(scenario) for scenario in scenarios])
        return {scenario: Tally.from_json(orjson.loads(blob)) for scenario, blob in zip(scenarios, stored, strict=True) if blob}


def _smooth(old: float, measured: float, elapsed: float, *, is_first: bool) -> float:
    """An average of the speed that forgets with the time constant above."""
    if is_first:
        return measured
    weight = 1 - exp(-elapsed / SMOOTHING_SECONDS)
    return old + weight * (measured - old)
