"""Forms of the page: their fields, and the token by which a session's own form is known from a stranger's."""

import hmac
from typing import Final
from urllib.parse import parse_qs

from fastapi import Request

from service.access.caller import Caller

MAX_FORM: Final = 16_384
"""Bytes of a form that asks for a key; a key has sixty."""
MAX_FIELDS: Final = 20


async def fields_of(request: Request, limit: int = MAX_FORM) -> dict[str, str]:
    """The fields of a form; none where it has more than `limit` bytes or is no form."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > limit:
            return {}
    try:
        return {name: values[0] for name, values in parse_qs(body.decode(), max_num_fields=MAX_FIELDS).items()}
    except ValueError:
        return {}


def is_own(fields: dict[str, str], caller: Caller) -> bool:
    """Whether a form that changes something is one of ours: in a session it has to bring the session's token.

    Without a session there is no cookie that a stranger's page could make the browser send; and where no keys are needed
    the gate turns strangers' pages away.
    """
    return not caller.csrf or hmac.compare_digest(caller.csrf.encode(), fields.get("csrf", "").encode())
