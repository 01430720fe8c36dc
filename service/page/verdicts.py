"""What the pages of regressions show: all of them, one with its history, one run with the path of every likelihood ratio."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service.events import Frame
from service.labels import short_name
from service.page.rendering import fragments, render
from service.page.words import Words
from workers.errors import NotFound
from workers.regressions.runs import Regressions
from workers.regressions.spec import RegressionSpec, TestSpec
from workers.regressions.store import Run

RUNS_SHOWN: Final = 50
PATH_WIDTH: Final = 640
PATH_HEIGHT: Final = 200
PATH_EDGE: Final = 6
"""Room above and below a path, in units of the drawing."""
POINTS_SHOWN: Final = 500
"""Looks drawn of a longer path: the last one always, the others evenly."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in a list: `verdict` is None while it is under way; times are unix seconds."""

    id: str
    created_at: float
    finished_at: float | None
    late: bool
    verdict: str | None
    tests: tuple[tuple[str, str | None], ...]
    saved: int


@dataclass(frozen=True, slots=True)
class RegressionRow:
    """A regression in the list; `due` is the unix second of its next run."""

    spec: RegressionSpec
    due: float | None
    last: RunRow | None


@dataclass(frozen=True, slots=True)
class PathDrawing:
    """A ratio's path between its bounds: `points` of a polyline, and heights, in units of the drawing, from its top."""

    points: str
    upper: float
    lower: float
    zero: float
    end: tuple[float, float]


class RunRows:
    """Rows of runs. That of a run with its verdict will not change any more, and is made once."""

    def __init__(self, regressions: Regressions) -> None:
        self._regressions = regressions
        self._ended: dict[str, RunRow] = {}

    def __call__(self, runs: Sequence[Run]) -> list[RunRow]:
        """The row of each run."""
        unknown = [run for run in runs if run.id not in self._ended]
        outcomes = self._regressions.store.outcomes([run.id for run in unknown])
        standings = (_standing(self._regressions, *each) for each in zip(unknown, outcomes, strict=True))
        made = {run.id: _row(run, standing) for run, standing in zip(unknown, standings, strict=True)}
        self._ended |= {run_id: row for run_id, row in made.items() if row.verdict is not None}
        return [made.get(run.id) or self._ended[run.id] for run in runs]


def list_page(words: Words, regressions: Regressions) -> str:
    """The page with every stored regression."""
    shown = _all(regressions, RunRows(regressions))
    return render(words, "regressions.html", live="/live/regressions", regressions=shown)


def list_frame(words: Words, regressions: Regressions, rows: RunRows) -> Frame:
    """Every stored regression at this moment."""
    return fragments({"regressions": render(words, "parts/regressions.html", regressions=_all(regressions, rows))})


def regression_page(words: Words, regressions: Regressions, name: str, cursor: str | None) -> str:
    """The page of one regression, with the runs that follow the run `cursor`; of a name that is not stored but was run once,
    its runs alone."""
    shown = _regression(regressions, name, cursor, RunRows(regressions))
    live = f"/regressions/{name}/live" + (f"?cursor={cursor}" if cursor else "")
    return render(words, "regression.html", live=live, **shown)


def regression_frame(words: Words, regressions: Regressions, name: str, cursor: str | None, rows: RunRows) -> Frame:
    """One regression with its history at this moment."""
    return fragments({"regression": render(words, "parts/regression.html", **_regression(regressions, name, cursor, rows))})


def run_page(words: Words, regressions: Regressions, name: str, run_id: str) -> str:
    """The page of one run."""
    shown = _run(regressions, name, run_id)
    live = None if shown["row"].verdict else f"/regressions/{name}/runs/{run_id}/live"
    return render(words, "run.html", live=live, **shown)


def run_frame(words: Words, regressions: Regressions, name: str, run_id: str) -> Frame:
    """The run at this moment."""
    shown = _run(regressions, name, run_id)
    parts = {"run": render(words, "parts/run.html", **shown)}
    return fragments(parts, last=shown["row"].verdict is not None)


def draw_path(path: Sequence[tuple[int, float]], lower: float, upper: float) -> PathDrawing | None:
    """The drawing of a path of (blocks, LLR) from (0, 0) on; None before the first look."""
    if not path:
        return None
    shown = [*path[:: max(1, -(-len(path) // POINTS_SHOWN))], path[-1]]
    ratios = [ratio for _, ratio in path]
    low, high = min(lower, *ratios), max(upper, *ratios)
    scale = (PATH_HEIGHT - 2 * PATH_EDGE) / (high - low)

    def height(ratio: float) -> float:
        return round(PATH_EDGE + (high - ratio) * scale, 1)

    places = [(round(PATH_WIDTH * blocks / path[-1][0], 1), height(ratio)) for blocks, ratio in [(0, 0.0), *shown]]
    points = " ".join(f"{across},{down}" for across, down in places)
    return PathDrawing(points, height(upper), height(lower), height(0.0), places[-1])


def _all(regressions: Regressions, rows: RunRows) -> list[RegressionRow]:
    shown = []
    for spec in regressions.store.all():
        due = regressions.store.due_at(spec.name)
        newest = rows(regressions.store.runs(spec.name, limit=1))
        shown.append(RegressionRow(spec, due.timestamp() if due else None, newest[0] if newest else None))
    return shown


def _regression(regressions: Regressions, name: str, cursor: str | None, rows: RunRows) -> dict[str, Any]:
    found = regressions.store.runs(name, RUNS_SHOWN + 1, cursor)
    runs = found[:RUNS_SHOWN]
    try:
        spec = regressions.store.load(name)
    except NotFound:
        if not runs and cursor is None:
            raise
        spec = None
    due, tests = regressions.store.due_at(name), [_test(test) for test in spec.tests] if spec else []
    return {
        "name": name, "spec": spec, "tests": tests, "due": due.timestamp() if due else None,
        "pins": regressions.store.pins(name), "runs": rows(runs),
        "cursor": cursor, "older": runs[-1].id if len(found) > len(runs) else None,
    }  # fmt: skip


def _standing(regressions: Regressions, run: Run, outcome: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """A run's outcome; while it has none, its tests as they stand."""
    if outcome is not None:
        return outcome
    return {"verdict": None, "finished_at": None, "tests": [report.to_json() for report in regressions.reports(run)]}


def _row(run: Run, standing: Mapping[str, Any]) -> RunRow:
    tests = standing["tests"]
    return RunRow(
        run.id, run.created_at, standing["finished_at"], run.late, standing["verdict"],
        tuple((test["name"], test["verdict"]) for test in tests), sum(test["matches_saved"] for test in tests),
    )  # fmt: skip


def _run(regressions: Regressions, name: str, run_id: str) -> dict[str, Any]:
    run = regressions.store.run(run_id)
    if run.regression != name:
        raise NotFound(f"{name} has no run {run_id}")
    standing = _standing(regressions, run, regressions.store.outcome(run.id))
    shown = [
        {**_test(spec), **report, "drawing": draw_path(report["path"], report["lower"], report["upper"])}
        for spec, report in zip(run.spec.tests, standing["tests"], strict=True)
    ]
    return {"run": run, "row": _row(run, standing), "tests": shown}


def _test(test: TestSpec) -> Mapping[str, Any]:
    """A test with its policies and ruleset in short."""
    labels = {name: short_name(getattr(test, name)) for name in ("candidate", "baseline", "ruleset")}
    return test.to_json() | labels
