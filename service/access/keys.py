"""API keys: made at random, shown once, kept as digests.

A key has 256 random bits, so a plain SHA-256 is as good as a slow one: nobody can try them all.
"""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import SecretStr

from service.access.caller import ANONYMOUS, ROLES, Role
from workers.errors import Conflict, InvalidInput, NotFound
from workers.jobs.keys import API_KEYS
from workers.jobs.store import Store

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,59}")
KEY: Final = re.compile(r"by_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")
"""What a key looks like: the id by which it is found, and the secret."""
OPERATOR: Final = "operator"
"""The name of the key that stands in the settings."""
SHORTEST: Final = 32
"""Characters that the operator's own key must have."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is kept. `digest` is the SHA-256 of the whole key in hexadecimal; `created_at` unix seconds."""

    id: str
    name: str
    role: Role
    digest: str
    created_at: float

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {name: getattr(self, name) for name in self.__slots__}


class KeyStore:
    """The keys in Redis; raises `LedgerUnavailable` while Redis does not answer."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(self, name: str, role: Role) -> tuple[ApiKey, str]:
        """A new key, and its text, which is nowhere kept. Raises `InvalidInput`, and `Conflict` where the name is taken."""
        if not NAME.fullmatch(name) or name in (ANONYMOUS, OPERATOR):
            raise InvalidInput.at(
                "name", f"must be letters, digits, and any of _ . @ - after the first; not {ANONYMOUS} or {OPERATOR}"
            )
        if role not in ROLES:
            raise InvalidInput.at("role", f"must be one of {', '.join(ROLES)}, not {role!r}")
        key_id = secrets.token_hex(4)
        text = f"by_{key_id}_{secrets.token_urlsafe(32)}"
        key = ApiKey(key_id, name, role, digest_of(text), round(time.time(), 3))
        with self._store.reading() as redis:
            if not redis.hsetnx(API_KEYS, name, orjson.dumps(key.to_json()).decode()):
                raise Conflict(f"there is a key {name!r} already; revoke it first, or choose another name")
        return key, text

    def all(self) -> list[ApiKey]:
        """Every key by name."""
        with self._store.reading() as redis:
            stored: Any = redis.hvals(API_KEYS)
        return sorted((ApiKey(**orjson.loads(text)) for text in stored), key=lambda key: key.name)

    def revoke(self, name: str) -> None:
        """The key opens nothing any more, within a second. Raises `NotFound`."""
        with self._store.reading() as redis:
            if not redis.hdel(API_KEYS, name):
                raise NotFound(f"there is no key {name!r}")


class KeyTable:
    """The keys of one moment, to be looked up."""

    def __init__(self, keys: Iterable[ApiKey], operator: SecretStr | None = None) -> None:
        self._by_id = {key.id: key for key in keys}
        self._operator = None
        if operator is not None:
            self._operator = ApiKey(OPERATOR, OPERATOR, "admin", digest_of(operator.get_secret_value()), 0.0)
            self._by_id[OPERATOR] = self._operator

    def __len__(self) -> int:
        return len(self._by_id)

    def by_id(self, key_id: str) -> ApiKey | None:
        """The key with this id, if it is still there."""
        return self._by_id.get(key_id)

    def find(self, text: str) -> ApiKey | None:
        """The key that this text is. Digests are compared, in a time that does not depend on them or on the id."""
        match = KEY.fullmatch(text)
        candidates = (self._by_id.get(match[1]) if match else None, self._operator)
        shown = digest_of(text)
        found = None
        for key in candidates:
            if hmac.compare_digest(shown, key.digest if key else "0" * len(shown)) and key:
                found = key
        return found


def digest_of(text: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
