"""What people do on the page: sign in, submit, pause, cancel and sign out; with a script, and without."""

from collections.abc import Iterator

import pytest
import redis as redis_client
from playwright.sync_api import Browser, expect

from service.access.keys import KeyStore
from tests.browser.looking import faults, misfits, watch
from tests.servers import RedisServer
from tests.service.running import Service, serving
from workers.jobs.store import Store, connect


@pytest.fixture
def guarded(redis_server: RedisServer) -> Iterator[tuple[Service, str]]:
    """A service with a key that submits."""
    with redis_client.Redis.from_url(redis_server.url) as client:
        client.flushall()
    key = KeyStore(Store(connect(redis_server.url))).create("somebody-with-a-rather-long-name", "submit")[1]
    with serving(redis_server.url) as service:
        yield service, key


@pytest.mark.parametrize("scripts", [True, False])
def test_a_job_is_submitted_and_cancelled(browser: Browser, guarded: tuple[Service, str], scripts: bool) -> None:
    service, key = guarded
    context = browser.new_context(locale="en-GB", java_script_enabled=scripts, viewport={"width": 360, "height": 800})
    seen = watch(context, service.url)
    page = seen.page
    page.goto(f"{service.url}/submit")
    assert "/login" in page.url
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("h1")).to_have_text("Submit a job")
    page.get_by_label("Name").fill("by hand")
    page.get_by_label("Policy of place 0").select_option("linear")
    page.get_by_label("Policy of place 2").select_option("random")
    page.get_by_label("Matches").fill("0")
    page.get_by_role("button", name="Submit").first.click()
    expect(page.get_by_role("alert")).to_contain_text("scenarios[0].matches")
    assert page.get_by_label("Name").input_value() == "by hand"
    assert page.get_by_label("Policy of place 2").input_value() == "random"
    seen.clear()  # the browser complains of the answer 422
    page.get_by_label("Matches").fill("3000")
    page.get_by_role("button", name="Submit").first.click()
    expect(page.locator("h1")).to_have_text("by hand")
    badge = page.locator(".state .badge")
    expect(badge).to_have_text("queued")

    def buttons() -> list[str]:
        return list(page.locator(".steer button:visible").all_inner_texts())

    assert buttons() == ["Pause", "Cancel"]
    if scripts:
        assert (misfits(page), faults(page)) == ([], [])
    page.get_by_role("button", name="Pause").click()
    expect(badge).to_have_text("paused")
    assert buttons() == ["Resume", "Cancel"]
    page.get_by_role("button", name="Cancel").click()
    expect(badge).to_have_text("cancelled")
    assert buttons() == ["Play anew"]
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator("h1")).to_have_text("Sign in")
    assert (seen.complaints, seen.elsewhere) == ([], [])
    context.close()


def test_buttons_follow_the_state_while_the_page_is_live(browser: Browser, redis_server: RedisServer) -> None:
    with redis_client.Redis.from_url(redis_server.url) as client:
        client.flushall()
    with serving(redis_server.url) as service:
        context = browser.new_context(locale="en-GB")
        page = watch(context, service.url).page
        body = {"scenarios": [{"policies": ["random"] * 2, "matches": 10}]}
        job = page.request.post(f"{service.url}/v1/jobs", data=body).json()["id"]
        page.goto(f"{service.url}/jobs/{job}")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        service.state.ledger.pause(job)
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
        expect(page.get_by_role("button", name="Pause")).to_be_hidden()
        service.state.ledger.cancel(job)
        expect(page.get_by_role("button", name="Play anew")).to_be_visible()
        expect(page.locator("[data-pulse]")).to_be_hidden()
        context.close()


def test_a_live_page_leads_to_the_form_once_the_session_is_over(browser: Browser, redis_server: RedisServer) -> None:
    with redis_client.Redis.from_url(redis_server.url) as client:
        client.flushall()
    key = KeyStore(Store(connect(redis_server.url))).create("reader", "read")[1]
    with serving(redis_server.url, stream_seconds=1.0) as service:
        context = browser.new_context(locale="en-GB")
        page = watch(context, service.url).page
        page.goto(f"{service.url}/?state=done")
        page.get_by_label("API key").fill(key)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("[data-pulse]")).to_have_attribute("data-state", "live")
        context.clear_cookies()
        expect(page.locator("h1")).to_have_text("Sign in")
        page.get_by_label("API key").fill(key)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("h1")).to_contain_text("Jobs")
        assert page.url.endswith("/?state=done")
        context.close()
