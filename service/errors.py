"""Domain errors as problem documents (RFC 9457): the one translation to HTTP.

A problem is `{type, title, status, detail, errors: [{path, message}]}` under `application/problem+json`. It never carries a
traceback, and what it echoes of the input is cut to a bounded length.
"""

import logging
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any, Final

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route

from workers.errors import (
    BlockyardError,
    Conflict,
    FieldError,
    IdempotencyMismatch,
    InvalidInput,
    LedgerUnavailable,
    NotFound,
    NotYours,
    PlayFailed,
    QuotaExceeded,
)
from workers.logs import masked

PROBLEM_TYPE: Final = "application/problem+json"
MAX_ERRORS: Final = 50
"""Reasons that one problem lists: a body of 10,000 wrong scenarios is not answered with 10,000 reasons."""
MAX_MESSAGE: Final = 400
"""Characters of one message, which may quote the input."""
RETRY_SECONDS: Final = 2
"""What a 503 asks a client to wait: about as long as Redis takes to come back."""

log = logging.getLogger(__name__)


def register(app: FastAPI) -> None:
    """Make every error that leaves a route a problem document; `app.state.routes` holds all routes."""
    app.add_exception_handler(BlockyardError, _domain_error)
    app.add_exception_handler(RequestValidationError, _request_error)
    app.add_exception_handler(HTTPException, _http_error)


def problem(
    status: int,
    detail: str,
    errors: Iterable[FieldError] = (),
    *,
    kind: str | None = None,
    title: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """A problem document as a response; `kind` names the problem's type, by default after the status."""
    phrase = HTTPStatus(status).phrase
    content = {
        "type": f"urn:blockyard:problem:{kind or phrase.lower().replace(' ', '-')}",
        "title": title or phrase,
        "status": status,
        "detail": _cut(detail),
        "errors": _listed(list(errors)),
    }
    return Response(orjson.dumps(content), status, headers, PROBLEM_TYPE)


def invalid(errors: Sequence[FieldError]) -> Response:
    """The refusal of an input, naming each field."""
    unique = list(dict.fromkeys(errors))
    first = f"{unique[0].path}: {unique[0].message}" if unique[0].path else unique[0].message
    detail = first if len(unique) == 1 else f"{len(unique)} things are wrong, the first: {first}"
    return problem(422, detail, unique, kind="invalid-input", title="Invalid input")


def domain_problem(error: BlockyardError) -> Response:
    """The problem that a domain error is."""
    match error:
        case InvalidInput():
            return invalid(error.errors)
        case NotFound():
            return problem(404, str(error), kind="not-found", title="Not found")
        case IdempotencyMismatch():
            return invalid([FieldError("Idempotency-Key", str(error))])
        case Conflict():
            return problem(409, str(error), kind="conflict", title="Conflict")
        case NotYours():
            return problem(403, str(error), kind="not-yours", title="Not allowed")
        case QuotaExceeded():
            headers = {"Retry-After": str(error.retry_seconds)}
            return problem(429, str(error), kind="quota-exceeded", title="Too much at once", headers=headers)
        case LedgerUnavailable():
            detail = masked(str(error)) or "Redis does not answer; nothing was changed."
            headers = {"Retry-After": str(RETRY_SECONDS)}
            return problem(503, detail, kind="ledger-unavailable", title="Redis unavailable", headers=headers)
        case PlayFailed():
            return problem(409, str(error), kind="play-failed", title="A policy failed")
        case _:
            return problem(500, str(error), kind="error", title="Error")


def unexpected(error: BaseException, request_id: str) -> Response:
    """The answer to a fault of ours: the log has the traceback, the client the number to find it by."""
    log.error("request %s failed", request_id, exc_info=error)
    detail = f"Something went wrong on our side; the log has it under request {request_id}."
    return problem(500, detail, kind="internal-error")


def _domain_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, BlockyardError)
    return domain_problem(error)


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return problem(404, f"Nothing is at {request.url.path}.", kind="not-found", title="Not found")
    if error.status_code == 405:
        allowed = ", ".join(possible_methods(request))
        detail = f"{request.method} is not possible at {request.url.path}; possible are: {allowed}."
        return problem(405, detail, headers={"Allow": allowed})
    detail = error.detail if isinstance(error.detail, str) else ""
    return problem(error.status_code, detail, headers=dict(error.headers or {}))


def possible_methods(request: Request) -> list[str]:
    """The methods that some route takes at the request's path."""
    routes: Sequence[BaseRoute] = request.app.state.routes
    found = (route for route in routes if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE)
    methods = {method for route in found for method in route.methods or ()} or {"GET"}  # files lie below a mount
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


def _request_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    details = error.errors()
    for item in details:
        if item["type"] == "json_invalid":
            place = f"{item['ctx']['error']}, at character {int(item['loc'][-1]) + 1}"
            return problem(400, f"The body is no JSON: {place}.", kind="broken-json", title="Broken JSON")
    return invalid([field_error(item) for item in details])


def field_error(item: dict[str, Any]) -> FieldError:
    """One of pydantic's errors in our words and with our paths; where the input came from (body, query) is left out."""
    kind, place = item["type"], item["loc"]
    keys = place[1:] if place and place[0] in ("body", "query", "path", "header") else place
    return FieldError(path_of(keys), _message(kind, item))


def path_of(keys: Iterable[str | int]) -> str:
    """`("scenarios", 0, "policies", 1)` as `scenarios[0].policies[1]`."""
    path = ""
    for key in keys:
        if isinstance(key, int):
            path += f"[{key}]"
        elif key != "[key]":
            path += f".{key}" if path else str(key)
    return path


_TYPES: Final = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "a text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "float_type": "a number",
    "float_parsing": "a number",
}


def _message(kind: str, item: dict[str, Any]) -> str:
    context, value = item.get("ctx", {}), item.get("input")
    if kind in ("int_type", "int_from_float", "int_parsing_size") and isinstance(value, int | float) and abs(value) >= 2**63:
        return "must be a whole number of at most 64 bits"
    if kind in _TYPES:
        return f"must be {_TYPES[kind]}, not {_shown(value)}"
    match kind:
        case "missing":
            return "is required"
        case "extra_forbidden":
            return "unknown field"
        case "greater_than_equal":
            return f"must be at least {context['ge']}, not {_shown(value)}"
        case "less_than_equal":
            return f"must be at most {context['le']}, not {_shown(value)}"
        case "literal_error":
            return f"must be {context['expected']}, not {_shown(value)}"
        case "value_error":
            return str(context["error"])
        case "too_long":
            # Where more came than are looked at, their number is not known.
            found = context["actual_length"]
            return f"may hold at most {context['max_length']}" + ("" if found is None else f", not {found}")
        case "too_short":
            return f"must hold at least {context['min_length']}"
        case "string_too_long":
            return f"may have at most {context['max_length']} characters"
        case "string_too_short":
            return f"must have at least {context['min_length']} character{'s' if context['min_length'] > 1 else ''}"
        case "string_pattern_mismatch":
            return f"must match {context['pattern']}, unlike {_shown(value)}"
        case _:
            return str(item["msg"])


def _shown(value: object) -> str:
    """An input value as the user wrote it, cut."""
    try:
        text = orjson.dumps(value, default=repr).decode()
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _cut(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 3]}..."


def _listed(errors: list[FieldError]) -> list[dict[str, str]]:
    unique = list(dict.fromkeys(errors))
    listed = [{"path": _cut(error.path), "message": _cut(error.message)} for error in unique[:MAX_ERRORS]]
    if len(unique) > MAX_ERRORS:
        listed.append({"path": "", "message": f"and {len(unique) - MAX_ERRORS} more"})
    return listed
