"""Live feeds: what a job's stream says, one poller for many listeners, and that streams end when they should."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import Any

import httpx2
import pytest

from service.events import QUIET, RECONNECT, Feeds, Frame, event
from service.schemas.answers import JobSummary
from tests.servers import RedisServer, poll
from tests.service.running import Hands, Service, serving
from workers.errors import LedgerUnavailable, NotFound

JOB: dict[str, Any] = {"seed": 7, "scenarios": [{"policies": ["heaviest", "random"], "matches": 64}]}


@contextlib.contextmanager
def stream(http: httpx2.Client, job: str) -> Iterator[Iterator[httpx2.ServerSentEvent]]:
    with http.stream("GET", f"/v1/jobs/{job}/events") as answer:
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        yield iter(httpx2.EventSource(answer))


def test_a_stream_tells_progress_and_ends_with_done(http: httpx2.Client, hands: Hands) -> None:
    job = http.post("/v1/jobs", json=JOB).json()["id"]
    with stream(http, job) as events:
        first = next(events)
        assert (first.event, first.json()["state"]) == ("progress", "queued")
        hands.work()
        rest = list(events)
    assert [message.event for message in rest[:-1]] == ["progress"] * (len(rest) - 1)
    assert rest[-1].event == "done"
    for message in [first, *rest]:
        JobSummary.model_validate(message.json())
    done = [int(message.json()["progress"]["matches_done"]) for message in [first, *rest]]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, 64)
    assert rest[-1].json()["state"] == "done"


def test_progress_comes_at_least_once_a_second_while_nothing_happens(http: httpx2.Client) -> None:
    job = http.post("/v1/jobs", json=JOB).json()["id"]
    with stream(http, job) as events:
        next(events)
        times = []
        for _ in range(5):
            assert next(events).event == "progress"
            times.append(time.monotonic())
    # The middle one: a machine that is busy with other things may stop for a second.
    assert median(after - before for before, after in pairwise(times)) < 1.0


def test_a_finished_job_has_one_event(http: httpx2.Client) -> None:
    job = http.post("/v1/jobs", json=JOB).json()["id"]
    http.post(f"/v1/jobs/{job}/cancel")
    with stream(http, job) as events:
        (only,) = list(events)
    assert (only.event, only.json()["state"]) == ("done", "cancelled")


def test_a_job_deleted_under_the_stream_ends_it(http: httpx2.Client, service: Service) -> None:
    job = http.post("/v1/jobs", json=JOB).json()["id"]
    with stream(http, job) as events:
        next(events)
        with httpx2.Client(base_url=service.url, trust_env=False, timeout=30) as other:
            other.post(f"/v1/jobs/{job}/cancel")
            other.delete(f"/v1/jobs/{job}")
        last = list(events)[-1]
    assert last.event in ("done", "gone")


def test_listeners_that_leave_are_forgotten(http: httpx2.Client, service: Service) -> None:
    job = http.post("/v1/jobs", json=JOB).json()["id"]
    with stream(http, job) as one, stream(http, job) as two:
        next(one)
        next(two)
        assert service.state.feeds.running == 1
    poll(lambda: service.state.feeds.running == 0, patience=10)


def test_streams_end_after_their_time_and_when_the_server_stops(redis_url: str) -> None:
    with (
        serving(redis_url, stream_seconds=0.5) as service,
        httpx2.Client(base_url=service.url, trust_env=False, timeout=30) as http,
    ):
        job = http.post("/v1/jobs", json=JOB).json()["id"]
        begun = time.monotonic()
        with stream(http, job) as events:
            assert all(message.event == "progress" for message in events)
        assert 0.4 < time.monotonic() - begun < 5
    ended = threading.Event()
    with serving(redis_url) as service, httpx2.Client(base_url=service.url, trust_env=False, timeout=30) as http:

        def follow() -> None:
            with stream(http, job) as events:
                for _ in events:
                    started.set()
            ended.set()

        started = threading.Event()
        thread = threading.Thread(target=follow)
        thread.start()
        assert started.wait(10)
        begun = time.monotonic()
        service.server.should_exit = True
        thread.join(10)
    assert ended.is_set()
    assert time.monotonic() - begun < 8


def test_an_outage_of_redis_is_told_and_sat_out(own_redis: RedisServer) -> None:
    with (
        serving(own_redis.url, redis_timeout_seconds=1.0) as service,
        httpx2.Client(base_url=service.url, trust_env=False, timeout=30) as http,
    ):
        job = http.post("/v1/jobs", json=JOB).json()["id"]
        with stream(http, job) as events:
            assert next(events).event == "progress"
            own_redis.stop()
            assert next(message for message in events if message.event != "progress").event == "unavailable"
            own_redis.start()
            assert next(message for message in events if message.event != "unavailable").event == "progress"


# Feeds by themselves, without HTTP.


class Source:
    """Numbered frames, with how often it was asked."""

    def __init__(self, last: int = 10**9) -> None:
        self.asked = 0
        self.last = last

    def __call__(self) -> Frame:
        self.asked += 1
        return Frame(str(self.asked).encode(), last=self.asked >= self.last)


async def take(feeds: Feeds, source: Any, count: int, key: str = "k", **options: Any) -> list[bytes]:
    taken: list[bytes] = []
    async with contextlib.aclosing(feeds.listen(key, source, **options)) as frames:  # type: ignore[type-var]
        async for frame in frames:
            taken.append(frame.removeprefix(RECONNECT))
            if len(taken) == count:
                break
    return taken


def test_many_listeners_share_one_poller() -> None:
    async def run() -> tuple[list[list[bytes]], int, int]:
        feeds, source = Feeds(interval=0.05, longest=10), Source()
        taken = await asyncio.gather(*(take(feeds, source, 3) for _ in range(20)))
        return list(taken), source.asked, feeds.running

    taken, asked, running = asyncio.run(run())
    assert all(len(frames) == 3 for frames in taken)
    assert asked <= 20
    assert running == 0


def test_the_last_frame_ends_every_listener_and_the_next_one_starts_anew() -> None:
    async def run() -> tuple[list[list[bytes]], list[bytes]]:
        feeds = Feeds(interval=0.01, longest=10)
        source = Source(last=3)
        taken = await asyncio.gather(take(feeds, source, 99), take(feeds, source, 99))
        return list(taken), await take(feeds, Source(last=1), 99)

    taken, again = asyncio.run(run())
    assert all(frames[-1] == b"3" for frames in taken)
    assert again == [b"1"]


def test_a_slow_listener_misses_frames_but_never_gets_old_ones() -> None:
    async def run() -> list[int]:
        feeds, source = Feeds(interval=0.01, longest=10), Source()
        taken: list[int] = []
        async with contextlib.aclosing(feeds.listen("k", source)) as frames:  # type: ignore[type-var]
            async for frame in frames:
                taken.append(int(frame.removeprefix(RECONNECT)))
                if len(taken) == 3:
                    return taken
                await asyncio.sleep(0.5)
        return taken

    taken = asyncio.run(run())
    assert taken == sorted(taken)
    assert taken[-1] > 4


def test_what_does_not_change_is_sent_once() -> None:
    async def run() -> list[bytes]:
        return await take(Feeds(interval=0.01, longest=10), lambda: Frame(b"same"), 3, changes_only=True)

    assert asyncio.run(run()) == [b"same", QUIET, QUIET]


def test_closing_ends_everybody() -> None:
    async def run() -> list[bytes]:
        feeds = Feeds(interval=0.02, longest=60)
        listener = asyncio.create_task(take(feeds, Source(), 10**9))
        await asyncio.sleep(0.2)
        await feeds.close()
        return await asyncio.wait_for(listener, 2)

    assert asyncio.run(run())


@pytest.mark.parametrize(
    ("trouble", "told", "ends"),
    [(LedgerUnavailable("no"), b"event: unavailable", False), (NotFound("no"), b"event: gone", True),
     (ValueError("secret"), b"event: unavailable", False)],
)  # fmt: skip
def test_trouble_becomes_an_event(trouble: Exception, told: bytes, ends: bool) -> None:
    def fail() -> Frame:
        raise trouble

    frames = asyncio.run(take(Feeds(interval=0.01, longest=10), fail, 2))
    assert len(frames) == (1 if ends else 2)
    assert all(frame.startswith(told) and b"secret" not in frame for frame in frames)


def test_an_event_is_one_message_whatever_its_text_holds() -> None:
    assert event("e", {"text": "a\nb\r\n\ndata: c"}).count(b"\n") == 3
