"""Submitting and steering from the page: by whoever may, with the session's own forms alone, once however often it is sent."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest

from tests.service.access.conftest import Guarded
from tests.service.access.test_login import HTML, sign_in, token_of

FORM = {
    "name": "from the page", "policy0": "heaviest", "policy1": "random", "policy2": "", "policy3": "", "count": "640",
    "ruleset": "block", "seating": "rotated", "priority": "high", "seed": "7",
}  # fmt: skip
As = Callable[[str | None], httpx2.Client]


@pytest.fixture
def browse(guarded: Guarded) -> Any:
    """`browse("sam")` is a browser in which sam has signed in."""
    opened: list[httpx2.Client] = []

    def begin(name: str) -> httpx2.Client:
        browser = guarded.client(None, **HTML)
        opened.append(browser)
        sign_in(browser, guarded.keys[name])
        return browser

    yield begin
    for browser in opened:
        browser.close()


def hidden(html: str, name: str) -> str:
    return re.findall(rf'name="{name}" value="([^"]*)"', html)[0]


def send(browser: httpx2.Client, **fields: str) -> httpx2.Response:
    html = browser.get("/submit").text
    return browser.post("/jobs", data={"csrf": token_of(html), "once": hidden(html, "once"), **fields})


def test_a_form_submits_what_it_says(browse: Any, as_: As) -> None:
    browser = browse("sam")
    assert 'href="/submit"' in browser.get("/").text
    led = send(browser, **FORM)
    assert led.status_code == 303
    job = as_("rita").get(f"/v1{led.headers['Location']}").json()
    assert (job["name"], job["seed"], job["priority"], job["owner"]) == ("from the page", 7, "high", "sam")
    (scenario,) = job["spec"]["scenarios"]
    assert (scenario["policies"], scenario["matches"], scenario["ruleset"]) == (["heaviest", "random"], 640, "block")
    three = send(browser, **FORM | {"policy2": "double", "seed": ""}).headers["Location"]
    assert as_("rita").get(f"/v1{three}").json()["spec"]["scenarios"][0]["players"] == 3


def test_a_document_submits_all_that_the_api_takes(browse: Any, as_: As) -> None:
    document = '{"matrix": {"players": [2], "policies": ["heaviest", "random", {"prefer": ["double"]}], "matches": 100}}'
    led = send(browse("sam"), kind="document", document=document)
    assert as_("rita").get(f"/v1{led.headers['Location']}").json()["scenario_count"] == 3


def test_a_form_sent_twice_submits_one_job(browse: Any) -> None:
    browser = browse("sam")
    html = browser.get("/submit").text
    data = {"csrf": token_of(html), "once": hidden(html, "once"), **FORM}
    first, second = browser.post("/jobs", data=data), browser.post("/jobs", data=data)
    assert first.headers["Location"] == second.headers["Location"]
    assert browser.post("/jobs", data=data | {"count": "1000"}).status_code == 409


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"count": "many"}, "scenarios[0].matches"), ({"count": "0"}, "scenarios[0].matches"),
        ({"policy0": "nobody<b>"}, "scenarios[0].policies[0]"), ({"seed": "-1"}, "seed"),
        ({"ruleset": "x"}, "scenarios[0].ruleset.preset"),
        ({"kind": "document", "document": "{"}, "document"),
        ({"kind": "document", "document": '{"seed": 1, "seed": 2}'}, "seed"),
        ({"kind": "document", "document": "[" * 99 + "]" * 99}, "document"),
        ({"kind": "document", "document": "{}"}, "scenarios"),
        ({"kind": "document", "document": '{"colour": 1}'}, "colour"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_and_what_was_written_is_kept(browse: Any, as_: As, fields: dict[str, str], path: str) -> None:
    before = as_("rita").get("/v1/jobs").json()["items"]
    answer = send(browse("sam"), **{**FORM, **fields})
    assert answer.status_code == 422
    assert f"<code>{path}</code>" in answer.text
    assert "from the page" in answer.text
    assert "<b>" not in answer.text
    if "document" in fields:
        assert fields["document"].replace('"', "&#34;") in answer.text
    assert as_("rita").get("/v1/jobs").json()["items"] == before


def test_a_form_without_the_sessions_token_changes_nothing(browse: Any, as_: As) -> None:
    browser = browse("sam")
    job = send(browser, **FORM).headers["Location"]
    before = as_("rita").get("/v1/jobs").json()["items"]
    for csrf in ("", "0" * 64, hidden(browse("sue").get("/submit").text, "csrf")):
        for path, fields in (("/jobs", FORM), (f"{job}/cancel", {}), (f"{job}/pause", {})):
            # A stranger's page can send such a form, and the browser adds the cookie where it does not know SameSite.
            refused = browser.post(path, data={"csrf": csrf, **fields}, headers={"X-CSRF-Token": csrf})
            assert refused.status_code == 403
            assert "did not come from here" in refused.text
    assert (
        browser.post("/jobs", content=b"\xff", headers={"Content-Type": "application/x-www-form-urlencoded"}).status_code == 403
    )
    too_many = urlencode([(f"f{number}", "x") for number in range(50)])
    assert browser.post("/jobs", content=too_many.encode()).status_code == 403
    assert as_("rita").get("/v1/jobs").json()["items"] == before


def test_a_job_is_steered_by_whose_it_is(browse: Any, as_: As) -> None:
    sam, sue, ada, rita = (browse(name) for name in ("sam", "sue", "ada", "rita"))
    job = send(sam, **FORM).headers["Location"]

    def steer(browser: httpx2.Client, verb: str) -> int:
        token = hidden(browser.get("/").text, "csrf")
        return int(browser.post(f"{job}/{verb}", data={"csrf": token}).status_code)

    def state() -> str:
        return str(as_("rita").get(f"/v1{job}").json()["state"])

    assert f'formaction="{job}/cancel"' in sam.get(job).text
    assert f'formaction="{job}/cancel"' in ada.get(job).text
    assert "formaction" not in sue.get(job).text
    assert "formaction" not in rita.get(job).text
    assert "needs a key with the role" in rita.get("/submit").text
    assert 'href="/submit"' not in rita.get("/").text
    assert (steer(sam, "pause"), state()) == (303, "paused")
    assert (steer(sue, "resume"), steer(rita, "resume"), state()) == (403, 403, "paused")
    assert (steer(sam, "resume"), steer(ada, "cancel"), state()) == (303, 303, "cancelled")
    assert steer(sam, "pause") == 409
    assert (steer(sam, "restart"), state()) == (303, "queued")
    assert steer(sam, "cancel") == 303
    assert sam.post("/jobs/nosuch/cancel", data={"csrf": hidden(sam.get("/").text, "csrf")}).status_code == 404


def test_without_a_session_a_key_is_needed(as_: As) -> None:
    assert as_(None).post("/jobs", data=FORM).status_code == 401
    assert as_("rita").post("/jobs", data=FORM).status_code == 403
    assert as_("sam").post("/jobs", data=FORM).status_code == 303


def test_a_form_sent_after_the_session_tells_to_sign_in_again(browse: Any) -> None:
    browser = browse("sam")
    html = browser.get("/submit").text
    # Whoever is signed in may sign out on a page that tells what is wrong, too.
    assert 'action="/logout"' in browser.get("/nowhere").text
    browser.cookies.clear()
    answer = browser.post("/jobs", data={"csrf": token_of(html), "once": hidden(html, "once"), **FORM})
    assert answer.status_code == 401
    assert "Sign in and try again" in answer.text
    assert "Bearer" not in answer.text
    assert 'action="/logout"' not in answer.text
