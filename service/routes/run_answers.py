"""Regressions and runs as answers: a run's tests as they stand, or as they were stored when it ended."""

from typing import Any

from service.results import result_document
from service.schemas.answers import moment
from service.schemas.regressions import RegressionAnswer, RunAnswer
from workers.engine.play import ENGINE_VERSION
from workers.errors import InvalidInput, NotFound
from workers.jobs.ledger import Ledger
from workers.regressions.runs import Regressions
from workers.regressions.spec import RegressionSpec
from workers.regressions.store import Run
from workers.stats.tally import json_integer


def regression_answer(regressions: Regressions, spec: RegressionSpec) -> RegressionAnswer:
    """A regression with what Redis knows of its next and its newest run."""
    store = regressions.store
    newest = store.runs(spec.name, limit=1)
    due = store.due_at(spec.name)
    shown = _spec_fields(spec) | {
        "pinned": store.pins(spec.name),
        "next_run_at": due,
        "last_run": _ending(newest[0], store.outcome(newest[0].id)) if newest else None,
    }
    return RegressionAnswer.model_validate(shown)


def run_answer(regressions: Regressions, run: Run) -> RunAnswer:
    """A run. Once it has an outcome its tests are the stored ones."""
    outcome = regressions.store.outcome(run.id)
    tests = outcome["tests"] if outcome else [report.to_json() for report in regressions.reports(run)]
    shown = _ending(run, outcome) | {
        "regression": run.regression,
        "labels": dict(run.labels),
        "scheduled_at": moment(run.scheduled_at),
        "late": run.late,
        "seed": json_integer(run.seed),
        "engine_version": tests[0]["engine_version"] if tests else ENGINE_VERSION,
        "tests": [_test_fields(regressions.ledger, test) for test in tests],
        "spec": _spec_fields(run.spec),
    }
    return RunAnswer.model_validate(shown)


def _ending(run: Run, outcome: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "id": run.id,
        "state": "done" if outcome else "running",
        "verdict": outcome["verdict"] if outcome else None,
        "created_at": moment(run.created_at),
        "finished_at": moment(outcome["finished_at"]) if outcome else None,
    }


def _spec_fields(spec: RegressionSpec) -> dict[str, Any]:
    tests = [test.to_json() | {"max_matches": json_integer(test.max_matches)} for test in spec.tests]
    return spec.to_json() | {"tests": tests, "seed": None if spec.seed is None else json_integer(spec.seed)}


def _test_fields(ledger: Ledger, test: dict[str, Any]) -> dict[str, Any]:
    counts = {name: json_integer(test[name]) for name in ("blocks", "matches", "matches_saved", "overrun_blocks")}
    return test | counts | {"results": _result(ledger, test["job"])}


def _result(ledger: Ledger, job_id: str) -> dict[str, Any] | None:
    """The result of a test's job; None where it was never submitted, is deleted, or names a policy that is gone."""
    try:
        spec = ledger.spec(job_id)
        (tally,) = ledger.tallies(job_id)
        return result_document(spec.scenarios[0], spec.seed, tally, spec.engine_version)
    except (NotFound, InvalidInput):
        return None
