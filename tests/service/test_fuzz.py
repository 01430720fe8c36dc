"""Whatever JSON is sent: an answer of the contract, never a fault of ours, and what is refused is named."""

from collections.abc import Callable
from typing import Any

import httpx2
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["block", "traditional", "draw", "random", "heaviest", "rotated", "", "0", "\u0000", "7" * 40]),
    st.text(max_size=5),
)  # fmt: skip


def documents(*names: str) -> st.SearchStrategy[Any]:
    """JSON values whose objects use the names that matter."""
    keys = st.one_of(st.sampled_from(names), st.text(max_size=3))
    return st.recursive(
        SCALARS,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=6)),
        max_leaves=25,
    )


RULESET = documents(
    "preset", "set", "hand", "opening", "next_leader", "blocked_tie", "blocked_award", "ends", "draw", "partners",
    "partner_count", "target", "at", "rounds", "limit", "reserve", "2", "3", "4",
)  # fmt: skip
POLICY = documents("name", "version", "prefer", "weights", "pips", "double", "worlds")
SCENARIO = st.fixed_dictionaries(
    {"policies": st.lists(POLICY, min_size=2, max_size=4), "matches": st.just(2)},
    optional={"ruleset": RULESET, "seating": SCALARS},
)
MATRIX = st.fixed_dictionaries(
    {"players": st.lists(st.integers(1, 9), min_size=1, max_size=3), "policies": st.lists(POLICY, max_size=3)},
    optional={"rulesets": st.lists(RULESET, max_size=2), "matches": st.just(2)},
)
JOB = st.one_of(
    st.fixed_dictionaries({}, optional={"scenarios": st.lists(SCENARIO, max_size=2), "matrix": MATRIX, "seed": SCALARS}),
    documents("name", "seed", "priority", "labels", "scenarios", "matrix", "policies", "matches", "players"),
)
TEST = st.fixed_dictionaries(
    {"name": st.text(max_size=3), "candidate": POLICY, "baseline": POLICY},
    optional={
        "players": st.integers(1, 9), "ruleset": RULESET, "h0": st.one_of(st.just(-0.02), SCALARS), "h1": SCALARS,
        "max_matches": st.one_of(st.just(1000), SCALARS),
    },
).map(lambda changes: {"players": 2, "h0": -0.02, "h1": 0.0, "max_matches": 1000, **changes})  # fmt: skip
REGRESSION = st.fixed_dictionaries(
    {"name": st.just("nightly"), "tests": st.lists(st.one_of(TEST, documents("name")), max_size=3)},
    optional={
        **dict.fromkeys(("alpha", "beta", "seed", "labels"), SCALARS),
        "schedule": st.one_of(SCALARS, st.sampled_from(["0 2 * * *", "0 0 31 2,4 *", "@daily", "0 0 29 2 *"])),
        "timezone": st.one_of(SCALARS, st.sampled_from(["UTC", "Europe", "../x", "/etc/passwd"])),
        "webhook": st.one_of(SCALARS, st.sampled_from(["http://a", "http://a:99999", "http://[1", "ftp://a"])),
    },
)
TILES = st.lists(st.lists(st.integers(-1, 13), max_size=3), max_size=3)
TABLE = st.fixed_dictionaries(
    {"players": st.one_of(st.just(2), SCALARS), "hands": st.one_of(st.lists(TILES, max_size=4), SCALARS)},
    optional={
        "ruleset": RULESET, "line_ends": st.one_of(st.none(), st.lists(st.integers(0, 6), max_size=3)), "to_move": SCALARS,
        "action": documents("tile"), "stock": TILES, "first_round": SCALARS, "passes_in_a_row": SCALARS, "leader": SCALARS,
    },
)  # fmt: skip


@pytest.mark.parametrize(
    ("path", "bodies", "good"),
    [("/v1/jobs", JOB, 202), ("/v1/regression-runs", REGRESSION, 202), ("/v1/judge", TABLE, 200), ("/v1/perft", TABLE, 200)],
)
def test_any_document_gets_a_sound_answer(
    http: httpx2.Client, stored: Callable[[], dict[bytes, bytes]], path: str, bodies: st.SearchStrategy[Any], good: int
) -> None:
    @given(bodies)
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    def check(body: Any) -> None:
        before = stored()
        answer = http.post(path, content=orjson.dumps(body), headers={"Content-Type": "application/json"})
        assert answer.status_code in (good, 422), answer.text
        if answer.status_code == 422:
            assert answer.json()["errors"]
            assert stored() == before

    check()
