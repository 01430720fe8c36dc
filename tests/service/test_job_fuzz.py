"""Odd jobs, as bytes: huge and tiny numbers, deep nesting, all of Unicode, names twice, wrong types, thousands of scenarios.

Each is stored whole and can be read again, or is refused with a reason and leaves no trace.
"""

import json
from collections.abc import Callable

import httpx2
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from service.schemas.answers import JobAnswer, Problem
from tests.service.running import Service

JSON = {"Content-Type": "application/json"}
EXAMPLES, MANY = 100, 3_000


def written(value: object) -> str:
    return json.dumps(value)


NUMBERS = st.one_of(
    st.sampled_from(["1e400", "-1e400", "1e-400", "-0", "0.0", "1.0", "1E+2", "9" * 400, "-" + "9" * 400, "0." + "1" * 400,
                     "9007199254740993", "9223372036854775808", "18446744073709551615", "18446744073709551616",
                     "1000000000000", "1000000000001", "NaN", "Infinity", "01", "+1", ".5", "5.", "0x10", "1_000"]),
    st.integers(-(10**30), 10**30).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=30).map(written),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.sampled_from(["\\ud800", "\\udc00\\ud800", "\\u0000", "\\u202e", "x" * 5_000, "random", "heaviest", "Random",
                     "\\ud83c\\udc62", " random", "block\\n", "__proto__", "a\tb"]).map(lambda inner: f'"{inner}"'),
    st.sampled_from(["'x'", '"']),
)  # fmt: skip
NESTED = st.tuples(st.sampled_from(["[]", "{}"]), st.integers(1, 3_000)).map(
    lambda given: "[" * given[1] + "]" * given[1] if given[0] == "[]" else '{"a":' * given[1] + "1" + "}" * given[1]
)
LITERALS = st.sampled_from(["null", "true", "false", "[]", "{}", "[null]", "[[]]", "", "undefined"])
LEAVES = st.one_of(NUMBERS, TEXTS, NESTED, LITERALS)
KEYS = st.one_of(
    st.sampled_from(["policies", "matches", "players", "ruleset", "seating", "name", "version", "prefer", "weights", "preset",
                     "ends", "target", "seed", "labels", "priority", "scenarios", "matrix", "rulesets"]).map(written),
    TEXTS,
)  # fmt: skip


def listed(items: st.SearchStrategy[str], most: int = 5) -> st.SearchStrategy[str]:
    return st.lists(items, max_size=most).map(lambda found: "[" + ",".join(found) + "]")


def objects(items: st.SearchStrategy[str], most: int = 5) -> st.SearchStrategy[str]:
    """Objects whose names may come twice."""
    return st.lists(st.tuples(KEYS, items), max_size=most).map(lambda pairs: "{" + ",".join(map(":".join, pairs)) + "}")


VALUES = st.recursive(LEAVES, lambda inner: st.one_of(listed(inner), objects(inner)), max_leaves=8)
GOOD = {
    "name": '"a job"', "seed": "7", "priority": '"normal"', "labels": '{"branch":"main"}',
    "scenarios": '[{"policies":["heaviest","random"],"matches":100}]',
    "matrix": '{"players":[2,3],"policies":["random","heaviest"],"matches":10,"rulesets":["block"]}',
}  # fmt: skip
SCENARIO = {"policies": '["heaviest","random"]', "matches": "100", "players": "2", "ruleset": '"block"', "seating": '"rotated"'}


def one_odd(good: dict[str, str]) -> st.SearchStrategy[str]:
    """A sound object in which one field, or a field twice, has an odd value."""
    return st.tuples(st.sampled_from(sorted(good)), VALUES, st.booleans()).map(
        lambda given: "{" + ",".join(f'"{key}":{value}' for key, value in (
            *(pair for pair in good.items() if given[2] or pair[0] != given[0]), (given[0], given[1]))) + "}"
    )  # fmt: skip


MANY_TIMES = st.tuples(one_odd(SCENARIO), st.integers(2, 4_000)).map(
    lambda given: '{"scenarios":[' + ",".join([written_good()] * given[1] + [given[0]]) + "]}"
)


def written_good() -> str:
    return "{" + ",".join(f'"{key}":{value}' for key, value in SCENARIO.items()) + "}"


JOBS = st.one_of(
    one_odd(GOOD), one_odd(SCENARIO).map(lambda scenario: f'{{"scenarios":[{scenario}]}}'), VALUES, objects(VALUES), MANY_TIMES
)


def attack(service: Service, http: httpx2.Client, examples: int) -> None:
    def count() -> int:
        with service.state.ledger.store.reading() as redis:
            return int(redis.zcard("{blockyard}:jobs"))

    @given(JOBS)
    @example('{"scenarios":[' + ",".join([written_good()] * 10_000) + "]}")
    @example('{"scenarios":[' + ",".join([written_good()] * 9_999) + "]}")
    @example('\ufeff{"scenarios":[' + written_good() + "]}")
    @settings(
        max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
    )
    def check(body: str) -> None:
        before = count()
        answer = http.post("/v1/jobs", content=body.encode("utf-8", "surrogatepass"), headers=JSON)
        if answer.status_code == 202:
            job = JobAnswer.model_validate(answer.json())
            assert http.get(f"/v1/jobs/{job.id}").json() == answer.json()
            assert http.get(f"/v1/jobs/{job.id}/results?limit=2").status_code == 200
            assert count() == before + 1
            return
        assert answer.status_code in (400, 413, 422), answer.text
        problem = Problem.model_validate(answer.json())
        assert problem.errors or answer.status_code != 422
        assert len(answer.content) < 50_000
        assert count() == before

    check()


def test_odd_jobs_are_stored_whole_or_refused(service: Service, http: httpx2.Client) -> None:
    attack(service, http, EXAMPLES)


@pytest.mark.slow
@pytest.mark.timeout(3_000)
def test_thousands_of_odd_jobs(service: Service, http: httpx2.Client) -> None:
    attack(service, http, MANY)


Read = Callable[[], dict[bytes, bytes]]


def test_a_name_twice_is_refused_and_named(http: httpx2.Client, stored: Read) -> None:
    """JSON leaves open which of two equal names counts; whoever wrote both meant one of them, and we cannot know which."""
    before = stored()
    for body, path in (
        ('{"seed":1,"seed":2,"scenarios":[' + written_good() + "]}", "seed"),
        ('{"scenarios":[' + written_good() + ',{"matches":5,"matches":5}]}', "scenarios[1].matches"),
        ('{"scenarios":[' + written_good() + '],"labels":{"a":"b","\\u0061":"c"}}', "labels.a"),
    ):
        answer = http.post("/v1/jobs", content=body, headers=JSON)
        assert answer.status_code == 422
        assert [error["path"] for error in answer.json()["errors"]] == [path]
    assert stored() == before
