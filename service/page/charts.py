"""Charts as the server draws them: histograms of whole numbers, and a pace over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

WIDTH: Final = 320
HEIGHT: Final = 96
"""Of every chart, in units of its drawing."""
MOST_BARS: Final = 40


@dataclass(frozen=True, slots=True)
class Bar:
    """The values `low` to `high` of a histogram: how many there are, their share of all, and the place of their bar."""

    low: int
    high: int
    count: int
    share: float
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """A histogram as drawn. `low` and `high` are its least and greatest value, `mode` the bar with the most."""

    bars: tuple[Bar, ...]
    low: int
    high: int
    mode: Bar


@dataclass(frozen=True, slots=True)
class Pace:
    """A pace over time as drawn: the outline of an area, and the greatest, mean and newest rate, a second."""

    outline: str
    peak: float
    mean: float
    newest: float


def draw_histogram(pairs: Sequence[Sequence[Any]], most: int = MOST_BARS) -> Histogram | None:
    """The drawing of `[value, count]` pairs in at most so many bars of as many values each; None where nothing is counted."""
    counts = {int(value): int(count) for value, count in pairs if int(count)}
    if not counts:
        return None
    low, high = min(counts), max(counts)
    step = -(-(high - low + 1) // most)
    sums = [(first, sum(counts.get(value, 0) for value in range(first, first + step))) for first in range(low, high + 1, step)]
    total, top, width = sum(counts.values()), max(count for _, count in sums), WIDTH / len(sums)
    bars = []
    for place, (first, count) in enumerate(sums):
        height = round(HEIGHT * count / top, 1)
        # A bar that counts anything is seen.
        height = max(height, 1.0) if count else 0.0
        x, y, broad = round(place * width, 1), round(HEIGHT - height, 1), round(width * 0.86, 1)
        bars.append(Bar(first, min(first + step - 1, high), count, count / total, x, y, broad, height))
    return Histogram(tuple(bars), low, high, max(bars, key=lambda bar: bar.count))


def draw_pace(matches: Sequence[int], seconds: int, most: int = 180) -> Pace | None:
    """The drawing of the matches of stretches of so many seconds each, in at most so many points; None where all are 0."""
    if not any(matches):
        return None
    step = -(-len(matches) // most)
    rates = [sum(part) / (len(part) * seconds) for part in (matches[at : at + step] for at in range(0, len(matches), step))]
    peak, width = max(rates), WIDTH / max(1, len(rates) - 1)
    heights = [HEIGHT - HEIGHT * rate / peak for rate in rates]
    points = " ".join(f"{round(place * width, 1):g},{round(height, 1):g}" for place, height in enumerate(heights))
    outline = f"0,{HEIGHT} {points} {WIDTH},{HEIGHT}"
    return Pace(outline, peak, sum(matches) / (len(matches) * seconds), matches[-1] / seconds)
