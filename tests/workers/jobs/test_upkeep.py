"""Upkeep: everybody does it, and together they do it hardly more often than one would."""

import time
from threading import Event, Thread

from tests.servers import poll
from tests.workers.jobs.bench import BenchMaker, batch
from workers.jobs.upkeep import CROWD, run_upkeep


def test_many_sweep_as_often_as_one(make_bench: BenchMaker) -> None:
    benches = [make_bench(sweep_seconds=600, permits_per_process=1) for _ in range(3)]
    benches[0].ledger.beat("one", "here", 1, 3, is_new=True)
    assert [bench.ledger.sweep_in_turn() for bench in benches] == [3, 0, 0]
    assert [len(bench.sent) for bench in benches] == [3, 0, 0]


def test_a_turn_that_nobody_took_to_its_end_is_followed_by_another(make_bench: BenchMaker) -> None:
    bench = make_bench(sweep_seconds=0.01, permits_per_process=1)
    bench.ledger.sweep_in_turn()  # it dies here
    bench.ledger.beat("one", "here", 1, 3, is_new=True)
    poll(bench.ledger.sweep_in_turn)
    assert len(bench.sent) == 3


def test_of_a_crowd_each_folds_less_often_and_of_few_that_are_left_each_as_before(make_bench: BenchMaker) -> None:
    bench = make_bench(sweep_seconds=0.05, fold_seconds=0.05)
    bench.open()
    record, _ = bench.ledger.submit(batch(10))
    crowd, stop, beats = 1000 * CROWD, Event(), []
    upkeep = Thread(target=run_upkeep, args=(bench.ledger, stop, [(0.01, lambda: beats.append(1))], lambda: crowd))
    upkeep.start()
    try:
        poll(lambda: len(beats) > 2)  # it has folded once, at its start
        bench.record(bench.lease())
        before = len(beats)
        poll(lambda: len(beats) > before + 10)
        assert bench.ledger.job(record.id).matches_done == 0, "its turn would be in fifty seconds"
        begun = time.monotonic()
        crowd = 1
        poll(lambda: bench.ledger.job(record.id).matches_done == 10)
        assert time.monotonic() - begun < 45
    finally:
        stop.set()
        upkeep.join()
