"""Prints the tables of `deploy/OPERATIONS.md`: `python -m deploy.scale`, from the repository's root.

Takes some four minutes; with `--check` a good one, for the comparison with real workers alone. Exits 1 where they differ.
"""

import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import Final

from deploy.scale.measure import PLAY, before_all_others, measure_costs, predicted_rate, real_rate
from deploy.scale.model import Costs, Outcome, Plan, simulate

CHUNKS: Final = (0.5, 2.0, 10.0)
PROCESSES: Final = (10, 100, 300, 600, 1_000, 2_000, 3_000, 10_000)
SHARDS: Final = (1, 2, 4, 8, 16)
MOST_OFF: Final = 0.15
"""How far a prediction may be from what real workers do."""


def say(text: str = "") -> None:
    """One line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """A table as Markdown has it."""
    names = list(head)
    for cells in (names, ["---"] * len(names), *rows):
        say(f"| {' | '.join(cells)} |")
    say()


def outcome_cells(outcome: Outcome) -> list[str]:
    """What is shown of an outcome."""
    folds = "all" if outcome.unfolded < 0.03 * outcome.chunks_per_second else f"{outcome.unfolded:,.0f} a second behind"
    return [f"{outcome.efficiency:.1%}", f"{outcome.redis_load:.0%}", f"{1000 * outcome.waiting:,.1f} ms", folds]


def show(costs: Costs) -> None:
    """Every table that follows from the costs."""
    for chunk in CHUNKS:
        say(f"Chunks of {chunk:g} seconds, one Redis:")
        say()
        outcomes = ((number, simulate(Plan(number, chunk), costs)) for number in PROCESSES)
        table(
            ("processes", "playing", "Redis at work", "wait a chunk", "folded"),
            ([f"{number:,}", *outcome_cells(outcome)] for number, outcome in outcomes),
        )
    for chunk in CHUNKS:
        say(f"{PROCESSES[-1]:,} processes with chunks of {chunk:g} seconds, over several Redis:")
        say()
        shared = ((shards, simulate(Plan(PROCESSES[-1] // shards, chunk), costs)) for shards in SHARDS)
        table(
            ("Redis", "playing", "each at work", "wait a chunk", "folded"),
            ([str(shards), *outcome_cells(outcome)] for shards, outcome in shared),
        )


def main() -> int:
    """Measure, compare, predict."""
    with before_all_others():
        costs = measure_costs()
    say("Measured here, in microseconds:")
    say()
    table(("cost", "microseconds"), ([name, f"{1e6 * seconds:,.1f}"] for name, seconds in asdict(costs).items()))
    say(f"Real workers, one process each, chunks of {1000 * PLAY:g} ms:")
    say()
    rows, most_off = [], 0.0
    for number in (1, 2, 4):
        with before_all_others():
            predicted, measured = predicted_rate(number, costs), real_rate(number)
        most_off = max(most_off, abs(predicted / measured - 1))
        rows.append((str(number), f"{predicted:.1f}", f"{measured:.1f}", f"{predicted / measured - 1:+.1%}"))
    table(("workers", "predicted chunks a second", "measured", "off by"), rows)
    if "--check" not in sys.argv[1:]:
        show(costs)
    if most_off > MOST_OFF:
        say(f"The model is off by more than {MOST_OFF:.0%}: do not trust it here, or measure again on a calmer machine.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
