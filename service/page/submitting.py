"""Submitting and steering jobs from the page, by forms that need no script."""

import json
import secrets
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import ValidationError

from service.access.caller import Caller
from service.actions import Verb, steer_job, submit_job
from service.errors import field_error
from service.page.answers import html, refused, trouble
from service.page.forms import fields_of, is_own
from service.page.rendering import render
from service.page.words import Words, WordsOf
from service.schemas.requests import JobRequest
from service.state import CallerOf, JobId, ServiceState, StateOf, own_job_of
from service.strict_json import read_strict
from workers.engine.policies import describe_policies, resolve_policy
from workers.engine.rules import PRESETS
from workers.errors import BlockyardError, FieldError, InvalidInput
from workers.jobs.records import JobRecord

PLACES: Final = 4
"""Places of the simple form; more players are asked for by a document."""
FIELDS: Final = (
    "name", *(f"policy{place}" for place in range(PLACES)), "count", "ruleset", "seating", "priority", "seed", "document"
)  # fmt: skip
"""Of the simple form and of the document. A field called `matches` would hide the method of that name from scripts."""
FIRST: Final = {
    "policy0": "heaviest", "policy1": "random", "count": "100000", "ruleset": "block", "seating": "rotated",
    "priority": "normal",
    "document": '{"matrix": {"players": [2], "policies": ["heaviest", "double", {"prefer": ["double", "heaviest"]}],\n'
    '            "matches": 100000}}',
}  # fmt: skip
"""What the form holds before anybody has written into it."""

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/submit")
async def form(words: WordsOf) -> Response:
    """The form."""
    return _form(words, FIRST, ())


@router.post("/jobs")
async def submit(request: Request, state: StateOf, caller: CallerOf, words: WordsOf) -> Response:
    """Store the job that a form means, and show it; or show the form again with what is wrong."""
    fields = await fields_of(request, state.settings.max_body_bytes)
    if not fields or not is_own(fields, caller):
        return trouble(words, 403, "not_changed", "not_from_here", back="/submit")
    try:
        job = await run_sync(_submit, fields, state, caller)
    except InvalidInput as error:
        return _form(words, fields, error.errors, 422)
    except BlockyardError as error:
        return refused(words, error, back="/submit")
    return RedirectResponse(f"/jobs/{job.id}", 303)


@router.post("/jobs/{id}/{verb}")
async def steer(
    id: JobId,  # noqa: A002
    verb: Verb,
    request: Request,
    state: StateOf,
    caller: CallerOf,
    words: WordsOf,
) -> Response:
    """Cancel, pause, resume or restart a job, and show it."""
    if not is_own(await fields_of(request), caller):
        return trouble(words, 403, "not_changed", "not_from_here", back=f"/jobs/{id}")
    try:
        await run_sync(_steer, id, verb, state, caller)
    except BlockyardError as error:
        return refused(words, error, back=f"/jobs/{id}")
    return RedirectResponse(f"/jobs/{id}", 303)


def _steer(job_id: str, verb: Verb, state: ServiceState, caller: Caller) -> None:
    steer_job(state, caller, own_job_of(state, job_id, caller), verb)


def _submit(fields: dict[str, str], state: ServiceState, caller: Caller) -> JobRecord:
    # A form sent twice, by a double click or by going back, submits one job.
    record, _ = submit_job(state, caller, request_of(fields), f"page {fields.get('once', '')[:64]}")
    return record


def request_of(fields: dict[str, str]) -> JobRequest:
    """The request that a form means; raises `InvalidInput` with every reason, by the names that the API has for fields."""
    value = _document(fields["document"]) if fields.get("kind") == "document" else _simple(fields)
    try:
        return JobRequest.model_validate(value)
    except ValidationError as error:
        raise InvalidInput(*(field_error(dict(item)) for item in error.errors())) from None


def _document(text: str) -> Any:
    try:
        return read_strict(text, "document")
    except json.JSONDecodeError as error:
        raise InvalidInput.at("document", f"is no JSON: {error}") from None


def _simple(fields: dict[str, str]) -> dict[str, Any]:
    scenario = {
        "policies": [policy for place in range(PLACES) if (policy := fields.get(f"policy{place}", ""))],
        "matches": _whole(fields.get("count", "")),
        "ruleset": fields.get("ruleset", "block"),
        "seating": fields.get("seating", "rotated"),
    }
    seed = fields.get("seed", "").strip()
    return {
        "name": fields.get("name", ""),
        "priority": fields.get("priority", "normal"),
        "scenarios": [scenario],
        **({"seed": _whole(seed)} if seed else {}),
    }


def _whole(text: str) -> int | str:
    """A whole number, or the text as it is, which is then refused by name."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else text


def _form(words: Words, fields: dict[str, str], errors: Sequence[FieldError], status: int = 200) -> Response:
    # What one of the two forms was sent with it shows again; the other one begins anew.
    given = (
        dict.fromkeys(FIELDS, "") | (FIRST if fields.get("kind") == "document" else {"document": FIRST["document"]}) | fields
    )
    return html(
        words,
        render(
            words, "submit.html", given=given, errors=list(dict.fromkeys(errors)), policies=_policies(), rulesets=list(PRESETS),
            places=range(PLACES), once=secrets.token_urlsafe(16),
        ),
        status,
    )  # fmt: skip


@cache
def _policies() -> list[str]:
    """The policies that a name is enough for."""
    names = []
    for policy in describe_policies():
        with suppress(InvalidInput):
            resolve_policy(policy["name"], 2)
            names.append(policy["name"])
    return names
