"""The keys as this process knows them: read from Redis at most once a second."""

import asyncio
import time
from typing import Final

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from pydantic import SecretStr

from service.access.keys import KeyStore, KeyTable
from workers.errors import LedgerUnavailable

FRESH_SECONDS: Final = 1.0
FAILED_SECONDS: Final = 0.25
"""How long a failure to read the keys is remembered, so that requests do not queue up to find out."""


class Keyring:
    """Used from one event loop. While Redis is away the keys are those of the last time: none can have been made or revoked."""

    def __init__(self, store: KeyStore, operator: SecretStr | None) -> None:
        self._store = store
        self._operator = operator
        self._table: KeyTable | None = None
        self._failure: LedgerUnavailable | None = None
        self._due = float("-inf")
        self._lock = asyncio.Lock()
        # A thread of its own: all requests wait for the keys, and the keys must not wait for the requests before them.
        self._turn = CapacityLimiter(1)

    async def table(self) -> KeyTable:
        """The keys of this second. Raises `LedgerUnavailable` where they have never been read."""
        if time.monotonic() >= self._due:
            async with self._lock:
                if time.monotonic() >= self._due:
                    await self._read()
        if self._table is None:
            assert self._failure is not None
            raise self._failure
        return self._table

    async def _read(self) -> None:
        try:
            self._table = KeyTable(await run_sync(self._store.all, limiter=self._turn), self._operator)
            self._due = time.monotonic() + FRESH_SECONDS
        except LedgerUnavailable as error:
            self._failure = error
            self._due = time.monotonic() + (FAILED_SECONDS if self._table is None else FRESH_SECONDS)
