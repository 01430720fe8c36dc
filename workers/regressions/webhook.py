"""Webhooks: a run that did not pass, or was missed, is told to the address that its regression names.

An announcement waits in Redis until it is taken or has failed `ATTEMPTS` times, so it survives the process that made it. It
is signed: `Blockyard-Signature: t=<unix seconds>,v1=<hex>`, the HMAC-SHA256 of `<t>.<body>` under the operator's secret.
Addresses that are not public are refused unless a setting allows them, and the address that was checked is the one that
is called.
"""

import hashlib
import hmac
import ipaddress
import logging
import socket
import time
from collections.abc import Mapping
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
        with httpx2.Client(timeout=TIMEOUT_SECONDS, follow_redirects=False, trust_env=False) as client:
            answer = client.post(
                target, content=body, headers=headers, extensions={"sni_hostname": urlsplit(url).hostname or ""}
            )
    except (AddressRefusedError, httpx2.HTTPError, OSError, ValueError) as error:
        log.warning("the webhook of a regression was not taken: %s", error)
        return False
    if not answer.is_success:
        log.warning("the webhook of a regression answered %d", answer.status_code)
    return answer.is_success


def _public_target(url: str, *, allow_private: bool) -> tuple[str, str]:
    """The URL with its host replaced by the address that was checked, and the host as the header names it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AddressRefusedError(f"{parts.scheme or 'no scheme'} is not http or https")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    address = str(found[0][4][0])
    if not allow_private and not all(ipaddress.ip_address(str(item[4][0])).is_global for item in found):
        raise AddressRefusedError(f"{parts.hostname} is not a public address (BLOCKYARD_WEBHOOK_ALLOW_PRIVATE=1 allows it)")
    literal = f"[{address}]" if ":" in address else address
    target = parts._replace(netloc=f"{literal}:{port}").geturl()
    return target, parts.netloc.rsplit("@", 1)[-1]
