"""`blockyard replay`: a match again, ply by ply, drawn in the terminal."""

from typing import Annotated

import typer

from service.cli.exits import UsageError
from service.cli.options import DEFAULT_URL, AsJson, JobId, Key, Url
from service.cli.output import print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(replay)


def replay(
    job_id: JobId,
    scenario: Annotated[int, typer.Option("--scenario", min=0, help="The scenario of the job, from 0.")] = 0,
    match: Annotated[int, typer.Option("--match", min=0, help="The match of the scenario, from 0.")] = 0,
    only: Annotated[int | None, typer.Option("--round", min=0, help="Only this round, from 0.")] = None,
    url: Url = DEFAULT_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Play one match of a job again and show it ply by ply."""
    from service.cli.service_client import connect

    with connect(url, key) as client:
        document = client.replay(job_id, scenario, match)
    rounds = document["rounds"]
    if only is not None and only >= len(rounds):
        raise UsageError(f"--round: the match has rounds 0 to {len(rounds) - 1}, not {only}")
    if as_json:
        print_json(document if only is None else {**document, "rounds": [rounds[only]]})
        return
    from service.cli.drawn_match import draw_match

    draw_match(document, only)
