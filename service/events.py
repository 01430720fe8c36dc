"""Live feeds: one poller for each thing that somebody watches, fanned out to all who watch it, as server-sent events.

A feed is named by a key. Its first listener starts the poller, its last one ends it. The poller makes a *frame* twice a
second in a thread of its own pool, so that a slow Redis never holds the threads that answer requests. A listener that is
slow misses frames, never gets old ones: it always goes on with the latest.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import anyio
import anyio.to_thread
import orjson

from service.errors import RETRY_SECONDS
from workers.errors import LedgerUnavailable, NotFound

EVENT_STREAM: Final = "text/event-stream"
STREAM_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""No proxy may hold events back."""
POLL_THREADS: Final = 4
"""Threads that all pollers of a process share."""
QUIET: Final = b":\n\n"
RECONNECT: Final = b"retry: 500\n"
"""Stands before the first frame: a client comes back so many milliseconds after a stream has ended."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Frame:
    """One moment of a feed: the bytes that go out, and whether it is the last."""

    content: bytes
    last: bool = False


Produce: TypeAlias = Callable[[], Frame]
"""Makes the frame of this moment; runs in a thread, may raise `LedgerUnavailable` or `NotFound`."""


def event(name: str, data: object) -> bytes:
    """One server-sent event with JSON data."""
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(data, option=orjson.OPT_UTC_Z) + b"\n\n"


@dataclass(slots=True)
class _Feed:
    """A feed that runs: its poller, how many listen, and the latest frame with its number."""

    task: asyncio.Task[None] | None = None
    listeners: int = 0
    frame: Frame | None = None
    number: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)


class Feeds:
    """All feeds of a process. Used from one event loop."""

    def __init__(self, *, interval: float, longest: float) -> None:
        """`interval` seconds between frames; a stream ends after `longest` seconds."""
        self._interval = interval
        self._longest = longest
        self._feeds: dict[str, _Feed] = {}
        self._closed = False
        self._limiter: anyio.CapacityLimiter | None = None

    @property
    def running(self) -> int:
        """Feeds that somebody listens to."""
        return len(self._feeds)

    async def close(self) -> None:
        """End all streams: every listener finishes now, and whoever comes later gets one frame."""
        self._closed = True
        for feed in list(self._feeds.values()):
            if feed.task is not None:
                feed.task.cancel()
            async with feed.changed:
                feed.changed.notify_all()

    async def listen(self, key: str, produce: Produce, *, changes_only: bool = False) -> AsyncIterator[bytes]:
        """The frames of the feed `key` from now on, each new one once, until its last, the time limit or `close`.

        With `changes_only` a frame like the one before is sent as an empty comment, which keeps the connection alive.
        """
        ends = asyncio.get_running_loop().time() + self._longest
        async with self._joined(key, produce) as feed:
            seen, sent = 0, b""
            while True:
                frame = await self._next(feed, seen, ends)
                if frame is None:
                    return
                seen = feed.number
                content = QUIET if changes_only and frame.content == sent else frame.content
                yield content if sent else RECONNECT + content
                sent = frame.content
                if frame.last or self._closed:
                    return

    async def _next(self, feed: _Feed, seen: int, ends: float) -> Frame | None:
        """The first frame after number `seen`, or None where the stream shall end first."""
        left = ends - asyncio.get_running_loop().time()
        if left <= 0:
            return None
        try:
            async with asyncio.timeout(left), feed.changed:
                await feed.changed.wait_for(lambda: feed.number > seen or self._closed)
        except TimeoutError:
            return None
        return feed.frame if feed.number > seen else None

    @contextlib.asynccontextmanager
    async def _joined(self, key: str, produce: Produce) -> AsyncIterator[_Feed]:
        feed = self._feeds.get(key)
        if feed is None:
            feed = self._feeds[key] = _Feed()
            feed.task = asyncio.create_task(self._poll(key, feed, produce), name=f"feed {key}")
        feed.listeners += 1
        try:
            yield feed
        finally:
            feed.listeners -= 1
            if feed.listeners == 0:
                self._drop(key, feed)

    def _drop(self, key: str, feed: _Feed) -> None:
        if self._feeds.get(key) is feed:
            del self._feeds[key]
        if feed.task is not None:
            feed.task.cancel()

    async def _poll(self, key: str, feed: _Feed, produce: Produce) -> None:
        """Make frames until the last; whoever joins a feed that has ended starts a new one."""
        loop = asyncio.get_running_loop()
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(POLL_THREADS)
        while True:
            begun = loop.time()
            frame = await anyio.to_thread.run_sync(_guarded, produce, limiter=self._limiter, abandon_on_cancel=True)
            if frame.last and self._feeds.get(key) is feed:
                del self._feeds[key]
            async with feed.changed:
                feed.frame = frame
                feed.number += 1
                feed.changed.notify_all()
            if frame.last:
                return
            await asyncio.sleep(max(0.05, begun + self._interval - loop.time()))


def _guarded(produce: Produce) -> Frame:
    """The frame of this moment; trouble becomes a frame too, so that one bad second does not end a stream."""
    try:
        return produce()
    except NotFound as error:
        return Frame(event("gone", {"detail": str(error)}), last=True)
    except LedgerUnavailable as error:
        return Frame(event("unavailable", {"detail": str(error), "retry_seconds": RETRY_SECONDS}))
    except Exception:
        log.exception("a live feed could not be made")
        return Frame(event("unavailable", {"detail": "This moment could not be read.", "retry_seconds": RETRY_SECONDS}))
