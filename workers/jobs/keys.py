"""The names of all keys in Redis, as the scripts and the readers use them.

Everything lies below one root, whose braces make it one hash tag: a cluster keeps it on one node. A job's parts live
below `job:<id>`; the scripts say what each part holds.
"""

from typing import Final

ROOT: Final = "{blockyard}"

JOBS: Final = f"{ROOT}:jobs"
"""Sorted set of all jobs by sequence number; `jobs:<state>` of those in one state."""
METRICS: Final = f"{ROOT}:metrics"
"""Hash of counters; their fields are named by `figures`."""
PACE: Final = f"{ROOT}:pace"
"""Hash, a ring of the last hour: place to `<number of the stretch of ten seconds since 1970> <matches recorded in it>`."""
WORKERS: Final = f"{ROOT}:workers"
"""Sorted set of worker names by the millisecond until which they count as alive."""
VERSIONS: Final = f"{ROOT}:versions"
"""Hash: engine version to the millisecond until which a worker of it counts as alive."""
LEASES: Final = f"{ROOT}:leases"
"""Sorted set of leases by the millisecond of their end."""
LEASE_TERMS: Final = f"{ROOT}:leases:terms"
"""Hash: lease to its token, worker, time granted and seconds charged."""
SWEPT: Final = f"{ROOT}:swept"
"""There for as long as nobody needs to sweep: somebody has begun to."""
EXPIRING: Final = f"{ROOT}:expiring"
"""Sorted set of finished jobs by the millisecond of their end, those that are kept for good left out."""
QUEUES: Final = f"{ROOT}:queue"
"""Celery's queues of permits: one for each engine version."""
API_KEYS: Final = f"{ROOT}:api_keys"
"""Hash: a key's name to its document, which holds the digest of the key, never the key."""
LOADS: Final = f"{ROOT}:loads"
"""Hash: `<owner>|jobs` and `<owner>|matches` of the jobs of an owner that have not ended."""


def job_key(job_id: str, part: str = "") -> str:
    """The job's record, or one of its parts: spec, sums, journal, retry, ..."""
    return f"{ROOT}:job:{job_id}:{part}" if part else f"{ROOT}:job:{job_id}"


def deleted_key(job_id: str) -> str:
    """Who owned a job that was deleted; it expires."""
    return f"{ROOT}:deleted:{job_id}"


def state_key(state: str) -> str:
    """Sorted set of the jobs in a state."""
    return f"{JOBS}:{state}"


def label_key(label: str) -> str:
    """Sorted set of the jobs with a label, written `name=value`."""
    return f"{ROOT}:label:{label}"


def worker_key(name: str, part: str = "") -> str:
    """A worker's record, or its part `recorded`: what each of its processes did."""
    return f"{ROOT}:worker:{name}:{part}" if part else f"{ROOT}:worker:{name}"


def queue_name(version: str) -> str:
    """Celery's queue of the permits for workers of an engine version."""
    return f"{QUEUES}:{version}"


def session_key(digest: str) -> str:
    """A session of the page, by the digest of its token: the id of the key that began it. It expires by itself."""
    return f"{ROOT}:session:{digest}"
