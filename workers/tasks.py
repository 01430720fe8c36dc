"""The one Celery task: a permit to work for about a second."""

import logging
from collections.abc import Callable
from functools import cache

from celery import Task, shared_task
from celery.worker.request import Request
from kombu.transport.virtual import QoS

from workers.app import station
from workers.engine.play import ENGINE_VERSION
from workers.errors import LedgerUnavailable
from workers.jobs.ledger import Ledger
from workers.jobs.queue import PERMIT, open_ledger
from workers.jobs.records import Permit
from workers.jobs.shift import Shift

log = logging.getLogger(__name__)


class PermitRequest(Request):
    """A permit in the worker's hands, which gives its place up when it is over, even where Redis cannot be told.

    Celery by itself would count such a message among those being worked on for ever, and after a few of them take no more.
    Redis delivers it again later; its generation is old by then, so that it ends itself.
    """

    def acknowledge(self) -> None:
        """The permit was worked with."""
        self._settle(lambda: self.message.ack())

    def reject(self, requeue: bool = False) -> None:
        """The permit was not worked with."""
        self._settle(lambda: self.message.reject(requeue=requeue))

    def _settle(self, tell: Callable[[], None]) -> None:
        if self.acknowledged:
            return
        self.acknowledged = True
        try:
            tell()
        except Exception as error:
            log.info("a permit's end could not be told: %s", error)
            QoS.ack(self.message.channel.qos, self.message.delivery_tag)


class PermitTask(Task[[str, str], None]):
    """What Celery makes of the function below."""

    Request = "workers.tasks:PermitRequest"


@shared_task(name=PERMIT, base=PermitTask)
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
