"""Tables of jobs and results."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from service.cli.output import amount, done_share, duration, note, percent, table
from service.labels import short_name


def print_results(results: Sequence[Mapping[str, Any]]) -> None:
    """A line for each place of each scenario."""
    shared = any(int(result["draws"]) for result in results)
    columns = ("#", "policy", ">matches", ">wins", *((">shared",) if shared else ()), ">share", ">± 95 %", ">Elo")
    table(columns, [row for result in results for row in _result_rows(result, shared=shared)])
    if len(results) == 1 and results:
        _note_scenario(results[0])


def _result_rows(result: Mapping[str, Any], *, shared: bool) -> Iterator[Sequence[object]]:
    scenario = result["scenario"]
    for place, (policy, estimate) in enumerate(zip(result["policies"], result["estimates"]["policies"], strict=True)):
        first = place == 0
        yield (
            scenario["index"] if first else "", short_name(policy["policy"]), amount(policy["matches"]) if first else "",
            amount(policy["wins"]), *((amount(policy["shared_wins"]),) if shared else ()), percent(estimate["win_share"]),
            _half_width(estimate["ci95"]), _elo(estimate["elo"]),
        )  # fmt: skip


def _half_width(interval: Sequence[float] | None) -> str:
    return percent((interval[1] - interval[0]) / 2) if interval else "–"


def _elo(elo: Any) -> str:
    value = elo.get("elo") if isinstance(elo, Mapping) else elo
    return "" if value is None else f"{value:+.1f}"


def _note_scenario(result: Mapping[str, Any]) -> None:
    estimates = result["estimates"]
    if estimates["rounds_per_match"] is None:
        note("no match of it has been recorded yet")
        return
    parts = [
        f"{estimates['rounds_per_match']:.2f} rounds a match", f"{estimates['plies_per_round']:.2f} plies a round",
        f"{percent(estimates['blocked_share'])} of rounds blocked",
    ]  # fmt: skip
    if int(result["unfinished"]):
        parts.append(f"{amount(result['unfinished'])} unfinished")
    if int(result["draws"]):
        parts.append(f"{amount(result['draws'])} shared")
    note(", ".join(parts))


def print_jobs(jobs: Sequence[Mapping[str, Any]]) -> None:
    """A line for each job."""
    table(("id", "state", ">done", ">matches", "created", "name"), [_job_row(job) for job in jobs])


def _job_row(job: Mapping[str, Any]) -> Sequence[object]:
    progress = job["progress"]
    size, created = amount(job["matches"]), local_time(job["created_at"])
    # A sequential test is done as soon as it is decided.
    early = job["state"] == "done" and int(progress["matches_done"]) < int(progress["matches_total"])
    done = "decided" if early else done_share(progress)
    return (job["id"], job["state"], done, size, created, job["name"])


def print_job(job: Mapping[str, Any]) -> None:
    """One job, a line for each fact that there is."""
    progress = job["progress"]
    rate, done = progress["matches_per_second"], amount(progress["matches_done"])
    facts = {
        "id": job["id"], "name": job["name"], "state": job["state"], "error": job["error"],
        "waits for": job["waiting_for"] and f"a worker with engine version {job['waiting_for']}",
        "progress": f"{done} of {amount(progress['matches_total'])} matches ({done_share(progress)})",
        "speed": rate and f"{rate:,.0f} matches a second",
        "time left": duration(progress["eta_seconds"]) if progress["eta_seconds"] is not None else None,
        "scenarios": amount(job["scenario_count"]), "seed": job["seed"], "priority": job["priority"],
        "labels": ", ".join(f"{key}={value}" for key, value in job["labels"].items()),
        "engine": job["engine_version"],
        "created": local_time(job["created_at"]), "started": local_time(job["started_at"]),
        "finished": local_time(job["finished_at"]),
    }  # fmt: skip
    table(("", ""), [(name, value) for name, value in facts.items() if value not in (None, "")])


def local_time(moment: str | None) -> str | None:
    """A moment in this machine's time zone, to the second."""
    if moment is None:
        return None
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")
