"""The OpenAPI document: complete, with examples that work and every problem answer; and the headers of every answer."""

import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from service.client.answers import Job, JobPage, Progress
from service.middleware import SECURITY_HEADERS

CALLS = {
    ("post", "/v1/jobs"), ("get", "/v1/jobs"), ("get", "/v1/jobs/{id}"), ("get", "/v1/jobs/{id}/results"),
    ("get", "/v1/jobs/{id}/events"), ("post", "/v1/jobs/{id}/cancel"), ("post", "/v1/jobs/{id}/pause"),
    ("post", "/v1/jobs/{id}/resume"), ("post", "/v1/jobs/{id}/restart"), ("delete", "/v1/jobs/{id}"),
    ("get", "/v1/jobs/{id}/scenarios/{k}/matches/{m}"), ("get", "/v1/jobs/{id}/scenarios/{k}/matches"),
    ("get", "/v1/jobs/{id}/scenarios/{k}/matches/{m}/rounds/{r}.svg"), ("get", "/v1/policies"), ("get", "/v1/rulesets"),
    ("get", "/v1/workers"), ("post", "/v1/judge"), ("post", "/v1/perft"), ("get", "/metrics"), ("get", "/healthz"),
    ("get", "/readyz"), ("put", "/v1/regressions/{name}"), ("get", "/v1/regressions/{name}"),
    ("delete", "/v1/regressions/{name}"), ("get", "/v1/regressions"), ("post", "/v1/regressions/{name}/runs"),
    ("get", "/v1/regressions/{name}/runs"), ("get", "/v1/regressions/{name}/runs/{id}"),
    ("post", "/v1/regressions/{name}/promote"), ("post", "/v1/regression-runs"),
}  # fmt: skip


@pytest.fixture
def document(http: httpx2.Client) -> dict[str, Any]:
    """The document as it is served."""
    answer: dict[str, Any] = http.get("/openapi.json").json()
    return answer


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def test_every_call_of_the_contract_is_described(document: dict[str, Any]) -> None:
    assert {(method, path) for method, path, _ in operations(document)} >= CALLS
    for method, path, operation in operations(document):
        assert operation["summary"], (method, path)
        assert operation["description"], (method, path)
        for status, answer in operation["responses"].items():
            assert answer["description"], (method, path, status)
            assert answer.get("content") or status in ("204", "202"), (method, path, status)


def test_problems_are_problem_documents(document: dict[str, Any]) -> None:
    for method, path, operation in operations(document):
        failures = {status: answer for status, answer in operation["responses"].items() if status >= "400"}
        assert "500" in failures or path == "/healthz", (method, path)
        for answer in failures.values():
            (kind,) = answer["content"]
            assert kind == "application/problem+json"
        if "requestBody" in operation:
            assert {"400", "413", "415", "422"} <= set(failures), path
        if path.startswith(("/v1/jobs", "/v1/regression")):
            assert "503" in failures, (method, path)
        if "{id}" in path:
            assert "404" in failures, (method, path)


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    text = str(document)
    names = set(re.findall(r"#/components/schemas/([A-Za-z0-9_]+)", text))
    assert names <= set(schemas)
    assert names >= {"Problem", "JobRequest", "JobAnswer", "Position", "Deal", "ResultsPage", "Replay"}
    assert "HTTPValidationError" not in text


def test_the_example_of_a_job_is_accepted(http: httpx2.Client, document: dict[str, Any]) -> None:
    (example,) = document["components"]["schemas"]["JobRequest"]["examples"]
    assert http.post("/v1/jobs", json=example).status_code == 202


def test_named_things_describe_themselves(http: httpx2.Client) -> None:
    policies = http.get("/v1/policies").json()["items"]
    assert {policy["name"] for policy in policies} >= {"random", "random_tile", "heaviest", "lightest", "double"}
    assert all(policy["summary"] and "type" in policy["parameters"] for policy in policies)
    rulesets = http.get("/v1/rulesets").json()["items"]
    assert {ruleset["name"] for ruleset in rulesets} >= {"block"}
    assert all(ruleset["summary"] for ruleset in rulesets)
    assert http.get("/v1/workers").json() == {"items": []}
    assert http.post("/v1/workers/nobody/drain").status_code == 404


@pytest.mark.parametrize("path", ["/", "/v1/jobs", "/v1/no", "/v1/jobs?limit=0", "/healthz", "/static/style.css", "/metrics"])
def test_every_answer_carries_the_security_headers(http: httpx2.Client, path: str) -> None:
    headers = http.get(path).headers
    for name, value in SECURITY_HEADERS:
        assert headers[name.decode()] == value.decode()
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert re.fullmatch(r"[0-9a-f]{16}", headers["X-Request-Id"])
    assert headers["Cache-Control"] in ("no-store", "no-cache")


@pytest.mark.parametrize(("given", "kept"), [("abc-1.2_3", True), ("a b", False), ("x" * 65, False), ("<script>", False)])
def test_a_sound_request_id_is_kept(http: httpx2.Client, given: str, kept: bool) -> None:
    assert (http.get("/healthz", headers={"X-Request-Id": given}).headers["X-Request-Id"] == given) is kept


def test_a_fault_of_ours_tells_no_secrets(http: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> list[Any]:
        raise RuntimeError("secret")

    monkeypatch.setattr("service.routes.named.describe_policies", fail)
    answer = http.get("/v1/policies", headers={"X-Request-Id": "find-me"})
    assert answer.status_code == 500
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "find-me" in answer.json()["detail"]
    assert "secret" not in answer.text


def test_the_client_types_have_the_fields_that_the_document_has(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert set(Job.__annotations__) == set(schemas["JobAnswer"]["properties"])
    assert set(JobPage.__annotations__) == set(schemas["JobPage"]["properties"])
    assert set(Progress.__annotations__) == set(schemas["Progress"]["properties"])
