"""A replayed match drawn in the terminal: hands, every ply with the line after it, how each round ended."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import typer

from service.cli.output import NARROW
from service.labels import short_name

INDENT: Final = "  "
GAP: Final = " ... "


def draw_match(document: Mapping[str, Any], only: int | None = None) -> None:
    """Print a replay document, or only one of its rounds."""
    for seat, policy in enumerate(document["policies"]):
        typer.echo(_shortened(f"seat {seat}: {short_name(policy)}"))
    for played in document["rounds"]:
        if only is None or played["round"] == only:
            typer.echo("")
            for line in _round_lines(played):
                typer.echo(line)
    typer.echo("")
    winners = [str(seat) for seat in document["winners"]]
    ending = f"won by seat {' and seat '.join(winners)}" if winners else "unfinished"
    typer.echo(f"{len(document['rounds'])} rounds, {ending}; scores {_figures(document['scores'])}")


def _round_lines(played: Mapping[str, Any]) -> Iterator[str]:
    yield f"Round {played['round']}, seat {played['leader']} leads"
    for seat, hand in enumerate(played["hands"]):
        yield f"{INDENT}seat {seat} holds  {' '.join(tile(*each) for each in hand)}"
    if played["stock"]:
        yield from _wrapped(f"{INDENT}stock         ", [tile(*each) for each in played["stock"]])
    line = DrawnLine()
    for number, ply in enumerate(played["plies"], 1):
        drawn = "".join(f"draws {tile(*each)}, " for each in ply["drawn"])
        placed = ply["placement"]
        if placed is None:
            yield f"{INDENT}{number:>3}  seat {ply['seat']}  {drawn}passes"
            continue
        line.place(placed["tile"], placed["end"])
        head = f"{INDENT}{number:>3}  seat {ply['seat']}  {drawn}{tile(*placed['tile'])}  "
        yield head + line.fitted(NARROW - len(head))
    yield from _wrapped(f"{INDENT}line   ", line.tiles)
    yield f"{INDENT}{_ending(played)}"


def _ending(played: Mapping[str, Any]) -> str:
    left = "; ".join(
        f"seat {seat} keeps {' '.join(tile(*each) for each in hand)}" for seat, hand in enumerate(played["final_hands"]) if hand
    )
    winner = played["winner"]
    reason = "blocked" if played["reason"] == "blocked" else f"seat {winner} is out"
    outcome = "nobody scores" if winner is None else f"seat {winner} wins {max(played['credit'])}"
    text = f"{reason}, {outcome}; scores {_figures(played['scores'])}; {left}"
    return textwrap.fill(text, NARROW - len(INDENT), subsequent_indent=INDENT * 2)


def tile(first: int, second: int) -> str:
    """A tile as it lies: [2|5]."""
    return f"[{first}|{second}]"


class DrawnLine:
    """The line on the table from its left end to its right."""

    def __init__(self) -> None:
        self._halves: list[tuple[int, int]] = []

    @property
    def tiles(self) -> list[str]:
        """Every tile, turned as it lies."""
        return [tile(*halves) for halves in self._halves]

    def place(self, placed: Sequence[int], end: int | None) -> None:
        """Lay a tile at the end of this value, at the left one where both have it."""
        low, high = placed
        if not self._halves:
            self._halves.append((low, high))
        elif self._halves[0][0] == end:
            self._halves.insert(0, (high, low) if low == end else (low, high))
        else:
            self._halves.append((low, high) if low == end else (high, low))

    def fitted(self, width: int) -> str:
        """The line in so many columns; where it is longer its middle is left out."""
        whole = "".join(self.tiles)
        if len(whole) <= width:
            return whole
        side = (width - len(GAP)) // 2 // len(self.tiles[0])
        return "".join(self.tiles[:side]) + GAP + "".join(self.tiles[-side:])


def _wrapped(head: str, tiles: Sequence[str]) -> list[str]:
    return textwrap.wrap(" ".join(tiles), NARROW, initial_indent=head, subsequent_indent=" " * len(head))


def _figures(values: Sequence[int]) -> str:
    return " : ".join(map(str, values))


def _shortened(text: str) -> str:
    return text if len(text) <= NARROW else f"{text[: NARROW - 3]}..."
