"""Ends of rounds and matches, compiled: `reference.settle_out`, `settle_blocked`, `next_leader` and `match_winners`."""

import numpy as np
import numpy.typing as npt

from workers.engine.compile import compiled
from workers.engine.scalar.bits import first_tile, ones, single, word
from workers.engine.scalar.layout import (
    BY_LIGHTEST_TILE,
    CLOCKWISE,
    EMPTY,
    LAST_ROUND,
    NET,
    NEXT_LEADER,
    NONE,
    PARTNERS,
    PIP_BITS,
    PIP_PLANES,
    PIPS,
    PLAYERS,
    SIDE_TOTAL,
    TARGET,
    WINNER,
    ZERO,
    Integers,
    Word,
    Words,
)


@compiled(inline=True)
def side_of(rules: Integers, seat: int) -> int:
    """`Ruleset.side`."""
    return seat & 1 if rules[PARTNERS] else seat


@compiled(inline=True)
def hand_pips(tile_sets: Words, low: Word, high: Word) -> int:
    """Dots on a set of tiles."""
    total = 0
    for digit in range(PIP_BITS):
        plane = PIP_PLANES + 2 * digit
        total += (ones(low & tile_sets[word(plane)]) + ones(high & tile_sets[word(plane + 1)])) << digit
    return total


@compiled()
def lightness_order(figures: Integers, low: Word, high: Word, other_low: Word, other_high: Word) -> int:
    """Compares two sets tile by tile from the lightest: -1 where the first is lighter, 1 where the second is, 0 if equal."""
    while (low | high) and (other_low | other_high):
        tile, other = first_tile(low, high), first_tile(other_low, other_high)
        if figures[word(PIPS + tile)] != figures[word(PIPS + other)]:
            return -1 if figures[word(PIPS + tile)] < figures[word(PIPS + other)] else 1
        gone_low, gone_high = single(tile)
        low, high = low & ~gone_low, high & ~gone_high
        gone_low, gone_high = single(other)
        other_low, other_high = other_low & ~gone_low, other_high & ~gone_high
    if low | high:
        return 1
    return -1 if other_low | other_high else 0


@compiled(inline=True)
def pips_outside(rules: Integers, tile_sets: Words, hands: Words, side: int) -> int:
    """The pips of all hands that are not on a side."""
    total = 0
    for seat in range(rules[PLAYERS]):
        if side_of(rules, seat) != side:
            total += hand_pips(tile_sets, hands[word(2 * seat)], hands[word(2 * seat + 1)])
    return total


@compiled()
def settle_blocked(rules: Integers, tile_sets: Words, figures: Integers, hands: Words, leader: int) -> tuple[int, int]:
    """(winning seat or -1, award) of a blocked round."""
    holders = 2 if rules[SIDE_TOTAL] else rules[PLAYERS]
    lowest, best, best_low, best_high, tied, pips_of_all = 1 << 30, NONE, EMPTY, EMPTY, False, ZERO
    for holder in range(holders):
        low, high = hands[word(2 * holder)], hands[word(2 * holder + 1)]
        if rules[SIDE_TOTAL]:
            low, high = low | hands[word(2 * holder + 4)], high | hands[word(2 * holder + 5)]
        total = hand_pips(tile_sets, low, high)
        pips_of_all += total
        order = -1
        if total > lowest:
            order = 1
        elif total == lowest:
            order = lightness_order(figures, low, high, best_low, best_high) if rules[BY_LIGHTEST_TILE] else 0
        if order < 0:
            lowest, best, best_low, best_high, tied = total, holder, low, high, False
        elif order == 0 and side_of(rules, holder) != side_of(rules, best):
            tied = True
    if tied:
        return NONE, ZERO
    if not rules[PARTNERS]:
        return best, pips_of_all - lowest - (lowest if rules[NET] else 0)
    side = side_of(rules, best)
    award = pips_outside(rules, tile_sets, hands, side)
    return _lightest_of_side(rules, tile_sets, figures, hands, leader, side), award - (lowest if rules[NET] else 0)


@compiled()
def _lightest_of_side(rules: Integers, tile_sets: Words, figures: Integers, hands: Words, leader: int, side: int) -> int:
    """The side's seat with the lighter hand; of equals, the first clockwise from the leader."""
    best = NONE
    for distance in range(rules[PLAYERS]):
        seat = (leader + distance) % rules[PLAYERS]
        if side_of(rules, seat) == side:
            if best < 0:
                best = seat
                continue
            low, high = hands[word(2 * seat)], hands[word(2 * seat + 1)]
            best_low, best_high = hands[word(2 * best)], hands[word(2 * best + 1)]
            more = hand_pips(tile_sets, low, high) - hand_pips(tile_sets, best_low, best_high)
            if more < 0 or (more == 0 and lightness_order(figures, low, high, best_low, best_high) < 0):
                best = seat
    return best


@compiled(inline=True)
def next_leader(rules: Integers, tile_sets: Words, hands: Words, leader: int, winner: int) -> int:
    """Who opens the next round; `winner` is -1 after a round that nobody won."""
    players = rules[PLAYERS]
    if rules[NEXT_LEADER] == CLOCKWISE:
        return leader + 1 if leader + 1 < players else 0
    if winner < 0:
        return leader
    if rules[NEXT_LEADER] == WINNER:
        return winner
    loser, most = NONE, NONE
    for distance in range(1, players):
        seat = (winner + distance) % players
        if side_of(rules, seat) != side_of(rules, winner):
            total = hand_pips(tile_sets, hands[word(2 * seat)], hands[word(2 * seat + 1)])
            if total > most:
                loser, most = seat, total
    return loser


@compiled(inline=True)
def match_winners(rules: Integers, scores: npt.NDArray[np.int32], rounds: int) -> tuple[bool, int]:
    """(whether the match is over, mask of the winning seats): an empty mask at the end is an unfinished match."""
    best = 0
    for seat in range(rules[PLAYERS]):
        best = max(best, scores[seat])
    if rules[TARGET]:
        if best < rules[TARGET]:
            return rounds >= rules[LAST_ROUND], 0
    elif rounds < rules[LAST_ROUND]:
        return False, 0
    winners = 0
    for seat in range(rules[PLAYERS]):
        if scores[seat] == best:
            winners |= 1 << seat
    return True, winners
