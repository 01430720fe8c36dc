"""What commands print: data on standard output; progress, notes and errors on standard error.

Rich is imported where something is drawn, so that commands which print JSON or a line start without it.
"""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson
import typer

if TYPE_CHECKING:
    from rich.console import Console

NARROW: Final = 80
"""Columns that everything fits into where there is no terminal to ask."""
UNBROKEN: Final = 32
"""Longest text that stays in one piece: a longer one would leave too little to the others."""


def note(text: str) -> None:
    """A line for the person who looks on; in a terminal that is too narrow for it, broken between words."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        broken = textwrap.TextWrapper(width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        text = "\n".join(map(broken.fill, text.splitlines()))
    typer.echo(text, err=True)


def print_json(value: object) -> None:
    """A value as indented JSON."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)
    typer.echo(text.decode())


def console(*, stderr: bool = False) -> "Console":
    """A console of this terminal's width; without a terminal 80 columns and no colour."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else NARROW
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table. A column whose name starts with `>` is of figures and stands to the right; texts are folded to fit.

    One whose name starts with `=` is of texts that stay in one piece, such as ids and moments, unless they are very long.
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_header=any(columns))
    texts = [["–" if cell is None else str(cell) for cell in row] for row in rows]
    for place, column in enumerate(columns):
        mark, name = (column[:1], column[1:]) if column[:1] in (">", "=") else ("", column)
        whole = mark == ">" or (mark == "=" and all(len(row[place]) <= UNBROKEN for row in texts))
        drawn.add_column(name, justify="right" if mark == ">" else "left", no_wrap=whole, overflow="fold")
    for row in texts:
        drawn.add_row(*map(escape, row))
    console().print(drawn)


def amount(value: Any) -> str:
    """A whole number with thousands parted: 1,234,567. Digits that travelled as a string are taken too."""
    return "–" if value is None else f"{int(value):,}"


def percent(value: float | None) -> str:
    """A share of 1 in hundredths: 54.32 %."""
    return "–" if value is None else f"{value * 100:.2f} %"


def duration(seconds: float | None) -> str:
    """Seconds as a person says them: 0.4 s, 12 s, 3 min 5 s, 2 h 10 min."""
    if seconds is None:
        return "–"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def done_share(progress: Mapping[str, Any]) -> str:
    """How far a job is: 42 %; 100 % only when it is whole."""
    done, total = int(progress["matches_done"]), int(progress["matches_total"])
    return f"{done * 100 // total} %" if total else "–"
