"""The gate: an ASGI layer before all routes that knows every request's caller, or turns the request away unread.

Where no key exists, everybody on this machine is let in, and nobody else: the service then listens on loopback alone, and
what a stranger's web page makes a local browser send is refused.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import quote, urlsplit

from anyio.to_thread import run_sync
from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from service.access.caller import CALLER, NOBODY, Caller, Role
from service.access.keyring import Keyring
from service.access.keys import ApiKey, KeyTable
from service.access.loopback import is_loopback
from service.access.quotas import RequestQuota
from service.access.roles import READING, is_form, required_role
from service.access.sessions import COOKIE, Sessions, csrf_token
from service.errors import domain_problem, problem
from workers.errors import LedgerUnavailable, QuotaExceeded

CSRF_HEADER: Final = "X-CSRF-Token"
MAKE_ONE: Final = "`blockyard keys create NAME --role ROLE` makes one"


class Refused(Exception):
    """The request is turned away with this answer."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


class Gate:
    """Lets in who may come in. `open_house`: whether everybody may while there are no keys; `insecure`: from anywhere."""

    def __init__(
        self, app: ASGIApp, *, keyring: Keyring, sessions: Sessions, quota: RequestQuota, open_house: bool, insecure: bool
    ) -> None:
        self._app = app
        self._keyring = keyring
        self._sessions = sessions
        self._quota = quota
        self._open_house = open_house
        self._insecure = insecure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on, or answer it."""
        role = required_role(scope["method"], scope["path"]) if scope["type"] == "http" else None
        if role is None:
            await self._app(scope, receive, send)
            return
        try:
            caller = await self._caller(scope, role)
        except Refused as refused:
            await refused.response(scope, receive, send)
            return
        except (LedgerUnavailable, QuotaExceeded) as error:
            await domain_problem(error)(scope, receive, send)
            return
        token = CALLER.set(caller)
        scope.setdefault("state", {})["caller"] = caller
        try:
            await self._app(scope, receive, send)
        finally:
            CALLER.reset(token)

    async def _caller(self, scope: Scope, role: Role) -> Caller:
        headers, method = Headers(scope=scope), scope["method"]
        try:
            table = await self._keyring.table()
        except LedgerUnavailable:
            # Whether there are keys is not known. What can be read without Redis is no secret; the rest says that it is away.
            if self._open_house and role == "read":
                self._check_neighbour(headers, method)
                return NOBODY
            raise
        if not len(table):
            if not self._open_house:
                raise Refused(_unauthorized(f"No key exists yet, and this service listens beyond this machine: {MAKE_ONE}."))
            self._check_neighbour(headers, method)
            return NOBODY
        key, csrf = await self._key(table, headers, scope)
        caller = Caller(key.name, key.role, csrf)
        shown = headers.get(CSRF_HEADER, "")
        if csrf and method not in READING and not is_form(method, scope["path"]) and shown != csrf:
            raise Refused(problem(403, f"A change by a session of the page needs its token in the header {CSRF_HEADER}."))
        if not caller.may(role):
            detail = f"The key {key.name!r} has the role {key.role}; this needs a key with the role {role}."
            raise Refused(problem(403, detail, kind="role-missing", title="Not allowed"))
        await self._take(caller)
        return caller

    async def _key(self, table: KeyTable, headers: Headers, scope: Scope) -> tuple[ApiKey, str]:
        """The key of a request, and the CSRF token where it comes by a session."""
        if given := headers.get("authorization"):
            scheme, _, text = given.partition(" ")
            if scheme.lower() != "bearer":
                raise Refused(_unauthorized("A key is sent as: Authorization: Bearer KEY."))
            found = table.find(text.strip())
            if found is None:
                raise Refused(_unauthorized(f"The key is unknown or revoked; {MAKE_ONE}."))
            return found, ""
        if token := cookies(headers).get(COOKIE):
            key_id = await run_sync(self._sessions.key_id, token)
            found = table.by_id(key_id) if key_id else None
            if found is not None:
                return found, csrf_token(token)
        if scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
            address = quote(scope["path"]) + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
            raise Refused(RedirectResponse(f"/login?next={quote(address, safe='')}", 303))
        raise Refused(_unauthorized(f"This needs a key, sent as: Authorization: Bearer KEY ({MAKE_ONE})."))

    async def _take(self, caller: Caller) -> None:
        try:
            wait = await run_sync(self._quota.wait, caller.name)
        except LedgerUnavailable:
            return  # whatever needs Redis says so itself
        if wait:
            raise QuotaExceeded(f"The key {caller.name!r} has used up its requests of this minute.", math.ceil(wait / 1000))

    def _check_neighbour(self, headers: Headers, method: str) -> None:
        """Without keys: no stranger's page may reach us through a browser of this machine, whatever name it gives us."""
        host = headers.get("host", "")
        origin = headers.get("origin")
        if not self._insecure and not _is_local(host):
            detail = f"Without keys this service answers to local names such as 127.0.0.1 alone, not {host!r}; {MAKE_ONE}."
            raise Refused(problem(403, detail))
        if method not in READING and origin is not None and origin.partition("://")[2] != host:
            raise Refused(problem(403, f"A page of {origin!r} may change nothing here; {MAKE_ONE} and send it."))


def cookies(headers: Mapping[str, str]) -> dict[str, str]:
    """The cookies of a request; none where they cannot be read."""
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


def _unauthorized(detail: str) -> Response:
    headers = {"WWW-Authenticate": 'Bearer realm="blockyard"'}
    return problem(401, detail, kind="key-missing", title="Key needed", headers=headers)


@lru_cache(256)
def _is_local(host: str) -> bool:
    """Whether a Host header names this machine alone."""
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False
