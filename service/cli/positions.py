"""`blockyard judge` and `blockyard perft`: the rules on given positions and deals."""

from typing import Annotated, TypeAlias

import typer

from service.cli.files import read_document
from service.cli.output import print_json

PositionFile: TypeAlias = Annotated[
    str, typer.Argument(metavar="FILE", help="A JSON, YAML or TOML file with one or a list; - for standard input.")
]
IgnoredJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, as it does anyway.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(judge)
    app.command()(perft)


def judge(file: PositionFile, _as_json: IgnoredJson = False) -> None:
    """Apply the rules to given positions.

    What may be placed, forced passes, whether the round is over, who won and what is scored.
    """
    document = read_document(file)
    from workers.engine.positions import judge as judge_document

    print_json(judge_document(document))


def perft(file: PositionFile, _as_json: IgnoredJson = False) -> None:
    """Walk the whole tree of given deals.

    Complete rounds by number of placements, and the exact chances under random play.
    """
    document = read_document(file)
    from workers.engine.perft import perft as perft_document

    print_json(perft_document(document))
