"""The one Celery task: a permit to work for about a second."""

import logging
from functools import cache

from celery import shared_task

from workers.app import station
from workers.engine.play import ENGINE_VERSION
from workers.errors import LedgerUnavailable
from workers.jobs.ledger import Ledger
from workers.jobs.queue import PERMIT, open_ledger
from workers.jobs.records import Permit
from workers.jobs.shift import Shift

log = logging.getLogger(__name__)


@shared_task(name=PERMIT)
def permit(slot: str, generation: str) -> None:
    """Claims, plays and records chunks, then stands in line again; parks where there is nothing to do."""
    ledger, shift = _shift()
    try:
        following = shift.work(slot, generation)
    except LedgerUnavailable as error:
        # The permit falls silent; a sweep issues it anew.
        log.info("a permit ends: %s", error)
        return
    if following is not None:
        ledger.send_permits([Permit(ENGINE_VERSION, slot, following)])


@cache
def _shift() -> tuple[Ledger, Shift]:
    """This process's ledger and shift: made after the fork, which would share their connections and lose their threads."""
    place = station()
    ledger = open_ledger(place.settings)
    return ledger, Shift(ledger, place.name, lambda: bool(place.stopping.value))
