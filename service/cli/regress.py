"""`blockyard regress`: strategy regressions of a running service."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from service.cli.exits import INTERRUPTED, UsageError
from service.cli.files import STANDARD_INPUT, read_document
from service.cli.options import DEFAULT_URL, AsJson, Key, Url
from service.cli.output import note, print_json, table
from service.cli.tables import local_time

if TYPE_CHECKING:
    from service.client import Client, Run

LATE: Final = " (late)"
RUN_COLUMNS: Final = ("=id", "created", "verdict", ">passed", ">saved")
FILE_SUFFIXES: Final = (".json", ".yaml", ".yml", ".toml")
Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="The regression's name.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    regressions = typer.Typer(rich_markup_mode=None)
    for name, command in (
        ("run", run), ("list", list_all), ("history", history), ("promote", promote), ("put", put), ("delete", delete),
    ):  # fmt: skip
        regressions.command(name)(command)
    app.add_typer(regressions, name="regress", help="Run, list, promote strategy regressions.")


def run(
    what: Annotated[
        str, typer.Argument(metavar="FILE|NAME", help="A spec to be run once, or the name of a stored regression.")
    ],
    candidate: Annotated[
        str | None, typer.Option("--candidate", metavar="FILE", help="A policy that replaces the candidate, this time.")
    ] = None,
    label: Annotated[list[str] | None, typer.Option("--label", metavar="KEY=VALUE", help="A label. Repeat it.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the verdict; the next three options do too.")] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=0, help="Wait no longer; the run goes on.")
    ] = None,
    junit: Annotated[str | None, typer.Option("--junit", metavar="FILE", help="Write the verdict as JUnit XML.")] = None,
    markdown: Annotated[
        str | None, typer.Option("--markdown", metavar="FILE", help="Write the verdict as a table in Markdown.")
    ] = None,
    url: Url = DEFAULT_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Run a regression, and with --wait tell its verdict.

    Exit codes with --wait: 0 passed; 4 regressed; 5 inconclusive, stopped or timed out; 1 failed.
    """
    labels = dict(_label(text) for text in label or ())
    policy = None if candidate is None else _policy(candidate)
    for option, file in (("--junit", junit), ("--markdown", markdown)):
        if file is not None and (not Path(file).parent.is_dir() or Path(file).is_dir()):
            raise UsageError(f"{option}: {file} cannot be written there")
    with _connect(url, key) as client:
        begun = _begin(client, what, policy, labels)
        if not (wait or timeout is not None or junit or markdown):
            print_json(begun) if as_json else typer.echo(begun["id"])
            return
        ended = _await(client, begun, timeout)
    _report(ended, junit, markdown, as_json)


def list_all(url: Url = DEFAULT_URL, key: Key = None, as_json: AsJson = False) -> None:
    """List the stored regressions with their newest verdicts."""
    with _connect(url, key) as client:
        found = client.regressions()
    if as_json:
        print_json({"items": found})
    elif found:
        table(("=name", "schedule", "next run", "last run", "=verdict"), [_regression_row(item) for item in found])
    else:
        note("no regressions")


def history(
    name: Name,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 20,
    url: Url = DEFAULT_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List a regression's runs, newest first."""
    with _connect(url, key) as client:
        found = client.runs(name, limit=limit)
    if as_json:
        print_json({"items": found})
    elif found:
        table(RUN_COLUMNS, [run_row(item) for item in found])
    else:
        note(f"{name} has not run yet")


def promote(
    name: Name,
    run_id: Annotated[str | None, typer.Option("--run", metavar="ID", help="Take the candidate of this run.")] = None,
    url: Url = DEFAULT_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Make the candidate every test's baseline.

    It is pinned to what it is today: its version and fingerprint.
    """
    with _connect(url, key) as client:
        promoted = client.promote(name, run=run_id)
    if as_json:
        print_json(promoted)
        return
    from service.labels import short_name

    rows = [(test["name"], short_name(test["baseline"]), promoted["pinned"][test["name"]]) for test in promoted["tests"]]
    table(("test", "baseline", "fingerprint"), rows)


def put(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A JSON, YAML or TOML file; - for standard input.")],
    url: Url = DEFAULT_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Store the regression that a file describes, new or changed."""
    spec = _spec(file)
    with _connect(url, key) as client:
        stored = client.put_regression(spec["name"], spec)
    if as_json:
        print_json(stored)
        return
    following = local_time(stored["next_run_at"])
    typer.echo(stored["name"])
    note(f"runs next at {following}" if following else "runs when it is asked to")


def delete(name: Name, url: Url = DEFAULT_URL, key: Key = None) -> None:
    """Forget a regression and its history."""
    with _connect(url, key) as client:
        client.delete_regression(name)
    note(f"{name} is deleted")


def _connect(url: str, key: str | None) -> "Client":
    from service.cli.service_client import connect

    return connect(url, key)


def _begin(client: "Client", what: str, candidate: Any, labels: Mapping[str, str]) -> "Run":
    if not _is_file(what):
        return client.start_run(what, candidate=candidate, labels=labels)
    spec = _spec(what)
    if candidate is not None:
        tests = spec.get("tests")
        if not isinstance(tests, list) or not all(isinstance(test, dict) for test in tests):
            raise UsageError(f"{what}: tests: must be a list of objects")
        spec = {**spec, "tests": [{**test, "candidate": candidate} for test in tests]}
    return client.run_once(spec, labels=labels)


def _await(client: "Client", begun: "Run", timeout: float | None) -> "Run":
    note(f"run {begun['id']}")
    since = monotonic()
    try:
        _note_plan(client, begun)  # takes seconds of the time where this machine is busy
        left = None if timeout is None else max(0.0, timeout - (monotonic() - since))
        return client.wait_for_run(begun["regression"], begun["id"], timeout=left)
    except KeyboardInterrupt:
        note(f"the run goes on; see it again with: blockyard regress history {begun['regression']}")
        raise typer.Exit(INTERRUPTED) from None


def _note_plan(client: "Client", begun: "Run") -> None:
    from service.cli.run_plans import plan_lines
    from service.client import ServiceError
    from workers.errors import InvalidInput

    # A service may have policies that are not here, and keys that may not ask for workers: the run needs no plan.
    with suppress(InvalidInput, ServiceError):
        for line in plan_lines(begun["spec"], sum(worker["processes"] for worker in client.workers())):
            note(line)


def _report(ended: "Run", junit: str | None, markdown: str | None, as_json: bool) -> None:
    """Print and write the outcome, and exit by it."""
    from service.cli import run_reports as reports

    if as_json:
        print_json(reports.verdict_document(ended))
    else:
        table(("test", "=verdict", "=share", "=95 %", ">LLR", ">matches", ">saved"), reports.terminal_rows(ended))
        typer.echo(f"{ended['id']} {ended['verdict'] or reports.UNDECIDED}")
        if bounds := reports.bounds_line(ended):
            note(bounds)
        for test in ended["tests"]:
            if test["error"]:
                note(f"{test['name']}: {test['error']}")
    sys.stdout.flush()
    if junit is not None:
        Path(junit).write_bytes(reports.junit(ended))
    if markdown is not None:
        Path(markdown).write_text(reports.markdown(ended), encoding="utf-8")
    if ended["verdict"] is None:
        note("no verdict in time; the run goes on")
    raise typer.Exit(reports.exit_code(ended))


def _is_file(what: str) -> bool:
    """Whether the argument means a file: one that is there, or nothing that a regression could be called."""
    return what == STANDARD_INPUT or "/" in what or what.endswith(FILE_SUFFIXES) or Path(what).is_file()


def _spec(file: str) -> dict[str, Any]:
    document = read_document(file)
    if not isinstance(document, dict) or not isinstance(document.get("name"), str):
        raise UsageError(f"{file}: must hold an object with name and tests")
    return document


def _policy(file: str) -> Any:
    document = read_document(file)
    if not isinstance(document, str | dict):
        raise UsageError(f"--candidate: {file} must hold a policy: a name or an object")
    return document


def _label(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise UsageError(f"--label: must be key=value, not {text!r}")
    return name, value


def _regression_row(item: Mapping[str, Any]) -> Sequence[object]:
    last = item["last_run"]
    verdict = (last["verdict"] or last["state"]) if last else None
    schedule = item["schedule"] and f"{item['schedule']} {item['timezone']}"
    return (item["name"], schedule, _minute(item["next_run_at"]), _minute(last["created_at"]) if last else None, verdict)


def run_row(item: Mapping[str, Any]) -> Sequence[object]:
    """A run as a line under `RUN_COLUMNS`."""
    passed = sum(test["verdict"] == "passed" for test in item["tests"])
    verdict = f"{item['verdict'] or 'running'}{LATE if item['late'] else ''}"
    saved = sum(int(test["matches_saved"]) for test in item["tests"])
    return (item["id"], _minute(item["created_at"]), verdict, f"{passed} of {len(item['tests'])}", f"{saved:,}")


def _minute(moment: str | None) -> str | None:
    """A moment in this machine's time zone, to the minute."""
    shown = local_time(moment)
    return shown and shown[: len("2026-11-30 02:00")]
