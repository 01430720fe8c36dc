"""Where rounds begin and end: lanes one at a time, about one in twelve at every ply."""

import numpy as np
from numba import uint32, uint64

from workers.engine import rng
from workers.engine.compile import compiled
from workers.engine.lanes.layout import (
    HANDS,
    HIGH_SUIT,
    LANES,
    LEADER,
    LEFT,
    LOW_SUIT,
    OPENERS,
    OPENING,
    PIP_PLANES,
    RECORD,
    RIGHT,
    ROTATION,
    STARTED,
    STOCK,
    TOUCHED,
    UNION,
    ZERO32,
)
from workers.engine.lanes.layout import ALL as ALL_TILES
from workers.engine.lanes.layout import BASE, MATCH, ROUND
from workers.engine.scalar.bits import lowest, ones, word
from workers.engine.scalar.layout import (
    BY_LIGHTEST_TILE,
    CLOCKWISE,
    HAND,
    LAST_ROUND,
    NET,
    NEXT_LEADER,
    NONE,
    PARTNERS,
    PLAYERS,
    TARGET,
)
from workers.engine.scalar.match import BLOCKED_ROUNDS, LEADER_ROUNDS_WON, PASSES, PLIES, TIED_BLOCKED_ROUNDS
from workers.engine.scalar.random import decision_base
from workers.engine.scalar.settle import match_winners, next_leader, pips_outside, settle_blocked, side_of

_GAMMA = np.uint64(rng.GAMMA)
_P0, _P1, _P2, _P3 = (np.uint64(plane) for plane in PIP_PLANES)


@compiled()
def lay_out(rules, rows, addresses, records, dealt, lane, step):
    """Put a lane's dealt round on the table: its leader on the row that moves in this step, the others on the rows after it."""
    players = rules[PLAYERS]
    record = lane * RECORD
    seat = records[record + LEADER]
    row = step % players
    base = decision_base(word(records[record + BASE]), records[record + ROUND])
    union = ZERO32
    for _ in range(players):
        hand = dealt[seat * LANES + lane]
        rows[(HANDS + row) * LANES + lane] = hand
        rows[(TOUCHED + row) * LANES + lane] = ZERO32
        addresses[row * LANES + lane] = base + word(seat) * _GAMMA
        union = uint32(union | hand)
        seat = seat + 1 if seat + 1 < players else 0
        row = row + 1 if row + 1 < players else 0
    opening = uint32(uint32(records[record + OPENERS]) | OPENING)
    rows[LEFT * LANES + lane] = opening
    rows[RIGHT * LANES + lane] = opening
    rows[UNION * LANES + lane] = uint32(union | OPENING)
    rows[STOCK * LANES + lane] = uint32(ALL_TILES ^ union)
    records[record + STARTED] = step


@compiled()
def begin_line(rules, rows, ended, records, dealt, lane, step):
    """After a lane's opening ply: the ends of the line that the tile began, which may already end the round."""
    record = lane * RECORD
    hand = rows[(HANDS + step % rules[PLAYERS]) * LANES + lane]
    tile = lowest(uint64(dealt[records[record + LEADER] * LANES + lane] ^ hand))
    left, right = LOW_SUIT[tile], HIGH_SUIT[tile]
    rows[LEFT * LANES + lane] = left
    rows[RIGHT * LANES + lane] = right
    if rows[UNION * LANES + lane] & uint32(left | right) == ZERO32:
        ended[lane] = 1


@compiled(inline=True)
def _pips(hand):
    return ones(hand & _P0) + 2 * ones(hand & _P1) + 4 * ones(hand & _P2) + 8 * ones(hand & _P3)


@compiled()
def settle(rules, tile_sets, figures, rows, records, lane, step, hands, scores, winners, rounds, rounds_won, totals):
    """End a lane's round: its tallies, its scores, its next leader; returns whether the match is over.

    `hands` is room for the hands by seat as word pairs, which the general rules of `scalar.settle` read.
    """
    players = rules[PLAYERS]
    record = lane * RECORD
    leader = records[record + LEADER]
    match = records[record + MATCH]
    started = records[record + STARTED]
    row = started % players
    seat = leader
    mover, low, total, tied = leader, 1000, 0, False
    lightest, left = leader, 0
    for _ in range(players):
        place = (HANDS + row) * LANES + lane
        hand = uint64(rows[place])
        rows[place] = ZERO32
        hands[2 * seat] = hand
        pips = _pips(hand)
        left += ones(hand)
        total += pips
        tied = (pips == low) | (tied & (pips > low))
        lightest = seat if pips < low else lightest
        low = min(low, pips)
        if row == step % players:
            mover = seat
        seat = seat + 1 if seat + 1 < players else 0
        row = row + 1 if row + 1 < players else 0
    plies = step - started + 1
    number = records[record + ROUND] + 1
    if hands[2 * mover] == uint64(0):
        winner = mover
        award = pips_outside(rules, tile_sets, hands, side_of(rules, mover)) if rules[PARTNERS] else total
    else:
        plies += players
        totals[BLOCKED_ROUNDS] += 1
        if rules[PARTNERS] or (tied and rules[BY_LIGHTEST_TILE]):
            winner, award = settle_blocked(rules, tile_sets, figures, hands, leader)
        else:
            winner = NONE if tied else lightest
            award = total - low - (low if rules[NET] else 0)
        if winner < 0:
            totals[TIED_BLOCKED_ROUNDS] += 1
    totals[PLIES] += plies
    totals[PASSES] += plies - (players * rules[HAND] - left)
    over = number >= rules[LAST_ROUND]
    if winner >= 0:
        rounds_won[records[record + ROTATION], winner] += 1
        totals[LEADER_ROUNDS_WON] += winner == leader
        if rules[PARTNERS]:
            for seat in range(players):
                if side_of(rules, seat) == side_of(rules, winner):
                    scores[match, seat] += award
        else:
            scores[match, winner] += award
        over |= (rules[TARGET] > 0) & (scores[match, winner] >= rules[TARGET])
    records[record + ROUND] = number
    if over:
        rounds[match] = number
        _, winners[match] = match_winners(rules, scores[match], number)
        return True
    if rules[NEXT_LEADER] == CLOCKWISE:
        records[record + LEADER] = leader + 1 if leader + 1 < players else 0
    else:
        records[record + LEADER] = next_leader(rules, tile_sets, hands, leader, winner)
    return False
