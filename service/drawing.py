"""A line of dominoes as SVG: every tile where `service.laying` puts it, the newest one and the open ports marked.

A drawing that stands alone brings its own colours, which follow the reader's dark or light setting; one inside a page has
those of the page's style sheet, by the same classes.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from service.laying import ROW, Box, Point, ends_of, lay_out, line_of
from workers.engine.reference import Ply
from workers.engine.replay import Port
from workers.engine.tiles import Tile, tile_name

CELL: Final = 24
"""Pixels of a pip cell."""
MARGIN: Final = 1.25
"""Cells around the tiles, in which a mark of an open port has room."""
MARK: Final = 0.4
"""Half the side of such a mark, in cells."""

STYLE: Final = (
    ".t{fill:#fffdf6;stroke:#5a5346;stroke-width:1.5}.n{stroke:#b3541e;stroke-width:3}.p{fill:#2b2a27}"
    ".d{stroke:#5a5346;stroke-width:1}.e{fill:#5a5346;font:14px sans-serif}"
    ".o{fill:none;stroke:#5a5346;stroke-width:1.5;stroke-dasharray:3 2}.v{fill:#5a5346;font:13px sans-serif;text-anchor:middle}"
    "@media (prefers-color-scheme:dark){.t{fill:#34322d;stroke:#a79f8d}.n{stroke:#f0a060}.p{fill:#f3eee0}.d{stroke:#a79f8d}"
    ".e,.v{fill:#a79f8d}.o{stroke:#a79f8d}}"
)
"""The drawing's own; an image cannot take the page's."""
STYLE_HASH: Final = "sha256-" + b64encode(sha256(STYLE.encode()).digest()).decode()
"""By which a Content-Security-Policy allows this style and no other."""

_THIRDS: Final = (0.25, 0.5, 0.75)
_PIPS: Final[dict[int, tuple[Point, ...]]] = {}
"""Pip places in a unit cell by value, filled below for 0 to 12."""


@dataclass(frozen=True, slots=True)
class Captions:
    """What a drawing says: about a tile (with the ply's number from 1), an open port, and an empty table."""

    tile: Callable[[Ply, int], str]
    port: Callable[[Port], str]
    empty: str


def _tile_caption(ply: Ply, number: int) -> str:
    assert ply.placement is not None
    return f"{tile_name(ply.placement.tile)} by seat {ply.seat}, ply {number}"


ENGLISH: Final = Captions(_tile_caption, lambda port: f"{port} is open, {port.value}", "Nothing is placed yet.")


def draw_line(
    plies: Sequence[Ply], title: str, *, shown: int | None = None, row: int = ROW, captions: Captions = ENGLISH
) -> str:
    """The drawing of the line that these plies have laid, as a document of its own.

    With `shown` it is the line after so many of them, each tile where it lies once all are laid: moments of a round
    follow one another without a tile moving. The line bends after `row` cells.
    """
    view, size, body = _drawing(plies, shown, row, captions)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" width="{size[0]:g}" height="{size[1]:g}"'
        f' role="img"><title>{escape(title)}</title><style>{STYLE}</style>{body}</svg>'
    )


def draw_line_in_page(plies: Sequence[Ply], title: str, kind: str, *, shown: int, row: int, captions: Captions) -> str:
    """The same for a page: without a style of its own, of the CSS class `kind`."""
    view, size, body = _drawing(plies, shown, row, captions)
    return (
        f'<svg class="{kind}" viewBox="{view}" width="{size[0]:g}" height="{size[1]:g}" role="img">'
        f"<title>{escape(title)}</title>{body}</svg>"
    )


def draw_tile(tile: Tile) -> str:
    """A tile of a hand, lying, for a page; what it is called is left to what stands around it."""
    dots = "".join(_dots(value, half * CELL) for half, value in enumerate(tile))
    return (
        f'<svg class="tile" viewBox="-1 -1 50 26" aria-hidden="true"><rect class="t" width="48" height="{CELL}" rx="4"/>'
        f'<path class="d" d="M{CELL} 4v{CELL - 8}"/><path class="q" d="{dots}"/></svg>'
    )


def _dots(value: int, left: float) -> str:
    """The pips of a half as dots of a round pen."""
    return "".join(f"M{left + down * CELL:g} {across * CELL:g}h0" for across, down in _PIPS[value])


def _drawing(plies: Sequence[Ply], shown: int | None, row: int, captions: Captions) -> tuple[str, Point, str]:
    """The view box, its size in pixels, and what is in it."""
    boxes = lay_out(line_of(plies), row)
    left = min((box.x for box in boxes), default=0.0) - MARGIN
    top = min((box.y for box in boxes), default=0.0) - MARGIN
    right = max((box.x + box.size[0] for box in boxes), default=8.0) + MARGIN
    bottom = max((box.y + box.size[1] for box in boxes), default=1.0) + MARGIN
    size = (right - left) * CELL, (bottom - top) * CELL
    view = f"{left * CELL:g} {top * CELL:g} {size[0]:g} {size[1]:g}"
    count = len(plies) if shown is None else shown
    laid = [box for box in boxes if box.ply < count]
    if not laid:
        return (
            view,
            size,
            f'<text class="e" x="{left * CELL + CELL:g}" y="{top * CELL + 1.5 * CELL:g}">{escape(captions.empty)}</text>',
        )
    newest = max(box.ply for box in laid)
    body = [part for box in laid for part in _tile(box, plies[box.ply], captions, newest=box.ply == newest)]
    ends = ends_of(plies[:count])
    assert ends is not None
    for port, place in zip(ends, (laid[0].before, laid[-1].after), strict=True):
        body.extend(_mark(port, place, captions))
    return view, size, "".join(body)


def _mark(port: Port, place: Point, captions: Captions) -> Iterator[str]:
    """An open port: a dotted square with its value where the next tile would begin."""
    x, y, side = (place[0] - MARK) * CELL, (place[1] - MARK) * CELL, 2 * MARK * CELL
    yield f'<rect class="o" x="{x:g}" y="{y:g}" width="{side:g}" height="{side:g}" rx="4" data-port={quoteattr(str(port))}>'
    yield f"<title>{escape(captions.port(port))}</title></rect>"
    yield f'<text class="v" x="{place[0] * CELL:g}" y="{place[1] * CELL + 4.5:g}" aria-hidden="true">{port.value}</text>'


def _tile(box: Box, ply: Ply, captions: Captions, *, newest: bool) -> Iterator[str]:
    width, height = box.size
    x, y = box.x * CELL, box.y * CELL
    yield f"<g><title>{escape(captions.tile(ply, box.ply + 1))}</title>"
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
