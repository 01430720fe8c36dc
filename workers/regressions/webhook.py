"""Webhooks: a run that did not pass, or was missed, is told to the address that its regression names.

An announcement waits in Redis until it is taken or has failed `ATTEMPTS` times, so it survives the process that made it. It
is signed: `Blockyard-Signature: t=<unix seconds>,v1=<hex>`, the HMAC-SHA256 of `<t>.<body>` under the operator's secret.
Addresses that are not public are refused unless a setting allows them. The name is looked up at each attempt, all of its
addresses are judged, and the one that is called is one that was judged; redirects are not followed, and of an answer only the
status is read.
"""

import hashlib
import hmac
import ipaddress
import logging
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Timer
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import orjson

from workers.jobs.keys import ROOT
from workers.regressions.store import RegressionStore, Run
from workers.settings import Settings

WAITING: Final = f"{ROOT}:webhooks"
"""Sorted set of announcements by the unix second of their next attempt."""
ATTEMPTS: Final = 6
FIRST_PAUSE: Final = 5.0
"""Seconds to the second attempt; each further pause is four times as long."""
TIMEOUT_SECONDS: Final = 5.0
"""Longest silence of the other side."""
ATTEMPT_SECONDS: Final = 15.0
"""Longest attempt: whoever sends a byte now and then does not hold up the others for ever."""
NAT64: Final = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
"""IPv6 addresses that stand for IPv4 ones, which are their last 32 bits: everybody's, and those of a network's own."""

log = logging.getLogger(__name__)


class AddressRefusedError(Exception):
    """The webhook's address may not be called."""


def announcement(run: Run, event: Mapping[str, Any]) -> bytes:
    """What stands in line for a run's webhook, to be stored with what it tells of; nothing where the run has no webhook."""
    if run.spec.webhook is None:
        return b""
    body = {"regression": run.regression, "run": run.id, "late": run.late, **event}
    return orjson.dumps({"url": run.spec.webhook, "attempt": 1, "body": body})


def deliver_due(store: RegressionStore, settings: Settings) -> int:
    """Makes every attempt that is due; answers how many were taken."""
    now, taken = store.now().timestamp(), 0
    with store.ledger.store.reading() as redis:
        due: Any = redis.zrangebyscore(WAITING, "-inf", now)
    for member in due:
        # Whoever moves the announcement on makes the attempt: with two schedulers only one does.
        following = orjson.loads(member)
        attempt = following["attempt"]
        following["attempt"] = attempt + 1
        pause = FIRST_PAUSE * 4.0 ** (attempt - 1)
        with store.ledger.store.reading() as redis:
            if not redis.zrem(WAITING, member):
                continue
            if attempt < ATTEMPTS:
                redis.zadd(WAITING, {orjson.dumps(following): now + pause})
        if _attempt(following["url"], orjson.dumps(following["body"]), settings):
            store.ledger.store.read(("ZREM", WAITING, orjson.dumps(following)))
            taken += 1
    return taken


def signature(body: bytes, moment: int, secret: str) -> str:
    """The header's value for a body sent at `moment`."""
    digest = hmac.new(secret.encode(), b"%d." % moment + body, hashlib.sha256).hexdigest()
    return f"t={moment},v1={digest}"


def _attempt(url: str, body: bytes, settings: Settings) -> bool:
    try:
        target, host = _public_target(url, allow_private=settings.webhook_allow_private)
        headers = {"Content-Type": "application/json", "Host": host, "User-Agent": "blockyard"}
        if settings.webhook_secret:
            headers["Blockyard-Signature"] = signature(body, int(time.time()), settings.webhook_secret.get_secret_value())
        with _client() as client:
            extensions = {"sni_hostname": urlsplit(url).hostname or ""}
            with client.stream("POST", target, content=body, headers=headers, extensions=extensions) as answer:
                pass
    except (AddressRefusedError, httpx2.HTTPError, OSError, ValueError) as error:
        log.warning("the webhook of a regression was not taken: %s", error)
        return False
    if not answer.is_success:
        log.warning("the webhook of a regression answered %d", answer.status_code)
    return answer.is_success


@contextmanager
def _client() -> Iterator[httpx2.Client]:
    """A client for one attempt, which is closed when its time is over."""
    with httpx2.Client(timeout=TIMEOUT_SECONDS, follow_redirects=False, trust_env=False) as client:
        end = Timer(ATTEMPT_SECONDS, client.close)
        end.daemon = True
        end.start()
        try:
            yield client
        finally:
            end.cancel()


def is_public(address: str) -> bool:
    """Whether an IP address is one of the open internet: not of a machine, a link, a private network, a group or a purpose of
    its own, also not where it hides in an IPv6 address."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.teredo or found in NAT64[1]:
            return False
        inner = found.ipv4_mapped or found.sixtofour
        if found in NAT64[0]:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not (found.is_multicast or found.is_reserved or found.is_unspecified)


def is_private_literal(url: str) -> bool:
    """Whether an address names, without being looked up, something that is not public: `localhost` or an IP address."""
    host = urlsplit(url).hostname or ""
    try:
        return not is_public(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _public_target(url: str, *, allow_private: bool) -> tuple[str, str]:
    """The URL with its host replaced by the address that was checked, and the host as the header names it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AddressRefusedError(f"{parts.scheme or 'no scheme'} is not http or https")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    address = str(found[0][4][0])
    if not allow_private and not all(is_public(str(item[4][0])) for item in found):
        raise AddressRefusedError(f"{parts.hostname} is not a public address (BLOCKYARD_WEBHOOK_ALLOW_PRIVATE=1 allows it)")
    literal = f"[{address}]" if ":" in address else address
    target = parts._replace(netloc=f"{literal}:{port}").geturl()
    return target, parts.netloc.rsplit("@", 1)[-1]
