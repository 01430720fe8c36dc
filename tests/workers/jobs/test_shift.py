"""A shift meets a play that raises. No policy that ships does, so the play of one job is made to here."""

import pytest

from tests.workers.jobs.bench import Bench, batch
from workers.jobs.play_range import Played, Table
from workers.jobs.shift import Shift

BLOCKS = 20


def test_a_play_that_raises_fails_its_job_by_name_and_the_shift_goes_on(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.open()
    bad, good = (bench.ledger.submit(batch(BLOCKS, name=name))[0].id for name in ("bad", "good"))
    honest = Table.play
    raised = []

    def play(table: Table, *chunk: object) -> Played | None:
        if table.places.spec.name == "bad":
            raised.append(chunk[:2])
            raise ZeroDivisionError("this policy divides by nothing")
        return honest(table, *chunk)  # type: ignore[arg-type]

    monkeypatch.setattr(Table, "play", play)
    permit = bench.sent.pop(0)
    Shift(bench.ledger, "one").work(permit.slot, permit.generation)
    bench.ledger.fold()
    failed, other = bench.ledger.job(bad), bench.ledger.job(good)
    assert (failed.state, failed.error) == ("failed", "ZeroDivisionError: this policy divides by nothing")
    assert len(raised) == 2
    assert raised[0] == raised[1]
    assert (other.state, other.matches_done) == ("done", other.matches)
