"""The audit log: who changed what, one line of JSON each, in a file of its own where one is set, else in the log.

In a file the line has the number of its request, under which the log tells the rest.
"""

import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import orjson

from service.access.caller import CALLER
from workers.logs import REQUEST_ID

Tell: TypeAlias = Callable[..., None]

log = logging.getLogger(__name__)
PRIVATE: Final = 0o600


class Audit:
    """Writes the lines. Threads and processes may share a file: each line is appended at once."""

    def __init__(self, path: str | None) -> None:
        """`path`: the file, which is made where it is missing; None for the log alone."""
        self._path = path

    def __call__(self, action: str, **what: Any) -> None:
        """Tells that the present caller did this, such as `audit("job submitted", job="...")`."""
        caller = CALLER.get()
        told = {"by": caller.name, "role": caller.role, **what}
        if self._path is None:
            log.info(action, extra=told)
            return
        moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"time": moment, "action": action, **told, "request_id": REQUEST_ID.get()}
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE)
            try:
                os.write(file, orjson.dumps(line, default=str) + b"\n")
            finally:
                os.close(file)
        except OSError as error:
            log.error("the audit log cannot be written: %s", error)
