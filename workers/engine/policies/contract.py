"""What every policy must keep, tried out: legal, and the same match again from the same address.

A policy sees a view and nothing hidden, so it is blind to hidden tiles by construction; what can be tried is that it answers
wherever it is asked, and that its answers depend on the view and the decision's random numbers alone: not on a clock, on
chance from elsewhere, or on what it remembers of other matches. Where it is compiled, the kernel must play the same matches.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from workers.engine.policies.own import is_compiled
from workers.engine.policies.policy import Policy, PolicyValue
from workers.engine.policies.resolve import resolve_policy
from workers.engine.reference import Choose, MatchRecord, Placement, View, play_match
from workers.engine.rng import DecisionRandom
from workers.engine.rules import Ruleset, resolve_ruleset
from workers.errors import InvalidInput, PlayFailed

TABLES: Final[tuple[tuple[Mapping[str, Any], int], ...]] = (
    ({"preset": "block", "ends": {"rounds": 3}}, 2),
    ({"preset": "block", "ends": {"rounds": 2}}, 3),
    ({"preset": "block", "ends": {"rounds": 2}}, 4),
    ({"preset": "traditional", "partners": True, "ends": {"rounds": 2}}, 4),
    ({"preset": "draw", "ends": {"rounds": 2}}, 2),
)
"""Rulesets and numbers of players that are tried: short matches, since a policy may think for long."""
BLOCKS: Final = 2
SEED: Final = 7


@dataclass(slots=True)
class Findings:
    """What was seen: nothing is wrong where `problems` is empty."""

    problems: list[str] = field(default_factory=list)
    matches: int = 0
    decisions: int = 0
    seconds: float = 0.0
    """Processor time of all decisions."""
    slowest: float = 0.0
    """Processor time of the longest decision."""


def check_policy(value: PolicyValue) -> Findings:
    """Try a policy in all seats; raises `InvalidInput` where it cannot be named so."""
    findings = Findings()
    for document, players in TABLES:
        policy = resolve_policy(value, players)
        ruleset = resolve_ruleset(document, players)
        where = f"{document['preset']}{' with partners' if ruleset.partners else ''}, {players} players"
        try:
            policy.check(ruleset, where)
        except InvalidInput:
            continue  # it says itself that it does not play this, and is never asked to
        first: list[MatchRecord] = []
        try:
            for block in [*range(BLOCKS), *reversed(range(BLOCKS))]:
                choosers = [_timed(policy, findings) for _ in range(players)]
                record = play_match(ruleset, SEED, block, choosers)
                findings.matches += 1
                if len(first) < BLOCKS:
                    first.append(record)
                elif record != first[block]:
                    findings.problems.append(
                        f"{where}: a match played again was another one; chance must come from `random` alone, and nothing may"
                        " be remembered from one match to the next"
                    )
                    break
            if is_compiled(policy.plan) and not findings.problems:
                _check_kernel(policy, ruleset, first, where, findings)
        except PlayFailed as failure:
            findings.problems.append(f"{where}: {failure}")
    if not findings.decisions:
        findings.problems.append("it was never asked")
    return findings


def _check_kernel(
    policy: Policy, ruleset: Ruleset, literal: Sequence[MatchRecord], where: str, findings: Findings
) -> None:  # fmt: skip
    from workers.engine.play import Lineup, play_blocks

    rows = play_blocks(Lineup(ruleset, (policy,) * ruleset.players, 1, SEED), 0, len(literal))
    if rows.scores.tolist() != [list(record.scores) for record in literal]:
        findings.problems.append(
            f"{where}: the kernel played another match than the literal rules; indexes must stay inside the arrays, and"
            " nothing may be written to them"
        )


def _timed(policy: Policy, findings: Findings) -> Choose:
    choose = policy.chooser()

    def timed(view: View, random: DecisionRandom) -> Placement:
        begun = time.thread_time()
        try:
            return choose(view, random)
        finally:
            spent = time.thread_time() - begun
            findings.decisions += 1
            findings.seconds += spent
            findings.slowest = max(findings.slowest, spent)

    return timed
