"""Perfect play with all hands seen, literally: every side takes what is worth most to it, as far as the round goes.

What an end is worth to a side is its own award, or less that of another. Between two sides this is the minimax value. Between
more, each takes the best end for itself (max^n, Luckhardt and Irani 1986), and of equally good placements the first: those at
the left end before those at the right, the heaviest tile first.
"""

from collections.abc import Sequence

from workers.engine.reference import (
    LineEnds,
    Placement,
    RoundEnd,
    View,
    ends_after,
    placements,
    settle_blocked,
    settle_out,
)
from workers.engine.rules import Ruleset
from workers.engine.tiles import Tile, tile_ids


def worth(ruleset: Ruleset, end: RoundEnd, seat: int) -> int:
    """What the end of a round is worth to a seat's side."""
    if end.winner is None:
        return 0
    award = max(end.credit)
    return award if ruleset.side(end.winner) == ruleset.side(seat) else -award


def exact_worth(view: View, hands: Sequence[Sequence[Tile]], placement: Placement) -> int:
    """What a placement is worth in one world, hands by seat, if everybody then plays perfectly."""
    left = [[tile for tile in hand if tile != placement.tile] for hand in hands]
    if not left[view.seat]:
        return worth(view.ruleset, settle_out(view.ruleset, left, view.seat), view.seat)
    end = _best_end(view.ruleset, left, ends_after(view.line_ends, placement), view.next_seat, 0, view.leader)
    return worth(view.ruleset, end, view.seat)


def _best_end(
    ruleset: Ruleset, hands: Sequence[Sequence[Tile]], ends: LineEnds, seat: int, passes_in_a_row: int, leader: int
) -> RoundEnd:
    legal = placements(hands[seat], ends)
    after = (seat + 1) % ruleset.players
    if not legal:
        if passes_in_a_row + 1 == ruleset.players:
            return settle_blocked(ruleset, hands, leader)
        return _best_end(ruleset, hands, ends, after, passes_in_a_row + 1, leader)
    rank = tile_ids(ruleset.set)
    best: RoundEnd | None = None
    for placement in sorted(legal, key=lambda each: (each.end != ends[0], -rank[each.tile])):
        left = [[tile for tile in hand if tile != placement.tile] for hand in hands]
        if left[seat]:
            end = _best_end(ruleset, left, ends_after(ends, placement), after, 0, leader)
        else:
            end = settle_out(ruleset, left, seat)
        if best is None or worth(ruleset, end, seat) > worth(ruleset, best, seat):
            best = end
    assert best is not None
    return best
