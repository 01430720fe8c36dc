"""Whether the service may listen where it is told to."""

import logging

from service.access.keys import KeyStore
from service.access.loopback import is_loopback
from service.settings import ServiceSettings
from workers.errors import BlockyardError, LedgerUnavailable
from workers.jobs.store import Store, connect

log = logging.getLogger(__name__)


class OpenToStrangers(BlockyardError):
    """Without a key the service would let anybody in from this address."""


def is_open_house(settings: ServiceSettings) -> bool:
    """Whether everybody is let in while no key exists: nobody else can come here, or the operator wants it so."""
    return settings.insecure or is_loopback(settings.host)


def check_address(settings: ServiceSettings) -> None:
    """Raises `OpenToStrangers` where the address is not this machine's own, no key exists, and it is not wanted so.

    While Redis does not answer this cannot be known: then the service may listen, and lets nobody in until there is a key.
    """
    if is_open_house(settings) or settings.admin_key is not None:
        return
    try:
        with connect(settings.redis_url, settings.redis_timeout_seconds) as redis:
            keys = KeyStore(Store(redis)).all()
    except LedgerUnavailable as error:
        log.warning("whether there are keys is not known yet; nobody is let in until it is: %s", error)
        return
    if not keys:
        raise OpenToStrangers(
            f"no key exists, so the service listens on this machine alone, not on {settings.host}; make a key first "
            "(blockyard keys create NAME --role admin), or let everybody in with --insecure"
        )
