"""Metrics: what Redis knows, read when a scrape asks, and the HTTP requests of this process, counted as they end.

Series that come from Redis are the same on every replica; those of HTTP are a replica's own. Labels are bounded: routes are
templates, methods and rulesets come from short lists, regressions and their tests are those that are stored; no label ever
carries the id of a job or a run.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from workers.errors import LedgerUnavailable
from workers.jobs.figures import Figures, HistogramFigures
from workers.jobs.ledger import Ledger
from workers.regressions.store import RegressionStore

HTTP_BUCKETS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds until an answer begins; streams count by their first byte."""
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
SERIES: Final = 1024
"""Series of requests found at once; there are fewer."""
CACHE_SECONDS: Final = 1.0
VERDICTS: Final = {"passed": 1, "regressed": -1}
"""Every other verdict, which says neither, is 0."""
RUNS_BACK: Final = 8
"""How far back a regression's last verdict is looked for, past runs that are under way."""


class HttpMetrics:
    """The registry of one application: requests by route, method and status, and seconds by route."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry(auto_describe=False)
        self._requests = Counter(
            "blockyard_http_requests", "HTTP requests answered.", ["route", "method", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "blockyard_http_request_seconds",
            "Seconds from the request to the first byte of its answer.",
            ["route"],
            buckets=HTTP_BUCKETS,
            registry=self.registry,
        )
        # Looking labels up takes longer than counting, and there are few of them.
        self._counter = lru_cache(SERIES)(self._requests.labels)
        self._histogram = lru_cache(SERIES)(self._seconds.labels)

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one answer."""
        self._counter(route, method if method in METHODS else "other", str(status)).inc()
        self._histogram(route).observe(seconds)


class LedgerCollector(Collector):
    """What the ledger knows, as metrics: asked at a scrape, at most once a second, whoever scrapes."""

    def __init__(self, read: Callable[[], list[Metric]]) -> None:
        """`read` makes all metrics anew; it must not raise."""
        self._read = read
        self._lock = threading.Lock()
        self._metrics: list[Metric] = []
        self._read_at = float("-inf")

    def collect(self) -> Iterable[Metric]:
        """The metrics of this second."""
        with self._lock:
            if time.monotonic() - self._read_at >= CACHE_SECONDS:
                self._metrics = self._read()
                self._read_at = time.monotonic()
            return list(self._metrics)


def ledger_metrics(ledger: Ledger) -> list[Metric]:
    """Everything the ledger counts; without Redis the one metric that says so, since absent is truer than 0."""
    redis_up = GaugeMetricFamily("blockyard_redis_up", "1 if Redis answers, else 0.")
    try:
        figures = ledger.figures()
        of_regressions = regression_metrics(RegressionStore(ledger))
    except LedgerUnavailable:
        redis_up.add_metric([], 0)
        return [redis_up]
    redis_up.add_metric([], 1)
    return [redis_up, *figure_metrics(figures), *of_regressions]


def regression_metrics(store: RegressionStore) -> list[Metric]:
    """The last verdict of every stored regression, and what it owes; raises `LedgerUnavailable`."""
    verdicts = GaugeMetricFamily(
        "blockyard_regression_verdict", "Last verdict: 1 passed, -1 regressed, 0 neither.", labels=["regression", "test"]
    )
    ended = GaugeMetricFamily(
        "blockyard_regression_last_run_timestamp_seconds", "When the last run got its verdict.", labels=["regression"]
    )
    ratios = GaugeMetricFamily(
        "blockyard_regression_llr", "Log likelihood ratio at the end of the last run.", labels=["regression", "test"]
    )
    owed = GaugeMetricFamily(
        "blockyard_regression_due_timestamp_seconds",
        "The scheduled moment whose run has no verdict yet; else the next one. Only of regressions with a schedule.",
        labels=["regression"],
    )
    for spec in store.all():
        last, due = None, store.due_at(spec.name)
        moments = [due.timestamp()] if due else []
        for run in store.runs(spec.name, RUNS_BACK):
            last = store.outcome(run.id)
            if last is not None:
                break
            if run.scheduled_at is not None:
                moments.append(run.scheduled_at)
        if due:
            owed.add_metric([spec.name], min(moments))
        if last is None:
            continue
        ended.add_metric([spec.name], last["finished_at"])
        for test in last["tests"]:
            verdicts.add_metric([spec.name, test["name"]], VERDICTS.get(test["verdict"], 0))
            ratios.add_metric([spec.name, test["name"]], test["llr"])
    return [verdicts, ended, ratios, owed]


def figure_metrics(figures: Figures) -> Iterable[Metric]:
    """The ledger's figures as metrics."""
    yield _played("blockyard_matches", "Matches recorded.", figures.matches)
    yield _played("blockyard_rounds", "Rounds recorded.", figures.rounds)
    yield _played("blockyard_plies", "Plies recorded.", figures.plies)
    yield _counted("blockyard_chunks", "Chunks by what became of them.", "outcome", figures.chunks)
    yield _counted("blockyard_audits", "Chunks that were played again and compared.", "outcome", figures.audits)
    yield _histogram("blockyard_chunk_seconds", "Seconds that a recorded chunk was played.", figures.chunk_seconds)
    yield _histogram("blockyard_job_wait_seconds", "Seconds from a job's submission to a chunk.", figures.job_wait_seconds)
    yield _gauge("blockyard_jobs", "Jobs by state.", "state", figures.jobs)
    yield _gauge("blockyard_pending_chunks", "Chunks that wait to be played, estimated.", "priority", figures.pending_chunks)
    single: dict[str, tuple[str, float]] = {
        "blockyard_leased_chunks": ("Chunks that are being played.", figures.leased_chunks),
        "blockyard_oldest_lease_seconds": ("Age of the oldest chunk that is being played.", figures.oldest_lease_seconds),
        "blockyard_workers": ("Workers that are alive.", figures.workers),
        "blockyard_worker_busy_ratio": ("Mean share of the workers' time spent playing.", figures.worker_busy_ratio),
        "blockyard_jobs_without_engine": ("Live jobs whose engine version no live worker has.", figures.jobs_without_engine),
        "blockyard_redis_memory_bytes": ("Memory that Redis uses.", figures.redis_bytes),
    }
    if figures.redis_limit_bytes:
        single["blockyard_redis_memory_limit_bytes"] = ("Memory at which Redis refuses to write.", figures.redis_limit_bytes)
    for name, (text, value) in single.items():
        yield GaugeMetricFamily(name, text, value)


def _played(name: str, text: str, counts: Mapping[tuple[str, int], int]) -> Metric:
    family = CounterMetricFamily(name, text, labels=["ruleset", "players"])
    for (ruleset, players), count in counts.items():
        family.add_metric([ruleset, str(players)], count)
    return family


def _counted(name: str, text: str, label: str, counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, text, labels=[label])
    for value, count in counts.items():
        family.add_metric([value], count)
    return family


def _gauge(name: str, text: str, label: str, values: Mapping[str, int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, count in values.items():
        family.add_metric([value], count)
    return family


def _histogram(name: str, text: str, figures: HistogramFigures) -> Metric:
    bounds = [*(str(bound) for bound in figures.bounds), "+Inf"]
    return HistogramMetricFamily(name, text, list(zip(bounds, accumulate(figures.counts), strict=True)), figures.total)
