"""From a request to a job's or a regression's spec: limits first, then every scenario checked, then the matrix expanded.

What is wrong is named by its place in the request (`scenarios[0].policies[1]`, `matrix.players[0]`), all of it at once.
"""

import secrets
from collections.abc import Callable, Sequence
from typing import Final

from service.schemas.regressions import RegressionRequest
from service.schemas.requests import JobRequest, MatrixRequest, ScenarioRequest
from service.settings import ServiceSettings
from workers.engine.policies import resolve_policy
from workers.engine.rules import MAX_PLAYERS_DOUBLE_SIX, MIN_PLAYERS, resolve_ruleset
from workers.errors import FieldError, InvalidInput
from workers.jobs.spec import JobSpec, Matrix, Scenario, make_scenario
from workers.regressions.spec import RegressionSpec, TestSpec
from workers.regressions.webhook import is_private_literal

DRAWN_SEEDS: Final = 2**53
"""Seeds that we draw stay below this, so that any JSON reader keeps them exactly."""

PRIVATE_WEBHOOK: Final = (
    "must be a public address: webhooks call nothing on this machine or its network, unless the service's operator sets"
    " BLOCKYARD_WEBHOOK_ALLOW_PRIVATE=1"
)


def job_spec(request: JobRequest, settings: ServiceSettings) -> JobSpec:
    """The spec that a request means; raises `InvalidInput` with every reason."""
    if not request.scenarios and request.matrix is None:
        raise InvalidInput.at("scenarios", "is required where there is no matrix: a job plays at least one scenario")
    _check_limits(request, settings)
    scenarios, errors = _listed_scenarios(request.scenarios)
    matrix = None if request.matrix is None else _matrix(request.matrix)
    if matrix is not None:
        try:
            scenarios.extend(_matrix_scenarios(matrix))
        except InvalidInput as refusal:
            errors.extend(refusal.errors)
    if errors:
        raise InvalidInput(*errors)
    seed = secrets.randbelow(DRAWN_SEEDS) if request.seed is None else request.seed
    return JobSpec(tuple(scenarios), seed, request.name, request.priority, request.labels, matrix=matrix)


def regression_spec(request: RegressionRequest, name: str, settings: ServiceSettings) -> RegressionSpec:
    """The regression that a request means, under a name; raises `InvalidInput` where it says another or is too large.

    Everything else is checked where it is stored or run (`workers.regressions.spec.check_regression`).
    """
    if request.name not in (None, name):
        raise InvalidInput.at("name", f"must be the name in the path, {name!r}, not {request.name!r}")
    errors = [
        FieldError(f"tests[{number}].max_matches", f"must be at most {settings.max_matches:,}, not {test.max_matches:,}")
        for number, test in enumerate(request.tests)
        if test.max_matches > settings.max_matches
    ]
    if request.webhook and not settings.webhook_allow_private and is_private_literal(request.webhook):
        errors.append(FieldError("webhook", PRIVATE_WEBHOOK))
    if errors:
        raise InvalidInput(*errors)
    tests = tuple(TestSpec(**test.model_dump()) for test in request.tests)
    return RegressionSpec(
        name, tests, request.alpha, request.beta, request.schedule, request.timezone, request.seed, request.webhook
    )


def _check_limits(request: JobRequest, settings: ServiceSettings) -> None:
    """Refuse by size before anything is expanded: a matrix of one page can mean millions of scenarios."""
    matrix = request.matrix
    of_matrix = 0 if matrix is None else matrix_size(matrix.players, len(matrix.policies), len(matrix.rulesets))
    count = len(request.scenarios) + of_matrix
    if count > settings.max_scenarios:
        path = "scenarios" if len(request.scenarios) > settings.max_scenarios or matrix is None else "matrix"
        raise InvalidInput.at(path, f"a job may have at most {settings.max_scenarios:,} scenarios, not {count:,}")
    total = 0
    for position, scenario in enumerate(request.scenarios):
        total += scenario.matches
        if total > settings.max_matches:
            raise _too_many(f"scenarios[{position}].matches", total, settings)
    if matrix is not None and total + of_matrix * matrix.matches > settings.max_matches:
        raise _too_many("matrix.matches", total + of_matrix * matrix.matches, settings)


def _too_many(path: str, total: int, settings: ServiceSettings) -> InvalidInput:
    return InvalidInput.at(path, f"a job may have at most {settings.max_matches:,} matches, and this makes {total:,}")


def matrix_size(players: Sequence[int], policies: int, rulesets: int) -> int:
    """How many scenarios a matrix expands into."""
    ordered = policies * (policies - 1)
    return rulesets * sum(ordered // 2 if count == 2 else ordered for count in players)


def _listed_scenarios(requests: Sequence[ScenarioRequest]) -> tuple[list[Scenario], list[FieldError]]:
    scenarios: list[Scenario] = []
    errors: list[FieldError] = []
    for position, request in enumerate(requests):
        try:
            scenarios.append(
                make_scenario(
                    request.policies,
                    request.matches,
                    players=request.players,
                    ruleset=request.ruleset,
                    seating=request.seating,
                )
            )
        except InvalidInput as refusal:
            crowd = _crowded("players", request.players or len(request.policies), refusal.errors)
            errors.extend(InvalidInput(*crowd, *refusal.errors).below(f"scenarios[{position}]").errors)
    return scenarios, errors


def _matrix(request: MatrixRequest) -> Matrix:
    return Matrix(tuple(request.players), tuple(request.policies), tuple(request.rulesets), request.matches, request.seating)


def _matrix_scenarios(matrix: Matrix) -> list[Scenario]:
    """The matrix expanded, each of its parts checked by its own place before."""
    errors: list[FieldError] = []
    for place, count in enumerate(matrix.players):
        for position, ruleset in enumerate(matrix.rulesets):
            refused = _refused(resolve_ruleset, ruleset, count, f"matrix.rulesets[{position}]")
            errors.extend([*_crowded(f"matrix.players[{place}]", count, refused), *refused])
        for position, policy in enumerate(matrix.policies):
            errors.extend(_refused(resolve_policy, policy, count, f"matrix.policies[{position}]"))
    if errors:
        raise InvalidInput(*errors)
    try:
        return matrix.scenarios()
    except InvalidInput as refusal:
        raise refusal.below("matrix") from None


def _crowded(path: str, players: int, refused: Sequence[FieldError]) -> Sequence[FieldError]:
    """More players than the ruleset seats are the fault of their number as much as of the ruleset: both are named."""
    if players <= MAX_PLAYERS_DOUBLE_SIX or not any("ruleset" in error.path for error in refused):
        return ()
    return (FieldError(path, f"must be from {MIN_PLAYERS} to {MAX_PLAYERS_DOUBLE_SIX} under this ruleset, not {players}"),)


def _refused(resolve: Callable[[object, int, str], object], value: object, players: int, path: str) -> Sequence[FieldError]:
    """What is wrong with one part of a matrix: nothing, if it can be resolved."""
    try:
        resolve(value, players, path)
    except InvalidInput as refusal:
        return refusal.errors
    return ()
