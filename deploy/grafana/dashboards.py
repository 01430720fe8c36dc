"""Makes the dashboards in the folder `dashboards` beside this file: `python deploy/grafana/dashboards.py`.

They are data, made by a script so that units, legends and colours are the same everywhere. Series that come from Redis are
equal on every API replica and are taken by `max without (instance, pod)`; those of HTTP are each replica's own and summed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

FOLDER: Final = Path(__file__).parent / "dashboards"
SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
WIDTH: Final = 24
"""Columns of Grafana's grid."""
HEIGHTS: Final = {"stat": 4, "timeseries": 8, "state-timeline": 8}
"""Rows of the grid by kind of panel."""

Kind = Literal["stat", "timeseries", "state-timeline"]
GREEN, YELLOW, RED = "green", "yellow", "red"
SCOPE: Final = 'ruleset=~"$ruleset",players=~"$players"'
RATE: Final = "$__rate_interval"


def once(expression: str) -> str:
    """What every replica tells alike, taken once."""
    return f"max without (instance, pod) ({expression})"


def summed(expression: str, *labels: str) -> str:
    """What each replica counts for itself, added up by these labels."""
    return f"sum by ({', '.join(('job', *labels))}) ({expression})"


def quantile(share: float, metric: str) -> str:
    """A quantile of one of the histograms that come from Redis."""
    return f"histogram_quantile({share}, {once(f'rate({metric}_bucket[{RATE}])')})"


@dataclass(frozen=True)
class Query:
    """An expression, and how its series are named."""

    expression: str
    legend: str


@dataclass(frozen=True)
class Panel:
    """One panel: `unit` is Grafana's name of it; `steps` are thresholds, each the value from which a colour holds."""

    title: str
    description: str
    queries: Sequence[Query]
    unit: str = "short"
    kind: Kind = "timeseries"
    width: int = 12
    steps: Sequence[tuple[float, str]] = ()
    least: float | None = 0.0
    most: float | None = None
    stacked: bool = False
    names: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Values that are words: value to text and colour."""

    def to_json(self, number: int, x: int, y: int) -> dict[str, Any]:
        """As Grafana reads it, at a place of the grid."""
        custom: dict[str, Any] = {}
        if self.kind == "timeseries":
            stacking = {"mode": "normal" if self.stacked else "none", "group": "A"}
            custom = {"lineWidth": 1, "fillOpacity": 20 if self.stacked else 5, "showPoints": "never", "stacking": stacking}
            custom["thresholdsStyle"] = {"mode": "dashed" if self.steps else "off"}
        base: list[dict[str, Any]] = [{"value": None, "color": GREEN}]
        defaults: dict[str, Any] = {
            "unit": self.unit,
            "custom": custom,
            "color": {"mode": "palette-classic" if self.kind == "timeseries" else "thresholds"},
            "thresholds": {"mode": "absolute", "steps": base + [{"value": at, "color": colour} for at, colour in self.steps]},
            "mappings": [
                {"type": "value", "options": {value: {"text": text, "color": colour, "index": place}}}
                for place, (value, (text, colour)) in enumerate(self.names.items())
            ],
        }
        bounds = {"min": self.least, "max": self.most}
        defaults |= {name: bound for name, bound in bounds.items() if bound is not None}
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.description,
            "datasource": SOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": HEIGHTS[self.kind]},
            "fieldConfig": {"defaults": defaults, "overrides": []},
            "options": OPTIONS[self.kind],
            "targets": [
                {"refId": chr(ord("A") + place), "datasource": SOURCE, "expr": query.expression, "legendFormat": query.legend}
                for place, query in enumerate(self.queries)
            ],
        }


OPTIONS: Final[dict[Kind, dict[str, Any]]] = {
    "stat": {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "colorMode": "value", "graphMode": "area", "textMode": "auto", "justifyMode": "auto", "orientation": "auto",
    },
    "timeseries": {
        "legend": {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "state-timeline": {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "mergeValues": True, "showValue": "auto", "rowHeight": 0.8, "tooltip": {"mode": "single", "sort": "none"},
    },
}  # fmt: skip

VERDICTS: Final = {"1": ("passed", GREEN), "0": ("undecided", YELLOW), "-1": ("regressed", RED)}

SERVICE: Final = (
    Panel(
        "Redis", "Whether any API replica reaches Redis.", [Query(once("blockyard_redis_up"), "Redis")],
        kind="stat", width=4, names={"1": ("up", GREEN), "0": ("down", RED)},
    ),
    Panel(
        "API replicas", "Replicas whose metrics arrive.",
        [Query("count without (instance, pod) (blockyard_redis_up)", "replicas")],
        kind="stat", width=4,
    ),
    Panel(
        "Workers", "Workers that have shown a sign of life within ten seconds.", [Query(once("blockyard_workers"), "workers")],
        kind="stat", width=4,
    ),
    Panel(
        "Workers busy", "Mean share of the playing processes' time that was spent playing.",
        [Query(once("blockyard_worker_busy_ratio"), "busy")], unit="percentunit", kind="stat", width=4, most=1.0,
    ),
    Panel(
        "Memory of Redis", "Share of its limit; at the limit Redis refuses to write.",
        [Query("blockyard:redis_memory:ratio", "used")],
        unit="percentunit", kind="stat", width=4, steps=((0.7, YELLOW), (0.8, RED)), most=1.0,
    ),
    Panel(
        "Errors", "Share of answers of 500 and more in the last five minutes, the readiness check left out.",
        [Query("blockyard:http_errors:ratio5m", "errors")],
        unit="percentunit", kind="stat", width=4, steps=((0.005, YELLOW), (0.02, RED)),
    ),
    Panel(
        "Requests", "Answers a second by route, of all replicas together.",
        [Query(summed(f"rate(blockyard_http_requests_total[{RATE}])", "route"), "{{route}}")], unit="reqps", stacked=True,
    ),
    Panel(
        "Requests by status", "Answers a second by status, of all replicas together.",
        [Query(summed(f"rate(blockyard_http_requests_total[{RATE}])", "status"), "{{status}}")], unit="reqps", stacked=True,
    ),
    Panel(
        "Time to answer",
        "Seconds until an answer begins, of all replicas together: 50%, 95% and 99% of requests are faster than these lines.",
        [
            Query(
                f"histogram_quantile({share}, {summed(f'rate(blockyard_http_request_seconds_bucket[{RATE}])', 'le')})",
                f"{share:.0%}",
            )
            for share in (0.5, 0.95, 0.99)
        ],
        unit="s", steps=((1.0, RED),),
    ),
    Panel(
        "Time to answer by route", "Seconds until all but one in twenty answers begin, over five minutes.",
        [Query("blockyard:http_request_seconds:p95", "{{route}}")], unit="s", steps=((1.0, RED),),
    ),
    Panel(
        "Memory of Redis", "What Redis uses, and the limit at which it refuses to write.",
        [
            Query(once("blockyard_redis_memory_bytes"), "used"),
            Query(once("blockyard_redis_memory_limit_bytes"), "limit"),
        ],
        unit="bytes",
    ),
    Panel(
        "Workers", "Workers alive. With autoscaling none at all is how an idle cluster rests.",
        [Query(once("blockyard_workers"), "workers")],
    ),
)  # fmt: skip

JOBS: Final = (
    Panel(
        "Matches", "Matches recorded since the service began, each once.",
        [Query(f"sum without (ruleset, players) ({once(f'blockyard_matches_total{{{SCOPE}}}')})", "matches")],
        kind="stat", width=6,
    ),
    Panel(
        "Live jobs", "Jobs that are queued or running.", [Query("blockyard:live_jobs:sum", "jobs")], kind="stat", width=6,
    ),
    Panel(
        "Chunks waiting", "Estimated from each job's last chunk.", [Query("blockyard:pending_chunks:sum", "chunks")],
        kind="stat", width=6,
    ),
    Panel(
        "Jobs without an engine", "Live jobs whose engine version no live worker has.",
        [Query(once("blockyard_jobs_without_engine"), "jobs")], kind="stat", width=6, steps=((1, YELLOW),),
    ),
    Panel(
        "Matches a second", "Matches recorded, by ruleset and players.",
        [Query(once(f"rate(blockyard_matches_total{{{SCOPE}}}[{RATE}])"), "{{ruleset}}, {{players}} players")],
        unit="cps", stacked=True,
    ),
    Panel(
        "Plies a second", "Placements and passes recorded, by ruleset and players.",
        [Query(once(f"rate(blockyard_plies_total{{{SCOPE}}}[{RATE}])"), "{{ruleset}}, {{players}} players")],
        unit="cps", stacked=True,
    ),
    Panel(
        "Rounds a match", "Mean rounds of the matches recorded over five minutes.",
        [
            Query(
                f"blockyard:rounds:rate5m{{{SCOPE}}} / blockyard:matches:rate5m{{{SCOPE}}}", "{{ruleset}}, {{players}} players"
            )
        ],
    ),
    Panel("Jobs by state", "Every job that is kept, by state.", [Query(once("blockyard_jobs"), "{{state}}")], stacked=True),
    Panel(
        "Chunks waiting and played", "Chunks that wait, by priority, and those that are being played.",
        [
            Query(once("blockyard_pending_chunks"), "waiting, {{priority}}"),
            Query(once("blockyard_leased_chunks"), "being played"),
        ],
    ),
    Panel(
        "Chunks by outcome", "Chunks a second by what became of them. Duplicates were played twice and counted once;"
        " abandoned ones lost their worker and were handed out again.",
        [Query(once(f"rate(blockyard_chunks_total[{RATE}])"), "{{outcome}}")], unit="cps",
    ),
    Panel(
        "Time of a chunk", "Seconds within which 50% and 95% of the recorded chunks were played; half a second is aimed at.",
        [Query(quantile(share, "blockyard_chunk_seconds"), f"{share:.0%}") for share in (0.5, 0.95)], unit="s",
    ),
    Panel(
        "Oldest chunk", "Age of the oldest chunk that is being played.",
        [Query(once("blockyard_oldest_lease_seconds"), "age")], unit="s", steps=((60, YELLOW), (300, RED)),
    ),
    Panel(
        "Wait for the first chunk",
        "Seconds from a job's submission until its first chunk is handed out, which 50% and 95% of all jobs stay below.",
        [Query(quantile(share, "blockyard_job_wait_seconds"), f"{share:.0%}") for share in (0.5, 0.95)], unit="s",
    ),
    Panel(
        "Audits", "Chunks played again and compared, since the service began. Any that differs is a fault.",
        [Query(once("blockyard_audits_total"), "{{outcome}}")],
    ),
)  # fmt: skip

REGRESSIONS: Final = (
    Panel(
        "Worst verdict", "The worst of all tests' last verdicts.",
        [Query(f"min by (job) ({once('blockyard_regression_verdict')})", "verdict")],
        kind="stat", width=8, names=VERDICTS, least=None,
    ),
    Panel(
        "Longest without a verdict", "Time since the scheduled moment of the run that has waited longest for its verdict.",
        [Query(f"clamp_min(time() - min by (job) ({once('blockyard_regression_due_timestamp_seconds')}), 0)", "overdue")],
        unit="s", kind="stat", width=8, steps=((3600, YELLOW), (14400, RED)),
    ),
    Panel(
        "Oldest last verdict", "Time since the last verdict of the regression that has been silent longest.",
        [Query(f"time() - min by (job) ({once('blockyard_regression_last_run_timestamp_seconds')})", "age")],
        unit="s", kind="stat", width=8,
    ),
    Panel(
        "Verdicts", "The last verdict of every test, over time. Undecided also stands for a test that was stopped or failed.",
        [Query(once("blockyard_regression_verdict"), "{{regression}}: {{test}}")],
        kind="state-timeline", width=WIDTH, names=VERDICTS, least=None,
    ),
    Panel(
        "Log likelihood ratio", "At the end of each test's last run: high speaks for the candidate, low against it.",
        [Query(once("blockyard_regression_llr"), "{{regression}}: {{test}}")], least=None,
    ),
    Panel(
        "Since the last verdict", "Time since each regression's last verdict.",
        [Query(f"time() - {once('blockyard_regression_last_run_timestamp_seconds')}", "{{regression}}")], unit="s",
    ),
)  # fmt: skip

DASHBOARDS: Final[dict[str, Sequence[Panel]]] = {"Service": SERVICE, "Jobs": JOBS, "Regressions": REGRESSIONS}


def placed(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """The panels from left to right, then down; those of a row are equally high."""
    found: list[dict[str, Any]] = []
    x = y = height = 0
    for number, panel in enumerate(panels, 1):
        if x + panel.width > WIDTH:
            x, y = 0, y + height
        height = HEIGHTS[panel.kind]
        found.append(panel.to_json(number, x, y))
        x += panel.width
    return found


def variable(name: str, label: str) -> dict[str, Any]:
    """A choice among the values of a label, several at once, all by default."""
    query = f"label_values(blockyard_matches_total, {name})"
    return {
        "name": name, "label": label, "type": "query", "datasource": SOURCE, "definition": query,
        "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1, "multi": True, "includeAll": True, "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }  # fmt: skip


def dashboard(title: str, panels: Sequence[Panel]) -> dict[str, Any]:
    """A dashboard as Grafana reads it."""
    source: dict[str, Any] = {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    source["current"] = {"text": "Prometheus", "value": "prometheus"}
    scoped = any("$ruleset" in query.expression for panel in panels for query in panel.queries)
    return {
        "uid": f"blockyard-{title.lower()}",
        "title": title,
        "tags": ["blockyard"],
        "timezone": "browser",
        "editable": False,
        "graphTooltip": 1,
        "schemaVersion": 39,
        "version": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [source, *([variable("ruleset", "Ruleset"), variable("players", "Players")] if scoped else [])]},
        "links": [{"title": "Blockyard", "type": "dashboards", "tags": ["blockyard"], "asDropdown": False}],
        "panels": placed(panels),
    }


def texts() -> dict[str, str]:
    """The text of every dashboard's file, by its name."""
    return {
        f"{title.lower()}.json": json.dumps(dashboard(title, panels), indent=2) + "\n" for title, panels in DASHBOARDS.items()
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in texts().items():
        (FOLDER / name).write_text(text)
