"""What a run will cost, said before it: the chance that an equal candidate passes, the matches and the time it takes."""

from collections.abc import Mapping
from typing import Any, Final

from service.cli.output import amount, duration, percent
from workers.regressions.spec import RegressionSpec
from workers.stats.planning import plan

ASSUMED_SPEED: Final = 100_000.0
"""Matches a second and playing process: what is asked of a service is not measured before."""


def plan_lines(spec: Mapping[str, Any], processes: int) -> list[str]:
    """A line for each test of a run's `spec`, as the service answers it, and one for the time on so many `processes`.

    The candidate is taken as equal to its baseline, and the matches of a block as independent: that is the most that is
    expected, for what shared deals bring is known only from playing. Raises `InvalidInput` where a policy is not known here.
    """
    read = RegressionSpec.from_json({name: spec[name] for name in RegressionSpec.__slots__} | {"tests": _tests(spec)})
    lines, total = list[str](), 0.0
    for number, test in enumerate(read.tests):
        planned, scenario = read.sequential(number), test.scenario()
        equal = planned.s0 - test.h0
        variance = equal * (1.0 - equal) / scenario.rotations
        found = plan(share=equal, variance=variance, s0=planned.s0, s1=planned.s1, bounds=planned.bounds)
        # The test is looked at in whole steps, and not beyond its cap.
        steps = -(-found.expected_blocks // planned.step)
        matches = min(int(steps * planned.step) * scenario.rotations, scenario.matches)
        total += matches
        chance = f"an equal candidate passes in {percent(found.pass_chance)} of runs"
        lines.append(f"{test.name}: {chance}, after about {amount(matches)} matches (cap {amount(scenario.matches)})")
    if processes:
        seconds = total / (ASSUMED_SPEED * processes)
        lines.append(f"about {duration(seconds)} at {ASSUMED_SPEED:,.0f} matches a second and process")
    return lines


def _tests(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{**test, "max_matches": int(test["max_matches"])} for test in spec["tests"]]
