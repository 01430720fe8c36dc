"""Scenarios of jobs, ready to be played again match by match."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from workers.engine.play import ENGINE_VERSION, Lineup, replay_match
from workers.engine.policies import PolicyValue
from workers.engine.reference import MatchRecord
from workers.errors import Conflict, NotFound
from workers.jobs.ledger import Ledger
from workers.jobs.spec import Scenario

KEPT: Final = 4
"""Matches that a process remembers: whoever looks at one asks for it again at every ply."""


@dataclass(frozen=True, slots=True)
class Table:
    """A scenario of a job, ready to be played again. What a job plays never changes: its id and a number say which it is."""

    job_id: str
    index: int
    scenario: Scenario = field(compare=False)
    lineup: Lineup = field(compare=False)

    def address(self, match: int) -> tuple[int, int]:
        """Block and rotation of a match; raises `NotFound` beyond the last."""
        if match >= self.scenario.matches:
            raise NotFound(f"There is no match {match}: the scenario has matches 0 to {self.scenario.matches - 1}.")
        return divmod(match, self.scenario.rotations)

    def replay(self, match: int) -> MatchRecord:
        """A match as it was played; raises `NotFound` beyond the last, `PlayFailed` where a policy fails."""
        return _replayed(self, match)

    def policies(self, seated: Sequence[int]) -> list[PolicyValue]:
        """By seat, the policy of the place that sits there."""
        return [self.lineup.policies[place].value for place in seated]


def table_of(ledger: Ledger, job_id: str, index: int) -> Table:
    """Scenario `index` of a job; raises `Conflict` where it cannot be played again as it was."""
    spec = ledger.spec(job_id)
    if index >= len(spec.scenarios):
        raise NotFound(f"There is no scenario {index}: the job has scenarios 0 to {len(spec.scenarios) - 1}.")
    if spec.engine_version != ENGINE_VERSION:
        raise Conflict(f"The job was played by engine version {spec.engine_version}; this is version {ENGINE_VERSION}.")
    scenario = spec.scenarios[index]
    return Table(job_id, index, scenario, scenario.lineup_as_made(spec.seed))


@lru_cache(KEPT)
def _replayed(table: Table, match: int) -> MatchRecord:
    return replay_match(table.lineup, *table.address(match))
