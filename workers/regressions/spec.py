"""What a regression is: its tests, error levels and schedule, as frozen values, checked in one place."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, TypeAlias

from workers.engine.policies import Policy, PolicyValue, resolve_policy
from workers.engine.rules import resolve_ruleset
from workers.errors import FieldError, InvalidInput
from workers.jobs.sequential import SequentialTest
from workers.jobs.spec import RulesetValue, Scenario, make_scenario
from workers.regressions.schedule import check_schedule, check_timezone
from workers.stats.sprt import Bounds, look_step
from workers.stats.tally import score_unit

Measure: TypeAlias = Literal["win_share"]

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")
MAX_TESTS: Final = 100
MAX_MATCHES: Final = 10**12


@dataclass(frozen=True, slots=True)
class TestSpec:
    """One test: `h0` and `h1` are differences of the candidate's share from an equal one; `max_matches` is the cap."""

    __test__ = False  # pytest: no test class

    name: str
    players: int
    candidate: PolicyValue
    baseline: PolicyValue
    h0: float
    h1: float
    max_matches: int
    ruleset: RulesetValue = "block"
    measure: Measure = "win_share"

    def to_json(self) -> dict[str, Any]:
        """As it is stored and shown."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def scenario(self) -> Scenario:
        """The cap in whole looks, played: the candidate once in every seat (with partners, side) against the baseline.

        Raises `InvalidInput`.
        """
        partners = resolve_ruleset(self.ruleset, self.players).partners
        others = [self.baseline, self.candidate, self.baseline] if partners else [self.baseline] * (self.players - 1)
        made = make_scenario(
            [self.candidate, *others], self.max_matches, players=self.players, ruleset=self.ruleset, every_seat=True
        )
        cap = self.max_matches // made.rotations
        step = look_step(cap)
        if cap < step:
            raise InvalidInput.at("max_matches", f"must be at least {step * made.rotations}, one look at {step} blocks")
        return replace(made, matches_requested=cap // step * step * made.rotations)

    def sequential(self, alpha: float, beta: float) -> SequentialTest:
        """How the scenario is tested at these error levels. Raises `InvalidInput`."""
        scenario = self.scenario()
        ruleset = resolve_ruleset(self.ruleset, self.players)
        equal = 1 / 2 if ruleset.partners else 1 / self.players
        step = look_step(self.max_matches // scenario.rotations)
        return SequentialTest(step, scenario.rotations * score_unit(ruleset), equal + self.h0, equal + self.h1, alpha, beta)


@dataclass(frozen=True, slots=True)
class RegressionSpec:
    """A named regression. Each of K tests uses `alpha` and `beta / K`: a run passes only if all do, false alarms add up."""

    name: str
    tests: tuple[TestSpec, ...]
    alpha: float = 0.05
    beta: float = 0.05
    schedule: str | None = None
    timezone: str = "UTC"
    seed: int | None = None
    webhook: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As it is stored; the seed as digits, since it may pass 2^53."""
        stored = {item.name: getattr(self, item.name) for item in fields(self)}
        return stored | {
            "tests": [test.to_json() for test in self.tests], "seed": None if self.seed is None else str(self.seed),
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "RegressionSpec":
        """The spec that `to_json` wrote."""
        seed = None if value["seed"] is None else int(value["seed"])
        return cls(**{**value, "tests": tuple(TestSpec(**test) for test in value["tests"]), "seed": seed})

    def with_candidate(self, candidate: PolicyValue) -> "RegressionSpec":
        """The same with another candidate in every test."""
        return replace(self, tests=tuple(replace(test, candidate=candidate) for test in self.tests))

    @property
    def bounds(self) -> Bounds:
        """The bounds of every test's likelihood ratio."""
        return Bounds.of_errors(self.alpha, self.beta / len(self.tests))

    def sequential(self, number: int) -> SequentialTest:
        """Test `number` with the error levels that it has in this regression."""
        return self.tests[number].sequential(self.alpha, self.beta / len(self.tests))


def check_regression(spec: RegressionSpec) -> None:
    """Raises `InvalidInput` with everything that is wrong with a regression.

    A baseline's version may be one that is not here (any more): that fails a run by name, not the regression.
    """
    errors: list[FieldError] = []
    if not NAME.fullmatch(spec.name):
        errors.append(FieldError("name", "must be up to 60 letters, digits, and any of _ . - after the first"))
    if not 1 <= len(spec.tests) <= MAX_TESTS:
        errors.append(FieldError("tests", f"must be from 1 to {MAX_TESTS} tests, not {len(spec.tests)}"))
    errors += [
        FieldError(name, f"must be above 0 and below 0.5, not {value!r}")
        for name, value in (("alpha", spec.alpha), ("beta", spec.beta))
        if not 0.0 < value < 0.5
    ]
    errors += check_schedule(spec.schedule) + check_timezone(spec.timezone)
    errors += _repeated([test.name for test in spec.tests])
    for number, test in enumerate(spec.tests):
        errors += [error.below(f"tests[{number}]") for error in _check_test(test)]
    if errors:
        raise InvalidInput(*errors)


def _repeated(names: Sequence[str]) -> list[FieldError]:
    return [
        FieldError(f"tests[{number}].name", f"{name!r} is the name of an earlier test too")
        for number, name in enumerate(names)
        if name in names[:number]
    ]


def _check_test(test: TestSpec) -> list[FieldError]:
    errors = list[FieldError]()
    if not 1 <= test.max_matches <= MAX_MATCHES:
        errors.append(FieldError("max_matches", f"must be from 1 to {MAX_MATCHES:,}, not {test.max_matches}"))
    try:
        ruleset = resolve_ruleset(test.ruleset, test.players)
    except InvalidInput as refusal:
        return [*errors, *refusal.errors]

    equal = 1 / 2 if ruleset.partners else 1 / test.players
    if not test.h0 < test.h1:
        errors.append(FieldError("h0", f"must be below h1 ({test.h1!r}), not {test.h0!r}"))
    errors += [
        FieldError(name, f"makes a share of {equal + value:g}, which must lie between 0 and 1")
        for name, value in (("h0", test.h0), ("h1", test.h1))
        if not 0.0 < equal + value < 1.0
    ]
    errors += _unresolved(test.candidate, test.players, "candidate")
    errors += [error for error in _unresolved(test.baseline, test.players, "baseline") if not error.path.endswith(".version")]
    if not errors and not _unresolved(test.baseline, test.players, "baseline"):
        try:
            test.scenario()
        except InvalidInput as refusal:
            errors += refusal.errors
    return errors


def _unresolved(value: PolicyValue, players: int, path: str) -> Sequence[FieldError]:
    try:
        resolve_policy(value, players, path)
    except InvalidInput as refusal:
        return refusal.errors
    return ()


def pinned(policy: Policy) -> PolicyValue:
    """The policy so written that it stays what it is: data as it stands, a name with its version."""
    if isinstance(policy.value, str):
        return {"name": policy.value, "version": policy.version}
    if "name" in policy.value:
        return {**policy.value, "version": policy.version}
    return policy.value
