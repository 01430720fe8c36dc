"""What can be named: policies and rulesets; and who works."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from service.cli.options import DEFAULT_URL, AsJson, Key, Url, by_option, name_or_object
from service.cli.output import amount, note, percent, print_json, table
from service.cli.tables import local_time
from workers.errors import InvalidInput

HereUrl = Annotated[
    str | None,
    typer.Option("--url", envvar="BLOCKYARD_URL", help="Ask this service instead of this installation.", show_envvar=True),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    named = typer.Typer(rich_markup_mode=None, invoke_without_command=True)
    named.callback()(policies)
    named.command()(check)
    app.add_typer(named, name="policies", help="List the policies, or try one (policies check).")
    app.command()(rulesets)
    working = typer.Typer(rich_markup_mode=None, invoke_without_command=True)
    working.callback()(workers)
    working.command()(drain)
    app.add_typer(working, name="workers", help="List who works, or relieve one (workers drain).")


def policies(context: typer.Context, url: HereUrl = None, key: Key = None, as_json: AsJson = False) -> None:
    """List the policies that can be named, with what each does."""
    if context.invoked_subcommand is not None:
        return
    if url is None:
        from workers.engine.policies import describe_policies

        found: list[dict[str, Any]] = describe_policies()
    else:
        from service.cli.service_client import connect

        with connect(url, key) as client:
            found = client.policies()
    if as_json:
        print_json(found)
        return
    rows = [(item["name"], item.get("version", ""), item["summary"], _parameters(item)) for item in found]
    table(("policy", "version", "what it does", "parameters"), rows)


def check(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A policy's name, or a JSON object.")], as_json: AsJson = False
) -> None:
    """Try whether a policy keeps what every policy must.

    It plays short matches in every seat, twice each: its placements must be legal, and the same the second time.
    """
    from workers.engine.policies.contract import check_policy

    try:
        found = check_policy(name_or_object(name, "NAME"))
    except InvalidInput as refusal:
        raise by_option(refusal, {"policy": "NAME"}) from None
    if as_json:
        print_json({"policy": name, "passed": not found.problems, **asdict(found)})
    else:
        for problem in found.problems:
            note(problem)
        average = found.seconds / max(1, found.decisions)
        note(
            f"{name}: {found.matches} matches, {found.decisions:,} decisions, {average * 1e6:,.0f} µs each, the longest"
            f" {found.slowest * 1e3:,.1f} ms; {'keeps what every policy must' if not found.problems else 'FAILED'}"
        )
    if found.problems:
        raise typer.Exit(1)


def rulesets(url: HereUrl = None, key: Key = None, as_json: AsJson = False) -> None:
    """List the rulesets that can be named, in plain words.

    What each plays, where that comes from, and what was decided where its source says nothing.
    """
    if url is None:
        from workers.engine.explained import describe_rulesets

        found: list[dict[str, Any]] = describe_rulesets()
    else:
        from service.cli.service_client import connect

        with connect(url, key) as client:
            found = client.rulesets()
    if as_json:
        print_json(found)
        return
    for item in found:
        table((item["name"], ""), _explained(item))
    names = ", ".join(found[0]["parameters"]["properties"]) if found else ""
    note(f"parameters: {names}\nwhat each may be: blockyard rulesets --json")


def _explained(item: Mapping[str, Any]) -> list[Sequence[object]]:
    """A ruleset as lines: its rules, its choices and its source."""
    parts = {"plays": item["rules"], "decided": item["choices"], "source": [item["source"]]}
    return [(part if first == 0 else "", text) for part, texts in parts.items() for first, text in enumerate(texts)]


def _parameters(item: Mapping[str, Any]) -> str:
    return ", ".join(name for name in item.get("parameters", {}).get("properties", {}) if name not in ("name", "version"))


def workers(context: typer.Context, url: Url = DEFAULT_URL, key: Key = None, as_json: AsJson = False) -> None:
    """List the workers of a running service."""
    if context.invoked_subcommand is not None:
        context.obj = (url, key)
        return
    from service.cli.service_client import connect

    with connect(url, key) as client:
        found = client.workers()
    if as_json:
        print_json(found)
    elif found:
        columns = ("name", "since", ">processes", ">engine", ">busy", ">matches", "")
        table(columns, [_worker_row(worker) for worker in found])
    else:
        note("no workers")


def drain(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The worker's name.")],
    url: Annotated[str | None, typer.Option("--url", help="Where the service answers.")] = None,
    key: Annotated[str | None, typer.Option("--key", help="The key to show to the service.")] = None,
) -> None:
    """Hand nothing more to a worker; it ends once its hands are empty."""
    from service.cli.service_client import connect

    # Both may also stand before the name of this command, as options of `workers`, and come from the environment there.
    group_url, group_key = context.obj
    with connect(url or group_url, key or group_key) as client:
        client.drain(name)
    note(f"{name} gets nothing more")


def _worker_row(worker: Mapping[str, Any]) -> Sequence[object]:
    state = "draining" if worker["draining"] else ""
    busy, started = percent(worker["busy_ratio"]), local_time(worker["started_at"])
    return (worker["name"], started, worker["processes"], worker["engine_version"], busy, amount(worker["matches"]), state)
