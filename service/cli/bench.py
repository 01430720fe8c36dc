"""`blockyard bench`: how fast this machine plays, by players and policies."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from service.cli.engine import warm_engine
from service.cli.options import AsJson, Ruleset, by_option, name_or_object
from service.cli.output import note, print_json, table
from service.labels import short_name
from workers.errors import InvalidInput

if TYPE_CHECKING:
    from workers.jobs.spec import Scenario

LINE_UPS: Final[tuple[tuple[str, ...], ...]] = (("random",), ("random_tile",), ("heaviest",), ("heaviest", "random"))
"""The first policy in place 0, the last in all others."""
SEED: Final = 1
COUNTS: Final = (2, 3, 4)
TRY_MATCHES: Final = 20_000
TRY_SLOW_MATCHES: Final = 40
FIRST_MATCHES: Final = 1_000
FIRST: Final = f"""
from workers.engine.play import LANE_KERNEL, Lineup, play_blocks, warm_up
from workers.engine.policies import resolve_policy
from workers.engine.rules import resolve_ruleset
warm_up(LANE_KERNEL)
play_blocks(Lineup(resolve_ruleset("block", 2), (resolve_policy("random", 2),) * 2, 1, {SEED}), 0, {FIRST_MATCHES})
"""
"""What a new process does for its first matches."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(bench)


def bench(
    players: Annotated[list[int] | None, typer.Option("--players", help="Only with so many players. Repeat it.")] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", help="Only this line-up: the first in place 0, the last in all others. Repeat it."),
    ] = None,
    ruleset: Ruleset = "block",
    processes: Annotated[int, typer.Option("--processes", min=1, max=1024, help="Processes that play.")] = 1,
    seconds: Annotated[float, typer.Option("--seconds", min=0.05, max=600, help="Time for each line.")] = 1.0,
    cold: Annotated[bool, typer.Option("--cold", help="Also measure a start that has to compile everything.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure how fast this machine plays.

    Matches, rounds and plies a second by players and policies; by default on one core.
    """
    scenarios = _scenarios(players or COUNTS, policy, name_or_object(ruleset, "--ruleset"))
    for scenario in scenarios:
        warm_engine(scenario.lineup(SEED))
    rows = [_measure(scenario, processes, seconds) for scenario in scenarios]
    if as_json:
        print_json(rows)
    else:
        columns = ("players", "policies", "ruleset", ">matches/s", ">rounds/s", ">plies/s")
        table(columns, [_row(row) for row in rows])
    crew = f"{processes} {'process' if processes == 1 else 'processes'}"
    note(f"{crew}; {_memory()}")
    note(f"first {FIRST_MATCHES:,} matches of a new process after {_start_seconds():.1f} s, the engine from the cache")
    if cold:
        with tempfile.TemporaryDirectory(prefix="blockyard-bench-") as empty:
            note(f"and after {_start_seconds(empty):.1f} s where it has to be compiled")


def _scenarios(counts: Sequence[int], policies: list[str] | None, ruleset: Any) -> "list[Scenario]":
    from workers.jobs.spec import make_scenario

    line_ups = [[name_or_object(text, "--policy") for text in policies]] if policies else LINE_UPS
    try:
        return [
            make_scenario([line_up[min(place, len(line_up) - 1)] for place in range(count)], 1, players=count, ruleset=ruleset)
            for count in counts
            for line_up in line_ups
        ]
    except InvalidInput as refusal:
        raise by_option(refusal, {"players": "--players", "policies": "--policy", "ruleset": "--ruleset"}) from None


def _measure(scenario: "Scenario", processes: int, seconds: float) -> dict[str, Any]:
    """One line of the table: a short try tells how much fills the time."""
    from service.local.playing import play_here

    lineup = scenario.lineup(SEED)
    tried = play_here(lineup, -(-(TRY_MATCHES if lineup.is_quick else TRY_SLOW_MATCHES) // lineup.rotations), 1)
    blocks = max(1, int(tried.tally.matches / tried.seconds * seconds * processes / lineup.rotations))
    outcome = play_here(lineup, blocks, processes)
    tally = outcome.tally
    return {
        "players": scenario.players, "policies": list(scenario.policies), "ruleset": scenario.ruleset,
        "matches_per_second": tally.matches / outcome.seconds, "rounds_per_second": tally.rounds / outcome.seconds,
        "plies_per_second": tally.plies / outcome.seconds,
    }  # fmt: skip


def _row(row: dict[str, Any]) -> tuple[object, ...]:
    policies = [short_name(policy) for policy in row["policies"]]
    shown = policies[0] if len(set(policies)) == 1 else f"{policies[0]} against {policies[-1]}"
    figures = (row["matches_per_second"], row["rounds_per_second"], row["plies_per_second"])
    return (row["players"], shown, short_name(row["ruleset"]), *(f"{figure:,.0f}" for figure in figures))


def _memory() -> str:
    # Linux counts in KiB, macOS in bytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return f"{peak / 2**20:,.0f} MiB at most"


def _start_seconds(cache: str | None = None) -> float:
    """Seconds from the start of a fresh process until it has played its first matches."""
    environment = {**os.environ, **({"BLOCKYARD_CACHE_DIR": cache} if cache else {})}
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-P", "-c", FIRST], env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun
