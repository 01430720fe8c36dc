"""Requests and answers as they travel: one connection pool, errors by status, trying again while the service is away."""

import ipaddress
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import httpx2
import orjson

from service.client.errors import ServiceUnreachable, TooMuch, refusal

DEFAULT_URL: Final = "http://127.0.0.1:8000"
CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 60.0
SILENCE_SECONDS: Final = 15.0
"""A stream sends something every second; one that is silent for so long is dead."""
RETRY_SECONDS: Final = 0.5
OUTAGE_SECONDS: Final = 30.0
"""How long submitting and following a job go on trying while the service is away, as during a restart."""


class Wire:
    """One service at `url`; `key` is sent as a bearer token. Every call may raise a `ServiceError`.

    `outage` bounds in seconds how long calls that may be repeated go on trying while the service is away.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        key: str | None = None,
        *,
        timeout: float = ANSWER_SECONDS,
        outage: float = OUTAGE_SECONDS,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self.outage = outage
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address such as {DEFAULT_URL}")
        self._http = httpx2.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx2.Timeout(timeout, connect=CONNECT_SECONDS),
            trust_env=not _is_loopback(parts.hostname),  # a proxy for the world is none for this machine
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _json(self, method: str, path: str, **options: Any) -> Any:
        response = self._request(method, path, **options)
        try:
            return orjson.loads(response.content)
        except orjson.JSONDecodeError as error:
            raise self._stranger() from error

    def _request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        try:
            response = self._http.request(method, path, **options)
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error
        if not response.is_success:
            raise refusal(response)
        return response

    def _stream(self, path: str, last_id: str) -> Iterator[httpx2.ServerSentEvent]:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {})}
        timeout = httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
        try:
            with self._http.stream("GET", path, headers=headers, timeout=timeout) as response:
                if not response.is_success:
                    response.read()
                    raise refusal(response)
                yield from httpx2.EventSource(response)
        except httpx2.SSEError as error:
            raise self._stranger() from error
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error

    def _persist(self, call: Callable[[], Any], *, absent: bool = False) -> Any:
        """Repeat a call that may be repeated while the service has no Redis, or (`absent`) while nothing answers at all."""
        deadline = time.monotonic() + self.outage
        while True:
            try:
                return call()
            except (ServiceUnreachable, TooMuch) as error:
                pause = (error.retry_after if isinstance(error, TooMuch) else None) or RETRY_SECONDS
                if (error.status == 0 and not absent) or time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)

    def _unreachable(self, error: Exception) -> ServiceUnreachable:
        reason = "no answer in time" if isinstance(error, httpx2.TimeoutException) else str(error) or type(error).__name__
        return ServiceUnreachable(0, {"detail": f"no service answers at {self.url} ({reason})"})

    def _stranger(self) -> ServiceUnreachable:
        return ServiceUnreachable(0, {"detail": f"what answers at {self.url} is not Blockyard"})


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
