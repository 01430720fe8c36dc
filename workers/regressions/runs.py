"""The life of a run: begun, its tests played as jobs, its verdict given once. Any process may move it on, at any time."""

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from workers.engine.play import ENGINE_VERSION
from workers.engine.policies import PolicyValue, resolve_policy
from workers.errors import Conflict, InvalidInput, LedgerUnavailable, NotFound
from workers.jobs.ledger import new_job_id
from workers.jobs.records import JobRecord
from workers.jobs.sequential import CANDIDATE, SequentialTest, TestState, Verdict
from workers.jobs.spec import JobSpec
from workers.regressions.schedule import latest_time, next_time
from workers.regressions.spec import RegressionSpec, TestSpec, check_regression, pinned
from workers.regressions.store import RegressionStore, Run
from workers.regressions.webhook import announcement
from workers.stats.estimate import Moments, share_estimate
from workers.stats.stopped import stopped_estimate
from workers.stats.tally import Tally

WORST_FIRST: Final[tuple[Verdict, ...]] = ("regressed", "failed", "stopped", "inconclusive", "passed")
"""A run's verdict is the worst of its tests'."""
LATE_SECONDS: Final = 60.0
"""A scheduled run that begins later than this is marked as late, and so is one before which others were missed."""
DRAWN_SEEDS: Final = 2**53
ADVANCE_SECONDS: Final = 0.5
"""How often schedulers and APIs look whether a run has its verdict."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TestReport:
    """Where a test stands, or how it ended: `verdict` is None while it is under way.

    `scenario` and `tally` are the played scenario and its integers, as their `to_json` writes them, so that a run keeps them
    also where its jobs are deleted; None where nothing was submitted.
    """

    __test__ = False  # pytest: no test class

    name: str
    job: str
    verdict: Verdict | None
    llr: float
    lower: float
    upper: float
    looks: int
    blocks: int
    matches: int
    matches_saved: int
    overrun_blocks: int
    share: float | None
    share_ci95: tuple[float, float] | None
    path: list[tuple[int, float]]
    error: str | None
    engine_version: str
    scenario: dict[str, Any] | None = None
    tally: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """As it is stored and shown."""
        return {name: getattr(self, name) for name in self.__slots__}


class Regressions:
    """All verbs on regressions; raises `NotFound`, `Conflict`, `InvalidInput`, `LedgerUnavailable`."""

    def __init__(self, store: RegressionStore) -> None:
        self.store = store
        self.ledger = store.ledger

    def put(self, spec: RegressionSpec) -> bool:
        """Stores a regression, new or changed; True where it is new. A changed one keeps no pins of promoted baselines."""
        check_regression(spec)
        try:
            is_new = self.store.load(spec.name) is None
        except NotFound:
            is_new = True
        due = next_time(spec.schedule, spec.timezone, self.store.now()) if spec.schedule else None
        self.store.save(spec, due)
        return is_new

    def delete(self, name: str) -> None:
        """Removes a regression and its history. Raises `Conflict` while a run is under way."""
        self.store.load(name)
        if any(self.store.outcome(run.id) is None for run in self.store.runs(name, limit=-1)):
            raise Conflict(f"a run of {name} is under way; cancel its jobs or wait for its verdict")
        self.store.forget(name)

    def start(
        self,
        name: str,
        *,
        candidate: PolicyValue | None = None,
        labels: Mapping[str, str] | None = None,
        owner: str = "anonymous",
    ) -> Run:
        """Begins a run now, with another candidate where one is given."""
        spec, pins = self.store.load(name), self.store.pins(name)
        if candidate is not None:
            spec = spec.with_candidate(candidate)
            check_regression(spec)
        return self._begin(new_job_id(), spec, pins, labels or {}, owner=owner)

    def start_once(self, spec: RegressionSpec, *, labels: Mapping[str, str] | None = None, owner: str = "anonymous") -> Run:
        """Begins a run of a spec that is not stored as a regression."""
        check_regression(spec)
        return self._begin(new_job_id(), spec, {}, labels or {}, owner=owner)

    def start_due(self) -> list[Run]:
        """Begins every run that is due: once each, however many schedulers ask, and once for all that were missed."""
        now, begun = self.store.now(), list[Run]()
        for name in self.store.due(now):
            try:
                run = self._start_due(name, now)
            except LedgerUnavailable:
                raise
            except Exception:
                # The others do not wait for one that is broken.
                log.exception("regression %s is due and cannot be begun", name)
                continue
            if run is not None:
                begun.append(run)
        return begun

    def _start_due(self, name: str, now: datetime) -> Run | None:
        """Begins the run of a regression that is due; None where it is gone or has no schedule any more."""
        try:
            spec, pins = self.store.load(name), self.store.pins(name)
        except NotFound:
            return None
        due = self.store.due_at(name)
        if spec.schedule is None or due is None:
            return None
        moment = latest_time(spec.schedule, spec.timezone, due, now)
        # Late too where moments before it were missed: this one run stands for them all.
        late = moment != due or (now - moment).total_seconds() > LATE_SECONDS
        run = self._begin(f"{name}-{moment:%Y%m%dT%H%M%SZ}", spec, pins, {}, scheduled_at=moment.timestamp(), late=late)
        self.store.plan(name, next_time(spec.schedule, spec.timezone, now))
        return run

    def advance(self) -> None:
        """Moves every run that has no verdict yet on."""
        for run_id in self.store.live():
            try:
                self.advance_run(self.store.run(run_id))
            except LedgerUnavailable:
                raise
            except Exception:
                # The others do not wait for one that is broken.
                log.exception("run %s cannot be moved on", run_id)

    def advance_run(self, run: Run) -> None:
        """Submits what is not submitted; once every test has ended, gives the verdict and tells the webhook."""
        reports = self.reports(run, submit=True)
        verdicts = [report.verdict for report in reports]
        if None in verdicts:
            return
        verdict = next(verdict for verdict in WORST_FIRST if verdict in verdicts)
        outcome = {
            "verdict": verdict, "finished_at": self.store.now().timestamp(), "tests": [report.to_json() for report in reports],
        }  # fmt: skip
        told = announcement(run, {"event": "verdict", "verdict": verdict}) if verdict != "passed" else b""
        self.store.conclude(run.id, outcome, told)

    def reports(self, run: Run, *, submit: bool = False) -> list[TestReport]:
        """How each test of a run stands. With `submit`, jobs that are missing are submitted first."""
        return [self._report(run, number, test, submit=submit) for number, test in enumerate(run.spec.tests)]

    def promote(self, name: str, run_id: str | None = None) -> RegressionSpec:
        """The candidate (of a run, where one is named) becomes the baseline of every test: pinned to what it is today."""
        spec = self.store.load(name)
        source = spec
        if run_id is not None:
            run = self.store.run(run_id)
            if run.regression != name:
                raise NotFound(f"{name} has no run {run_id}")
            source = run.spec
            if [test.name for test in source.tests] != [test.name for test in spec.tests]:
                raise Conflict(f"run {run_id} had other tests than {name} has now")
        pins: dict[str, str] = {}
        tests: list[TestSpec] = []
        for test, chosen in zip(spec.tests, source.tests, strict=True):
            policy = resolve_policy(chosen.candidate, test.players, "candidate")
            pins[test.name] = policy.fingerprint
            tests.append(TestSpec(**{**test.to_json(), "baseline": pinned(policy)}))
        promoted = RegressionSpec(**{**{name: getattr(spec, name) for name in spec.__slots__}, "tests": tuple(tests)})
        self.store.save(promoted, self.store.due_at(name), pins)
        log.info("regression %s: promoted %s", name, ", ".join(f"{test}: {fingerprint}" for test, fingerprint in pins.items()))
        return promoted

    def _begin(
        self, run_id: str, spec: RegressionSpec, pins: Mapping[str, str], labels: Mapping[str, str], *,
        scheduled_at: float | None = None, late: bool = False, owner: str = "anonymous",
    ) -> Run:  # fmt: skip
        seed = spec.seed if spec.seed is not None else seed_of(run_id)
        run = Run(run_id, spec.name, spec, seed, labels, self.store.now().timestamp(), scheduled_at, late, pins, owner)
        self.store.begin(run, announcement(run, {"event": "missed"}) if late else b"")
        run = self.store.run(run_id)
        if self.store.outcome(run.id) is None:
            self.advance_run(run)
        return run

    def _report(self, run: Run, number: int, test: TestSpec, *, submit: bool) -> TestReport:
        job_id = run.job_id(number)
        try:
            _check_baseline(run, test)
            planned = run.spec.sequential(number)
        except InvalidInput as refusal:
            return _failed(run.spec, test, job_id, "; ".join(f"{error.path}: {error.message}" for error in refusal.errors))
        try:
            job = self.ledger.job(job_id)
        except NotFound:
            if submit:
                self._submit(run, number, test, planned)
            return _standing(test, job_id, planned, TestState(), Tally.empty(test.players), None)
        _, state = self.ledger.test(job_id)
        (tally,), (scenario,) = self.ledger.tallies(job_id), self.ledger.spec(job_id).scenarios
        verdict: Verdict | None = None
        if job.state == "done":
            verdict = "inconclusive" if state.decision == "undecided" else state.decision
        elif job.state in ("failed", "cancelled"):
            verdict = "failed" if job.state == "failed" else "stopped"
        standing = _standing(test, job_id, planned, state, tally, verdict, job)
        return replace(standing, scenario=scenario.to_json(), tally=tally.to_json())

    def _submit(self, run: Run, number: int, test: TestSpec, planned: SequentialTest) -> None:
        labels = {**run.labels, "regression": run.regression, "run": run.id, "test": test.name}
        spec = JobSpec((test.scenario(),), run.seed, f"{run.regression}: {test.name}", labels=labels)
        self.ledger.submit(spec, job_id=run.job_id(number), request_digest=run.id, owner=run.owner, test=planned, keep=True)


def seed_of(run_id: str) -> int:
    """The seed of a run that was given none, below 2^53: a function of its id, so that a second begin is the same run."""
    return int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:8]) % DRAWN_SEEDS


def _check_baseline(run: Run, test: TestSpec) -> None:
    wanted = run.pins.get(test.name)
    baseline = resolve_policy(test.baseline, test.players, "baseline")
    if wanted is not None and baseline.fingerprint != wanted:
        raise InvalidInput.at(
            "baseline", f"{baseline.name} version {baseline.version} is no longer what was promoted ({wanted})"
        )


def _standing(
    test: TestSpec, job_id: str, planned: SequentialTest, state: TestState, tally: Tally, verdict: Verdict | None,
    job: JobRecord | None = None,
) -> TestReport:  # fmt: skip
    bounds = planned.bounds
    scores = tally.blocks[CANDIDATE].scores
    moments = Moments.of_histogram(scores)
    share, interval = None, None
    if moments.blocks:
        mean = moments.mean(planned.units)
        share, interval = mean, share_estimate(scores, planned.units).interval
        if verdict is not None:
            # Once it has stopped, the plain share overstates the difference.
            spread = (moments.blocks * moments.squares - moments.total**2) / (moments.blocks * planned.units) ** 2
            stopped = stopped_estimate(
                blocks=moments.blocks, mean=mean, variance=spread, s0=planned.s0, s1=planned.s1, bounds=bounds,
                decision=state.decision,
            )  # fmt: skip
            share, interval = stopped.share, stopped.interval
    saved = job.matches - tally.matches if job and verdict in ("passed", "regressed") else 0
    return TestReport(
        test.name, job_id, verdict, state.ratio, bounds.lower, bounds.upper, state.looks, moments.blocks, tally.matches, saved,
        state.overrun_blocks, share, interval, state.path, job.error if job else None,
        job.engine_version if job else ENGINE_VERSION,
    )  # fmt: skip


def _failed(spec: RegressionSpec, test: TestSpec, job_id: str, error: str) -> TestReport:
    bounds = spec.bounds
    return TestReport(
        test.name, job_id, "failed", 0.0, bounds.lower, bounds.upper, 0, 0, 0, 0, 0, None, None, [], error, ENGINE_VERSION
    )
