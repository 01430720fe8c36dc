"""One scenario of a job as its page shows it: shares, histograms, and every integer that was counted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.events import Frame
from service.labels import short_name
from service.page.charts import draw_histogram
from service.page.rendering import fragments, render
from service.page.words import Words
from service.results import result_document
from workers.errors import NotFound
from workers.jobs.ledger import Ledger
from workers.jobs.records import FINISHED, JobRecord


@dataclass(frozen=True, slots=True)
class ShareBar:
    """A win share as a mark on a scale from 0 to 100, with its interval and where an equal share lies."""

    share: float
    low: float
    high: float
    equal: float


def scenario_page(words: Words, ledger: Ledger, job_id: str, index: int) -> str:
    """The page of scenario `index`; raises `NotFound`."""
    record = ledger.job(job_id)
    live = None if record.state in FINISHED else f"/jobs/{job_id}/scenarios/{index}/live"
    return render(words, "scenario.html", live=live, job=record, index=index, **_shown(ledger, record, index))


def scenario_frame(words: Words, ledger: Ledger, job_id: str, index: int) -> Frame:
    """The scenario at this moment."""
    record = ledger.job(job_id)
    shown = render(words, "parts/scenario_figures.html", job=record, **_shown(ledger, record, index))
    parts = {"job": render(words, "parts/job.html", job=record), "scenario": shown}
    return fragments(parts, last=record.state in FINISHED)


def _shown(ledger: Ledger, record: JobRecord, index: int) -> dict[str, Any]:
    spec = ledger.spec(record.id)
    if index >= len(spec.scenarios):
        raise NotFound(f"There is no scenario {index}: the job has scenarios 0 to {len(spec.scenarios) - 1}.")
    (tally,) = ledger.tallies(record.id, index, 1)
    result = result_document(spec.scenarios[index], spec.seed, tally, spec.engine_version, index=index)
    return {"result": shown_scenario(result)}


def shown_scenario(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result with what its table and its charts draw."""
    sides = 2 if result["ruleset"]["partners"] else result["scenario"]["players"]
    places = []
    for estimate, block in zip(result["estimates"]["policies"], result["blocks"], strict=True):
        share, interval = estimate["win_share"], estimate["ci95"]
        bar = None
        if share is not None:
            low, high = interval or (share, share)
            bar = ShareBar(100 * share, 100 * low, 100 * high, 100 / sides)
        scores = draw_histogram(block["scores"])
        places.append(
            {**estimate, "label": short_name(estimate["policy"]), "bar": bar, "scores": scores, "units": block["units"]}
        )
    scenario = {**result["scenario"], "ruleset_label": short_name(result["scenario"]["ruleset"])}
    charts = {name: draw_histogram(result[name]) for name in ("rounds_per_match", "winning_margin")}
    return {**result, "scenario": scenario, "places": places, "charts": charts}
