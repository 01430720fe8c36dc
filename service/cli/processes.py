"""Running the service: all of it here (`up`), or one process of it for a cluster (`api`, `worker`, `scheduler`)."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.engine import usable_cores
from service.cli.options import Processes
from service.cli.output import note

if TYPE_CHECKING:
    from service.local.up import Addresses


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (up, api, worker, scheduler):
        app.command()(command)


def up(
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, max=1024, help="Processes that play; by default one for each core.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=1, max=65535, help="The API's port; by default 8000, or the next that is free."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="The data folder; by default ~/.local/share/blockyard.")
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", help="The address to listen on; by default 127.0.0.1. Others need a key.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Let everybody in, from anywhere, while there is no key.")
    ] = False,
    announce: Annotated[
        Path | None,
        typer.Option("--announce", metavar="FILE", help="Write the service's address into this file once it is ready."),
    ] = None,
) -> None:
    """Run the whole service on this machine until Ctrl-C.

    What it needs of Redis it brings along, unless BLOCKYARD_REDIS_URL names one. On the same data folder it goes on where
    it ended the last time.
    """
    from service.local.folder import default_data_folder
    from service.local.ports import LOOPBACK
    from service.local.up import Plan
    from service.local.up import up as run_service

    count = workers or usable_cores()

    def ready(places: "Addresses") -> None:
        _print_addresses(places, count)
        if announce is not None:
            announce.write_text(f"{places.api}\n")

    plan = Plan(data or default_data_folder(), count, port, host or LOOPBACK, insecure)
    run_service(plan, say=note, announce=ready)


def _print_addresses(places: "Addresses", workers: int) -> None:
    typer.echo(f"""
Blockyard is up, with {workers} {"process that plays" if workers == 1 else "processes that play"}.
  dashboard  {places.api}/
  API        {places.api}/v1   (documentation: {places.api}/docs)
  Redis      {places.redis}
  data       {places.data}   (logs in logs/)
Ctrl-C stops it.
""")
    sys.stdout.flush()


def api(
    host: Annotated[
        str | None, typer.Option("--host", help="The address to listen on; by default 127.0.0.1. Others need a key.")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65535, help="The port; by default 8000.")] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Let everybody in, from anywhere, while there is no key.")
    ] = False,
    descriptor: Annotated[int | None, typer.Option("--descriptor", hidden=True)] = None,
) -> None:
    """Run one API process. BLOCKYARD_REDIS_URL names the Redis."""
    from service.server import serve

    serve(host, port, descriptor, insecure=insecure)


def worker(
    processes: Processes = None,
    name: Annotated[str | None, typer.Option("--name", help="The worker's name; by default after host and process.")] = None,
) -> None:
    """Run one worker with its processes. BLOCKYARD_REDIS_URL names the Redis."""
    from workers.app import run_worker

    run_worker(processes or usable_cores(), name)


def scheduler() -> None:
    """Run the scheduler. BLOCKYARD_REDIS_URL names the Redis."""
    from workers.scheduler import run

    run()
