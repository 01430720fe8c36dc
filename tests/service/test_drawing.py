"""Drawings of a line: the order of the tiles, their halves, and where they lie."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.drawing import GAP, ROW, Box, draw_line, lay_out, line_of
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


def touch(one: Box, other: Box) -> bool:
    """Whether two boxes overlap by more than rounding."""
    a, b = rectangle(one), rectangle(other)
    return min(a[2], b[2]) - max(a[0], b[0]) > 1e-9 and min(a[3], b[3]) - max(a[1], b[1]) > 1e-9


def near(one: Box, other: Box) -> bool:
    a, b = rectangle(one), rectangle(other)
    apart_x = max(a[0], b[0]) - min(a[2], b[2])
    apart_y = max(a[1], b[1]) - min(a[3], b[3])
    return max(apart_x, apart_y) < GAP + 1e-9


@given(seed=st.integers(0, 2**64 - 1), highest=st.sampled_from([6, 9, 12]))
@settings(max_examples=40, deadline=None)
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
        pips = sum(first + second for first, second in ((laid.first, laid.second) for laid in line))
        assert drawing.count("<circle") == pips


def test_doubles_lie_crosswise() -> None:
    boxes = lay_out(line_of(placed(((6, 6), None), ((2, 6), 6), ((2, 2), 2))))
    assert sorted(box.upright for box in boxes) == [False, True, True]
    assert all(box.upright == (box.halves[0] == box.halves[1]) for box in boxes)


@pytest.mark.parametrize("value", range(13))
def test_a_half_has_as_many_pips_as_its_value(value: int) -> None:
    assert draw_line(placed(((0, value), None)), "x").count("<circle") == value
