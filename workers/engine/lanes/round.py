"""Where rounds begin and end: some of the lanes, about one in twelve, at every ply."""

import numpy as np
from numba import uint8, uint32, uint64

from workers.engine import rng
from workers.engine.compile import compiled
from workers.engine.lanes.layout import (
    ALL,
    BASE,
    FIRST_ROW,
    HANDS,
    HIGH_SUIT,
    LANES,
    LEADER,
    LEFT,
    LOW_SUIT,
    MATCH,
    OPENERS,
    OPENING,
    PIP_PLANES,
    RECORD,
    RIGHT,
    ROTATION,
    ROUND,
    STARTED,
    STOCK,
    TOUCHED,
    UNION,
    ZERO32,
)
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
def lay_out(rules, rows, addresses, records, dealt, lanes, first, count, step, row):
    """Put the dealt rounds of some lanes on the table: the leader on the row that moves now, the others on the rows after it.

    Here and below the lanes are `lanes[first : first + count]`.
    """
    players = rules[PLAYERS]
    for number in range(first, first + count):
        lane = lanes[number]
        record = lane * RECORD
        seat = records[record + LEADER]
        base = decision_base(word(records[record + BASE]), records[record + ROUND])
        place = row
        union = ZERO32
        for _ in range(players):
            hand = dealt[seat * LANES + lane]
            rows[(HANDS + place) * LANES + lane] = hand
            rows[(TOUCHED + place) * LANES + lane] = ZERO32
            addresses[place * LANES + lane] = base + word(seat) * _GAMMA
            union = uint32(union | hand)
            seat = seat + 1 if seat + 1 < players else 0
            place = place + 1 if place + 1 < players else 0
        opening = uint32(uint32(records[record + OPENERS]) | OPENING)
        rows[LEFT * LANES + lane] = opening
        rows[RIGHT * LANES + lane] = opening
        rows[UNION * LANES + lane] = uint32(union | OPENING)
        rows[STOCK * LANES + lane] = uint32(ALL ^ union)
        records[record + STARTED] = step
        records[record + FIRST_ROW] = row


@compiled()
def begin_lines(rows, ended, records, dealt, lanes, first, count, row):
    """After the opening ply of some lanes: the ends of the lines that the tiles began, which may already end the rounds."""
    for number in range(first, first + count):
        lane = lanes[number]
        hand = rows[(HANDS + row) * LANES + lane]
        tile = lowest(uint64(dealt[records[lane * RECORD + LEADER] * LANES + lane] ^ hand))
        left, right = LOW_SUIT[tile], HIGH_SUIT[tile]
        rows[LEFT * LANES + lane] = left
        rows[RIGHT * LANES + lane] = right
        blocked = uint32(rows[UNION * LANES + lane] & uint32(left | right)) == ZERO32
        ended[lane] |= uint8(blocked)


@compiled(inline=True)
def _pips(hand):
    return ones(hand & _P0) + 2 * ones(hand & _P1) + 4 * ones(hand & _P2) + 8 * ones(hand & _P3)


@compiled()
def settle(
    rules, tile_sets, figures, rows, records, lanes, count, step, row, hands, scores, winners, rounds, rounds_won, totals,
    fresh, done,
):  # fmt: skip
    """End the round of some lanes, `row` having moved last: tallies, scores, next leaders.

    Lanes whose match goes on are written into `fresh`, those whose match is over into `done`; returns how many of each.
    `hands` is room for the hands by seat as word pairs, which the general rules of `scalar.settle` read.
    """
    players = rules[PLAYERS]
    partners = rules[PARTNERS]
    going_on = finished = 0
    all_plies = all_passes = all_blocked = all_tied = all_led = 0
    for number in range(count):
        lane = lanes[number]
        record = lane * RECORD
        leader = records[record + LEADER]
        match = records[record + MATCH]
        place = records[record + FIRST_ROW]
        seat = leader
        mover, low, total, tied = leader, 1000, 0, False
        lightest, left = leader, 0
        for _ in range(players):
            hand = uint64(rows[(HANDS + place) * LANES + lane])
            rows[(HANDS + place) * LANES + lane] = ZERO32
            hands[2 * seat] = hand
            pips = _pips(hand)
            left += ones(hand)
            total += pips
            tied = (pips == low) | (tied & (pips > low))
            lightest = seat if pips < low else lightest
            low = min(low, pips)
            mover = seat if place == row else mover
            seat = seat + 1 if seat + 1 < players else 0
            place = place + 1 if place + 1 < players else 0
        plies = step - records[record + STARTED] + 1
        if hands[2 * mover] == uint64(0):
            winner = mover
            award = pips_outside(rules, tile_sets, hands, side_of(rules, mover)) if partners else total
        else:
            plies += players
            all_blocked += 1
            if partners or (tied and rules[BY_LIGHTEST_TILE]):
                winner, award = settle_blocked(rules, tile_sets, figures, hands, leader)
            else:
                winner = NONE if tied else lightest
                award = total - low - (low if rules[NET] else 0)
            all_tied += winner < 0
        all_plies += plies
        all_passes += plies - (players * rules[HAND] - left)
        rounds_played = records[record + ROUND] + 1
        records[record + ROUND] = rounds_played
        over = rounds_played >= rules[LAST_ROUND]
        if winner >= 0:
            rounds_won[records[record + ROTATION], winner] += 1
            all_led += winner == leader
            if partners:
                scores[match, (winner + 2) % players] += award
            score = scores[match, winner] + award
            scores[match, winner] = score
            over |= (rules[TARGET] > 0) & (score >= rules[TARGET])
        if over:
            rounds[match] = rounds_played
            _, winners[match] = match_winners(rules, scores[match], rounds_played)
            done[finished] = lane
            finished += 1
            continue
        if rules[NEXT_LEADER] == CLOCKWISE:
            records[record + LEADER] = leader + 1 if leader + 1 < players else 0
        else:
            records[record + LEADER] = next_leader(rules, tile_sets, hands, leader, winner)
        fresh[going_on] = lane
        going_on += 1
    totals[PLIES] += all_plies
    totals[PASSES] += all_passes
    totals[BLOCKED_ROUNDS] += all_blocked
    totals[TIED_BLOCKED_ROUNDS] += all_tied
    totals[LEADER_ROUNDS_WON] += all_led
    return going_on, finished
