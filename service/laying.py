"""Where the tiles of a line lie on the table: doubles crosswise, bending at the table's edge, and where it is open.

Lengths are in pip cells: a tile is 2 cells long and 1 wide. The line runs in rows, each read against the one above, as
a field is ploughed; where a row is full, one tile stands upright and leads down to the next.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from workers.engine.reference import Ply
from workers.engine.replay import Line, Port
from workers.engine.tiles import Tile, is_double

ROW: Final = 24
"""Cells of a row before the line bends."""
NARROW_ROW: Final = 10
"""The same on a telephone."""
GAP: Final = 0.125
"""Cells between neighbours, so that tiles are told apart; an eighth, so that sums stay exact."""
REACH: Final = GAP + 0.5
"""Cells from a tile's side to the middle of the place where the next tile would begin."""

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Laid:
    """A tile of the line with its halves as they lie, first half towards the left end of the line."""

    tile: Tile
    first: int
    second: int
    ply: int


def line_of(plies: Sequence[Ply]) -> list[Laid]:
    """The line from its left end to its right end; an opening lies with its low half to the left."""
    return _line_and_ends(plies)[0]


def ends_of(plies: Sequence[Ply]) -> tuple[Port, Port] | None:
    """The open ports at the line's left and right end; None before the opening."""
    return _line_and_ends(plies)[1]


def _line_and_ends(plies: Sequence[Ply]) -> tuple[list[Laid], tuple[Port, Port] | None]:
    table, laid = Line(), deque[Laid]()
    left: Port | None = None
    for number, ply in enumerate(plies):
        if ply.placement is None:
            continue
        table.place(ply.placement)
        tile = ply.placement.tile
        if left is None:
            left = table.open[0] if is_double(tile) else Port(tile, "low")
            laid.append(Laid(tile, tile[0], tile[1], number))
            continue
        joined = table.connections[-1]
        outward = next(port for port in table.open if port.tile == tile)
        if joined.open == left:
            left = outward
            laid.appendleft(Laid(tile, outward.value, joined.joined.value, number))
        else:
            laid.append(Laid(tile, joined.joined.value, outward.value, number))
    if left is None:
        return [], None
    return list(laid), (left, next(port for port in table.open if port != left))


@dataclass(frozen=True, slots=True)
class Box:
    """Where a tile lies, in cells: its corner, whether its halves lie one below the other, and the two halves in reading
    order (left to right, or top to bottom). `before` and `after` are where the line's next tile would begin if it ended
    here, on the left or on the right."""

    x: float
    y: float
    upright: bool
    halves: tuple[int, int]
    ply: int
    before: Point
    after: Point

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in cells."""
        return (1, 2) if self.upright else (2, 1)


def lay_out(line: Sequence[Laid], row: int = ROW) -> list[Box]:
    """Boxes for the tiles of a line: rows alternately rightwards and leftwards between 0 and `row`.

    A tile that does not fit any more is the corner: it stands below the outer cell of the last tile, and the next row goes
    on beside its lower half. A double always fits (it may stand one cell over the edge), so it is never a corner.
    """
    boxes: list[Box] = []
    step, front, middle = 1, 0.0, 0.0
    for laid in line:
        length = 1 if is_double(laid.tile) else 2
        x = front if step > 0 else front - length
        sides = (x - REACH, middle), (x + length + REACH, middle)
        before, after = sides if step > 0 else sides[::-1]
        if length == 1:
            boxes.append(Box(x, middle - 1.0, True, (laid.first, laid.second), laid.ply, before, after))
        elif 0 <= x <= row - length:
            halves = (laid.first, laid.second) if step > 0 else (laid.second, laid.first)
            boxes.append(Box(x, middle - 0.5, False, halves, laid.ply, before, after))
        else:
            last = boxes[-1]
            x, y = (last.x + last.size[0] - 1 if step > 0 else last.x), last.y + last.size[1] + GAP
            step, middle = -step, y + 1.5
            before, after = (x + 0.5, y - REACH), (x + 1 + REACH if step > 0 else x - REACH, middle)
            boxes.append(Box(x, y, True, (laid.first, laid.second), laid.ply, before, after))
            front = x + 1 + GAP if step > 0 else x - GAP
            continue
        front += step * (length + GAP)
    return boxes
