"""How processes of the service log: one line for each event, as JSON or as text, without secrets.

What belongs to a request carries its id, from the API, which gives it, down to the workers that play the request's job.
"""

import json
import logging
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final

import orjson

REQUEST_ID: Final[ContextVar[str]] = ContextVar("request_id", default="")
"""The request that this thread or task works for; empty where it works for none."""

OWN: Final = ("workers.app", "workers.scheduler", "workers.regressions", "workers.jobs.shift", "service", "uvicorn.error")
"""Loggers whose notes are shown; of all others only warnings are."""

_PLAIN: Final = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {"message", "asctime", "taskName"}
_PASSWORD: Final = re.compile(r"(\w+://[^\s/@:]*):[^\s/@]+@")
_KEY: Final = re.compile(r"by_[0-9a-f]{8}_[A-Za-z0-9_-]{8,}")


def masked(text: str) -> str:
    """The text without the passwords of addresses and without API keys."""
    # Few lines have either, and looking for a part of them is a hundred times faster than trying the expressions.
    if "://" in text:
        text = _PASSWORD.sub(r"\1:***@", text)
    return _KEY.sub("by_***", text) if "by_" in text else text


@contextmanager
def on_behalf_of(request_id: str) -> Iterator[None]:
    """What is logged inside carries this request's id."""
    token = REQUEST_ID.set(request_id)
    try:
        yield
    finally:
        REQUEST_ID.reset(token)


class JsonLine(logging.Formatter):
    """An event as one line of JSON: time, level, logger, message, the request's id, and whatever `extra` adds."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": " ".join(record.getMessage().split()),
        }
        if request_id := REQUEST_ID.get():
            line["request_id"] = request_id
        line |= {name: value for name, value in vars(record).items() if name not in _PLAIN and not name.startswith("_")}
        if record.exc_info and record.exc_info[1]:
            line["error"] = f"{type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
            if record.levelno >= logging.ERROR:
                frames = traceback.extract_tb(record.exc_info[2])
                line["frames"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        try:
            return masked(orjson.dumps(line, default=str).decode())
        except orjson.JSONEncodeError:  # whole numbers over 64 bits, halves of characters
            return masked(json.dumps(line, default=str))


class OneLine(logging.Formatter):
    """An error is told by its name and message: an outage of Redis is no reason for pages of frames."""

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """The error without its frames."""
        return f"({type(ei[1]).__name__}: {ei[1]})" if ei[1] else ""

    def format(self, record: logging.LogRecord) -> str:
        """The whole record on one line."""
        request_id = REQUEST_ID.get()
        return masked(" ".join(super().format(record).split()) + (f" [request {request_id}]" if request_id else ""))


def log_in_lines(form: str = "json") -> None:
    """Warnings of all, and the service's own notes, to standard error; nothing where logging has been set up before.

    `form` is `json` or `text`.
    """
    # Nothing that we write tells threads, processes or lines of the source: finding them out takes half of a line's time.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None  # as the module's own documentation says
    root = logging.getLogger()
    if not root.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(JsonLine() if form == "json" else OneLine("%(asctime)s %(name)s: %(message)s"))
        root.addHandler(handler)
        root.setLevel(logging.WARNING)
    for own in OWN:
        logging.getLogger(own).setLevel(logging.INFO)
