"""Leases are renewed while long chunks are played; whoever renews is killed or cut off at that moment."""

import pytest

from tests.faults.proxy import Action, cut, kill_sender
from tests.faults.yard import SETTINGS, Trial, Yard, make_spec
from tests.servers import WorkerFactory

CHUNKS = 16
CHUNK_BLOCKS = 60_000
"""Played in some tenths of a second: longer than from one renewal to the next."""
LEASE_SECONDS = 0.3
HITS = 1


@pytest.mark.parametrize("action", [cut, kill_sender], ids=["cut off", "killed"])
def test_whoever_renews_is_cut_off_or_killed(yard: Yard, worker_factory: WorkerFactory, action: Action) -> None:
    settings = {**SETTINGS, "chunk_blocks": CHUNK_BLOCKS, "lease_seconds": LEASE_SECONDS}
    worker_factory("long", processes=2, url=yard.proxy.url, **settings)
    yard.proxy.clear()
    rules = [yard.proxy.at("renew", moment, action, times=HITS, after=3) for moment in ("before", "after")]
    spec = make_spec(79, CHUNKS, CHUNK_BLOCKS)
    before = yard.ledger.figures()
    trial = Trial(yard.ledger, spec, yard.ledger.submit(spec)[0].id, before, yard.witness)
    trial.prove(CHUNKS)
    assert [rule.hits for rule in rules] == [HITS, HITS]
    if action is kill_sender:
        assert trial.count("abandoned") >= 2 * HITS
