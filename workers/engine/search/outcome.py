"""How a round ended, as one whole number: the award times `WINNERS`, plus the winning seat and one; 0 where nobody wins."""

from workers.engine.compile import compiled
from workers.engine.scalar.layout import ZERO, Integers, Words
from workers.engine.scalar.settle import pips_outside, settle_blocked, side_of

WINNERS = 16


@compiled(inline=True)
def went_out(rules: Integers, tile_sets: Words, hands: Words, seat: int) -> int:
    """The end of a round in which a seat placed its last tile."""
    return pips_outside(rules, tile_sets, hands, side_of(rules, seat)) * WINNERS + seat + 1


@compiled(inline=True)
def was_blocked(rules: Integers, tile_sets: Words, figures: Integers, hands: Words, leader: int) -> int:
    """The end of a round in which everybody passed."""
    winner, award = settle_blocked(rules, tile_sets, figures, hands, leader)
    return award * WINNERS + winner + 1


@compiled(inline=True)
def worth(rules: Integers, end: int, seat: int) -> int:
    """`policies.exact.worth` of an end."""
    winner = end % WINNERS - 1
    if winner < 0:
        return ZERO
    return end // WINNERS if side_of(rules, winner) == side_of(rules, seat) else -(end // WINNERS)
