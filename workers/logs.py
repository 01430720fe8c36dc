"""How processes of the service log: a line for each event."""

import logging
from typing import Any


class OneLine(logging.Formatter):
    """An error is told by its name and message: an outage of Redis is no reason for pages of frames."""

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """The error without its frames."""
        return f"({type(ei[1]).__name__}: {ei[1]})" if ei[1] else ""

    def format(self, record: logging.LogRecord) -> str:
        """The whole record on one line."""
        return " ".join(super().format(record).split())


def log_in_lines() -> None:
    """Warnings of all, and the service's own notes, to standard error; nothing where logging has been set up before."""
    root = logging.getLogger()
    if not root.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(OneLine("%(asctime)s %(name)s: %(message)s"))
        root.addHandler(handler)
        root.setLevel(logging.WARNING)
    for own in ("workers.app", "workers.scheduler", "workers.regressions"):
        logging.getLogger(own).setLevel(logging.INFO)
