"""Drawings of a line: the order of the tiles, their halves, and where they lie."""

import re
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.drawing import MARK, draw_line
from service.laying import GAP, NARROW_ROW, ROW, Box, ends_of, lay_out, line_of
from workers.engine.play import Lineup, replay_match
from workers.engine.policies import resolve_policy
from workers.engine.reference import Placement, Ply
from workers.engine.replay import line_after
from workers.engine.rules import resolve_ruleset


def placed(*placements: tuple[tuple[int, int], int | None]) -> list[Ply]:
    return [Ply(0, (), Placement(tile, end)) for tile, end in placements]


def halves(plies: list[Ply]) -> list[tuple[int, int]]:
    return [(laid.first, laid.second) for laid in line_of(plies)]


def test_the_line_reads_from_end_to_end() -> None:
    plies = placed(((1, 4), None), ((1, 1), 1), ((4, 4), 4), ((3, 4), 4), ((0, 1), 1))
    assert halves(plies) == [(0, 1), (1, 1), (1, 4), (4, 4), (4, 3)]


def test_passes_draw_nothing() -> None:
    assert halves([*placed(((2, 5), None)), Ply(1, (), None)]) == [(2, 5)]
    assert "Nothing is placed yet" in draw_line([Ply(0, (), None)], "x")


def test_at_equal_ends_the_port_that_replays_name_is_joined() -> None:
    plies = placed(((1, 4), None), ((1, 3), 1), ((3, 4), 3), ((4, 5), 4))
    # Both ends are 4 before the last tile; the first port in the listing is [1|4] high, the right end.
    assert str(line_after(ply.placement for ply in plies if ply.placement).connections[-1].open) == "[1|4] high"
    assert halves(plies) == [(4, 3), (3, 1), (1, 4), (4, 5)]


def rectangle(box: Box) -> tuple[float, float, float, float]:
    width, height = box.size
    return box.x, box.y, box.x + width, box.y + height


def touch(one: Box, other: Box, size: tuple[float, float] | None = None) -> bool:
    """Whether two boxes overlap by more than rounding; the first one may have a size of its own."""
    a, b = rectangle(one), rectangle(other)
    if size:
        a = (a[0], a[1], a[0] + size[0], a[1] + size[1])
    return min(a[2], b[2]) - max(a[0], b[0]) > 1e-9 and min(a[3], b[3]) - max(a[1], b[1]) > 1e-9


def near(one: Box, other: Box) -> bool:
    a, b = rectangle(one), rectangle(other)
    apart_x = max(a[0], b[0]) - min(a[2], b[2])
    apart_y = max(a[1], b[1]) - min(a[3], b[3])
    return max(apart_x, apart_y) < GAP + 1e-9


@given(seed=st.integers(0, 2**64 - 1), highest=st.sampled_from([6, 9, 12]))
@settings(max_examples=20, deadline=None)
def test_every_line_fits_the_table_without_overlaps(seed: int, highest: int) -> None:
    ruleset = resolve_ruleset({"preset": "draw", "set": highest, "ends": {"rounds": 2}}, 2)
    policy = resolve_policy("double", 2)
    for played in replay_match(Lineup(ruleset, (policy, policy), 1, seed), 0, 0).rounds:
        line = line_of(played.plies)
        assert all(before.second == after.first for before, after in pairwise(line))
        assert sorted(laid.tile for laid in line) == sorted(ply.placement.tile for ply in played.plies if ply.placement)
        boxes = lay_out(line)
        assert len(boxes) == len(line)
        for number, box in enumerate(boxes):
            x, _, right, _ = rectangle(box)
            assert -1 - GAP <= x < right <= ROW + 1 + GAP  # a double may stand over the edge
            assert not any(touch(box, other) for other in boxes[:number])
        assert all(near(before, after) for before, after in pairwise(boxes))
        drawing = draw_line(played.plies, "a <title> & more")
        assert drawing.count("<g>") == len(line)
        assert "a &lt;title&gt; &amp; more" in drawing
        _check_moments(list(played.plies))
        pips = sum(first + second for first, second in ((laid.first, laid.second) for laid in line))
        assert drawing.count("<circle") == pips


def _check_moments(plies: list[Ply]) -> None:
    """After every ply the marks are the open ports, on free places beside the line's ends, and no tile has moved."""
    for row in (ROW, NARROW_ROW):
        boxes = lay_out(line_of(plies), row)
        places = {box.ply: box for box in boxes}
        assert all(near(before, after) for before, after in pairwise(boxes))
        assert not any(touch(*pair) for pair in combinations(boxes, 2))
        for shown in {1, len(plies), *range(2, len(plies), 5)}:
            ends = ends_of(plies[:shown])
            assert ends is not None
            assert sorted(ends) == line_after(ply.placement for ply in plies[:shown] if ply.placement).open
            laid = line_of(plies[:shown])
            assert (ends[0].value, ends[1].value) == (laid[0].first, laid[-1].second)
            lying = [places[each.ply] for each in laid]
            marks = (lying[0].before, lying[-1].after)
            assert max(abs(marks[0][0] - marks[1][0]), abs(marks[0][1] - marks[1][1])) > 2 * MARK, "the marks lie apart"
            for x, y in marks:
                mark = Box(x - MARK, y - MARK, False, (0, 0), 0, (0, 0), (0, 0))
                assert not any(touch(mark, box, size=(2 * MARK, 2 * MARK)) for box in lying)
            drawn = draw_line(plies, "x", shown=shown, row=row)
            assert re.findall('data-port="([^"]*)"', drawn) == [str(port) for port in ends]
            assert drawn.count("<g>") == len(laid)


def test_doubles_lie_crosswise() -> None:
    boxes = lay_out(line_of(placed(((6, 6), None), ((2, 6), 6), ((2, 2), 2))))
    assert sorted(box.upright for box in boxes) == [False, True, True]
    assert all(box.upright == (box.halves[0] == box.halves[1]) for box in boxes)


@pytest.mark.parametrize("value", range(13))
def test_a_half_has_as_many_pips_as_its_value(value: int) -> None:
    assert draw_line(placed(((0, value), None)), "x").count("<circle") == value
