"""A line of dominoes as SVG: doubles crosswise, bending at the table's edge, the newest tile marked.

Lengths are in pip cells: a tile is 2 cells long and 1 wide. The line runs in rows, each read against the one above, as
a field is ploughed; where a row is full, one tile stands upright and leads down to the next. Colours come from the
style sheet inside the drawing, which follows the reader's dark or light setting.
"""

from base64 import b64encode
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from xml.sax.saxutils import escape

from workers.engine.reference import Ply
from workers.engine.replay import Line, Port
from workers.engine.tiles import Tile, is_double

CELL: Final = 24
"""Pixels of a pip cell."""
ROW: Final = 24
"""Cells of a row before the line bends."""
MARGIN: Final = 1
GAP: Final = 0.125
"""Cells between neighbours, so that tiles are told apart; an eighth, so that sums stay exact."""

STYLE: Final = (
    ".t{fill:#fffdf6;stroke:#5a5346;stroke-width:1.5}.n{stroke:#b3541e;stroke-width:3}.p{fill:#2b2a27}"
    ".d{stroke:#5a5346;stroke-width:1}.e{fill:#5a5346;font:14px sans-serif}"
    "@media (prefers-color-scheme:dark){.t{fill:#34322d;stroke:#a79f8d}.n{stroke:#f0a060}.p{fill:#f3eee0}.d{stroke:#a79f8d}"
    ".e{fill:#a79f8d}}"
)
"""The drawing's own; an image cannot take the page's."""
STYLE_HASH: Final = "sha256-" + b64encode(sha256(STYLE.encode()).digest()).decode()
"""By which a Content-Security-Policy allows this style and no other."""

_THIRDS: Final = (0.25, 0.5, 0.75)
_PIPS: Final[dict[int, tuple[tuple[float, float], ...]]] = {}
"""Pip places in a unit cell by value, filled below for 0 to 12."""


@dataclass(frozen=True, slots=True)
class Laid:
    """A tile of the line with its halves as they lie, first half towards the left end of the line."""

    tile: Tile
    first: int
    second: int
    ply: int


def line_of(plies: Sequence[Ply]) -> list[Laid]:
    """The line from its left end to its right end; an opening lies with its low half to the left."""
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
    return list(laid)


@dataclass(frozen=True, slots=True)
class Box:
    """Where a tile lies, in cells: its corner, whether its halves lie one below the other, and the two halves in reading
    order (left to right, or top to bottom)."""

    x: float
    y: float
    upright: bool
    halves: tuple[int, int]
    ply: int

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in cells."""
        return (1, 2) if self.upright else (2, 1)


def lay_out(line: Sequence[Laid]) -> list[Box]:
    """Boxes for the tiles of a line: rows alternately rightwards and leftwards between 0 and `ROW`.

    A tile that does not fit any more is the corner: it stands below the outer cell of the last tile, and the next row goes
    on beside its lower half. A double always fits (it may stand one cell over the edge), so it is never a corner.
    """
    boxes: list[Box] = []
    step, front, middle = 1, 0.0, 0.0
    for laid in line:
        length = 1 if is_double(laid.tile) else 2
        x = front if step > 0 else front - length
        if length == 1:
            boxes.append(Box(x, middle - 1.0, True, (laid.first, laid.second), laid.ply))
        elif 0 <= x <= ROW - length:
            halves = (laid.first, laid.second) if step > 0 else (laid.second, laid.first)
            boxes.append(Box(x, middle - 0.5, False, halves, laid.ply))
        else:
            last = boxes[-1]
            x, y = (last.x + last.size[0] - 1 if step > 0 else last.x), last.y + last.size[1] + GAP
            boxes.append(Box(x, y, True, (laid.first, laid.second), laid.ply))
            step, middle = -step, y + 1.5
            front = x + 1 + GAP if step > 0 else x - GAP
            continue
        front += step * (length + GAP)
    return boxes


def draw_line(plies: Sequence[Ply], title: str) -> str:
    """The drawing of the line that these plies have laid."""
    boxes = lay_out(line_of(plies))
    newest = max((box.ply for box in boxes), default=-1)
    left = min((box.x for box in boxes), default=0.0) - MARGIN
    top = min((box.y for box in boxes), default=0.0) - MARGIN
    right = max((box.x + box.size[0] for box in boxes), default=8.0) + MARGIN
    bottom = max((box.y + box.size[1] for box in boxes), default=1.0) + MARGIN
    width, height = right - left, bottom - top
    view = f"{left * CELL:g} {top * CELL:g} {width * CELL:g} {height * CELL:g}"
    body = "".join(part for box in boxes for part in _tile(box, plies[box.ply], newest=box.ply == newest))
    if not boxes:
        body = f'<text class="e" x="{CELL}" y="{CELL}">Nothing is placed yet.</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" width="{width * CELL:g}" height="{height * CELL:g}"'
        f' role="img"><title>{escape(title)}</title><style>{STYLE}</style>{body}</svg>'
    )


def _tile(box: Box, ply: Ply, *, newest: bool) -> Iterator[str]:
    width, height = box.size
    x, y = box.x * CELL, box.y * CELL
    first, second = box.halves
    name = f"[{min(first, second)}|{max(first, second)}] by seat {ply.seat}, ply {box.ply + 1}"
    yield f"<g><title>{name}</title>"
    kind = "t n" if newest else "t"
    yield f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width * CELL}" height="{height * CELL}" rx="4"/>'
    if box.upright:
        yield f'<path class="d" d="M{x + 4:g} {y + CELL:g}h{CELL - 8}"/>'
    else:
        yield f'<path class="d" d="M{x + CELL:g} {y + 4:g}v{CELL - 8}"/>'
    for half, value in enumerate(box.halves):
        left = x + (0 if box.upright else half * CELL)
        top = y + (half * CELL if box.upright else 0)
        radius = 2.4 if value <= 9 else 1.9
        for across, down in _PIPS[value]:
            if not box.upright:
                across, down = down, across
            yield f'<circle class="p" cx="{left + across * CELL:g}" cy="{top + down * CELL:g}" r="{radius}"/>'
    yield "</g>"


def _fill_pips() -> None:
    """Pips as on real tiles, the long side of the half's columns upright: 6 is two columns of three, 9 a full square."""
    low, mid, high = _THIRDS
    corners = [(low, low), (high, high), (high, low), (low, high)]
    sides = [(low, mid), (high, mid)]
    _PIPS[0] = ()
    _PIPS[1] = ((mid, mid),)
    _PIPS[2] = tuple(corners[:2])
    _PIPS[3] = (*_PIPS[2], (mid, mid))
    _PIPS[4] = tuple(corners)
    _PIPS[5] = (*_PIPS[4], (mid, mid))
    _PIPS[6] = (*corners, *sides)
    _PIPS[7] = (*_PIPS[6], (mid, mid))
    _PIPS[8] = (*_PIPS[6], (mid, low), (mid, high))
    _PIPS[9] = (*_PIPS[8], (mid, mid))
    quarters = (0.17, 0.39, 0.61, 0.83)
    columns = [(across, down) for across in (low, high) for down in quarters]
    _PIPS[10] = (*columns, (mid, quarters[0]), (mid, quarters[3]))
    _PIPS[11] = (*columns, (mid, quarters[0]), (mid, mid), (mid, quarters[3]))
    _PIPS[12] = (*columns, *((mid, down) for down in quarters))


_fill_pips()
