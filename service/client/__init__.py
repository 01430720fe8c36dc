"""A client of the service, for Python programs and for the command line.

>>> with Client("http://127.0.0.1:8000") as client:             # doctest: +SKIP
...     job = client.submit({"scenarios": [{"policies": ["heaviest", "random"], "matches": 100_000}]})
...     client.wait(job["id"])
...     client.results(job["id"])["results"][0]["policies"][0]["wins"]

Whole numbers over 2^53 come as strings of digits, as the service sends them.
"""

from service.client.answers import ENDED, Event, Job, JobPage, Progress, Results, Run, State, Verdict
from service.client.calls import Client
from service.client.errors import (
    NotAllowed,
    NotNow,
    RequestRefused,
    ServiceError,
    ServiceUnreachable,
    TooMuch,
    UnknownName,
)
from service.client.wire import DEFAULT_URL

__all__ = [
    "DEFAULT_URL", "ENDED", "Client", "Event", "Job", "JobPage", "NotAllowed", "NotNow", "Progress", "RequestRefused",
    "Results", "Run", "ServiceError", "ServiceUnreachable", "State", "TooMuch", "UnknownName", "Verdict",
]  # fmt: skip
