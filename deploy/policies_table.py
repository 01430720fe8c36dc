"""The table of policies in the README, made again: `python deploy/policies_table.py [JOB]` with a service at BLOCKYARD_URL.

Submits deploy/policies.json, or takes a job that was made from it, and prints a table in Markdown for each number of players:
how often the policy of a row wins alone against the policy of each column in all other seats, and how fast it plays itself.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from service.client import Client
from service.labels import short_name

JOB = Path(__file__).parent / "policies.json"
BENCH_SECONDS = "1"


def main(job_id: str | None, *, with_speeds: bool = True) -> None:
    """Play, or look up what was played, and print."""
    job = json.loads(JOB.read_text())
    with Client(os.environ.get("BLOCKYARD_URL", "http://127.0.0.1:8000")) as client:
        wanted = job_id or client.submit(job)["id"]
        client.wait(wanted)
        results = client.results(wanted)["results"]
    cells: dict[tuple[int, str, str], tuple[float, float]] = {}
    policies: dict[str, Any] = {}
    for result in results:
        line_up = [place["policy"] for place in result["policies"]]
        players = len(line_up)
        for place, own in enumerate(line_up[: 2 if players == 2 else 1]):
            share, interval = _share(result, place)
            cells[players, _name(own), _name(line_up[1 - place])] = share, interval
            policies.setdefault(_name(own), own)
    for players in sorted({players for players, _, _ in cells}):
        _print_table(players, cells, policies, with_speeds=with_speeds)


def _name(policy: Any) -> str:
    return short_name(policy).replace("; version ", " ")


def _share(result: Any, place: int) -> tuple[float, float]:
    """A place's win share, and half the width of its 95 % interval."""
    estimate = result["estimates"]["policies"][place]
    low, high = estimate["ci95"]
    return estimate["win_share"], (high - low) / 2


def _print_table(
    players: int, cells: dict[tuple[int, str, str], tuple[float, float]], policies: dict[str, Any], *, with_speeds: bool
) -> None:
    names = list(policies)

    def strength(name: str) -> float:
        met = [share for (count, one, _), (share, _) in cells.items() if (count, one) == (players, name)]
        return sum(met) / len(met)

    names.sort(key=strength, reverse=True)
    print(f"**{players} players**; an equal share is {100 / players:.1f}\n")  # noqa: T201
    print("| |", " | ".join([*(str(number) for number in range(1, len(names) + 1)), "matches/s"]), "|")  # noqa: T201
    print("|---|" + "---:|" * (len(names) + 1))  # noqa: T201
    for number, name in enumerate(names, 1):
        shown = []
        for other in names:
            found = cells.get((players, name, other))
            shown.append(f"{100 * found[0]:.1f} ±{100 * found[1]:.1f}" if found else "")
        speed = _speed(policies[name], players) if with_speeds else ""
        print(f"| {number} {name} |", " | ".join([*shown, speed]), "|")  # noqa: T201
    print()  # noqa: T201


def _speed(policy: Any, players: int) -> str:
    """Matches a second in which it plays itself, on one core."""
    text = policy if isinstance(policy, str) else json.dumps(policy)
    command = [sys.executable, "-m", "service.cli", "bench", "--json", "--seconds", BENCH_SECONDS, "--players", str(players)]
    said = subprocess.run([*command, "--policy", text], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    (row,) = json.loads(said.stdout)
    return f"{row['matches_per_second']:,.0f}"


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
