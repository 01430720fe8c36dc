"""What the OpenAPI document says beside the models: problem answers, and bodies that are no JSON."""

from http import HTTPStatus
from typing import Any, Final

from service.errors import PROBLEM_TYPE

_MEANINGS: Final = {
    400: "The body is no JSON.",
    401: "A key is needed, and there is none, or it is unknown.",
    403: "The key's role does not cover this, or the thing belongs to somebody else.",
    404: "There is no such thing.",
    409: "The request does not fit the present state.",
    413: "The body is longer than the limit.",
    415: "The body is not declared as application/json.",
    422: "Something in the request is wrong; `errors` names each field. Nothing was changed.",
    429: "The key has used up its quota; `Retry-After` says when to ask again. Nothing was changed.",
    500: "Something went wrong on the service's side.",
    503: "Redis does not answer, or refuses to write. Nothing was changed.",
}

Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """The problem answers of a route by status; every route may also fail with 500."""
    return {status: _problem(status) for status in sorted({*statuses, 500})}


def _problem(status: int) -> dict[str, Any]:
    example = {
        "type": f"urn:blockyard:problem:{HTTPStatus(status).phrase.lower().replace(' ', '-')}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": _MEANINGS[status],
        "errors": [],
    }
    if status == 422:
        example |= {"type": "urn:blockyard:problem:invalid-input", "title": "Invalid input"}
        example["errors"] = [{"path": "scenarios[0].matches", "message": 'must be a whole number, not "1000"'}]
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}
    return {"description": _MEANINGS[status], "content": {PROBLEM_TYPE: content}}


def content(kind: str, description: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """An answer under its media type; by default a text."""
    return {"description": description, "content": {kind: {"schema": schema or {"type": "string"}}}}


EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "description": "One server-sent event; the stream is a row of them.",
    "properties": {
        "event": {"type": "string", "enum": ["progress", "done", "unavailable", "gone"]},
        "data": {"type": "string", "description": "JSON: the job as a list shows it, or what is the matter."},
        "retry": {"type": "integer", "description": "Milliseconds until a client comes back."},
    },
}


LISTED: Final = problems(422, 503)
"""What may go wrong where several things are listed."""
NAMED: Final = problems(404, 503)
"""What may go wrong where one thing is read by its id."""
CHANGED: Final = problems(404, 409, 503)
"""What may go wrong where one thing is changed by its id."""
SENT: Final = problems(400, 413, 415, 422, 503)
"""What may go wrong where a body is sent."""
