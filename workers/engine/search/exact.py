"""Perfect play with all hands seen, compiled: `policies.exact`, with alpha-beta cuts where there are two sides."""

from workers.engine.compile import compiled
from workers.engine.scalar.bits import bit, highest, word
from workers.engine.scalar.layout import EMPTY, PARTNERS, PLAYERS, ZERO, Integers, Words
from workers.engine.scalar.settle import pips_outside, settle_blocked, side_of
from workers.engine.search.best import ends_by, legal_words
from workers.engine.search.layout import Search

_WINNERS = 16
"""An end is coded as award times this, plus the winning seat and one; 0 where nobody wins."""
_FAR = 1 << 40


@compiled(inline=True)
def worth(rules: Integers, end: int, seat: int) -> int:
    """`policies.exact.worth` of a coded end."""
    winner = end % _WINNERS - 1
    if winner < 0:
        return ZERO
    return end // _WINNERS if side_of(rules, winner) == side_of(rules, seat) else -(end // _WINNERS)


@compiled()
def exact_worth(
    rules: Integers, tile_sets: Words, figures: Integers, search: Search, leader: int, seat: int, placed: int, left_end: int,
    right_end: int,
) -> int:  # fmt: skip
    """What it is worth to `seat` to place a tile of the hands in `search.hands`, after which the ends are these."""
    search.hands[word(2 * seat)] &= ~bit(placed)
    end = _after(rules, tile_sets, figures, search.hands, leader, seat, left_end, right_end, -_FAR, _FAR)
    return worth(rules, end, seat)


@compiled()
def _after(
    rules: Integers, tile_sets: Words, figures: Integers, hands: Words, leader: int, placer: int, left_end: int,
    right_end: int, alpha: int, beta: int,
) -> int:  # fmt: skip
    """The best end after `placer` has placed: who cannot play passes, then the next who can chooses.

    `alpha` is what the side of seat 0 has for certain elsewhere, `beta` what the other side leaves it at most.
    """
    players = rules[PLAYERS]
    if hands[word(2 * placer)] == 0:
        return pips_outside(rules, tile_sets, hands, side_of(rules, placer)) * _WINNERS + placer + 1
    mover = placer
    left = right = EMPTY
    for _ in range(players):
        mover = mover + 1 if mover + 1 < players else 0
        left, right = legal_words(tile_sets, hands[word(2 * mover)], left_end, right_end)
        if left | right:
            break
    if not left | right:
        winner, award = settle_blocked(rules, tile_sets, figures, hands, leader)
        return award * _WINNERS + winner + 1
    are_two = players == 2 or rules[PARTNERS] != 0
    best, most = ZERO, -_FAR
    side = ZERO
    rest = left
    while True:
        if rest == 0:
            if side or right == 0:
                break
            side, rest = side + 1, right
        tile = highest(rest)
        one = bit(tile)
        rest ^= one
        first, second = ends_by(figures, tile, side, left_end, right_end)
        hands[word(2 * mover)] ^= one
        end = _after(rules, tile_sets, figures, hands, leader, mover, first, second, alpha, beta)
        hands[word(2 * mover)] ^= one
        value = worth(rules, end, mover)
        if value > most:
            best, most = end, value
            if are_two:
                if side_of(rules, mover) == 0:
                    alpha = max(alpha, value)
                else:
                    beta = min(beta, -value)
                if alpha >= beta:
                    break
    return best
