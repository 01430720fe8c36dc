"""What goes wrong before people is told on a page in their language; before programs it is a document, as everywhere."""

import httpx2
import pytest

from service.page import rules
from service.page.words import ALL
from tests.servers import free_port
from tests.service.running import serving
from tests.service.test_page import Elements

HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
WRONG = [
    ("GET", "/nowhere", 404, "not_found"), ("GET", "/jobs/", 404, "not_found"), ("GET", "/jobs", 405, "not_found"),
    ("GET", "/static/nothing.css", 404, "not_found"), ("GET", f"/jobs/{'x' * 300}", 404, "not_found"),
    ("GET", "/?state=nonsense", 422, "not_understood"), ("GET", "/?cursor=abc", 422, "not_understood"),
    ("GET", "/jobs/x/scenarios/abc", 422, "not_understood"), ("GET", "/jobs/x?first=-1", 422, "not_understood"),
    ("GET", "/jobs/x/scenarios/0/matches?match=", 422, "not_understood"), ("DELETE", "/workers", 405, "not_found"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "status", "title"), WRONG)
def test_people_are_shown_a_page(http: httpx2.Client, method: str, path: str, status: int, title: str) -> None:
    document = http.request(method, path)
    assert document.headers["Content-Type"] == "application/problem+json"
    for language, words in ALL.items():
        answer = http.request(method, path, headers={"Accept": HTML, "Accept-Language": language})
        assert answer.status_code == status == document.status_code
        assert answer.headers["Content-Type"].startswith("text/html")
        assert answer.headers["Content-Language"] == language
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert answer.headers.get("Allow") == document.headers.get("Allow")
        assert int(answer.headers["Content-Length"]) > 0
        page = Elements(answer.text)
        assert words(f"problem.{title}") in page.words
        assert document.json()["detail"] in page.words
        assert {"href": "/"} in page.of("a")


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/jobs?state=x", "/metrics?x=1", "/openapi.json"])
def test_what_programs_ask_for_stays_theirs(http: httpx2.Client, path: str) -> None:
    assert not http.get(path, headers={"Accept": HTML}).headers["Content-Type"].startswith("text/html")


def test_what_is_too_large_and_what_fails_is_told_too(http: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = http.post("/jobs", headers={"Accept": HTML}, content=b"x" * (1 << 20 | 1))
    assert (answer.status_code, "Nothing was changed" in answer.text, "1,048,576 bytes" in answer.text) == (413, True, True)

    def fail(_words: object) -> str:
        raise RuntimeError("a fault")

    monkeypatch.setattr(rules, "rules_page", fail)
    answer = http.get("/rules", headers={"Accept": HTML})
    assert (answer.status_code, "Something went wrong" in answer.text) == (500, True)
    assert answer.headers["X-Request-Id"] in answer.text
    assert http.get("/rules").headers["Content-Type"] == "application/problem+json"


def test_before_redis_knows_who_asks_the_page_tries_again() -> None:
    with serving(f"redis://127.0.0.1:{free_port()}/0", host="0.0.0.0", admin_key="k" * 40) as service:
        answer = httpx2.get(f"{service.url}/workers", headers={"Accept": HTML}, trust_env=False, timeout=60)
        assert (answer.status_code, "Redis is away" in answer.text) == (503, True)
        assert {"http-equiv": "refresh", "content": "3"} in Elements(answer.text).of("meta")
        assert int(answer.headers["Retry-After"]) > 0
