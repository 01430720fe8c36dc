"""A chunk is played: a range of a job's line of blocks, cut into runs of one scenario each.

The line of blocks: all blocks of scenario 0, then all of scenario 1, and so on. A chunk may span many short scenarios.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from time import perf_counter
from typing import Final

from workers.engine.play import Lineup, play_blocks
from workers.errors import PlayFailed
from workers.jobs.spec import Chunk, JobSpec
from workers.stats.tally import Tally, tally_rows

CALL_MATCHES: Final = 200_000
"""Matches of one call of the engine at most: its memory grows with them."""
CALL_SECONDS: Final = 0.25
"""Time that a call should take at the speed seen so far: between calls a cancelled job is left."""
FIRST_CALL_BLOCKS: Final = 64
"""Blocks of the first call of a scenario whose speed is not known here; one where a policy may think for long."""


@dataclass(frozen=True, slots=True)
class Speed:
    """A measured run: `field` is `s` and the scenario's number, or `t` and that of a trait (see `Places.traits`)."""

    field: str
    blocks: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Played:
    """A played chunk: the tally of each scenario that it touched, in order, and what was measured on the way."""

    tallies: list[tuple[int, Tally]]
    speeds: list[Speed]
    seconds: float

    @property
    def matches(self) -> int:
        """Matches in the chunk."""
        return sum(tally.matches for _, tally in self.tallies)


class Places:
    """Where a job's scenarios lie on its line of blocks, and what is to be known to size chunks."""

    def __init__(self, spec: JobSpec) -> None:
        self.spec = spec
        self.starts = [0, *accumulate(scenario.blocks for scenario in spec.scenarios)]

    @property
    def blocks(self) -> int:
        """Blocks of the whole job."""
        return self.starts[-1]

    def runs(self, first: int, last: int) -> Iterator[Chunk]:
        """The runs of one scenario each that make up blocks `first` to `last - 1` of the line."""
        scenario = bisect_right(self.starts, first) - 1
        while first < last:
            end = min(last, self.starts[scenario + 1])
            yield Chunk(scenario, first - self.starts[scenario], end - first)
            first, scenario = end, scenario + 1

    @cached_property
    def traits(self) -> list[list[int]]:
        """For each scenario, numbers of its (ruleset, players, policy) combinations.

        A scenario not yet measured is taken to be as fast as the slowest of its traits was elsewhere: one slow policy makes
        all its scenarios slow, and a matrix has far fewer traits than scenarios.
        """
        numbers: dict[tuple[str, int, str], int] = {}
        return [
            sorted(
                {
                    numbers.setdefault((repr(scenario.ruleset), scenario.players, repr(policy)), len(numbers))
                    for policy in scenario.policies
                }
            )
            for scenario in self.spec.scenarios
        ]

    def layout(self, steps: Mapping[int, int]) -> str:
        """The places as the claim script reads them: a line `first end step traits` for each scenario.

        `steps` gives scenarios a number of blocks whose multiples, counted from the scenario's start, no chunk crosses.
        """
        return "\n".join(
            f"{self.starts[scenario]} {self.starts[scenario + 1]} {steps.get(scenario, 0)} {','.join(map(str, traits))}"
            for scenario, traits in enumerate(self.traits)
        )


class Table:
    """A job ready to be played: its lineups are resolved once, and its speeds remembered."""

    def __init__(self, spec: JobSpec) -> None:
        self.places = Places(spec)
        self._spec = spec
        self._lineups: dict[int, Lineup] = {}
        self._rates: dict[int, float] = {}

    def play(self, first: int, last: int, is_wanted: Callable[[], bool] = lambda: True) -> Played | None:
        """Plays blocks `first` to `last - 1` of the line; None as soon as the result is no longer wanted.

        Raises `PlayFailed` with the scenario and the match, which together say where in the job it is.
        """
        begun = perf_counter()
        tallies: list[tuple[int, Tally]] = []
        speeds: list[Speed] = []
        for run in self.places.runs(first, last):
            run_begun = perf_counter()
            try:
                tally = self._play_run(run, is_wanted)
            except PlayFailed as failure:
                raise PlayFailed(f"scenario {run.scenario}, {failure}") from failure
            if tally is None:
                return None
            spent = perf_counter() - run_begun
            tallies.append((run.scenario, tally))
            speeds.append(Speed(f"s{run.scenario}", run.blocks, spent))
            speeds += [Speed(f"t{trait}", run.blocks, spent) for trait in self.places.traits[run.scenario]]
        return Played(tallies, speeds, perf_counter() - begun)

    def lineup(self, scenario: int) -> Lineup:
        """The scenario as the engine plays it; raises `Conflict` where a policy has changed since the job was submitted."""
        if scenario not in self._lineups:
            self._lineups[scenario] = self._spec.scenarios[scenario].lineup_as_made(self._spec.seed)
        return self._lineups[scenario]

    def _play_run(self, run: Chunk, is_wanted: Callable[[], bool]) -> Tally | None:
        lineup = self.lineup(run.scenario)
        total = Tally.empty(lineup.ruleset.players)
        most = max(1, CALL_MATCHES // lineup.rotations)
        at, end = run.first_block, run.first_block + run.blocks
        while at < end:
            if not is_wanted():
                return None
            rate = self._rates.get(run.scenario, (FIRST_CALL_BLOCKS if lineup.is_quick else 1) / CALL_SECONDS)
            size = min(end - at, most, max(1, int(rate * CALL_SECONDS)))
            begun = perf_counter()
            total.merge(tally_rows(lineup, play_blocks(lineup, at, size), at))
            # A short call is slow by its overhead alone, so a rate falls by half at most.
            self._rates[run.scenario] = max(size / max(perf_counter() - begun, 1e-6), rate / 2)
            at += size
        return total
