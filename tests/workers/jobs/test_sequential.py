"""Sequential tests in the ledger: the verdict and the sums depend on the blocks alone, never on how they came in."""

import random
from collections.abc import Sequence

import pytest

from tests.workers.jobs.bench import Bench
from workers.engine.play import play_blocks
from workers.jobs.play_range import Table
from workers.jobs.records import Lease
from workers.jobs.sequential import LOOKS_AHEAD, SequentialTest
from workers.jobs.spec import JobSpec, make_scenario
from workers.stats.sprt import log_likelihood_ratio
from workers.stats.tally import Tally, tally_rows

STEP = 32
LOOKS = 12


def spec_of(policies: Sequence[str], looks: int = LOOKS) -> JobSpec:
    return JobSpec((make_scenario(policies, 2 * STEP * looks),), seed=5)


def hypotheses(s0: float = 0.45, s1: float = 0.5) -> SequentialTest:
    return SequentialTest(STEP, 2, s0, s1, alpha=0.05, beta=0.05)


def play_in_order(spec: JobSpec, test: SequentialTest) -> tuple[Tally, list[tuple[int, float]], str]:
    """The test literally: look after look from the first block on, with nothing in between."""
    lineup = spec.scenarios[0].lineup(spec.seed)
    sums, path, decision = Tally.empty(2), list[tuple[int, float]](), "undecided"
    for look in range(spec.scenarios[0].blocks // test.step):
        sums.merge(tally_rows(lineup, play_blocks(lineup, look * test.step, test.step), look * test.step))
        ratio = log_likelihood_ratio(sums.blocks[0].scores, test.units, test.s0, test.s1)
        path.append(((look + 1) * test.step, ratio))
        decision = test.bounds.decide(ratio)
        if decision != "undecided":
            break
    return sums, path, decision


def claimed(bench: Bench) -> Lease | None:
    """A chunk, if there is one for us now: a parked permit is sent again by a sweep."""
    if not bench.held and not bench.sent:
        bench.ledger.sweep()
    return bench.claim().lease if bench.held or bench.sent else None


def work(bench: Bench, spec: JobSpec, job_id: str, order: random.Random) -> list[Lease]:
    """Claims some chunks, records them in a random order, folds now and then, until nothing is to be had."""
    table, held, seen = Table(spec), list[Lease](), list[Lease]()
    while True:
        lease = claimed(bench) if len(held) < order.randint(1, 9) else None
        if lease is not None:
            held.append(lease)
            seen.append(lease)
        elif held:
            lease = held.pop(order.randrange(len(held)))
            played = table.play(lease.first, lease.last)
            assert played is not None
            bench.ledger.record(lease, played, "one")
            if order.random() < 0.3:
                bench.ledger.fold()
        else:
            bench.ledger.fold()
            if bench.ledger.job(job_id).is_finished:
                return seen


@pytest.mark.parametrize(
    ("policies", "decision"), [(["lightest", "heaviest"], "regressed"), (["heaviest", "lightest"], "passed")]
)
def test_any_order_gives_the_verdict_of_playing_in_order(bench: Bench, policies: list[str], decision: str) -> None:
    spec, test = spec_of(policies), hypotheses()
    sums, path, expected = play_in_order(spec, test)
    assert expected == decision
    assert len(path) < LOOKS
    for seed in range(4):
        record, _ = bench.ledger.submit(spec, test=test)
        leases = work(bench, spec, record.id, random.Random(seed))
        assert all(lease.first // STEP == (lease.last - 1) // STEP for lease in leases)
        _, state = bench.ledger.test(record.id)
        assert (state.path, state.decision, state.looks) == (path, decision, len(path))
        assert bench.ledger.tallies(record.id) == [sums]
        ended = bench.ledger.job(record.id)
        assert (ended.state, ended.matches_done) == ("done", sums.matches)


def test_identical_policies_pass_on_blocks_without_variance(bench: Bench) -> None:
    scenario = make_scenario(["heaviest", "heaviest"], 2 * STEP * LOOKS, every_seat=True)
    assert scenario.rotations == 2
    spec = JobSpec((scenario,), seed=5)
    record, _ = bench.ledger.submit(spec, test=hypotheses())
    work(bench, spec, record.id, random.Random(1))
    _, state = bench.ledger.test(record.id)
    assert state.decision == "passed"
    scores = bench.ledger.tallies(record.id)[0].blocks[0].scores
    assert set(scores) == {1}


def test_a_test_without_a_crossing_ends_undecided_at_its_cap(bench: Bench) -> None:
    spec, test = spec_of(["heaviest", "double"], looks=3), SequentialTest(STEP, 2, 0.2, 0.21, 0.001, 0.001)
    record, _ = bench.ledger.submit(spec, test=test)
    work(bench, spec, record.id, random.Random(2))
    sums, path, _ = play_in_order(spec, test)
    _, state = bench.ledger.test(record.id)
    assert (state.decision, state.path) == ("undecided", path)
    assert bench.ledger.job(record.id).state == "done"
    assert bench.ledger.tallies(record.id) == [sums]


def test_nobody_plays_far_ahead_of_a_missing_chunk(bench: Bench) -> None:
    spec = spec_of(["heaviest", "double"], looks=2 * LOOKS_AHEAD)
    record, _ = bench.ledger.submit(spec, test=SequentialTest(STEP, 2, 0.2, 0.21, 0.001, 0.001))
    table = Table(spec)
    missing = bench.lease()
    furthest = missing.last
    while (lease := claimed(bench)) is not None:
        played = table.play(lease.first, lease.last)
        assert played is not None
        bench.ledger.record(lease, played, "one")
        furthest = lease.last
    assert furthest <= LOOKS_AHEAD * STEP + STEP
    played = table.play(missing.first, missing.last)
    assert played is not None
    bench.ledger.record(missing, played, "one")
    assert claimed(bench) is not None
    assert bench.ledger.job(record.id).state == "running"


def test_a_restarted_test_begins_anew(bench: Bench) -> None:
    spec, test = spec_of(["lightest", "heaviest"]), hypotheses()
    record, _ = bench.ledger.submit(spec, test=test)
    work(bench, spec, record.id, random.Random(3))
    _, before = bench.ledger.test(record.id)
    bench.ledger.restart(record.id)
    assert bench.ledger.test(record.id)[1].looks == 0
    work(bench, spec, record.id, random.Random(4))
    assert bench.ledger.test(record.id)[1].path == before.path
