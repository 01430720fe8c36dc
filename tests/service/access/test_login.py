"""Signing in to the page: a cookie that no script reads, a token that no stranger has, and never to another place."""

import re
from importlib.resources import files

import httpx2
import pytest

from tests.service.access.conftest import Guarded

HTML = {"Accept": "text/html,application/xhtml+xml"}
JOB = {"scenarios": [{"policies": ["heaviest", "random"], "matches": 64}]}


def token_of(html: str) -> str:
    (found,) = set(re.findall(r'name="csrf" value="([^"]+)"', html))
    return str(found)


@pytest.fixture
def browser(guarded: Guarded) -> httpx2.Client:
    """A client that keeps cookies, as a browser does."""
    return guarded.client(None, **HTML)


def sign_in(browser: httpx2.Client, key: str, following: str = "/") -> httpx2.Response:
    token = token_of(browser.get("/login").text)
    return browser.post("/login", data={"csrf": token, "key": key, "next": following})


def test_a_browser_is_led_to_the_form_and_back(browser: httpx2.Client, guarded: Guarded) -> None:
    with browser:
        led = browser.get("/?state=done")
        assert (led.status_code, led.headers["Location"]) == (303, "/login?next=%2F%3Fstate%3Ddone")
        form = browser.get(led.headers["Location"])
        assert 'value="/?state=done"' in form.text
        done = browser.post("/login", data={"csrf": token_of(form.text), "key": guarded.keys["ada"], "next": "/?state=done"})
        assert (done.status_code, done.headers["Location"]) == (303, "/?state=done")
        (cookie,) = [each for each in done.headers.get_list("set-cookie") if each.startswith("blockyard_session=")]
        for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"):
            assert part in cookie
        assert guarded.keys["ada"] not in cookie
        page = browser.get("/")
        assert "Sign out ada" in page.text
        assert browser.get("/v1/jobs").status_code == 200
        left = browser.post("/logout", data={"csrf": token_of(page.text)})
        assert (left.status_code, left.headers["Location"]) == (303, "/login")
        assert browser.get("/").status_code == 303


def test_a_session_is_over_where_its_token_is(browser: httpx2.Client, guarded: Guarded) -> None:
    with browser:
        sign_in(browser, guarded.keys["ada"])
        token = browser.cookies["blockyard_session"]
        browser.post("/logout", data={"csrf": token_of(browser.get("/").text)})
        again = {**HTML, "Cookie": f"blockyard_session={token}"}
        assert browser.get("/", headers=again).status_code == 303


def test_a_change_by_a_session_needs_its_token(browser: httpx2.Client, guarded: Guarded) -> None:
    with browser:
        sign_in(browser, guarded.keys["ada"])
        token = token_of(browser.get("/").text)
        for headers in ({}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": "0" * 64}):
            answer = browser.post("/v1/jobs", json=JOB, headers=headers)
            assert answer.status_code == 403
            assert "X-CSRF-Token" in answer.json()["detail"]
        assert browser.post("/v1/jobs", json=JOB, headers={"X-CSRF-Token": token}).status_code == 202
        assert browser.post("/logout", data={"csrf": "x"}).status_code == 403
        assert browser.get("/").status_code == 200


def test_a_form_that_is_not_ours_signs_nobody_in(browser: httpx2.Client, guarded: Guarded) -> None:
    with browser:
        for data in ({"key": guarded.keys["ada"]}, {"key": guarded.keys["ada"], "csrf": "x"}, {}):
            assert browser.post("/login", data=data).status_code == 403
        browser.get("/login")
        assert browser.post("/login", data={"key": guarded.keys["ada"], "csrf": "x"}).status_code == 403
        assert browser.post("/login", content=b"\xff\xfe=&&&" * 9000).status_code == 403
        wrong = sign_in(browser, "by_00000000_" + "x" * 43)
        assert wrong.status_code == 401
        assert "no such key" in wrong.text
        assert "blockyard_session" not in browser.cookies


@pytest.mark.parametrize("following", ["https://evil.example", "//evil.example", "/\\evil.example", "evil", "/a\r\nX: y", ""])
def test_nobody_is_sent_elsewhere(browser: httpx2.Client, guarded: Guarded, following: str) -> None:
    with browser:
        assert sign_in(browser, guarded.keys["rita"], following).headers["Location"] == "/"


def test_the_form_is_safe_and_shown_as_text(browser: httpx2.Client) -> None:
    with browser:
        page = browser.get('/login?next=/"><script>x</script>')
        assert "<script>x" not in page.text
        assert "form-action 'self'" in page.headers["Content-Security-Policy"]
        assert page.headers["Cache-Control"] == "no-store"


def test_signing_out_fits_a_narrow_screen() -> None:
    """The bar has a button more in a session: it breaks where the width is not enough, as does a long name."""
    style = files("service.page").joinpath("static/style.css").read_text()
    narrow = style[style.index("@media (max-width: 40rem)") :]
    assert ".bar { flex-wrap: wrap; }" in narrow[: narrow.index("\n}")]
    assert "overflow-wrap: anywhere" in style[style.index(".leave button {") :].partition("}")[0]
