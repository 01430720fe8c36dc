"""Signing in to the page with a key, and out again.

The browser keeps a session's token in a cookie that scripts cannot read and other sites cannot make it send. Forms carry a
token that a stranger's page cannot know: before the session one that stands in a cookie too, in the session one of its own.
"""

import hmac
import secrets
from typing import Annotated, Final

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from service.access.gate import cookies
from service.access.sessions import COOKIE, SECONDS, csrf_token
from service.page.answers import html, trouble
from service.page.forms import fields_of
from service.page.rendering import render
from service.page.words import Words, WordsOf
from service.state import StateOf
from workers.errors import LedgerUnavailable

BEFORE: Final = "blockyard_login"
"""The cookie whose value the form repeats."""
FORM_SECONDS: Final = 3600

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/login")
def form(request: Request, words: WordsOf, following: Annotated[str, Query(alias="next", max_length=2000)] = "/") -> Response:
    """The form that asks for a key."""
    return _form(request, words, following)


@router.post("/login")
async def sign_in(request: Request, state: StateOf, words: WordsOf) -> Response:
    """A session for whoever shows a key, and back to where they wanted to go."""
    fields = await fields_of(request)
    following = fields.get("next", "/")
    before = cookies(request.headers).get(BEFORE, "")
    if not before or not hmac.compare_digest(before.encode(), fields.get("csrf", "").encode()):
        return _form(request, words, following, "too_old", 403)
    try:
        key = (await state.keyring.table()).find(fields.get("key", "").strip())
        if key is None:
            return _form(request, words, following, "no_such_key", 401)
        token = await run_sync(state.sessions.begin, key.id)
    except LedgerUnavailable as error:
        return trouble(words, 503, "redis_away", "no_answer", str(error))
    answer = RedirectResponse(_local(following), 303)
    _set(answer, request, COOKIE, token, SECONDS, "/")
    answer.delete_cookie(BEFORE, path="/login", httponly=True, samesite="strict")
    return answer


@router.post("/logout")
async def sign_out(request: Request, state: StateOf, words: WordsOf) -> Response:
    """The end of a session, if its own form asks for it."""
    token = cookies(request.headers).get(COOKIE, "")
    answer = RedirectResponse("/login", 303)
    if token:
        if not hmac.compare_digest(csrf_token(token).encode(), (await fields_of(request)).get("csrf", "").encode()):
            return trouble(words, 403, "not_signed_out", "not_from_here")
        try:
            await run_sync(state.sessions.end, token)
        except LedgerUnavailable as error:
            return trouble(words, 503, "redis_away", "no_answer", str(error))
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer


def _form(request: Request, words: Words, following: str, reason: str = "", status: int = 200) -> Response:
    token = secrets.token_urlsafe(32)
    told = words(f"login.{reason}") if reason else ""
    answer = html(words, render(words, "login.html", token=token, following=_local(following), reason=told), status)
    _set(answer, request, BEFORE, token, FORM_SECONDS, "/login")
    return answer


def _set(answer: Response, request: Request, name: str, value: str, seconds: int, path: str) -> None:
    secure = request.url.scheme == "https"
    answer.set_cookie(name, value, max_age=seconds, path=path, httponly=True, samesite="strict", secure=secure)


def _local(address: str) -> str:
    """An address on this service alone: nobody is sent elsewhere after signing in."""
    sound = address.startswith("/") and not address.startswith("//") and "\\" not in address and address.isprintable()
    return address if sound else "/"
