"""Commands on jobs of a running service."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import orjson
import typer

from service.cli.exits import DONE, FAILED, INTERRUPTED, UsageError
from service.cli.files import read_document
from service.cli.options import DEFAULT_URL, AsJson, JobId, Key, Url
from service.cli.output import amount, done_share, note, print_json
from service.cli.tables import print_job, print_jobs, print_results
from service.cli.tournament import print_field

if TYPE_CHECKING:
    from service.client import Client

STATES: Final = ("queued", "running", "paused", "done", "cancelled", "failed")
FORMATS: Final = ("table", "json", "csv")
TABLES: Final = ("scenarios", "pairs", "ratings")
PAGE: Final = 200


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (submit, jobs, status, watch, results, cancel, pause, resume, restart, delete):
        app.command()(command)


def submit(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A JSON, YAML or TOML file; - for standard input.")],
    wait: Annotated[bool, typer.Option("--wait", help="Follow the job to its end.")] = False,
    idempotency_key: Annotated[
        str | None, typer.Option("--idempotency-key", help="The same key and file again are the same job.")
    ] = None,
    url: Url = DEFAULT_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Submit the job that a file describes, and print its id."""
    document = read_document(file)
    if not isinstance(document, dict):
        raise UsageError(f"{file}: must hold an object with scenarios or a matrix")
    with _connect(url, key) as client:
        job: Mapping[str, Any] = client.submit(document, idempotency_key=idempotency_key)
        if not wait:
            print_json(job) if as_json else typer.echo(job["id"])
            return
        if not as_json:
            typer.echo(job["id"])
            sys.stdout.flush()
        ended = _follow(client, job["id"])
        if as_json:
            print_json(ended)
    raise typer.Exit(_outcome(ended))


def jobs(
    state: Annotated[str | None, typer.Option("--state", help=f"Only these: {', '.join(STATES)}.")] = None,
    label: Annotated[str | None, typer.Option("--label", metavar="KEY=VALUE", help="Only jobs with this label.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 50,
    url: Url = DEFAULT_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List jobs, newest first."""
    if state is not None and state not in STATES:
        raise UsageError(f"--state: must be one of {', '.join(STATES)}, not {state!r}")
    items: list[Mapping[str, Any]] = []
    cursor = None
    with _connect(url, key) as client:
        while len(items) < limit:
            page = client.jobs(state=state, label=label, limit=min(PAGE, limit - len(items)), cursor=cursor)  # type: ignore[arg-type]  # checked above
            items.extend(page["items"])
            cursor = page["next_cursor"]
            if cursor is None:
                break
    if as_json:
        print_json({"items": items, "next_cursor": cursor})
    elif items:
        print_jobs(items)
    else:
        note("no jobs")


def status(job_id: JobId, url: Url = DEFAULT_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show one job."""
    with _connect(url, key) as client:
        _show(client.job(job_id), as_json)


def watch(job_id: JobId, url: Url = DEFAULT_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Follow a job to its end. Ctrl-C leaves it running."""
    with _connect(url, key) as client:
        client.job(job_id)  # what does not exist, or cannot be reached, is said at once
        ended = _follow(client, job_id, as_json=as_json)
    raise typer.Exit(_outcome(ended))


def results(
    job_id: JobId,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")] = "table",
    of: Annotated[
        str, typer.Option("--of", help=f"With csv: one of {', '.join(TABLES)}; pairs and ratings are those of a matrix.")
    ] = "scenarios",
    url: Url = DEFAULT_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Print a job's results so far."""
    if form not in FORMATS:
        raise UsageError(f"--format: must be one of {', '.join(FORMATS)}, not {form!r}")
    if as_json and form == "csv":
        raise UsageError("--format csv and --json ask for two things; leave one out")
    if of not in TABLES:
        raise UsageError(f"--of: must be one of {', '.join(TABLES)}, not {of!r}")
    with _connect(url, key) as client:
        if form == "csv":
            text = client.results_csv(job_id, table=of)  # type: ignore[arg-type]  # checked above
            sys.stdout.buffer.write(text.encode())
            return
        found = client.results(job_id)
    if form == "json" or as_json:
        print_json(found)
        return
    print_results(found["results"])
    for field in found["tournament"] or ():
        print_field(field)
    if not found["complete"]:
        note("the job has not ended: these are the results so far")


def cancel(job_id: JobId, url: Url = DEFAULT_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Stop a job for good; what is recorded stays."""
    with _connect(url, key) as client:
        _changed(client.cancel(job_id), as_json)


def pause(job_id: JobId, url: Url = DEFAULT_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Hand out nothing more of a job for now."""
    with _connect(url, key) as client:
        _changed(client.pause(job_id), as_json)


def resume(job_id: JobId, url: Url = DEFAULT_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Go on with a paused job."""
    with _connect(url, key) as client:
        _changed(client.resume(job_id), as_json)


def restart(job_id: JobId, url: Url = DEFAULT_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Play a job anew, from its first block.

    The job has ended, or waits for an engine version that is gone.
    """
    with _connect(url, key) as client:
        _changed(client.restart(job_id), as_json)


def delete(job_id: JobId, url: Url = DEFAULT_URL, key: Key = None) -> None:
    """Forget a job that has ended, with its results."""
    with _connect(url, key) as client:
        client.delete(job_id)
    note(f"{job_id} is deleted")


def _connect(url: str, key: str | None) -> "Client":
    from service.cli.service_client import connect

    return connect(url, key)


def _show(job: Mapping[str, Any], as_json: bool) -> None:
    print_json(job) if as_json else print_job(job)


def _changed(job: Mapping[str, Any], as_json: bool) -> None:
    print_json(job) if as_json else typer.echo(f"{job['id']} {job['state']}")


def _outcome(job: Mapping[str, Any]) -> int:
    return DONE if job["state"] == "done" else FAILED


def _follow(client: "Client", job_id: str, *, as_json: bool = False) -> Mapping[str, Any]:
    """Show a job's progress until it ends, and return it as it ended."""
    from service.cli.progress import follow

    last: Mapping[str, Any] = {}
    try:
        for event in follow(client.events(job_id)) if not as_json else client.events(job_id):
            last = event["job"]
            if as_json:
                typer.echo(orjson.dumps(event).decode())
    except KeyboardInterrupt:
        note(f"the job goes on; see it again with: blockyard watch {job_id}")
        raise typer.Exit(INTERRUPTED) from None
    _note_end(last)
    return last


def _note_end(job: Mapping[str, Any]) -> None:
    progress = job["progress"]
    reason = f": {job['error']}" if job.get("error") else ""
    note(f"{job['state']}{reason}, {amount(progress['matches_done'])} matches ({done_share(progress)})")
