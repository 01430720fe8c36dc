"""Regressions from spec to verdict, on a real server, with chunks played here in a shuffled order."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.workers.jobs.bench import Bench
from workers.engine.policies import PolicyValue
from workers.errors import Conflict, InvalidInput, NotFound
from workers.jobs.ledger import Ledger
from workers.jobs.play_range import Table
from workers.jobs.records import Permit
from workers.jobs.store import connect
from workers.regressions import runs as runs_module
from workers.regressions.runs import Regressions, TestReport
from workers.regressions.schedule import latest_time
from workers.regressions.spec import RegressionSpec, TestSpec
from workers.regressions.store import LIVE, REGRESSIONS, RegressionStore, Run
from workers.regressions.webhook import WAITING
from workers.settings import Settings


@pytest.fixture
def bench(redis_url: str) -> Bench:
    """A bench with one worker and chunks of whole looks."""
    sent: list[Permit] = []
    settings = Settings(chunk_blocks=256, audit_every=0, lease_seconds=60)
    bench = Bench(Ledger(connect(redis_url), send=sent.append, settings=settings), sent)
    bench.open()
    return bench


@pytest.fixture
def regressions(bench: Bench) -> Regressions:
    return Regressions(RegressionStore(bench.ledger))


def versus(candidate: PolicyValue, baseline: PolicyValue, **more: Any) -> TestSpec:
    name = more.pop("name", "two seats")
    return TestSpec(name, 2, candidate, baseline, **{"h0": -0.02, "h1": 0.0, "max_matches": 40_000, **more})


def regression(*tests: TestSpec, **more: Any) -> RegressionSpec:
    return RegressionSpec(more.pop("name", "nightly"), tests, **{"seed": 77, **more})


def play_out(bench: Bench, regressions: Regressions, run: Run, seed: int = 0) -> Sequence[TestReport]:
    """Plays whatever is to be had, in a shuffled order, until the run has its verdict."""
    order, held = random.Random(seed), []
    while regressions.store.outcome(run.id) is None:
        if not bench.held and not bench.sent:
            bench.ledger.sweep()
        while len(held) < 4 and (bench.held or bench.sent) and (lease := bench.claim().lease) is not None:
            held.append(lease)
        if held:
            lease = held.pop(order.randrange(len(held)))
            played = Table(bench.ledger.spec(lease.job_id)).play(lease.first, lease.last)
            assert played is not None
            bench.ledger.record(lease, played, "one")
        bench.ledger.fold()
        regressions.advance()
    assert not any(bench.ledger.job(lease.job_id).state == "running" for lease in held)
    return regressions.reports(run)


def verdict_of(regressions: Regressions, run: Run) -> str:
    outcome = regressions.store.outcome(run.id)
    assert outcome is not None
    return str(outcome["verdict"])


def test_a_weaker_candidate_is_caught_and_an_equal_one_passes(bench: Bench, regressions: Regressions) -> None:
    regressions.put(regression(versus("lightest", "heaviest"), versus("heaviest", "heaviest", name="equal")))
    run = regressions.start("nightly", labels={"branch": "main"})
    weaker, equal = play_out(bench, regressions, run)
    assert verdict_of(regressions, run) == "regressed"
    assert (weaker.verdict, equal.verdict) == ("regressed", "passed")
    assert weaker.llr <= weaker.lower
    assert equal.llr >= equal.upper
    assert weaker.looks * 256 == weaker.blocks == weaker.matches // 2
    assert weaker.matches_saved > 0
    assert weaker.matches + weaker.matches_saved == 78 * 256 * 2
    assert weaker.share is not None
    assert weaker.share < 0.5
    assert equal.share == 0.5
    job = bench.ledger.job(weaker.job)
    assert job.labels == {"branch": "main", "regression": "nightly", "run": run.id, "test": "two seats"}


def test_a_job_restarted_after_the_verdict_stops_where_it_stopped_and_changes_no_verdict(
    bench: Bench, regressions: Regressions
) -> None:
    regressions.put(regression(versus("lightest", "heaviest")))
    run = regressions.start("nightly")
    (report,) = play_out(bench, regressions, run)
    known, counted = regressions.store.outcome(run.id), bench.ledger.tallies(report.job)
    bench.ledger.restart(report.job)
    while not bench.ledger.job(report.job).is_finished:
        bench.ledger.sweep()
        while (bench.held or bench.sent) and (lease := bench.claim().lease) is not None:
            played = Table(bench.ledger.spec(lease.job_id)).play(lease.first, lease.last)
            assert played is not None
            bench.ledger.record(lease, played, "one")
            bench.ledger.fold()
        regressions.advance()
    assert bench.ledger.tallies(report.job) == counted
    assert bench.ledger.job(report.job).matches_done == report.matches
    assert regressions.store.outcome(run.id) == known


def test_each_of_two_tests_gets_half_of_beta() -> None:
    spec = regression(versus("heaviest", "heaviest"), versus("double", "heaviest", name="b"), alpha=0.04, beta=0.1)
    assert (spec.sequential(0).alpha, spec.sequential(0).beta) == (0.04, 0.05)
    assert spec.sequential(1).step == 256


@pytest.mark.parametrize("seed", [1, 2])
def test_the_verdict_is_the_same_however_chunks_come_in(bench: Bench, regressions: Regressions, seed: int) -> None:
    regressions.put(regression(versus("double", "heaviest", h0=0.0, h1=0.03)))
    reports = [play_out(bench, regressions, regressions.start("nightly"), seed * turn)[0] for turn in (1, 2)]
    assert reports[0].path == reports[1].path
    assert reports[0].verdict == reports[1].verdict == "passed"
    assert bench.ledger.tallies(reports[0].job) == bench.ledger.tallies(reports[1].job)


def test_a_run_without_a_seed_has_its_own(regressions: Regressions) -> None:
    regressions.put(regression(versus("heaviest", "random"), seed=None))
    runs = [regressions.start("nightly") for _ in range(2)]
    assert runs[0].seed != runs[1].seed
    assert all(0 <= run.seed < 2**53 for run in runs)
    # A function of the id alone: two schedulers that begin a run at once begin the same one.
    assert [runs_module.seed_of(run.id) for run in runs] == [run.seed for run in runs]
    assert [run.id for run in regressions.store.runs("nightly")] == [runs[1].id, runs[0].id]


def test_a_candidate_for_one_run_changes_nothing_else(bench: Bench, regressions: Regressions) -> None:
    regressions.put(regression(versus("heaviest", "heaviest")))
    run = regressions.start("nightly", candidate="lightest")
    play_out(bench, regressions, run)
    assert verdict_of(regressions, run) == "regressed"
    assert regressions.store.load("nightly").tests[0].candidate == "heaviest"


def test_a_cancelled_job_stops_its_test(bench: Bench, regressions: Regressions) -> None:
    regressions.put(regression(versus("heaviest", "heaviest")))
    run = regressions.start("nightly")
    bench.ledger.cancel(run.job_id(0))
    regressions.advance()
    assert verdict_of(regressions, run) == "stopped"
    # Nothing was saved by deciding early: nothing was decided.
    (report,) = regressions.reports(run)
    assert (report.verdict, report.matches_saved, report.share) == ("stopped", 0, None)


def test_a_baseline_that_is_gone_fails_the_run_by_name(regressions: Regressions) -> None:
    regressions.put(regression(versus("heaviest", {"name": "heaviest", "version": "0"})))
    run = regressions.start("nightly")
    outcome = regressions.store.outcome(run.id)
    assert outcome is not None
    assert outcome["verdict"] == "failed"
    assert "baseline.version: policy heaviest has no version '0'" in outcome["tests"][0]["error"]


def test_promote_pins_the_candidate(bench: Bench, regressions: Regressions) -> None:
    data = {"prefer": ["double", "lightest"]}
    regressions.put(regression(versus("double", "heaviest"), versus(data, "heaviest", name="data")))
    promoted = regressions.promote("nightly")
    assert [test.baseline for test in promoted.tests] == [{"name": "double", "version": "1"}, data]
    assert regressions.store.load("nightly") == promoted
    run = regressions.start("nightly")
    assert [report.verdict for report in play_out(bench, regressions, run)] == ["passed", "passed"]
    pins = regressions.store.pins("nightly") | {"two seats": "another fingerprint"}
    regressions.store.save(promoted, None, pins)
    broken = regressions.start("nightly")
    play_out(bench, regressions, broken)
    outcome = regressions.store.outcome(broken.id)
    assert outcome is not None
    assert outcome["verdict"] == "failed"
    assert "no longer what was promoted" in outcome["tests"][0]["error"]
    bounds = [(test["lower"], test["upper"]) for test in outcome["tests"]]
    assert bounds[0] == bounds[1] != (0.0, 0.0)


# Schedules


def test_two_schedulers_start_a_due_run_once(bench: Bench, regressions: Regressions) -> None:
    regressions.put(regression(versus("heaviest", "heaviest"), schedule="* * * * *"))
    other = Regressions(RegressionStore(bench.ledger))
    assert regressions.start_due() == []
    due = regressions.store.due_at("nightly")
    assert due is not None
    bench.ledger.store.read(("ZADD", f"{REGRESSIONS}:due", (due - timedelta(minutes=1)).timestamp(), "nightly"))
    begun = [*regressions.start_due(), *other.start_due()]
    assert len(begun) == 1
    # One that stalled between reading what is due and planning the next: the same instant is the same run.
    bench.ledger.store.read(("ZADD", f"{REGRESSIONS}:due", (due - timedelta(minutes=1)).timestamp(), "nightly"))
    other.start_due()
    assert len(regressions.store.runs("nightly")) == 1
    assert regressions.store.due_at("nightly") == due
    # One that stalled before it planned does not set back what another has planned since.
    regressions.store.plan("nightly", due - timedelta(minutes=1))
    assert regressions.store.due_at("nightly") == due


def test_missed_times_run_once_late_and_marked(bench: Bench, regressions: Regressions, monkeypatch: pytest.MonkeyPatch) -> None:
    monday = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)
    monkeypatch.setattr(regressions.store, "now", lambda: monday)
    regressions.put(regression(versus("heaviest", "heaviest"), schedule="0 2 * * *", webhook="http://hooks.example/x"))
    assert regressions.store.due_at("nightly") == monday + timedelta(hours=1)
    # Nobody ran for three nights; the clock is the test's, everything else is real.
    monkeypatch.setattr(regressions.store, "now", lambda: monday + timedelta(days=3, hours=4))
    (run,) = regressions.start_due()
    assert run.late
    assert run.id == "nightly-20261203T020000Z"
    assert regressions.start_due() == []
    assert regressions.store.due_at("nightly") == monday + timedelta(days=4, hours=1)
    with bench.ledger.store.reading() as redis:
        waiting: Any = redis.zrange("{blockyard}:webhooks", 0, -1)
    assert [b'"missed"' in announcement for announcement in waiting] == [True]


def test_a_run_that_comes_in_time_after_others_were_missed_is_late(
    regressions: Regressions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monday = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)
    monkeypatch.setattr(regressions.store, "now", lambda: monday)
    regressions.put(regression(versus("heaviest", "heaviest"), schedule="0 2 * * *"))
    for night, late in ((0, False), (2, True), (3, False)):
        moment = monday + timedelta(days=night, hours=1, seconds=5)
        monkeypatch.setattr(regressions.store, "now", lambda moment=moment: moment)
        (run,) = regressions.start_due()
        assert run.late is late


def test_a_schedule_that_is_broken_holds_up_no_other(regressions: Regressions, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("broken", "nightly"):
        regressions.put(regression(versus("heaviest", "heaviest"), name=name, schedule="* * * * *"))
    stored = regressions.store.load("broken")
    regressions.store.save(replace(stored, timezone="Mars/Base"), regressions.store.due_at("broken"))
    later = regressions.store.now() + timedelta(minutes=2)
    monkeypatch.setattr(regressions.store, "now", lambda: later)
    assert [run.regression for run in regressions.start_due()] == ["nightly"]


@pytest.mark.parametrize(
    ("schedule", "timezone", "due", "now", "latest"),
    [
        ("*/5 * * * *", "UTC", "2026-03-01T00:00", "2026-03-01T00:14", "2026-03-01T00:10"),
        ("0 2 * * *", "Europe/Istanbul", "2026-03-01T23:00", "2026-03-04T22:59", "2026-03-03T23:00"),
        ("* * * * *", "UTC", "2026-01-01T00:00", "2026-03-01T00:00", "2026-03-01T00:00"),
        # The night that has no half past two: the run comes at three, New York's summer time.
        ("30 2 * * *", "America/New_York", "2026-03-07T07:30", "2026-03-08T23:00", "2026-03-08T07:00"),
    ],
)
def test_of_missed_times_the_last_is_taken(schedule: str, timezone: str, due: str, now: str, latest: str) -> None:
    moments = [datetime.fromisoformat(f"{text}+00:00") for text in (due, now, latest)]
    assert latest_time(schedule, timezone, *moments[:2]) == moments[2]


# Partners


def test_with_partners_a_candidate_takes_both_seats_of_a_side_and_a_block_is_two_matches(
    bench: Bench, regressions: Regressions
) -> None:
    partners = {"ruleset": {"preset": "traditional", "partners": True}, "max_matches": 40_000}
    tests = [
        TestSpec(name, 4, candidate, "heaviest", -0.02, 0.0, **partners)
        for name, candidate in (("weaker", "lightest"), ("equal", "heaviest"))
    ]
    scenario = tests[0].scenario()
    assert scenario.policies == ("lightest", "heaviest", "lightest", "heaviest")
    assert (scenario.rotations, tests[1].scenario().rotations) == (2, 2)
    planned = tests[0].sequential(0.05, 0.05)
    assert (planned.s0, planned.s1) == (0.48, 0.5)
    regressions.put(regression(*tests))
    run = regressions.start("nightly")
    weaker, equal = play_out(bench, regressions, run)
    assert (weaker.verdict, equal.verdict) == ("regressed", "passed")
    assert (weaker.matches, equal.matches) == (2 * weaker.blocks, 2 * equal.blocks)
    assert equal.share == 0.5


# Once


def waiting_webhooks(bench: Bench) -> list[bytes]:
    with bench.ledger.store.reading() as redis:
        waiting: Any = redis.zrange(WAITING, 0, -1)
    return list(waiting)


def test_a_verdict_and_its_announcement_are_given_once_and_together(bench: Bench, regressions: Regressions) -> None:
    regressions.put(regression(versus("lightest", "heaviest"), webhook="http://hooks.example/x"))
    run = regressions.start("nightly")
    play_out(bench, regressions, run)
    first = regressions.store.outcome(run.id)
    (told,) = waiting_webhooks(bench)
    assert (b'"verdict":"regressed"' in told, run.id.encode() in told) == (True, True)
    # Somebody who read the run while it was still live comes late, after the announcement was taken.
    bench.ledger.store.read(("ZREM", WAITING, told))
    regressions.advance_run(run)
    regressions.store.conclude(run.id, {"verdict": "passed"}, b"again")
    assert regressions.store.outcome(run.id) == first
    assert waiting_webhooks(bench) == []
    assert regressions.store.live() == []


def test_a_run_begun_twice_is_one_and_a_forgotten_one_gets_no_outcome(bench: Bench, regressions: Regressions) -> None:
    regressions.put(regression(versus("heaviest", "heaviest")))
    run = regressions.start("nightly")
    regressions.store.begin(replace(run, labels={"other": "1"}), b"again")
    assert (regressions.store.run(run.id), waiting_webhooks(bench)) == (run, [])
    play_out(bench, regressions, run)
    regressions.delete("nightly")
    regressions.store.conclude(run.id, {"verdict": "passed"}, b"late")
    assert (regressions.store.outcome(run.id), waiting_webhooks(bench)) == (None, [])


def test_a_broken_run_does_not_hold_up_the_others(bench: Bench, regressions: Regressions) -> None:
    regressions.put(regression(versus("heaviest", "heaviest")))
    run = regressions.start("nightly")
    bench.ledger.store.read(("SADD", LIVE, "0-broken"))
    play_out(bench, regressions, run)
    assert verdict_of(regressions, run) == "passed"


# Refusals


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        (regression(versus("heaviest", "heaviest"), name="../x"), "name"),
        (regression(), "tests"),
        (regression(versus("heaviest", "heaviest"), alpha=0.0), "alpha"),
        (regression(versus("heaviest", "heaviest"), beta=0.7), "beta"),
        (regression(versus("heaviest", "heaviest"), schedule="every night"), "schedule"),
        (regression(versus("heaviest", "heaviest"), schedule="99 2 * * *"), "schedule"),
        (regression(versus("heaviest", "heaviest"), schedule="* * * * * *"), "schedule"),
        (regression(versus("heaviest", "heaviest"), schedule="0 0 2 * * *"), "schedule"),
        (regression(versus("heaviest", "heaviest"), schedule="0 2 * *"), "schedule"),
        (regression(versus("heaviest", "heaviest"), schedule="0 2 31 2,4 *"), "schedule"),
        (regression(versus("heaviest", "heaviest"), timezone="Mars/Base"), "timezone"),
        (regression(versus("heaviest", "heaviest"), versus("double", "heaviest")), "tests[1].name"),
        (regression(versus("nobody", "heaviest")), "tests[0].candidate"),
        (regression(versus("heaviest", "nobody")), "tests[0].baseline"),
        (regression(versus("heaviest", "heaviest", h0=0.01, h1=0.0)), "tests[0].h0"),
        (regression(versus("heaviest", "heaviest", h0=-0.5)), "tests[0].h0"),
        (regression(versus("heaviest", "heaviest", max_matches=0)), "tests[0].max_matches"),
        (regression(versus("heaviest", "heaviest", max_matches=511)), "tests[0].max_matches"),
        (regression(versus("heaviest", "heaviest", ruleset="chess")), "tests[0].ruleset.preset"),
    ],
)
def test_bad_regressions_are_refused_by_field(regressions: Regressions, spec: RegressionSpec, path: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        regressions.put(spec)
    assert any(error.path.startswith(path) for error in refusal.value.errors)
    assert regressions.store.all() == []


def test_a_regression_under_way_is_not_deleted(bench: Bench, regressions: Regressions) -> None:
    regressions.put(regression(versus("heaviest", "heaviest")))
    run = regressions.start("nightly")
    with pytest.raises(Conflict):
        regressions.delete("nightly")
    play_out(bench, regressions, run)
    regressions.delete("nightly")
    with pytest.raises(NotFound):
        regressions.store.load("nightly")
    with pytest.raises(NotFound):
        regressions.start("nightly")


def test_the_worst_verdict_comes_first() -> None:
    assert runs_module.WORST_FIRST == ("regressed", "failed", "stopped", "inconclusive", "passed")
