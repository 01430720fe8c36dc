"""Judge and perft over HTTP: the rules' own answers, bounded."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Semaphore
from typing import Any

import httpx2
import pytest
from pydantic import TypeAdapter

from service.schemas.positions import DEAL_EXAMPLES, POSITION_EXAMPLES, JudgeAnswer, PerftAnswer
from tests.service.running import Service, serving
from workers.engine.perft import perft
from workers.engine.positions import judge

POSITION: dict[str, Any] = {
    "ruleset": "block", "players": 2, "hands": [[[2, 5]], [[0, 0]]], "line_ends": [5, 3], "to_move": 0, "action": [[2, 5], 5],
}  # fmt: skip
DEAL: dict[str, Any] = {"ruleset": "block", "players": 2, "hands": [[[1, 2], [2, 2]], [[2, 3], [1, 1]]], "leader": 0}


@pytest.mark.parametrize("document", [POSITION, [POSITION, {**POSITION, "action": None}], []])
def test_judge_answers_as_the_rules_do(http: httpx2.Client, document: Any) -> None:
    answer = http.post("/v1/judge", json=document)
    assert answer.status_code == 200, answer.text
    assert answer.json() == judge(document)
    TypeAdapter(JudgeAnswer).validate_python(answer.json())


@pytest.mark.parametrize("document", [DEAL, [DEAL, DEAL]])
def test_perft_answers_as_the_rules_do(http: httpx2.Client, document: Any) -> None:
    answer = http.post("/v1/perft", json=document)
    assert answer.status_code == 200, answer.text
    assert answer.json() == perft(document)
    TypeAdapter(PerftAnswer).validate_python(answer.json())


def test_whoever_counts_trees_does_not_keep_others_waiting(
    http: httpx2.Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every request may hold a thread; counting for seconds in all of them at once would stop the service."""
    go_on, under_way = Event(), Semaphore(0)

    def count(*_: object, **__: object) -> dict[str, Any]:
        under_way.release()
        assert go_on.wait(30)
        return perft(DEAL)  # type: ignore[return-value]

    monkeypatch.setattr("service.routes.positions.count_tree", count)
    with ThreadPoolExecutor(50) as pool:
        calls = [pool.submit(httpx2.post, f"{service.url}/v1/perft", json=DEAL, timeout=60) for _ in range(50)]
        try:
            for _ in range(2):
                assert under_way.acquire(timeout=10)
            assert http.get("/v1/policies", timeout=25).status_code == 200
            assert not under_way.acquire(timeout=0.5)
        finally:
            go_on.set()
        assert [call.result().status_code for call in calls] == [200] * 50


def test_a_position_without_hands_is_told_so(http: httpx2.Client) -> None:
    assert [error["path"] for error in http.post("/v1/judge", json={}).json()["errors"]] == ["hands"]
    (error,) = http.post("/v1/judge", json={"hands": [[[2, 5]], [[0, 0]]]}).json()["errors"]
    assert error == {"path": "to_move", "message": "must be a whole number from 0 to 1"}


def test_the_documented_examples_work(http: httpx2.Client) -> None:
    for path, examples in (("/v1/judge", POSITION_EXAMPLES), ("/v1/perft", DEAL_EXAMPLES)):
        for example in examples.values():
            assert http.post(path, json=example["value"]).status_code == 200


@pytest.mark.parametrize(
    ("path", "document", "field"),
    [
        ("/v1/judge", {**POSITION, "hands": [[[2, 5]], [[5, 2]]]}, "hands"),
        ("/v1/judge", {**POSITION, "colour": 1}, "colour"),
        ("/v1/judge", [POSITION, {**POSITION, "players": 1}], "[1].players"),
        ("/v1/judge", 7, ""),
        ("/v1/perft", {**DEAL, "leader": 2}, "leader"),
        ("/v1/perft", None, ""),
    ],
)
def test_what_cannot_be_is_named(http: httpx2.Client, path: str, document: Any, field: str) -> None:
    answer = http.post(path, json=document)
    assert answer.status_code == 422
    assert any(error["path"].startswith(field) for error in answer.json()["errors"])


def test_both_are_bounded_and_say_by_what(redis_url: str) -> None:
    with (
        serving(redis_url, max_positions=3, max_nodes=2) as service,
        httpx2.Client(base_url=service.url, trust_env=False, timeout=30) as http,
    ):
        assert http.post("/v1/judge", json=[POSITION] * 3).status_code == 200
        many = http.post("/v1/judge", json=[POSITION] * 4)
        assert many.status_code == 422
        assert "3" in many.json()["detail"]
        large = http.post("/v1/perft", json=DEAL)
        assert large.status_code == 422
        assert "2" in large.json()["detail"]


def test_they_need_no_redis() -> None:
    with (
        serving("redis://127.0.0.1:1/0", redis_timeout_seconds=0.5) as lonely,
        httpx2.Client(base_url=lonely.url, trust_env=False, timeout=30) as http,
    ):
        assert http.post("/v1/judge", json=POSITION).status_code == 200
        assert http.post("/v1/perft", json=DEAL).status_code == 200
