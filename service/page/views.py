"""What the pages of jobs show: the list, and one job with its scenarios."""

from typing import Any, Final

from service.events import Frame
from service.page.rendering import fragments, render
from service.page.scenarios import shown_scenario
from service.page.tournament import field_tables
from service.page.words import Words
from service.page.workforce import shown_pace
from service.results import result_document
from workers.jobs.ledger import Ledger
from workers.jobs.records import FINISHED, JobRecord
from workers.jobs.spec import JobSpec

JOBS_SHOWN: Final = 50
SCENARIOS_SHOWN: Final = 20
"""Scenarios on one page of a job: each is a table with bars."""


def jobs_page(words: Words, ledger: Ledger, state: str | None, cursor: str | None) -> str:
    """The page with the list of jobs."""
    return render(
        words,
        "jobs.html",
        live=_address("/live", state=state, cursor=cursor),
        **_jobs(ledger, state, cursor),
        **shown_pace(ledger),
    )


def jobs_frame(words: Words, ledger: Ledger, state: str | None, cursor: str | None) -> Frame:
    """The list of jobs at this moment."""
    parts = {
        "pace": render(words, "parts/pace.html", **shown_pace(ledger)),
        "jobs": render(words, "parts/jobs.html", **_jobs(ledger, state, cursor)),
    }
    return fragments(parts)


def _jobs(ledger: Ledger, state: str | None, cursor: str | None) -> dict[str, Any]:
    records, following = ledger.jobs(state, None, JOBS_SHOWN, cursor)
    older = _address("/", state=state, cursor=following) if following else None
    return {"jobs": records, "older": older, "state": state, "cursor": cursor, "workers": len(ledger.workers())}


def job_page(words: Words, ledger: Ledger, job_id: str, first: int) -> str:
    """The page of one job."""
    record, spec = ledger.job(job_id), ledger.spec(job_id)
    # A finished job does not change: its page needs no stream.
    live = None if record.state in FINISHED else _address(f"/jobs/{job_id}/live", first=first or None)
    shown = _results(ledger, record, spec, first)
    return render(words, "job.html", live=live, job=record, spec=spec, fields=field_tables(ledger, record, spec), **shown)


class JobFrames:
    """The moments of one job's page; what has not moved since the last one is not computed again."""

    def __init__(self, words: Words, ledger: Ledger, job_id: str, first: int) -> None:
        self._words = words
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
            self._results = render(self._words, "parts/results.html", job=record, **shown)
        if record.matches_done != self._done or record.state in FINISHED:
            self._fields = render(
                self._words, "parts/fields.html", job=record, fields=field_tables(self._ledger, record, self._spec)
            )
        self._done = record.matches_done
        parts = {"job": render(self._words, "parts/job.html", job=record), "fields": self._fields, "results": self._results}
        return fragments(parts, last=record.state in FINISHED)


def _results(ledger: Ledger, record: JobRecord, spec: JobSpec, first: int) -> dict[str, Any]:
    scenarios = spec.scenarios[first : first + SCENARIOS_SHOWN]
    tallies = ledger.tallies(record.id, first, len(scenarios)) if scenarios else []
    shown = [
        shown_scenario(result_document(scenario, spec.seed, tally, spec.engine_version, index=first + position))
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


def _address(path: str, **query: Any) -> str:
    given = "&".join(f"{name}={value}" for name, value in query.items() if value is not None)
    return f"{path}?{given}" if given else path
