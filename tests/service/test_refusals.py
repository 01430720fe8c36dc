"""Bad input: one clear problem document that names the field, and nothing stored."""

import socket
from collections.abc import Callable
from typing import Any

import httpx2
import orjson
import pytest

from service.schemas.answers import Problem
from tests.service.running import Service

GOOD: dict[str, Any] = {"policies": ["heaviest", "random"], "matches": 100}
JSON = {"Content-Type": "application/json"}
Stored = Callable[[], dict[bytes, bytes]]


def scenario(**changes: Any) -> dict[str, Any]:
    return {"scenarios": [{**GOOD, **changes}]}


def matrix(**changes: Any) -> dict[str, Any]:
    return {"matrix": {"players": [2], "policies": ["random", "heaviest"], "matches": 10, **changes}}


def paths_of(answer: httpx2.Response, status: int = 422) -> list[str]:
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = Problem.model_validate(answer.json())
    assert problem.status == status
    assert problem.detail
    assert all(error.message for error in problem.errors)
    return [error.path for error in problem.errors]


BAD: list[tuple[str, Any, str]] = [
    ("unknown policy", scenario(policies=["heaviest", "nobody"]), "scenarios[0].policies[1]"),
    ("second scenario", {"scenarios": [GOOD, {**GOOD, "policies": ["x", "random"]}]}, "scenarios[1].policies[0]"),
    ("no policy at all", scenario(policies=[]), "scenarios[0].policies"),
    ("one policy", scenario(policies=["random"]), "scenarios[0].players"),
    ("1 player", scenario(players=1), "scenarios[0].players"),
    ("9 players", scenario(players=9), "scenarios[0].players"),
    ("5 players", scenario(policies=["random"] * 5), "scenarios[0].players"),
    ("5 players said", scenario(players=5, policies=["random"] * 5), "scenarios[0].players"),
    ("list too short", scenario(players=3), "scenarios[0].policies"),
    ("list too long", scenario(policies=["random"] * 3, players=2), "scenarios[0].policies"),
    ("no matches", scenario(matches=0), "scenarios[0].matches"),
    ("negative matches", scenario(matches=-5), "scenarios[0].matches"),
    ("fractional matches", scenario(matches=1.5), "scenarios[0].matches"),
    ("whole float", scenario(matches=100.0), "scenarios[0].matches"),
    ("matches as text", scenario(matches="1000"), "scenarios[0].matches"),
    ("matches true", scenario(matches=True), "scenarios[0].matches"),
    ("matches null", scenario(matches=None), "scenarios[0].matches"),
    ("over the limit", scenario(matches=10**12 + 1), "scenarios[0].matches"),
    ("far over the limit", scenario(matches=2**63), "scenarios[0].matches"),
    ("together over the limit", {"scenarios": [{**GOOD, "matches": 6 * 10**11}] * 2}, "scenarios[1].matches"),
    ("matrix over the limit", matrix(matches=10**12 + 1), "matrix.matches"),
    ("seed negative", {**scenario(), "seed": -1}, "seed"),
    ("seed 2^64", {**scenario(), "seed": "18446744073709551616"}, "seed"),
    ("seed fractional", {**scenario(), "seed": 0.5}, "seed"),
    ("seed a word", {**scenario(), "seed": "seven"}, "seed"),
    ("seed true", {**scenario(), "seed": True}, "seed"),
    ("seed signed digits", {**scenario(), "seed": "-1"}, "seed"),
    ("unknown field", {**scenario(), "colour": "red"}, "colour"),
    ("unknown field inside", scenario(colour="red"), "scenarios[0].colour"),
    ("unknown field in matrix", matrix(colour="red"), "matrix.colour"),
    ("neither", {}, "scenarios"),
    ("neither but a name", {"name": "x", "seed": 1}, "scenarios"),
    ("no scenario", {"scenarios": []}, "scenarios"),
    ("matrix null", {"matrix": None}, "scenarios"),
    ("scenarios an object", {"scenarios": GOOD}, "scenarios"),
    ("a scenario a number", {"scenarios": [7]}, "scenarios[0]"),
    ("policies a text", scenario(policies="random"), "scenarios[0].policies"),
    ("policy a number", scenario(policies=["random", 7]), "scenarios[0].policies[1]"),
    ("policy null", scenario(policies=["random", None]), "scenarios[0].policies[1]"),
    ("policy of unknown words", scenario(policies=["random", {"prefer": ["beauty"]}]), "scenarios[0].policies[1].prefer[0]"),
    ("policy parameter", scenario(policies=["random", {"name": "heaviest", "a": 1}]), "scenarios[0].policies[1].a"),
    ("policy deep", scenario(policies=["random", {"prefer": [[[[["x"]]]]]}]), "scenarios[0].policies[1].prefer[0]"),
    ("unknown ruleset", scenario(ruleset="chess"), "scenarios[0].ruleset.preset"),
    ("ruleset a number", scenario(ruleset=3), "scenarios[0].ruleset"),
    ("ruleset target", scenario(ruleset={"preset": "block", "ends": {"target": 0}}), "scenarios[0].ruleset.ends.target"),
    ("unknown seating", scenario(seating="random"), "scenarios[0].seating"),
    ("unknown priority", {**scenario(), "priority": "urgent"}, "priority"),
    ("name a number", {**scenario(), "name": 7}, "name"),
    ("name too long", {**scenario(), "name": "x" * 201}, "name"),
    ("name of two lines", {**scenario(), "name": "a\nb"}, "name"),
    ("labels a list", {**scenario(), "labels": ["a"]}, "labels"),
    ("label a number", {**scenario(), "labels": {"build": 17}}, "labels.build"),
    ("label key", {**scenario(), "labels": {"a=b": "c"}}, "labels.a=b"),
    ("label value too long", {**scenario(), "labels": {"a": "x" * 256}}, "labels.a"),
    ("too many labels", {**scenario(), "labels": {str(n): "" for n in range(33)}}, "labels"),
    ("matrix players 1", matrix(players=[2, 1]), "matrix.players[1]"),
    ("matrix players 5", matrix(players=[2, 5]), "matrix.players[1]"),
    ("matrix no players", matrix(players=[]), "matrix.players"),
    ("matrix players text", matrix(players=["2"]), "matrix.players[0]"),
    ("matrix one policy", matrix(policies=["random"]), "matrix.policies"),
    ("matrix unknown policy", matrix(policies=["random", "nobody"]), "matrix.policies[1]"),
    ("matrix unknown ruleset", matrix(rulesets=["block", "chess"]), "matrix.rulesets[1].preset"),
    ("matrix fractional", matrix(matches=0.5), "matrix.matches"),
    ("matrix too large", matrix(players=[3], policies=["random"] * 101), "matrix"),
    ("too many scenarios", {"scenarios": [GOOD] * 10_001}, "scenarios"),
    ("both, one bad", {**scenario(), **matrix(policies=["random", "nobody"])}, "matrix.policies[1]"),
    ("a list", [GOOD], ""),
    ("a text", "job", ""),
    ("null", None, ""),
]


@pytest.mark.parametrize(("body", "path"), [pytest.param(body, path, id=name) for name, body, path in BAD])
def test_a_bad_job_is_refused_by_field_and_leaves_no_trace(http: httpx2.Client, stored: Stored, body: Any, path: str) -> None:
    http.post("/v1/jobs", json=scenario())
    before = stored()
    answer = http.post("/v1/jobs", content=orjson.dumps(body), headers={**JSON, "Idempotency-Key": "k"})
    assert path in paths_of(answer)
    assert stored() == before


def test_all_that_is_wrong_is_told_at_once_but_not_endlessly(http: httpx2.Client) -> None:
    paths = paths_of(http.post("/v1/jobs", json={"scenarios": [{"policies": ["x", "y"], "matches": 1}] * 100}))
    assert paths[:3] == ["scenarios[0].policies[0]", "scenarios[0].policies[1]", "scenarios[1].policies[0]"]
    assert len(paths) == 51


def test_what_a_problem_quotes_is_bounded(http: httpx2.Client) -> None:
    answer = http.post("/v1/jobs", json=scenario(policies=["random", "x" * 100_000]))
    paths_of(answer)
    assert len(answer.content) < 2_000


@pytest.mark.parametrize(
    "body",
    [b"{", b'{"scenarios": [', b"{'a': 1}", b'{"matches": NaN}', b'{"matches": Infinity}', b"\xff\xfe", b"[" * 100_000,
     b"{} {}", b'{"name": "\\ud800"}', b"nonsense"],
)  # fmt: skip
def test_broken_json_is_said_to_be_so(http: httpx2.Client, stored: Stored, body: bytes) -> None:
    before = stored()
    answer = http.post("/v1/jobs", content=body, headers=JSON)
    assert paths_of(answer, 400) == []
    assert "JSON" in answer.json()["detail"]
    assert stored() == before


@pytest.mark.parametrize("depth", [40, 900])
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/judge", "/v1/perft"])
def test_deep_nesting_is_refused(http: httpx2.Client, path: str, depth: int) -> None:
    body = b'{"scenarios": ' + b"[" * depth + b"]" * depth + b"}"
    answer = http.post(path, content=body, headers=JSON)
    assert paths_of(answer) == [""]
    assert "nested" in answer.json()["detail"]


def test_an_empty_body_is_missing(http: httpx2.Client) -> None:
    assert paths_of(http.post("/v1/jobs")) == [""]
    assert paths_of(http.post("/v1/jobs", headers=JSON)) == [""]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_body_must_say_that_it_is_json(http: httpx2.Client, kind: str) -> None:
    paths_of(http.post("/v1/jobs", content=orjson.dumps(scenario()), headers={"Content-Type": kind}), 415)


@pytest.mark.parametrize("key", ["", "x" * 201, "a\tb"])
def test_a_bad_idempotency_key_is_named(http: httpx2.Client, key: str) -> None:
    answer = http.post("/v1/jobs", json=scenario(), headers={"Idempotency-Key": key})
    assert paths_of(answer) == ["Idempotency-Key"]


def test_a_large_body_is_refused_before_it_is_sent(service: Service, stored: Stored) -> None:
    before = stored()
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1048577\r\n\r\n"
    assert b" 413 " in exchange(service, head)
    assert stored() == before


def test_a_large_body_of_unknown_length_is_refused_while_it_comes(http: httpx2.Client, stored: Stored) -> None:
    before = stored()

    def parts() -> Any:
        yield b'{"name": "'
        for _ in range(40):
            yield b"x" * 65_536
        yield b'"}'

    paths_of(http.post("/v1/jobs", content=parts(), headers=JSON), 413)
    assert stored() == before


def test_a_body_at_the_limit_is_read(http: httpx2.Client) -> None:
    body = orjson.dumps(scenario())
    padded = body + b" " * (1024 * 1024 - len(body))
    assert http.post("/v1/jobs", content=padded, headers=JSON).status_code == 202
    assert http.post("/v1/jobs", content=padded + b" ", headers=JSON).status_code == 413


def test_unknown_places_and_methods_are_problems_too(http: httpx2.Client) -> None:
    assert paths_of(http.get("/v1/nothing"), 404) == []
    assert paths_of(http.get("/v1/jobs/"), 404) == []
    assert paths_of(http.get("/static/none.css"), 404) == []
    answer = http.put("/v1/jobs", json={})
    assert paths_of(answer, 405) == []
    assert answer.headers["Allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize("path", ["/", "/healthz", "/docs", "/v1/jobs", "/v1/policies", "/static/style.css", "/openapi.json"])
def test_whatever_can_be_got_answers_head_without_a_body(http: httpx2.Client, path: str) -> None:
    got, head = http.get(path), http.head(path)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("Content-Type", "Content-Security-Policy"):
        assert head.headers[name] == got.headers[name]
    if path != "/":
        assert head.headers["Content-Length"] == got.headers["Content-Length"]


def test_head_of_a_stream_ends_at_once(http: httpx2.Client) -> None:
    job = http.post("/v1/jobs", json=scenario()).json()["id"]
    head = http.head(f"/v1/jobs/{job}/events", timeout=30)
    assert head.status_code == 200
    assert head.headers["Content-Type"].startswith("text/event-stream")
    assert paths_of(http.post("/v1/jobs", content=b'{"a": 1,}', headers=JSON), 400) == []


def test_head_is_not_possible_where_nothing_can_be_got(http: httpx2.Client) -> None:
    head = http.head("/v1/judge")
    assert head.status_code == 405
    assert head.headers["Allow"] == "POST"


@pytest.mark.parametrize("path", ["/openapi.json", "/static/style.css"])
def test_documents_and_files_can_only_be_got(http: httpx2.Client, path: str) -> None:
    refused = http.post(path)
    assert refused.status_code == 405
    assert refused.headers["Allow"] == "GET, HEAD"


def test_what_is_not_counted_is_not_named(http: httpx2.Client) -> None:
    many = {f"label{number}": "x" for number in range(200)}
    (told,) = http.post("/v1/jobs", json=scenario() | {"labels": many}).json()["errors"]
    assert told["path"] == "labels"
    assert "None" not in told["message"]


def test_query_parameters_given_twice_are_refused(http: httpx2.Client) -> None:
    job = http.post("/v1/jobs", json=scenario()).json()["id"]
    assert paths_of(http.get("/v1/jobs?label=a%3D1&label=b%3D2")) == ["label"]
    assert paths_of(http.get(f"/v1/jobs/{job}/results?cursor=0&cursor=1&limit=1")) == ["cursor"]
    assert paths_of(http.get(f"/v1/jobs/{job}/scenarios/0/matches?from=0&from=1")) == ["from"]


def test_query_parameters_are_refused_where_none_is_taken(http: httpx2.Client) -> None:
    job = http.post("/v1/jobs", json=scenario()).json()["id"]
    for path in (f"/v1/jobs/{job}", f"/v1/jobs/{job}/scenarios/0/matches/0", "/v1/policies", "/v1/workers"):
        assert paths_of(http.get(f"{path}?limit=3&colour=red")) == ["limit", "colour"]
    assert paths_of(http.post("/v1/jobs?dry_run=1", json=scenario())) == ["dry_run"]
    assert [item["id"] for item in http.get("/v1/jobs").json()["items"]] == [job]
    assert http.get(f"/v1/jobs/{job}?").status_code == 200


def test_whole_numbers_of_more_than_64_bits_are_called_so(http: httpx2.Client) -> None:
    (error,) = http.post("/v1/jobs", json=scenario(matches=10**30)).json()["errors"]
    assert error["message"] == "must be a whole number of at most 64 bits"


def test_broken_json_is_shown_where_it_breaks(http: httpx2.Client) -> None:
    detail = http.post("/v1/jobs", content=b'{"seed": x}', headers=JSON).json()["detail"]
    assert detail.endswith(", at character 10.")


def test_messages_are_in_our_words(http: httpx2.Client) -> None:
    errors = http.post("/v1/jobs", json={**scenario(), "labels": {"a b": "", "": ""}}).json()["errors"]
    assert [error["message"] for error in errors] == [
        'must match ^[A-Za-z0-9][A-Za-z0-9._/-]*$, unlike "a b"', "must have at least 1 character",
    ]  # fmt: skip


def test_what_is_no_http_does_not_hurt(service: Service, http: httpx2.Client) -> None:
    assert b" 400 " in exchange(service, b"\x00\x01\x02\r\n\r\n")
    assert http.get("/healthz").status_code == 200


def exchange(service: Service, sent: bytes) -> bytes:
    """The first bytes of the answer to raw bytes."""
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(sent)
        return connection.recv(4096)
