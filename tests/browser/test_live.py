"""Pages that live behind two API processes without sticky sessions, also before many viewers."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from tests.browser.looking import watch
from tests.servers import PATIENCE, RedisServer, free_port, is_ready, poll
from tests.service.running import Hands
from workers.jobs.ledger import Ledger
from workers.jobs.records import Permit
from workers.jobs.store import connect
from workers.regressions.runs import Regressions
from workers.regressions.store import RegressionStore
from workers.settings import Settings

VIEWERS = 200
JOB = {"name": "watched", "seed": 7, "scenarios": [{"policies": ["heaviest", "random"], "matches": 4096}]}


NIGHTLY = {
    "tests": [
        {
            "name": "worse", "players": 2, "candidate": "lightest", "baseline": "heaviest", "h0": -0.02, "h1": 0.0,
            "max_matches": 4000,
        }
    ]
}  # fmt: skip


@dataclass
class Pair:
    """Two API processes behind one port, which hands each request to the other one than before."""

    port: int
    hands: Hands
    taken: list[int] = field(default_factory=lambda: [0, 0])
    """Requests that each process got."""

    @property
    def url(self) -> str:
        """Where both answer."""
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two processes of the API, whose streams end every two seconds, on a Redis of their own."""
    redis = RedisServer(tmp_path_factory.mktemp("redis"))
    redis.start()
    ports, logs = [free_port(), free_port()], tmp_path_factory.mktemp("logs")
    environment = os.environ | {
        "BLOCKYARD_REDIS_URL": redis.url, "BLOCKYARD_STREAM_SECONDS": "2", "BLOCKYARD_SWEEP_SECONDS": "3600",
    }  # fmt: skip
    with ExitStack() as stack:
        stack.callback(redis.stop)
        for port in ports:
            log = stack.enter_context((logs / f"{port}.log").open("wb"))
            process = subprocess.Popen(
                [sys.executable, "-m", "service.cli", "api"],
                env=environment | {"BLOCKYARD_PORT": str(port)}, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
        for port in ports:
            poll(lambda port=port: is_ready(f"http://127.0.0.1:{port}"))  # type: ignore[misc]
        sent: list[Permit] = []
        ledger = Ledger(connect(redis.url), send=sent.append, settings=Settings(chunk_blocks=64, audit_every=0))
        found = Pair(free_port(), Hands(ledger, sent))
        stack.enter_context(balanced(found, ports))
        yield found


@contextmanager
def balanced(pair: Pair, ports: list[int]) -> Iterator[None]:
    """Hands out requests in turn, from a thread of its own."""
    loop = asyncio.new_event_loop()
    ready, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        server = await asyncio.start_server(
            lambda reader, writer: _serve(pair, ports, reader, writer), "127.0.0.1", pair.port, backlog=512
        )
        ready.set()
        await over.wait()
        server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    # Playwright has a loop of its own running in the tests' thread.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        yield
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(PATIENCE)
        assert not thread.is_alive()


async def _serve(pair: Pair, ports: list[int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One request to the process whose turn it is; `Connection: close` has the next one come by a connection of its own."""
    try:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        head = [first, b"Connection: close", *(line for line in lines if not line.lower().startswith(b"connection:"))]
        turn = sum(pair.taken) % len(ports)
        pair.taken[turn] += 1
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", ports[turn])
        inner_writer.write(b"\r\n".join(head))
        await asyncio.gather(_pass(reader, inner_writer), _pass(inner_reader, writer))
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


def test_a_page_lives_behind_two_processes(browser: Browser, pair: Pair) -> None:
    path = f"/jobs/{httpx2.post(f'{pair.url}/v1/jobs', json=JOB, trust_env=False, timeout=30).json()['id']}"
    context = browser.new_context(locale="en-GB")
    seen = watch(context, pair.url)
    seen.page.goto(pair.url + path)
    loaded = seen.page.evaluate("() => performance.timeOrigin")
    expect(seen.page.locator(".state .badge")).to_have_text("queued")
    before = list(pair.taken)
    # Streams end every two seconds here, and each new one is the other process's.
    poll(lambda: all(now >= then + 2 for now, then in zip(pair.taken, before, strict=True)))
    pair.hands.work(chunks=16)
    expect(seen.page.locator(".state .badge")).to_have_text("running")
    expect(seen.page.locator(".state .meter span")).to_have_text("50.0 %")
    expect(seen.page.locator("[data-pulse]")).to_have_attribute("data-state", "live")
    pair.hands.sent.clear()
    poll(lambda: pair.hands.ledger.sweep() or pair.hands.sent)
    pair.hands.work()
    expect(seen.page.locator(".state .badge")).to_have_text("done")
    expect(seen.page.locator("[data-pulse]")).to_be_hidden(timeout=PATIENCE * 1000)
    assert seen.page.evaluate("() => performance.timeOrigin") == loaded, "nothing was loaded anew"
    live = seen.page.locator("main").inner_text()
    seen.page.reload()
    assert seen.page.locator("main").inner_text() == live, "what came live is what a reload shows"
    assert (seen.complaints, seen.elsewhere) == ([], [])
    context.close()


def test_who_reads_a_live_list_keeps_the_place(browser: Browser, pair: Pair) -> None:
    first = httpx2.post(f"{pair.url}/v1/jobs", json=JOB, trust_env=False, timeout=30).json()["id"]
    context = browser.new_context(locale="en-GB")
    seen = watch(context, pair.url)
    seen.page.goto(pair.url)
    mine = seen.page.locator(f"li[data-key='{first}']")
    mine.locator("a").focus()
    second = httpx2.post(f"{pair.url}/v1/jobs", json=JOB | {"name": "the newer"}, trust_env=False, timeout=30).json()["id"]
    expect(seen.page.locator("ol.jobs a.name")).to_have_text(["the newer", "watched"])
    pair.hands.work()
    expect(mine.locator(".badge")).to_have_text("done")
    assert seen.page.evaluate("() => document.activeElement.pathname") == f"/jobs/{first}"
    # The browser may take a selection for a new focus, so the one is looked at after the other.
    seen.page.evaluate(
        "(key) => getSelection().selectAllChildren(document.querySelector(`li[data-key='${key}'] dl.facts dt`))", first
    )
    httpx2.delete(f"{pair.url}/v1/jobs/{second}", trust_env=False, timeout=30).raise_for_status()
    expect(seen.page.locator("ol.jobs a.name")).to_have_text(["watched"])
    assert seen.page.evaluate("() => getSelection().toString()") == "Matches"
    live = seen.page.locator("main").inner_text()
    seen.page.reload()
    assert seen.page.locator("main").inner_text() == live
    assert seen.complaints == []
    context.close()


@pytest.mark.parametrize("path", ["/regressions", "/regressions/live"], ids=["list", "one with its history"])
def test_regressions_live_through_a_run(browser: Browser, pair: Pair, path: str) -> None:
    context = browser.new_context(locale="en-GB")
    seen = watch(context, pair.url)
    with httpx2.Client(base_url=pair.url, trust_env=False, timeout=30) as http:
        # Of this name there is one, so that its page is seen not to be mistaken for a feed.
        http.put("/v1/regressions/live", json=NIGHTLY).raise_for_status()
        seen.page.goto(pair.url + path)
        loaded = seen.page.evaluate("() => performance.timeOrigin")
        badge = seen.page.locator("ol.jobs li .badge")
        expect(badge).to_have_text(["not run"] if path == "/regressions" else [])
        run = http.post("/v1/regressions/live/runs").json()["id"]
        expect(badge).to_have_text("running")
        pair.hands.work()
        regressions = Regressions(RegressionStore(pair.hands.ledger))
        poll(lambda: regressions.advance() or regressions.store.outcome(run))
        expect(badge).to_have_text("regressed")
        assert seen.page.evaluate("() => performance.timeOrigin") == loaded
        live = seen.page.locator("main").inner_text()
        seen.page.reload()
        assert seen.page.locator("main").inner_text() == live
        assert (seen.complaints, seen.elsewhere) == ([], [])
        http.delete("/v1/regressions/live").raise_for_status()
        gone = "No regression yet" if path == "/regressions" else "There is nothing at this address"
        expect(seen.page.locator("main")).to_contain_text(gone)
    context.close()


async def view(port: int, path: str) -> None:
    """A viewer: listens, and comes back when the stream ends, until the job is seen to be done."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {path}/live HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        read = b""
        while data := await reader.read(65536):
            read = read[-20:] + data
            if b"badge done" in read:
                writer.close()
                return
        writer.close()


def test_many_view_one_job(browser: Browser, pair: Pair) -> None:
    path = f"/jobs/{httpx2.post(f'{pair.url}/v1/jobs', json=JOB, trust_env=False, timeout=30).json()['id']}"
    context = browser.new_context(locale="en-GB")
    seen = watch(context, pair.url)

    async def all_of_them() -> None:
        viewers = [asyncio.create_task(view(pair.port, path)) for _ in range(VIEWERS)]
        while sum(pair.taken) < VIEWERS:
            await asyncio.sleep(0.05)
        await asyncio.to_thread(pair.hands.work)
        done, late = await asyncio.wait(viewers, timeout=PATIENCE)
        assert (len(done), len(late)) == (VIEWERS, 0)
        for viewer in done:
            viewer.result()

    thread = threading.Thread(target=lambda: asyncio.run(all_of_them()))
    thread.start()
    seen.page.goto(pair.url + path)
    expect(seen.page.locator(".state .badge")).to_have_text("done")
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert min(pair.taken) > VIEWERS / 3
    assert seen.complaints == []
    context.close()


def test_a_page_comes_back_to_a_stream_that_a_proxy_refused(browser: Browser, pair: Pair) -> None:
    job = httpx2.post(f"{pair.url}/v1/jobs", json=JOB, trust_env=False, timeout=30).json()["id"]
    context = browser.new_context(locale="en-GB")
    page = watch(context, pair.url).page
    context.route("**/jobs/*/live", lambda route: route.fulfill(status=502, content_type="text/html", body="Bad gateway"))
    page.goto(f"{pair.url}/jobs/{job}")
    loaded = page.evaluate("() => performance.timeOrigin")
    pulse = page.locator("[data-pulse]")
    expect(pulse).to_have_attribute("data-state", "away")
    # While the service itself is away nothing is given up either.
    with page.expect_request(lambda request: request.method == "HEAD"):
        context.route(f"**/jobs/{job}", lambda route: route.fulfill(status=503, body=""))
    with page.expect_request(lambda request: request.method == "HEAD"):
        context.unroute(f"**/jobs/{job}")
    context.unroute("**/jobs/*/live")
    expect(pulse).to_have_attribute("data-state", "live")
    pair.hands.work()
    expect(page.locator(".state .badge")).to_have_text("done")
    assert page.evaluate("() => performance.timeOrigin") == loaded, "nothing was loaded anew"
    context.close()


def test_what_a_reader_has_opened_stays_open_and_the_state_is_told_once(browser: Browser, pair: Pair) -> None:
    job = httpx2.post(f"{pair.url}/v1/jobs", json=JOB, trust_env=False, timeout=30).json()["id"]
    context = browser.new_context(locale="en-GB")
    page = watch(context, pair.url).page
    page.goto(f"{pair.url}/jobs/{job}/scenarios/0")
    pulse = page.locator("[data-pulse]")
    expect(pulse).to_have_attribute("data-state", "live")
    opened = page.locator("[data-live=scenario] details")
    opened.locator("summary").click()
    page.evaluate(
        "() => { window.told = []; new MutationObserver((all) => told.push(...all.map(() => document.querySelector("
        "'[data-pulse]').textContent))).observe(document.querySelector('[data-pulse]'), {childList: true}); }"
    )
    pair.hands.work(chunks=16)
    expect(page.locator(".state .meter span")).to_have_text("50.0 %")
    pair.hands.sent.clear()
    poll(lambda: pair.hands.ledger.sweep() or pair.hands.sent)
    pair.hands.work()
    expect(page.locator(".state .badge")).to_have_text("done")
    expect(opened).to_have_attribute("open", "")
    # Streams end every two seconds here; what is said of one that lives is said once.
    told = page.evaluate("() => told")
    assert all(one != other for one, other in pairwise(told)), told
    context.close()
