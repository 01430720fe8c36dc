"""The OpenAPI document is true: whatever is sent by it or against it gets an answer that it describes, and no fault of ours."""

from collections.abc import Iterator
from typing import Any

import pytest
import redis
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from schemathesis import Case, GenerationMode

from tests.servers import RedisServer
from tests.service.running import Service, serving

CASES, WALKS = 300, 12
MANY_CASES, MANY_WALKS = 5_000, 300
STEPS = 10
"""Requests of a walk: each uses what an earlier one was answered, such as the id of a job."""

schemathesis.checks.load_all_checks()
UNSAID = [check for check in schemathesis.checks.CHECKS.get_all() if check.__name__ == "positive_data_acceptance"]
"""Not for bodies: which policies there are, and what a position may be, no JSON Schema says, so a 422 is an answer too."""


@pytest.fixture(scope="module")
def fuzzed(redis_server: RedisServer) -> Iterator[Service]:
    """An API of the file's own, which keeps what it is sent, and a worker that says it is there."""
    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
    limits = {"max_positions": 20, "max_nodes": 2_000, "max_replay_lines": 20, "stream_seconds": 0.3}
    with serving(redis_server.url, worker_life_seconds=86_400.0, **limits) as service:
        service.state.ledger.beat("hands", "here", 1, 1, is_new=True)
        yield service


@pytest.fixture(scope="module")
def schema(fuzzed: Service) -> Any:
    """The document as it is served."""
    return schemathesis.openapi.from_url(f"{fuzzed.url}/openapi.json")


def check_answer(case: Case, answer: Any) -> None:
    case.validate_response(answer, excluded_checks=UNSAID if case.operation.body else [])


def ask(schema: Any, cases: int) -> None:
    """So many requests, all operations mixed, half of them as the document wants them and half not."""
    operations = [found.ok() for found in schema.get_all_operations()]
    strategies = [each.as_strategy(generation_mode=mode) for each in operations for mode in GenerationMode]

    @given(st.one_of(strategies))
    @settings(max_examples=cases, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    def check(case: Case) -> None:
        check_answer(case, case.call(timeout=30))

    check()


def walk(schema: Any, walks: int) -> None:
    """So many walks from request to request."""

    class Walk(schema.as_state_machine()):  # type: ignore[misc]  # made at run time
        def validate_response(self, response: Any, case: Case, *_: Any, **__: Any) -> None:
            check_answer(case, response)

    chosen = settings(
        max_examples=walks, stateful_step_count=STEPS, deadline=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )  # fmt: skip
    run_state_machine_as_test(Walk, settings=chosen)


def test_any_request_is_answered_as_described(schema: Any) -> None:
    ask(schema, CASES)


def test_any_walk_from_answer_to_request_too(schema: Any) -> None:
    walk(schema, WALKS)


@pytest.mark.slow
@pytest.mark.timeout(3_000)
def test_thousands_of_requests(schema: Any) -> None:
    ask(schema, MANY_CASES)
    walk(schema, MANY_WALKS)
