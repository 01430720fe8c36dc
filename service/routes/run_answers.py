"""Regressions and runs as answers: a run's tests as they stand, or as they were stored when it ended."""

from typing import Any

from service.results import result_document
from service.schemas.answers import moment
from service.schemas.regressions import RegressionAnswer, RunAnswer
from workers.engine.play import ENGINE_VERSION
from workers.errors import InvalidInput
from workers.jobs.spec import Scenario
from workers.regressions.runs import Regressions
from workers.regressions.spec import RegressionSpec
from workers.regressions.store import Run
from workers.stats.tally import Tally, json_integer


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
        "tests": [_test_fields(run, test) for test in tests],
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


def _test_fields(run: Run, test: dict[str, Any]) -> dict[str, Any]:
    counts = {name: json_integer(test[name]) for name in ("blocks", "matches", "matches_saved", "overrun_blocks")}
    shown = {name: value for name, value in test.items() if name not in ("scenario", "tally")}
    return shown | counts | {"results": _result(run, test)}


def _result(run: Run, test: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a test; None where nothing of it was submitted, or where it names a ruleset that is gone."""
    if test.get("tally") is None:
        return None
    scenario, tally = Scenario.from_json(test["scenario"]), Tally.from_json(test["tally"])
    try:
        return result_document(scenario, run.seed, tally, test["engine_version"])
    except InvalidInput:
        return None
