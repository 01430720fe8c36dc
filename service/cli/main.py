"""The command `blockyard`: all commands together, and the one place where an error becomes a line and an exit code."""

import os
import sys
from importlib.metadata import version
from typing import Annotated, Final, NoReturn

import typer

from service.cli import bench, jobs, keys, names, positions, processes, regress, replay, simulate, sprt, tune
from service.cli.exits import DONE, FAILED, INTERRUPTED, UNREACHABLE, USAGE, Failed, UsageError
from workers.errors import BlockyardError, Conflict, InvalidInput, LedgerUnavailable, NotFound
from workers.logs import masked

DEBUG_VARIABLE: Final = "BLOCKYARD_DEBUG"

app = typer.Typer(
    name="blockyard",
    help="Bulk simulation and strategy regressions for Block dominoes, exact to the match.",
    epilog=(
        "Exit codes: 0 done or passed; 1 failed or cancelled; 2 usage; 3 service not reachable; 4 regression found; "
        "5 inconclusive or timed out; 130 interrupted."
    ),
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (simulate, bench, positions, names, jobs, replay, regress, sprt, tune, processes, keys):
    module.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"blockyard {version('blockyard')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Bulk simulation and strategy regressions for Block dominoes, exact to the match."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> NoReturn:
    """Run the command line of this process and exit with its code."""
    try:
        code = run()
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; nothing more can be said there, at exit neither.
        sys.stdout = None
        code = FAILED
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code; errors are one line on standard error."""
    try:
        code = app(arguments, prog_name="blockyard", standalone_mode=False)
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        return _explain(error)
    if code == INTERRUPTED:
        _complain("interrupted")
    return code if isinstance(code, int) else DONE


def _explain(error: Exception) -> int:
    from pydantic import ValidationError

    from service.access.opening import OpenToStrangers
    from service.client import RequestRefused, ServiceError, ServiceUnreachable
    from service.local.errors import LocalError, NoRedis

    match error:
        case typer.TyperException():
            _complain(error.format_message())
            return error.exit_code
        case InvalidInput():
            _complain("; ".join(f"{item.path}: {item.message}" if item.path else item.message for item in error.errors))
            return USAGE
        case ValidationError() if error.title in ("Settings", "ServiceSettings"):
            _complain("; ".join(f"BLOCKYARD_{str(item['loc'][0]).upper()}: {item['msg']}" for item in error.errors()))
            return USAGE
        case RequestRefused():
            reasons = "; ".join(f"{path}: {message}" if path else message for path, message in error.errors)
            _complain(reasons or str(error))
            return USAGE
        case ServiceUnreachable() | LedgerUnavailable() | NoRedis():
            _complain(str(error))
            return UNREACHABLE
        case UsageError() | LocalError() | NotFound() | Conflict() | OpenToStrangers() | ServiceError():
            _complain(str(error))
            return FAILED if isinstance(error, ServiceError) and error.status >= 500 else USAGE
        case Failed() | BlockyardError():
            _complain(str(error))
            return FAILED
        case OSError():
            _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
            return FAILED
        case _ if os.environ.get(DEBUG_VARIABLE):
            raise error
        case _:
            _complain(f"something went wrong: {type(error).__name__}: {error} ({DEBUG_VARIABLE}=1 shows where)")
            return FAILED


def _complain(message: str) -> None:
    line = masked(" ".join(message.split()))
    typer.echo(f"blockyard: {line}", err=True)
