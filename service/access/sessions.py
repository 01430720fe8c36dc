"""Sessions of the page: a random token in a cookie stands for a key, so that no browser has to keep the key itself."""

import hashlib
import hmac
import secrets
from typing import Any, Final

from service.access.keys import digest_of
from workers.jobs.keys import session_key
from workers.jobs.store import Store

COOKIE: Final = "blockyard_session"
SECONDS: Final = 12 * 3600
"""How long a session lasts."""


class Sessions:
    """The sessions in Redis, by the digests of their tokens; raises `LedgerUnavailable`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, key_id: str) -> str:
        """A new session of a key; answers its token."""
        token = secrets.token_urlsafe(32)
        with self._store.reading() as redis:
            redis.set(session_key(digest_of(token)), key_id, ex=SECONDS)
        return token

    def key_id(self, token: str) -> str | None:
        """The id of the key whose session this is."""
        with self._store.reading() as redis:
            stored: Any = redis.get(session_key(digest_of(token)))
        return None if stored is None else str(stored.decode())

    def end(self, token: str) -> None:
        """The token opens nothing any more."""
        with self._store.reading() as redis:
            redis.delete(session_key(digest_of(token)))


def csrf_token(token: str) -> str:
    """What requests of a session that change something must send along: a stranger's page can make the browser send the
    cookie, but cannot read this."""
    return hmac.new(token.encode(), b"blockyard csrf", hashlib.sha256).hexdigest()
