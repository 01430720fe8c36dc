"""How fast the lanes play, as ratios within one run: long, and printed (`pytest --slow -s`) so that a run leaves a record.

What is compared plays turn by turn and counts by its best turn, so that a neighbour on the machine slows both or neither.
What is measured by the clock (two processes, a start) needs a quiet machine now and then among its turns.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import pytest

from tests.workers.engine.engines import lineup
from workers.engine.compile import CACHE_VARIABLE
from workers.engine.play import Lineup, MatchRows, play_blocks, warm_up
from workers.engine.policies import PolicyValue
from workers.engine.scalar.door import play_scalar

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
CALL = 100_000
"""Matches of one call, as a worker plays them."""
TURNS_OF_EACH = 60
FIRST_RESULT = """
import time
begun = time.perf_counter()
from workers.engine.play import LANE_KERNEL, Lineup, play_blocks, warm_up
from workers.engine.policies import resolve_policy
from workers.engine.rules import resolve_ruleset
warm_up(LANE_KERNEL)
lineup = Lineup(resolve_ruleset("block", 2), (resolve_policy("random", 2),) * 2, 1, 1)
play_blocks(lineup, 0, 1000)
print(time.perf_counter() - begun, time.process_time())
"""
PLAY_WHEN_TOLD = """
import sys, time
from workers.engine.play import Lineup, play_blocks, warm_up
from workers.engine.policies import resolve_policy
from workers.engine.rules import resolve_ruleset
warm_up()
lineup = Lineup(resolve_ruleset("block", 2), (resolve_policy("random", 2),) * 2, 1, 1)
play_blocks(lineup, 0, 100_000)
print("ready", flush=True)
for line in sys.stdin:
    begun = time.perf_counter()
    play_blocks(lineup, 0, 100_000)
    print(time.perf_counter() - begun, flush=True)
# Not getrusage, which counts what the parent had before this program began.
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024)
"""


def tell(line: str) -> None:
    """A line of the record."""
    sys.stdout.write(f"{line}\n")


def seconds(play: Callable[[], object]) -> float:
    """Processor time of this process."""
    begun = time.process_time()
    play()
    return time.process_time() - begun


def best(playing: Lineup, matches: int = 40_000, *, times: int = 8) -> float:
    """Nanoseconds a match, the best of some short runs."""
    return min(seconds(lambda: play_blocks(playing, 0, matches)) for _ in range(times)) / matches * 1e9


def of(*policies: PolicyValue) -> Lineup:
    return lineup(policies, rotations=1)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    warm_up()


@pytest.mark.parametrize("players", [2, 3, 4])
def test_lanes_play_several_times_as_fast_as_one_match_after_the_other(players: int) -> None:
    playing = of(*["random"] * players)

    def scalar() -> None:
        play_scalar(playing, 0, MatchRows.empty(20_000, players, 1))

    scalar()
    one_by_one = min(seconds(scalar) for _ in range(5)) / 20_000 * 1e9
    lanes = best(playing)
    tell(f"{players} players at random: {lanes:.0f} ns a match, one after the other {one_by_one / lanes:.2f} times that")
    assert one_by_one > 2 * lanes


@pytest.mark.parametrize("opponent", [None, "random"])
@pytest.mark.parametrize(
    "preferences",
    [
        ["double", "heaviest", "random"],
        ["double", "next_lacks", "heaviest"],
        ["double", "next_lacks_both", "heaviest"],
        ["double", "other_lacks", "heaviest"],
        ["double", "equal_ends", "heaviest"],
        ["double", "lightest", "heaviest"],
        ["double", "distinct", "heaviest"],
        ["double", "no_follow_up", "heaviest"],
        ["double", "mobility", "heaviest"],
        ["double", "unseen", "heaviest"],
    ],
)
def test_what_three_preferences_cost(preferences: Sequence[str], opponent: str | None) -> None:
    written = {"prefer": list(preferences)}
    chosen, heaviest = of(written, opponent or written), of("heaviest", opponent or "heaviest")
    pairs = [(best(chosen, times=1), best(heaviest, times=1)) for _ in range(24)]
    ratio = min(one for one, _ in pairs) / min(other for _, other in pairs)
    tell(f"{', '.join(preferences)} against {opponent or 'itself'}: {ratio:.2f} times heaviest")
    assert ratio <= 1.5


def test_cost_grows_in_proportion() -> None:
    playing = of("random", "random")
    costs = {}
    for matches, times in ((10**5, 20), (10**6, 5), (10**7, 2)):
        costs[matches] = min(
            seconds(lambda many=matches: [play_blocks(playing, first, CALL) for first in range(0, many, CALL)])  # type: ignore[misc]
            for _ in range(times)
        ) / matches * 1e9  # fmt: skip
    tell(", ".join(f"{matches:,} matches: {cost:.0f} ns each" for matches, cost in costs.items()))
    # A long run sees both speeds of a processor that changes its clock, short ones the best of them.
    assert max(costs.values()) < 1.6 * min(costs.values())


class Player:
    """A process that plays a call's matches whenever it is told to."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PLAY_WHEN_TOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert self.answer() == "ready"

    def answer(self) -> str:
        """The next line that it says."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def begin(self) -> None:
        """Has it play."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> float:
        """Ends it; MB that it had at most."""
        peak, _ = self.process.communicate(timeout=60)
        return float(peak)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core")
def test_two_processes_and_the_memory_of_each() -> None:
    """Alone and together take turns of a fifth of a second: the processor's clock, which changes by a third within a minute
    whoever works, then means as much to the one as to the other."""
    players = [Player(), Player()]
    try:
        alone: list[float] = []
        together: list[float] = []
        for turn in range(2 * TURNS_OF_EACH):
            one = players[turn % 2]
            one.begin()
            alone.append(float(one.answer()))
            for each in players:
                each.begin()
            together += [float(each.answer()) for each in players]
        memory = max([each.end() for each in players])
    finally:
        for each in players:
            each.process.kill()
            each.process.wait()
    # Matches a second of the two while both play, beside one's while the other rests.
    mean = 2 * (sum(alone) / len(alone)) / (sum(together) / len(together))
    middle = 2 * median(alone) / median(together)
    tell(f"two processes give {middle:.2f} times one (medians; {mean:.2f} by means); {memory:.0f} MB each")
    assert middle >= 1.9
    assert memory < 300


def test_cold_and_cached_start(tmp_path: Path) -> None:
    def start() -> tuple[float, float]:
        run = subprocess.run(
            [sys.executable, "-c", FIRST_RESULT], capture_output=True, text=True, timeout=300, check=True, cwd=ROOT,
            env={**os.environ, CACHE_VARIABLE: str(tmp_path)},
        )  # fmt: skip
        clock, processor = map(float, run.stdout.split())
        return clock, processor

    compiling, compiling_alone = start()
    cached, cached_alone = map(min, zip(*(start() for _ in range(10)), strict=True))
    tell(
        f"the first thousand matches after {compiling:.0f} s cold, {cached:.1f} s cached;"
        f" by processor time {compiling_alone:.0f} and {cached_alone:.1f} s"
    )
    # Compiling is one thread's work and done once here, so by its own time; a cached start by the clock.
    assert compiling_alone < 60
    assert cached < 2
