"""How much one key may ask for: requests a minute here, jobs and matches where they are submitted."""

from service.access.caller import Caller
from service.settings import ServiceSettings
from workers.jobs.records import NO_QUOTA, Quota
from workers.jobs.store import Store


class RequestQuota:
    """Counts requests by owner in Redis, so that all replicas count together; raises `LedgerUnavailable`."""

    def __init__(self, store: Store, per_minute: int) -> None:
        """`per_minute` requests, which may also come all at once; 0: as many as one likes."""
        self._store = store
        self._per_minute = per_minute

    def wait(self, owner: str) -> int:
        """Takes one request; answers 0, or the milliseconds until one would be taken."""
        if not self._per_minute:
            return 0
        return int(self._store.run("rate", owner, self._per_minute))


def job_quota(caller: Caller, settings: ServiceSettings) -> Quota:
    """What a caller may have under way at once; without keys there are no quotas."""
    return Quota(settings.quota_jobs, settings.quota_matches) if caller.has_key else NO_QUOTA
