"""What the pages show, and how it is put into words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import jinja2

from service.access.caller import CALLER
from service.events import Frame, event
from service.labels import short_name
from service.page.tournament import field_tables
from service.results import result_document
from workers.jobs.ledger import Ledger
from workers.jobs.records import FINISHED, JobRecord
from workers.jobs.spec import JobSpec

JOBS_SHOWN: Final = 50
SCENARIOS_SHOWN: Final = 20
"""Scenarios on one page of a job: each is a table with bars."""
NOTHING: Final = "–"


def render(template: str, **context: Any) -> str:
    """A template as HTML."""
    return TEMPLATES.get_template(template).render(**context)


def jobs_page(ledger: Ledger, state: str | None, cursor: str | None) -> str:
    """The page with the list of jobs."""
    return render("jobs.html", live=_address("/live", state=state, cursor=cursor), **_jobs(ledger, state, cursor))


def jobs_frame(ledger: Ledger, state: str | None, cursor: str | None) -> Frame:
    """The list of jobs at this moment."""
    return Frame(event("fragments", {"jobs": render("parts/jobs.html", **_jobs(ledger, state, cursor))}))


def _jobs(ledger: Ledger, state: str | None, cursor: str | None) -> dict[str, Any]:
    records, following = ledger.jobs(state, None, JOBS_SHOWN, cursor)
    older = _address("/", state=state, cursor=following) if following else None
    return {"jobs": records, "older": older, "state": state, "cursor": cursor, "workers": len(ledger.workers())}


def job_page(ledger: Ledger, job_id: str, first: int) -> str:
    """The page of one job."""
    record, spec = ledger.job(job_id), ledger.spec(job_id)
    # A finished job does not change: its page needs no stream.
    live = None if record.state in FINISHED else _address(f"/jobs/{job_id}/live", first=first or None)
    shown = _results(ledger, record, spec, first)
    return render("job.html", live=live, job=record, spec=spec, fields=field_tables(ledger, record, spec), **shown)


class JobFrames:
    """The moments of one job's page; what has not moved since the last one is not computed again."""

    def __init__(self, ledger: Ledger, job_id: str, first: int) -> None:
        self._ledger, self._job_id, self._first = ledger, job_id, first
        self._spec: JobSpec | None = None
        self._results, self._fields = "", ""
        self._done = -1

    def __call__(self) -> Frame:
        """The job at this moment."""
        record = self._ledger.job(self._job_id)
        if self._spec is None:
            self._spec = self._ledger.spec(self._job_id)
        if record.matches_done != self._done:
            shown = _results(self._ledger, record, self._spec, self._first)
            self._results = render("parts/results.html", job=record, **shown)
        if record.matches_done != self._done or record.state in FINISHED:
            self._fields = render("parts/fields.html", fields=field_tables(self._ledger, record, self._spec))
        self._done = record.matches_done
        fragments = {"job": render("parts/job.html", job=record), "fields": self._fields, "results": self._results}
        return Frame(event("fragments", fragments), last=record.state in FINISHED)


@dataclass(frozen=True, slots=True)
class Bar:
    """A win share as a mark on a scale from 0 to 100, with its interval and where an equal share lies."""

    share: float
    low: float
    high: float
    equal: float


def _results(ledger: Ledger, record: JobRecord, spec: JobSpec, first: int) -> dict[str, Any]:
    scenarios = spec.scenarios[first : first + SCENARIOS_SHOWN]
    tallies = ledger.tallies(record.id, first, len(scenarios)) if scenarios else []
    shown = [
        _scenario(result_document(scenario, spec.seed, tally, spec.engine_version, index=first + position))
        for position, (scenario, tally) in enumerate(zip(scenarios, tallies, strict=True))
    ]
    last = first + len(scenarios)
    return {
        "scenarios": shown,
        "first": first,
        "last": last,
        "earlier": max(0, first - SCENARIOS_SHOWN) if first else None,
        "later": last if last < len(spec.scenarios) else None,
    }


def _scenario(result: dict[str, Any]) -> dict[str, Any]:
    sides = 2 if result["ruleset"]["partners"] else result["scenario"]["players"]
    places = []
    for estimate in result["estimates"]["policies"]:
        share, interval = estimate["win_share"], estimate["ci95"]
        bar = None
        if share is not None:
            low, high = interval or (share, share)
            bar = Bar(100 * share, 100 * low, 100 * high, 100 / sides)
        places.append({**estimate, "label": short_name(estimate["policy"]), "bar": bar})
    scenario = {**result["scenario"], "ruleset_label": short_name(result["scenario"]["ruleset"])}
    return {**result, "scenario": scenario, "places": places}


def whole(value: Any) -> str:
    """A whole number in groups of three."""
    return f"{int(value):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def rate(value: float | None) -> str:
    """Matches a second, to three digits."""
    if value is None:
        return NOTHING
    digits = max(0, len(str(int(value))) - 3)
    return f"{whole(round(value, -digits))}/s"


def duration(seconds: float | None) -> str:
    """A stretch of time in its two largest units."""
    if seconds is None:
        return NOTHING
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days} d {hour} h"
    if hours:
        return f"{hours} h {minute} min"
    return f"{minute} min {second} s" if minutes else f"{second} s"


def percent(value: float | None, digits: int = 2) -> str:
    """A share of 1 in per cent."""
    return NOTHING if value is None else f"{100 * value:.{digits}f} %"


def interval(bounds: Sequence[float] | None, short: bool = False) -> str:
    """Two shares of 1 in per cent; `short` where there is little room."""
    if not bounds:
        return NOTHING
    low, high = map(percent, bounds)
    return f"{low.removesuffix('%').strip()} to {high}" if short else f"{low} to {high}"


def decimal(value: float | None, digits: int = 2) -> str:
    """A number with its sign left out where it is plus."""
    return NOTHING if value is None else f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def moment(seconds: float | None) -> str:
    """A time of the clock, in UTC."""
    return NOTHING if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _address(path: str, **query: Any) -> str:
    given = "&".join(f"{name}={value}" for name, value in query.items() if value is not None)
    return f"{path}?{given}" if given else path


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("service.page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["caller"] = CALLER.get
    environment.filters |= {
        "whole": whole, "rate": rate, "duration": duration, "percent": percent, "decimal": decimal,
        "interval": interval, "moment": moment,
    }  # fmt: skip
    return environment


TEMPLATES: Final = _environment()
