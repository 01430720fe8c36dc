"""What is asked for: frozen values from a batch's scenarios to the chunks that workers play.

Walk: a document is validated into a `JobSpec`; its matrix is expanded into `Scenario`s; a `Chunk` is a run of whole blocks
of one scenario.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from typing import Any, Final, Literal, TypeAlias, get_args

import orjson

from workers.engine.play import ENGINE_VERSION, Lineup
from workers.engine.policies import Policy, PolicyValue, resolve_policy
from workers.engine.rules import MAX_PLAYERS, MIN_PLAYERS, resolve_ruleset
from workers.errors import Conflict, FieldError, InvalidInput

Seating: TypeAlias = Literal["rotated", "fixed"]
Priority: TypeAlias = Literal["low", "normal", "high"]

PRIORITY_WEIGHTS: Final[Mapping[Priority, int]] = {"low": 1, "normal": 4, "high": 16}
MAX_SEED: Final = 2**64 - 1
RulesetValue: TypeAlias = str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One line-up of a job: who plays, how, and how many matches.

    `matches` is `matches_requested` rounded up to whole blocks of `rotations` matches. `versions` and
    `fingerprints` are those of the policies when the scenario was made: under others it would be other matches.
    """

    players: int
    policies: tuple[PolicyValue, ...]
    ruleset: RulesetValue
    seating: Seating
    matches_requested: int
    rotations: int
    versions: tuple[str, ...]
    fingerprints: tuple[str, ...]

    @property
    def blocks(self) -> int:
        """Blocks to play; block b is matches b * rotations to (b + 1) * rotations - 1."""
        return -(-self.matches_requested // self.rotations)

    @property
    def matches(self) -> int:
        """Matches to play: whole blocks."""
        return self.blocks * self.rotations

    def lineup(self, seed: int) -> Lineup:
        """The scenario as the engine plays it."""
        ruleset = resolve_ruleset(self.ruleset, self.players)
        policies = tuple(resolve_policy(value, self.players) for value in self.policies)
        return Lineup(ruleset, policies, self.rotations, seed)

    def lineup_as_made(self, seed: int) -> Lineup:
        """The same; raises `Conflict` where a policy is gone or is no longer what it was when the scenario was made."""
        try:
            lineup = self.lineup(seed)
        except InvalidInput as refusal:
            raise Conflict(f"the scenario cannot be played here: {refusal}") from None
        for place, (policy, then) in enumerate(zip(lineup.policies, self.fingerprints, strict=True)):
            if policy.fingerprint != then:
                raise Conflict(f"policy {policy.name} in place {place} has changed: {then} is now {policy.fingerprint}")
        return lineup

    def renewed(self) -> "Scenario":
        """The same with the policies of today; raises `InvalidInput` where one is gone."""
        policies = [resolve_policy(value, self.players, f"policies[{place}]") for place, value in enumerate(self.policies)]
        return replace(
            self,
            versions=tuple(policy.version for policy in policies),
            fingerprints=tuple(policy.fingerprint for policy in policies),
        )

    def to_json(self) -> dict[str, Any]:
        """The scenario as jobs show it."""
        return {
            "players": self.players, "policies": list(self.policies), "ruleset": self.ruleset, "seating": self.seating,
            "matches_requested": self.matches_requested, "matches": self.matches, "rotations": self.rotations,
            "versions": list(self.versions), "fingerprints": list(self.fingerprints),
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Scenario":
        """The scenario that `to_json` wrote."""
        return cls(
            value["players"], tuple(value["policies"]), value["ruleset"], value["seating"], value["matches_requested"],
            value["rotations"], tuple(value["versions"]), tuple(value["fingerprints"]),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """Policies that all met under one ruleset at one number of players: a part of a matrix.

    `pairs[i]` = (one, other), places in the matrix's policies, met in the job's scenario `first + i`.
    """

    ruleset: RulesetValue
    players: int
    first: int
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A tournament: every pair of `policies` meets in `matches` matches, for each ruleset and number of players."""

    players: tuple[int, ...]
    policies: tuple[PolicyValue, ...]
    rulesets: tuple[RulesetValue, ...]
    matches: int
    seating: Seating = "rotated"

    def fields(self, first: int) -> list[Field]:
        """The fields in their order, where the matrix's first scenario is the job's scenario `first`."""
        found: list[Field] = []
        for ruleset in self.rulesets:
            for count in self.players:
                pairs = pairs_of(len(self.policies), count)
                found.append(Field(ruleset, count, first, pairs))
                first += len(pairs)
        return found

    def scenarios(self) -> list[Scenario]:
        """The scenarios of all fields, in this order: rulesets as listed; in each the player counts as listed; in each
        the pairs (see `pairs_of`). Raises `InvalidInput`.
        """
        return [
            make_scenario(
                [self.policies[one], *[self.policies[other]] * (part.players - 1)], self.matches, players=part.players,
                ruleset=part.ruleset, seating=self.seating,
            )
            for part in self.fields(0)
            for one, other in part.pairs
        ]  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """The matrix as jobs show it."""
        return {
            "players": list(self.players), "policies": list(self.policies), "rulesets": list(self.rulesets),
            "matches": self.matches, "seating": self.seating,
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Matrix":
        """The matrix that `to_json` wrote."""
        return cls(
            tuple(value["players"]), tuple(value["policies"]), tuple(value["rulesets"]), value["matches"], value["seating"]
        )


def pairs_of(policies: int, players: int) -> tuple[tuple[int, int], ...]:
    """Who meets whom: two players in every unordered pair, (0, 1), (0, 2), ..., (1, 2), ...; three and more in every
    ordered pair, one seat of the first against a field of the second.
    """
    return tuple(combinations(range(policies), 2) if players == 2 else permutations(range(policies), 2))


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A validated batch. `seed` is 0 to 2^64 - 1; scenarios come in the order in which results show them.

    Those of the `matrix` come last.
    """

    scenarios: tuple[Scenario, ...]
    seed: int
    name: str = ""
    priority: Priority = "normal"
    labels: Mapping[str, str] = field(default_factory=dict)
    engine_version: str = ENGINE_VERSION
    matrix: Matrix | None = None

    @property
    def matches(self) -> int:
        """Matches of all scenarios."""
        return sum(scenario.matches for scenario in self.scenarios)

    @property
    def fields(self) -> list[Field]:
        """The fields of the matrix; none without one."""
        if self.matrix is None:
            return []
        met = sum(len(part.pairs) for part in self.matrix.fields(0))
        return self.matrix.fields(len(self.scenarios) - met)

    def renewed(self) -> "JobSpec":
        """The same batch for this engine version and the policies of today; raises `InvalidInput` where one is gone."""
        return replace(self, engine_version=ENGINE_VERSION, scenarios=tuple(scenario.renewed() for scenario in self.scenarios))

    def to_json(self) -> dict[str, Any]:
        """The spec as it is stored; the seed as digits, since it may pass 2^53."""
        return {
            "name": self.name, "seed": str(self.seed), "priority": self.priority, "labels": dict(self.labels),
            "engine_version": self.engine_version, "scenarios": [scenario.to_json() for scenario in self.scenarios],
            "matrix": self.matrix and self.matrix.to_json(),
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "JobSpec":
        """The spec that `to_json` wrote."""
        return cls(
            tuple(Scenario.from_json(scenario) for scenario in value["scenarios"]), int(value["seed"]), value["name"],
            value["priority"], value["labels"], value["engine_version"],
            Matrix.from_json(value["matrix"]) if value.get("matrix") else None,  # older jobs are stored without
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of whole blocks of one scenario: `first_block` to `first_block + blocks - 1`."""

    scenario: int
    first_block: int
    blocks: int


def make_scenario(
    policies: Sequence[PolicyValue],
    matches: int,
    *,
    players: int | None = None,
    ruleset: RulesetValue = "block",
    seating: Seating = "rotated",
    every_seat: bool = False,
) -> Scenario:
    """A checked scenario; raises `InvalidInput` that names every field that is wrong.

    `players` defaults to the number of policies; a list of another length is refused. With `every_seat` a block holds one
    match for each seat (with partners, each side) that the first place can take, however equal the policies are.
    """
    errors: list[FieldError] = []
    if players is None:
        players = len(policies)
    if not MIN_PLAYERS <= players <= MAX_PLAYERS:
        raise InvalidInput.at("players", f"must be from {MIN_PLAYERS} to {MAX_PLAYERS}, not {players}")
    if len(policies) != players:
        raise InvalidInput.at("policies", f"must list one policy for each of {players} players, not {len(policies)}")
    if matches < 1:
        errors.append(FieldError("matches", f"must be at least 1, not {matches}"))
    if seating not in get_args(Seating):
        errors.append(FieldError("seating", f"must be rotated or fixed, not {seating!r}"))
    try:
        resolved_ruleset = resolve_ruleset(ruleset, players)
    except InvalidInput as refusal:
        errors.extend(refusal.errors)
    resolved: list[Policy] = []
    for position, value in enumerate(policies):
        try:
            resolved.append(resolve_policy(value, players, f"policies[{position}]"))
        except InvalidInput as refusal:
            errors.extend(refusal.errors)
    if errors:
        raise InvalidInput(*errors)
    for position, policy in enumerate(resolved):
        policy.check(resolved_ruleset, f"policies[{position}]")
    fingerprints = tuple(policy.fingerprint for policy in resolved)
    rotations = distinct_rotations(fingerprints) if seating == "rotated" else 1
    if every_seat:
        rotations = 2 if resolved_ruleset.partners else players
    versions = tuple(policy.version for policy in resolved)
    return Scenario(players, tuple(policies), ruleset, seating, matches, rotations, versions, fingerprints)


def distinct_rotations(fingerprints: Sequence[str]) -> int:
    """How many rotations of the list differ: 2 for [A, B], 3 for [A, B, B], 2 for [A, B, A, B], 1 for [A, A]."""
    names = list(fingerprints)
    return next(shift for shift in range(1, len(names) + 1) if names[shift:] + names[:shift] == names)


def scenario_fingerprint(scenario: Scenario, seed: int, engine_version: str) -> str:
    """What decides the scenario's integers, as 16 hexadecimal digits: equal fingerprints mean equal matches."""
    content = {
        "engine_version": engine_version, "ruleset": resolve_ruleset(scenario.ruleset, scenario.players).to_json(),
        "players": scenario.players, "policies": list(scenario.fingerprints), "rotations": scenario.rotations,
        "seed": str(seed),
    }  # fmt: skip
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
