"""Which role a request needs: one table for all routes. What it does not name needs the highest."""

import re
from functools import lru_cache
from typing import Final

from service.access.caller import Role

PUBLIC: Final = re.compile(r"/(healthz|readyz|metrics|login|logout|static/.*)")
"""Needs no key. The files are those of any installation; `/logout` judges by itself."""
READING: Final = ("GET", "HEAD", "OPTIONS")
QUESTIONS: Final = re.compile(r"/v1/(judge|perft)")
"""Sent as POST, but nothing is changed by them."""
FORMS: Final = re.compile(r"POST /jobs(/[^/]+/(cancel|pause|resume|restart))?")
"""Forms of the page. They bring the session's token in their body, where the gate does not look: their routes check it."""
SUBMITTING: Final = re.compile(
    r"POST (/v1)?/jobs(/[^/]+/(cancel|pause|resume|restart))?|DELETE /v1/jobs/[^/]+"
    r"|POST /v1/regressions/[^/]+/runs|POST /v1/regression-runs"
)


@lru_cache(1024)
def required_role(method: str, path: str) -> Role | None:
    """The least role for a request, None where it needs no key. `path` may be a template such as `/v1/jobs/{id}`."""
    if PUBLIC.fullmatch(path):
        return None
    if method in READING or QUESTIONS.fullmatch(path):
        return "read"
    return "submit" if SUBMITTING.fullmatch(f"{method} {path}") else "admin"


def is_form(method: str, path: str) -> bool:
    """Whether the request is a form of the page, whose route checks the session's token itself."""
    return FORMS.fullmatch(f"{method} {path}") is not None
