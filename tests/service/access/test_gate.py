"""Who is let in, for what, and what those are told who are not."""

import hashlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
import redis
from fastapi.routing import APIRoute

from service.access.caller import ROLES
from service.access.keys import KeyStore, KeyTable
from service.access.roles import required_role
from service.app import create_app
from service.schemas.answers import Problem
from service.settings import ServiceSettings
from tests.servers import RedisServer, poll
from tests.service.access.conftest import Guarded
from tests.service.running import serving
from workers.errors import Conflict, InvalidInput, NotFound
from workers.jobs.store import Store, connect

JOB: dict[str, Any] = {"scenarios": [{"policies": ["heaviest", "random"], "matches": 64}]}
REGRESSION: dict[str, Any] = {
    "name": "nightly",
    "tests": [{"name": "two", "players": 2, "candidate": "heaviest", "baseline": "random", "h0": -0.02, "h1": 0.0,
               "max_matches": 1000}],
}  # fmt: skip
As = Callable[[str | None], httpx2.Client]


def refused(answer: httpx2.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    return Problem.model_validate(answer.json()).detail


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/policies", "/v1/jobs/x/events", "/v1/jobs/x", "/", "/live", "/jobs/x/live",
                                  "/docs", "/openapi.json", "/v1/nothing", "/nothing"])  # fmt: skip
def test_without_a_key_nothing_is_shown(as_: As, path: str) -> None:
    answer = as_(None).get(path)
    detail = refused(answer, 401)
    assert "Authorization: Bearer" in detail
    assert "blockyard keys create" in detail
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/static/style.css", "/login"])
def test_what_needs_no_key(as_: As, path: str) -> None:
    assert as_(None).get(path).status_code == 200


@pytest.mark.parametrize("given", ["Bearer by_00000000_" + "x" * 43, "Bearer", "Bearer x", "Basic YTpi", "Bearer \xe9", "by_"])
def test_a_wrong_key_is_none(guarded: Guarded, given: str) -> None:
    with httpx2.Client(base_url=guarded.service.url, trust_env=False, timeout=30) as client:
        refused(client.get("/v1/jobs", headers=[(b"Authorization", given.encode("latin-1"))]), 401)


def test_a_key_of_the_right_id_and_another_secret_is_none(guarded: Guarded) -> None:
    changed = guarded.keys["ada"][:-1] + ("A" if guarded.keys["ada"][-1] != "A" else "B")
    with httpx2.Client(base_url=guarded.service.url, trust_env=False, timeout=30) as client:
        refused(client.get("/v1/jobs", headers={"Authorization": f"Bearer {changed}"}), 401)


def test_a_stranger_is_turned_away_before_the_body_is_read(as_: As) -> None:
    refused(as_(None).post("/v1/jobs", content=b"{broken", headers={"Content-Type": "application/json"}), 401)
    refused(as_("rita").post("/v1/jobs", content=b"{broken", headers={"Content-Type": "application/json"}), 403)


def test_roles_cover_what_they_say(as_: As) -> None:
    rita, sam, ada = as_("rita"), as_("sam"), as_("ada")
    assert rita.get("/v1/jobs").status_code == 200
    assert rita.post("/v1/judge", json={"players": 2}).status_code == 422
    detail = refused(rita.post("/v1/jobs", json=JOB), 403)
    assert "'rita' has the role read" in detail
    assert "role submit" in detail
    job = sam.post("/v1/jobs", json=JOB).json()
    assert job["owner"] == "sam"
    for call in ("cancel", "pause", "resume", "restart"):
        refused(rita.post(f"/v1/jobs/{job['id']}/{call}"), 403)
    refused(rita.delete(f"/v1/jobs/{job['id']}"), 403)
    refused(sam.put("/v1/regressions/nightly", json=REGRESSION), 403)
    refused(sam.post("/v1/workers/x/drain"), 403)
    assert ada.put("/v1/regressions/nightly", json=REGRESSION).status_code == 201
    refused(sam.post("/v1/regressions/nightly/promote"), 403)
    refused(sam.delete("/v1/regressions/nightly"), 403)
    run = sam.post("/v1/regressions/nightly/runs").json()
    assert ada.get(f"/v1/jobs/{run['tests'][0]['job']}").json()["owner"] == "sam"
    assert ada.post("/v1/regressions/nightly/promote").status_code == 200


def test_jobs_of_others_are_changed_by_admins_alone(as_: As) -> None:
    sam, sue, ada = as_("sam"), as_("sue"), as_("ada")
    job = sam.post("/v1/jobs", json=JOB).json()["id"]
    assert sue.get(f"/v1/jobs/{job}").status_code == 200
    for call in ("pause", "resume", "cancel", "restart"):
        assert "belongs to sam" in refused(sue.post(f"/v1/jobs/{job}/{call}"), 403)
    assert "belongs to sam" in refused(sue.delete(f"/v1/jobs/{job}"), 403)
    assert sam.get(f"/v1/jobs/{job}").json()["state"] == "queued"
    assert ada.post(f"/v1/jobs/{job}/cancel").json()["state"] == "cancelled"
    assert sam.delete(f"/v1/jobs/{job}").status_code == 204
    refused(sue.post("/v1/jobs/nothing/cancel"), 404)


def test_the_same_idempotency_key_of_another_owner_is_another(as_: As) -> None:
    headers = {"Idempotency-Key": "once"}
    ids = [as_(name).post("/v1/jobs", json=JOB, headers=headers).json()["id"] for name in ("sam", "sue", "sam")]
    assert ids[0] == ids[2] != ids[1]


def test_an_event_stream_opens_with_a_key(as_: As) -> None:
    job = as_("sam").post("/v1/jobs", json=JOB).json()["id"]
    with as_("rita").stream("GET", f"/v1/jobs/{job}/events") as answer:
        assert answer.status_code == 200
        assert next(answer.iter_lines()).startswith("retry")


def test_every_route_needs_a_role_or_is_known_to_need_none() -> None:
    free = set()
    for route in create_app(ServiceSettings()).state.routes:
        if isinstance(route, APIRoute):
            for method in route.methods:
                role = required_role(method, route.path)
                assert role in (None, *ROLES)
                if role is None:
                    free.add(route.path)
                elif role == "read":
                    assert method == "GET" or route.path in ("/v1/judge", "/v1/perft")
    assert free == {"/healthz", "/readyz", "/metrics", "/login", "/logout"}


def test_the_document_tells_of_keys(as_: As) -> None:
    document = as_("rita").get("/openapi.json").json()
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    for path, methods in document["paths"].items():
        for operation in methods.values():
            guarded = required_role("GET", path) is not None
            assert ({"401", "403", "429", "503"} <= set(operation["responses"])) is guarded, path
            assert bool(operation["security"]) is guarded


def test_keys_are_stored_as_digests_and_never_logged(guarded: Guarded, as_: As, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        as_("sam").get("/v1/jobs")
        as_(None).get("/v1/jobs", headers={"Authorization": f"Bearer {guarded.keys['ada']}x"})
    with redis.Redis.from_url(guarded.service.redis_url) as client:
        stored = b"".join(client.hvals("{blockyard}:api_keys"))
    for text in guarded.keys.values():
        assert text.encode() not in stored
        assert hashlib.sha256(text.encode()).hexdigest().encode() in stored
        assert text not in caplog.text
        assert text.split("_", 2)[2] not in caplog.text  # the secret, in which there may be more of these


def test_a_new_key_closes_the_door_and_a_revoked_one_opens_nothing(redis_url: str) -> None:
    store = KeyStore(Store(connect(redis_url)))
    with serving(redis_url) as service, httpx2.Client(base_url=service.url, trust_env=False, timeout=30) as http:
        assert http.post("/v1/jobs", json=JOB).json()["owner"] == "anonymous"
        _, text = store.create("ada", "admin")
        poll(lambda: http.get("/v1/jobs").status_code == 401, 10)
        mine = {"Authorization": f"Bearer {text}"}
        assert http.get("/v1/jobs", headers=mine).status_code == 200
        store.create("bea", "read")
        store.revoke("ada")
        poll(lambda: http.get("/v1/jobs", headers=mine).status_code == 401, 10)


def test_keys_have_sound_names_and_one_each(redis_url: str) -> None:
    store = KeyStore(Store(connect(redis_url)))
    for name in ("", "a b", "anonymous", "operator", "x" * 61, "a|b", "a:b", "-a"):
        with pytest.raises(InvalidInput):
            store.create(name, "read")
    with pytest.raises(InvalidInput):
        store.create("ada", "root")  # type: ignore[arg-type]
    key, text = store.create("ada", "read")
    with pytest.raises(Conflict):
        store.create("ada", "admin")
    assert [each.name for each in store.all()] == ["ada"]
    table = KeyTable(store.all())
    assert table.find(text) == key
    assert table.find(text + "x") is None
    with pytest.raises(NotFound):
        store.revoke("bea")


@pytest.fixture
def open_house(redis_url: str) -> Iterator[httpx2.Client]:
    """An API without keys on loopback."""
    with serving(redis_url) as service, httpx2.Client(base_url=service.url, trust_env=False, timeout=30) as http:
        yield http


def test_without_keys_no_page_of_a_stranger_reaches_us(open_house: httpx2.Client) -> None:
    own = open_house.base_url.netloc.decode()
    job = open_house.post("/v1/jobs", json=JOB, headers={"Origin": f"http://{own}"}).json()["id"]
    cancel = f"/v1/jobs/{job}/cancel"
    for origin in ("https://evil.example", "null", f"http://{own}.evil.example", ""):
        refused(open_house.post(cancel, headers={"Origin": origin}), 403)
    for host in ("evil.example", "evil.example:8000", "", "[", "127.0.0.1.evil.example", "10.0.0.1"):
        refused(open_house.get("/v1/jobs", headers={"Host": host}), 403)
    for host in ("localhost:1", "127.0.0.1", "[::1]:80"):
        assert open_house.get("/v1/jobs", headers={"Host": host}).status_code == 200
    assert open_house.get(f"/v1/jobs/{job}").json()["state"] == "queued"
    assert open_house.post(cancel).status_code == 200


def test_beyond_this_machine_a_key_is_needed_even_if_there_is_none(redis_url: str) -> None:
    with (
        serving(redis_url, host="0.0.0.0") as service,
        httpx2.Client(base_url=service.url, trust_env=False, timeout=30) as http,
    ):
        assert "No key exists yet" in refused(http.get("/v1/jobs"), 401)
        assert http.get("/healthz").status_code == 200
        _, text = KeyStore(Store(connect(redis_url))).create("ada", "admin")
        poll(lambda: http.get("/v1/jobs", headers={"Authorization": f"Bearer {text}"}).status_code == 200, 10)


def test_insecure_lets_everybody_in_from_anywhere(redis_url: str) -> None:
    settings = {"host": "0.0.0.0", "insecure": True}
    with serving(redis_url, **settings) as service, httpx2.Client(base_url=service.url, trust_env=False, timeout=30) as http:
        assert http.get("/v1/jobs", headers={"Host": "blockyard.example"}).status_code == 200
        refused(http.post("/v1/jobs", json=JOB, headers={"Origin": "https://evil.example"}), 403)


def test_a_key_of_the_operator_is_enough(redis_url: str) -> None:
    key = "operators-own-key-of-forty-characters-xx"
    with (
        serving(redis_url, host="0.0.0.0", admin_key=key) as service,
        httpx2.Client(base_url=service.url, trust_env=False, timeout=30) as http,
    ):
        refused(http.get("/v1/jobs"), 401)
        answer = http.post("/v1/jobs", json=JOB, headers={"Authorization": f"Bearer {key}"})
        assert answer.json()["owner"] == "operator"
    with pytest.raises(ValueError, match="at least 32") as refusal:
        ServiceSettings(admin_key="short-secret")
    assert "short-secret" not in str(refusal.value)


def test_keys_known_before_redis_went_away_still_count(own_redis: RedisServer) -> None:
    _, text = KeyStore(Store(connect(own_redis.url))).create("ada", "admin")
    with (
        serving(own_redis.url, redis_timeout_seconds=0.5) as service,
        httpx2.Client(base_url=service.url, trust_env=False, timeout=30) as http,
    ):
        mine = {"Authorization": f"Bearer {text}"}
        assert http.get("/v1/policies", headers=mine).status_code == 200
        own_redis.stop()
        poll(lambda: http.get("/v1/jobs", headers=mine).status_code == 503)
        assert http.get("/v1/policies", headers=mine).status_code == 200
        refused(http.get("/v1/policies"), 401)
        refused(http.post("/v1/jobs", json=JOB, headers=mine), 503)
