"""Under load: many submissions a second beside workers that play, many open event streams, and clients that do not read."""

import asyncio
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import orjson
import pytest

from service.client import Client
from tests.acceptance.conftest import StartService

RATE = 200
SECONDS = 60
LANES = 64
"""Connections that submit."""
AGAIN = 20
"""One submission in so many is sent twice, as a client does that got no answer."""
STREAMS = 500
DEAF = 50
"""Connections that open a stream and read nothing of it."""
LISTEN_SECONDS = 10.0
SMALL = {"scenarios": [{"policies": ["heaviest", "random"], "matches": 20}]}
LARGE = {"name": "beside", "priority": "low", "scenarios": [{"policies": ["heaviest", "random"], "matches": 10**11}]}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@dataclass
class Sent:
    """What became of the submissions: seconds of each, and the ids that each key was answered with."""

    seconds: list[float] = field(default_factory=list)
    ids: dict[str, set[str]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)


async def submit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str, sent: Sent) -> None:
    """One submission on an open connection. Spoken by hand, so that the measuring takes little of the machine."""
    body = orjson.dumps(SMALL)
    begun = time.perf_counter()
    writer.write(
        b"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nIdempotency-Key: "
        + key.encode() + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )  # fmt: skip
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    answer = orjson.loads(await reader.readexactly(length))
    sent.seconds.append(time.perf_counter() - begun)
    sent.statuses[int(head[9:12])] += 1
    sent.ids.setdefault(key, set()).add(str(answer.get("id")))


async def load(port: int) -> Sent:
    """Submissions at an even pace, whoever is slow: each has its moment, on the first connection that is free."""
    sent = Sent()
    queue: asyncio.Queue[str | None] = asyncio.Queue()

    async def lane() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (key := await queue.get()) is not None:
            await submit(reader, writer, key, sent)
        writer.close()

    lanes = [asyncio.create_task(lane()) for _ in range(LANES)]
    begun = time.perf_counter()
    for number in range(RATE * SECONDS):
        await asyncio.sleep(max(0.0, begun + number / RATE - time.perf_counter()))
        for _ in range(2 if number % AGAIN == 0 else 1):
            queue.put_nowait(f"key-{number}")
    for _ in lanes:
        queue.put_nowait(None)
    await asyncio.gather(*lanes)
    return sent


def test_two_hundred_submissions_a_second_beside_working_workers(
    start_service: StartService, capsys: pytest.CaptureFixture[str]
) -> None:
    service = start_service(workers=1)
    with service.client as client:
        beside = client.submit(LARGE)["id"]
        sent = asyncio.run(load(urlsplit(service.url).port or 80))
        times = sorted(sent.seconds)
        half, most, worst = (times[int(len(times) * share)] for share in (0.5, 0.99, 0.9999))
        tell(
            capsys,
            f"\n{len(times)} submissions: median {half * 1e3:.1f} ms, p99 {most * 1e3:.1f} ms, worst {worst * 1e3:.1f} ms",
        )
        assert set(sent.statuses) == {202}
        assert all(len(ids) == 1 for ids in sent.ids.values()), "a key was answered with two jobs"
        expected = {next(iter(ids)) for ids in sent.ids.values()}
        assert len(expected) == RATE * SECONDS
        assert stored(client) == expected | {beside}
        assert int(client.job(beside)["progress"]["matches_done"]) > 0
        assert most < 0.1


def tell(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Shows a figure to whoever looks on."""
    with capsys.disabled():
        sys.stdout.write(text)


def stored(client: Client) -> set[str]:
    """The ids of all jobs; each once."""
    found: list[str] = []
    cursor = None
    while True:
        page = client.jobs(limit=200, cursor=cursor)
        found.extend(item["id"] for item in page["items"])
        cursor = page["next_cursor"]
        if cursor is None:
            assert len(found) == len(set(found))
            return set(found)


@dataclass
class Heard:
    """Streams that were told something, and the longest silence of each."""

    events: list[int] = field(default_factory=list)
    silences: list[float] = field(default_factory=list)


async def listen(port: int, job: str) -> Heard:
    heard = Heard()
    request = f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()

    async def follow() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        end = time.perf_counter() + LISTEN_SECONDS
        last, longest, events = time.perf_counter(), 0.0, 0
        while (now := time.perf_counter()) < end:
            line = await asyncio.wait_for(reader.readline(), 15)
            if line.startswith(b"event: progress"):
                now = time.perf_counter()
                longest, last, events = max(longest, now - last) if events else 0.0, now, events + 1
        heard.events.append(events)
        heard.silences.append(longest)
        writer.close()

    await asyncio.gather(*(follow() for _ in range(STREAMS)))
    return heard


def test_five_hundred_streams_and_some_who_do_not_read(start_service: StartService, capsys: pytest.CaptureFixture[str]) -> None:
    service = start_service(workers=1)
    port = urlsplit(service.url).port or 80
    with service.client as client:
        job = client.submit(LARGE)["id"]
        deaf = []
        for _ in range(DEAF):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            deaf.append(connection)
        # And one that takes a minute to send its request.
        slow = socket.create_connection(("127.0.0.1", port))
        slow.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n")
        heard = asyncio.run(listen(port, job))
        begun = time.perf_counter()
        assert client.job(job)["state"] == "running"
        answered = time.perf_counter() - begun
        worst = max(heard.silences)
        tell(capsys, f"\n{STREAMS} streams: {min(heard.events)} events each or more, longest silence {worst:.2f} s")
        tell(capsys, f"; a read beside them took {answered:.3f} s\n")
        assert min(heard.events) >= LISTEN_SECONDS / 2
        assert worst < 3.0
        assert answered < 1.0
        for connection in (*deaf, slow):
            connection.close()
