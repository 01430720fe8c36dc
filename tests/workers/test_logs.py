"""Lines of the log: JSON, one each, with the request they belong to, and without secrets."""

import json
import logging
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tests.servers import WorkerFactory, poll
from workers.jobs.ledger import Ledger
from workers.jobs.spec import JobSpec, make_scenario
from workers.jobs.store import connect
from workers.logs import JsonLine, OneLine, masked, on_behalf_of

KEY = "by_0123abcd_" + "x-_9" * 10 + "abc"


def line(message: str, *arguments: object, formatter: logging.Formatter | None = None, **more: Any) -> str:
    record = logging.LogRecord("workers.app", logging.ERROR, "", 1, message, arguments, more.pop("exc_info", None))
    vars(record).update(more)
    return (formatter or JsonLine()).format(record)


def test_a_line_is_json_with_what_was_added() -> None:
    with on_behalf_of("r1"):
        text = line("job %s\nends", "a", job="a", number=2**70, odd="\ud800")
    told = json.loads(text)  # orjson takes no half of a character
    assert "\n" not in text
    assert (told["level"], told["logger"], told["message"]) == ("error", "workers.app", "job a ends")
    assert (told["request_id"], told["job"]) == ("r1", "a")
    assert told["time"].endswith("Z")
    assert "request_id" not in orjson.loads(line("x"))


def test_an_error_tells_where_it_was_raised_on_the_same_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        text = line("failed", exc_info=(ValueError, error, error.__traceback__))
    told = orjson.loads(text)
    assert told["error"] == "ValueError: two\nlines"
    assert "test_logs.py" in told["frames"][-1]
    assert "\n" not in text


@pytest.mark.parametrize("make", [JsonLine, lambda: OneLine("%(message)s")])
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("no answer at redis://:sesame@10.0.0.1:6379/0", "sesame"),
        ("no answer at rediss://yard:s%40same!@host", "s%40same!"),
        (f"Authorization: Bearer {KEY}", KEY),
        (f"key {KEY!r}", KEY[13:]),
    ],
)
def test_secrets_are_masked(make: Callable[[], logging.Formatter], text: str, secret: str) -> None:
    assert secret not in line("%s", text, formatter=make())
    assert secret not in line("failed", formatter=make(), exc_info=(ValueError, ValueError(text), None))
    assert "***" in masked(text)


def test_a_request_is_found_again_in_the_log_of_the_worker(redis_url: str, worker_factory: WorkerFactory) -> None:
    worker = worker_factory()
    ledger = Ledger(connect(redis_url))
    spec = JobSpec((make_scenario(["heaviest", "random"], 64),), seed=1)
    with on_behalf_of("find-me"):
        job = ledger.submit(spec)[0]
    assert job.request_id == "find-me"
    poll(lambda: ledger.job(job.id).is_finished)
    lines = [orjson.loads(text) for text in worker.log.read_text().splitlines()]
    assert any(told.get("request_id") == "find-me" and told.get("job") == job.id for told in lines)
