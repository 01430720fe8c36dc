"""Where rounds begin and end: lists of lanes, about one lane in twelve at every ply.

Functions are made for each number of players, so that their loops over seats are written out. The first part of settling is
again a loop without branches over a table with a column for each lane of the list; scores and records are then kept lane by
lane, and what is rare goes through the general rules of `scalar.settle`.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numba import int64, uint8, uint64

from workers.engine import rng
from workers.engine.compile import compiled
from workers.engine.lanes.bits import operations
from workers.engine.lanes.layout import (
    AHEAD,
    AWARD,
    BASE,
    BLOCK,
    COLUMNS,
    COUNTER_HIGH,
    COUNTER_LOW,
    COUNTER_ROUND,
    ENTRY,
    HANDS,
    HELD,
    LEADER,
    LEFT,
    MATCH,
    MAX_SEATS,
    NOBODY,
    OPENED,
    OPENERS,
    ORDERED,
    ORDERED_PIPS,
    OUT,
    POINTS,
    RECORD,
    RIGHT,
    ROTATION,
    ROUND,
    STOCK,
    TOUCHED,
    UNION,
    WIDTH,
    WON,
    Bits,
    Bytes,
    Masks,
    Rows,
    Scores,
    Shorts,
)
from workers.engine.scalar.bits import lowest, whole, word
from workers.engine.scalar.layout import (
    BY_LIGHTEST_TILE,
    CLOCKWISE,
    HAND,
    LAST_ROUND,
    NEXT_LEADER,
    OPENS_BY_DOUBLE,
    PARTNERS,
    PLAYERS,
    TARGET,
    WINNER,
    Integers,
    Word,
    Words,
)
from workers.engine.scalar.match import BLOCKED_ROUNDS, LEADER_ROUNDS_WON, PASSES, TIED_BLOCKED_ROUNDS
from workers.engine.scalar.random import decision_base
from workers.engine.scalar.settle import next_leader, pips_outside, settle_blocked, side_of

_GAMMA = np.uint64(rng.GAMMA)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_WIDTH = np.uint64(WIDTH)
_HANDS, _TOUCHED, _LEFT, _RIGHT, _UNION, _STOCK = (
    np.uint64(row * WIDTH) for row in (HANDS, TOUCHED, LEFT, RIGHT, UNION, STOCK)
)
_ORDERED, _ORDERED_PIPS, _AHEAD, _AWARD, _HELD, _OPENED = (
    np.uint64(row * WIDTH) for row in (ORDERED, ORDERED_PIPS, AHEAD, AWARD, HELD, OPENED)
)
_COUNTER_ROUND, _COUNTER_LOW, _COUNTER_HIGH = (np.uint64(row * WIDTH) for row in (COUNTER_ROUND, COUNTER_LOW, COUNTER_HIGH))
_PARTNER = np.uint64(2)
"""What tells the number of a partner from one's own."""
_NO_SEAT = np.uint64(NOBODY)
_SEATS = np.uint64(MAX_SEATS)
_WON, _SCORE = np.uint64(WON), np.uint64(WON - 1)
_LEFT_OVER, _OUT_SHIFT = np.uint64(OUT - 1), np.uint64(OUT.bit_length() - 1)
PLAYER_COUNTS: Final = (2, 3, 4)
_LOW_HALF = np.uint64(rng.MASK32)
_UNREACHED = WON
"""More than any score."""

# Indexes are unsigned throughout: for a signed one numba adds code that lets it count from the end.


class Rounds(NamedTuple):
    """Begins and ends of rounds over one set of tiles."""

    lay_out: tuple[Callable[..., None], ...]
    """For 2, 3 and 4 players."""
    begin_lines: Callable[..., None]
    judge: tuple[Callable[..., None], ...]
    """For 2, 3 and 4 players."""


def rounds_of(masks: Masks) -> Rounds:
    """The functions that depend on the set."""
    sized, zero = masks.sized, masks.number(0)
    ones = operations(masks).ones
    everything, opening = masks.all, masks.opening
    low_suit, high_suit = masks.low_suit, masks.high_suit
    p0, p1, p2, p3, p4 = masks.pip_planes
    nobody, out_mark, many = masks.number(NOBODY), masks.number(OUT), masks.number(1000)

    def _lay_out_for(number_of_players: int) -> Callable[..., Any]:
        players = np.uint64(number_of_players)

        @compiled(inline=True)
        def lay_out(
            rules: Integers, reads_table: bool, rows: Rows, addresses: Words, records: Integers, entries: Integers,
            first_rows: Bytes, dealt: Rows, table: Rows, lanes: Words, first: Word, count: int, row: Word,
        ) -> None:  # fmt: skip
            """Put the dealt rounds of some lanes on the table: the leader on the row that moves now, the others after it.

            Here and below the lanes are `lanes[first : first + count]`.
            """
            for number in range(count):
                column = uint64(number)
                lane = lanes[first + column]
                record = lane * RECORD
                seat = word(records[record + LEADER])
                base = decision_base(word(records[record + BASE]), records[record + ROUND])
                hands = lane * _SEATS
                table[_OPENED + column] = dealt[hands + seat]
                place = row
                union = zero
                for _ in range(number_of_players):
                    hand = dealt[hands + seat]
                    rows[_HANDS + place * _WIDTH + lane] = hand
                    addresses[place * _WIDTH + lane] = base + seat * _GAMMA
                    union = sized(union | hand)
                    seat = seat + _ONE if seat + _ONE < players else _ZERO
                    place = place + _ONE if place + _ONE < players else _ZERO
                ends = sized(opening | (sized(entries[lane * ENTRY + OPENERS]) if rules[OPENS_BY_DOUBLE] else everything))
                rows[_LEFT + lane] = ends
                rows[_RIGHT + lane] = ends
                rows[_UNION + lane] = sized(union | opening)
                first_rows[lane] = uint8(row)
                if reads_table:
                    rows[_STOCK + lane] = sized(everything ^ union)
                    for kind in range(number_of_players):
                        rows[_TOUCHED + uint64(kind) * _WIDTH + lane] = zero

        return lay_out

    @compiled()
    def begin_lines(rows: Rows, ended: Bytes, table: Rows, lanes: Words, first: Word, count: int, row: Word) -> None:
        """After the opening ply of some lanes: the ends of the lines that the tiles began, which may already end the rounds."""
        hands = _HANDS + row * _WIDTH
        for number in range(count):
            column = uint64(number)
            lane = lanes[first + column]
            tile = word(lowest(uint64(table[_OPENED + column] ^ rows[hands + lane])))
            left, right = low_suit[tile], high_suit[tile]
            rows[_LEFT + lane] = left
            rows[_RIGHT + lane] = right
            blocked = sized(rows[_UNION + lane] & sized(left | right)) == zero
            ended[lane] |= uint8(blocked)

    @compiled(inline=True)
    def _pips(hand: Bits) -> Bits:
        low = sized(ones(sized(hand & p0)) + sized(ones(sized(hand & p1)) << sized(1)))
        high = sized(ones(sized(hand & p2)) + sized(ones(sized(hand & p3)) << sized(1)))
        low = sized(low + sized(high << sized(2)))
        return sized(low + sized(ones(sized(hand & p4)) << sized(4)))

    def _judge_for(number_of_players: int) -> Callable[..., Any]:
        players = np.uint64(number_of_players)

        @compiled(inline=True)
        def judge(rows: Rows, first_rows: Bytes, table: Rows, lanes: Shorts, count: int, net: int, take: bool) -> None:
            """By the plain rules who wins the rounds of some lanes, and what: the rows AHEAD, AWARD and HELD of the work table.

            `net` is whether a winner by lightness pays for the own hand; `take` is whether to take the hands off the lanes,
            which then do nothing until they are laid out anew.
            """
            for number in range(count):
                column = uint64(number)
                lane = uint64(lanes[column])
                place = uint64(first_rows[lane])
                for distance in range(number_of_players):
                    table[_ORDERED + uint64(distance) * _WIDTH + column] = rows[_HANDS + place * _WIDTH + lane]
                    if take:
                        rows[_HANDS + place * _WIDTH + lane] = zero
                    place = place + _ONE if place + _ONE < players else _ZERO
            own = sized(2) if net else sized(1)
            for number in range((count + COLUMNS - 1) // COLUMNS * COLUMNS):
                column = uint64(number)
                low, total, held, empty, lightest, out = many, zero, zero, zero, nobody, zero
                for distance in range(number_of_players):
                    hand = table[_ORDERED + uint64(distance) * _WIDTH + column]
                    pips = _pips(hand)
                    table[_ORDERED_PIPS + uint64(distance) * _WIDTH + column] = pips
                    total = sized(total + pips)
                    held = sized(held + ones(hand))
                    lightest = nobody if pips == low else lightest
                    lightest = sized(distance) if pips < low else lightest
                    low = pips if pips < low else low
                    empty = sized(distance) if hand == zero else empty
                    out = out_mark if hand == zero else out
                won = sized(total - sized(low * own)) if lightest != nobody else zero
                table[_AHEAD + column] = empty if out else lightest
                table[_AWARD + column] = total if out else won
                table[_HELD + column] = sized(held + out)

        return judge

    return Rounds(
        tuple(_lay_out_for(players) for players in PLAYER_COUNTS), begin_lines,
        tuple(_judge_for(players) for players in PLAYER_COUNTS),
    )  # fmt: skip


@compiled()
def _by_general_rules(
    rules: Integers, tile_sets: Words, figures: Integers, table: Rows, column: Word, leader: int, hands: Words,
) -> tuple[int, int, int]:  # fmt: skip
    """Who wins a round, what, and who leads next, by the rules of `scalar.settle`: (winner, award, leader)."""
    players = rules[PLAYERS]
    seat = leader
    mover = leader
    for distance in range(players):
        hand = uint64(table[_ORDERED + uint64(distance) * _WIDTH + column])
        hands[2 * seat] = hand
        if not hand:
            mover = seat
        seat = seat + 1 if seat + 1 < players else 0
    if hands[2 * mover]:
        winner, award = settle_blocked(rules, tile_sets, figures, hands, leader)
    else:
        winner, award = mover, pips_outside(rules, tile_sets, hands, side_of(rules, mover))
    return winner, award, next_leader(rules, tile_sets, hands, leader, winner)


@compiled(inline=True)
def _leads_next(kind: int, players: Word, table: Rows, column: Word, leader: Word, winner: Word, tied: bool) -> Word:
    """The next leader where it does not move on clockwise and there are no partners."""
    if tied:
        return leader
    if kind == WINNER:
        return winner
    loser, most = winner, -1
    seat = winner
    for _ in range(1, whole(players)):
        seat = seat + _ONE if seat + _ONE < players else _ZERO
        distance = seat - leader + (players if seat < leader else _ZERO)
        pips = int64(table[_ORDERED_PIPS + distance * _WIDTH + column])
        loser = seat if pips > most else loser
        most = max(most, pips)
    return loser


@compiled(inline=True)
def settle(
    rules: Integers, tile_sets: Words, figures: Integers, records: Integers, table: Rows, lanes: Shorts, count: int,
    hands: Words, totals: Integers, fresh: Words, done: Words,
) -> tuple[int, int]:  # fmt: skip
    """Keep the points and next leaders of judged rounds and count them all, but for their plies, in `totals`.

    Lanes whose match goes on are written into `fresh`, with the counters of their next deals in the work table, those whose
    match is over into `done`; returns how many of each. `hands` is room for the hands by seat as word pairs.
    """
    players = word(rules[PLAYERS])
    partners = rules[PARTNERS]
    by_lightest_tile = rules[BY_LIGHTEST_TILE] != 0
    leads_next = rules[NEXT_LEADER]
    plain = leads_next == CLOCKWISE and not partners and not by_lightest_tile
    target = uint64(rules[TARGET] if rules[TARGET] else _UNREACHED)
    last_round = word(rules[LAST_ROUND])
    going_on = finished = all_held = all_tied = all_led = _ZERO
    for number in range(count):
        column = uint64(number)
        lane = uint64(lanes[column])
        record = lane * RECORD
        leader = word(records[record + LEADER])
        ahead = uint64(table[_AHEAD + column])
        award = uint64(table[_AWARD + column])
        all_held += uint64(table[_HELD + column])
        winner = leader + ahead
        winner = winner - players if winner >= players else winner
        leads = leader + _ONE if leader + _ONE < players else _ZERO
        tied = ahead == _NO_SEAT
        if not plain:
            if partners or (by_lightest_tile and tied):
                ruled = _by_general_rules(rules, tile_sets, figures, table, column, whole(leader), hands)
                tied = ruled[0] < 0
                winner, award, leads = word(ruled[0]), word(ruled[1]), word(ruled[2])
            elif leads_next != CLOCKWISE:
                leads = _leads_next(leads_next, players, table, column, leader, winner, tied)
        rounds_played = word(records[record + ROUND]) + _ONE
        records[record + ROUND] = whole(rounds_played)
        records[record + LEADER] = whole(leads)
        over = _ONE if rounds_played >= last_round else _ZERO
        all_tied += uint64(tied)
        if not tied:
            all_led += uint64(winner == leader)
            if partners:
                records[record + POINTS + (winner ^ _PARTNER)] += whole(award)
            points = word(records[record + POINTS + winner]) + (award | _WON)
            records[record + POINTS + winner] = whole(points)
            over = _ONE if (points & _SCORE) >= target else over
        # Both lists are written and one of them moves on: which is hard to foretell, and costs more than writing.
        done[finished] = lane
        fresh[going_on] = lane
        write_counters(records, record, table, going_on)
        finished += over
        going_on += _ONE - over
    left = whole(all_held & _LEFT_OVER)
    blocked = count - whole(all_held >> _OUT_SHIFT)
    totals[PASSES] += left - count * rules[PLAYERS] * rules[HAND] + blocked * rules[PLAYERS]
    totals[BLOCKED_ROUNDS] += blocked
    totals[TIED_BLOCKED_ROUNDS] += whole(all_tied)
    totals[LEADER_ROUNDS_WON] += whole(all_led)
    return whole(going_on), whole(finished)


@compiled(inline=True)
def finish(
    rules: Integers, records: Integers, entries: Integers, lanes: Words, count: int, scores: Scores, winners: Bytes,
    rounds: Scores, rounds_won: Integers,
) -> None:  # fmt: skip
    """Write the results of the matches in the first `count` of `lanes`, which are over; their points are zero again."""
    players = rules[PLAYERS]
    for number in range(count):
        lane = lanes[uint64(number)]
        record, entry = lane * RECORD, lane * ENTRY
        match = word(entries[entry + MATCH])
        rotation = word(entries[entry + ROTATION])
        best, won = 0, 0
        for number_of_seat in range(players):
            seat = uint64(number_of_seat)
            points = word(records[record + POINTS + seat])
            records[record + POINTS + seat] = 0
            score = whole(points & _SCORE)
            bit_of_seat = 1 << number_of_seat
            won = bit_of_seat if score > best else (won | bit_of_seat if score == best else won)
            best = max(best, score)
            scores[match, seat] = score
            rounds_won[rotation, seat] += whole(points >> uint64(32))
        winners[match] = won if best >= rules[TARGET] else 0
        rounds[match] = records[record + ROUND]


@compiled(inline=True)
def write_counters(records: Integers, record: Word, table: Rows, column: Word) -> None:
    """Where a lane's next deal has its counters in the work table."""
    block = word(records[record + BLOCK])
    table[_COUNTER_ROUND + column] = records[record + ROUND]
    table[_COUNTER_LOW + column] = block & _LOW_HALF
    table[_COUNTER_HIGH + column] = block >> uint64(32)
