"""Perfect play with all hands seen, compiled: `policies.exact`, with alpha-beta cuts where there are two sides."""

from workers.engine.compile import compiled
from workers.engine.scalar.bits import bit, highest, word
from workers.engine.scalar.layout import EMPTY, NONE, PARTNERS, PLAYERS, ZERO, Integers, Word, Words
from workers.engine.scalar.settle import side_of
from workers.engine.search.best import ends_by, legal_words
from workers.engine.search.layout import (
    ALPHA,
    BEST,
    BETA,
    LATER,
    LEFT_END,
    MOST,
    MOVER,
    PLACED,
    REST,
    RIGHT_END,
    SIDE,
    Search,
)
from workers.engine.search.outcome import was_blocked, went_out, worth

_FAR = 1 << 40


@compiled()
def exact_worth(
    rules: Integers, tile_sets: Words, figures: Integers, search: Search, leader: int, seat: int, placed: int, left_end: int,
    right_end: int,
) -> int:  # fmt: skip
    """What it is worth to `seat` to place a tile of the hands in `search.hands`, after which the ends are these.

    The tree is walked with a stack in `search`: a function that calls itself cannot be kept in numba's cache.
    """
    hands, numbers, sets = search.hands, search.stack, search.stack_sets
    hands[word(2 * seat)] &= ~bit(placed)
    are_two = rules[PLAYERS] == 2 or rules[PARTNERS] != 0
    placer = seat
    # What the side of seat 0 has for certain elsewhere, and what the other side leaves it at most.
    alpha, beta = -_FAR, _FAR
    depth = ZERO
    while True:
        end, mover, left, right = _after(rules, tile_sets, figures, hands, leader, placer, left_end, right_end)
        if end < 0:
            row = word(depth)
            numbers[row, MOVER], numbers[row, SIDE] = mover, 0
            numbers[row, LEFT_END], numbers[row, RIGHT_END] = left_end, right_end
            numbers[row, BEST], numbers[row, MOST], numbers[row, ALPHA], numbers[row, BETA] = 0, -_FAR, alpha, beta
            sets[row, REST], sets[row, LATER] = left, right
            depth += 1
        else:
            while depth > 0:
                row = word(depth - 1)
                mover = numbers[row, MOVER]
                hands[word(2 * mover)] ^= sets[row, PLACED]
                value = worth(rules, end, mover)
                if value > numbers[row, MOST]:
                    numbers[row, BEST], numbers[row, MOST] = end, value
                    if are_two:
                        if side_of(rules, mover) == 0:
                            numbers[row, ALPHA] = max(numbers[row, ALPHA], value)
                        else:
                            numbers[row, BETA] = min(numbers[row, BETA], -value)
                        if numbers[row, ALPHA] >= numbers[row, BETA]:
                            sets[row, REST], sets[row, LATER] = EMPTY, EMPTY
                if sets[row, REST] | sets[row, LATER]:
                    break
                end = numbers[row, BEST]
                depth -= 1
            if depth == 0:
                return worth(rules, end, seat)
        row = word(depth - 1)
        if sets[row, REST] == 0:
            sets[row, REST], sets[row, LATER], numbers[row, SIDE] = sets[row, LATER], EMPTY, 1
        tile = highest(sets[row, REST])
        one = bit(tile)
        placer = numbers[row, MOVER]
        sets[row, REST] ^= one
        sets[row, PLACED] = one
        hands[word(2 * placer)] ^= one
        left_end, right_end = ends_by(figures, tile, numbers[row, SIDE], numbers[row, LEFT_END], numbers[row, RIGHT_END])
        alpha, beta = numbers[row, ALPHA], numbers[row, BETA]


@compiled(inline=True)
def _after(
    rules: Integers, tile_sets: Words, figures: Integers, hands: Words, leader: int, placer: int, left_end: int, right_end: int
) -> tuple[int, int, Word, Word]:
    """(end as in `outcome` or -1, who moves, its tiles for the left and right end) after `placer` has placed; others pass."""
    players = rules[PLAYERS]
    if hands[word(2 * placer)] == 0:
        return went_out(rules, tile_sets, hands, placer), NONE, EMPTY, EMPTY
    mover = placer
    left = right = EMPTY
    for _ in range(players):
        mover = mover + 1 if mover + 1 < players else 0
        left, right = legal_words(tile_sets, hands[word(2 * mover)], left_end, right_end)
        if left | right:
            return NONE, mover, left, right
    return was_blocked(rules, tile_sets, figures, hands, leader), NONE, EMPTY, EMPTY
