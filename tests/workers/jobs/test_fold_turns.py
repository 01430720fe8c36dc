"""Who folds: a process with other work leaves it to one that has just done so, and does it where nobody else does."""

from tests.servers import poll
from tests.workers.jobs.bench import Bench, batch
from workers.jobs.ledger import Ledger


def test_folding_is_left_to_whoever_folds_already(bench: Bench) -> None:
    record, _ = bench.ledger.submit(batch(100))
    other = Ledger(bench.ledger.store._redis, settings=bench.ledger.settings)
    bench.record(bench.lease())
    assert other.fold(patience=60.0) == 1  # nobody has folded before
    bench.record(bench.lease())
    assert bench.ledger.fold(patience=60.0) == 0
    assert other.fold(patience=60.0) == 1  # it waits for others, not for itself
    bench.record(bench.lease())
    assert bench.ledger.fold() == 1  # without patience it waits for nobody
    assert bench.ledger.job(record.id).matches_done == sum(tally.matches for tally in bench.ledger.tallies(record.id)) > 0


def test_folding_is_taken_over_from_whoever_is_gone(bench: Bench) -> None:
    bench.ledger.submit(batch(100))
    gone = Ledger(bench.ledger.store._redis, settings=bench.ledger.settings)
    bench.record(bench.lease())
    assert gone.fold() == 1
    bench.record(bench.lease())
    poll(lambda: bench.ledger.fold(patience=0.2) == 1)
