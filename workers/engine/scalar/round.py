"""One round, compiled: `reference.Round` played to its end over word-pair hands."""

from workers.engine.compile import compiled
from workers.engine.policies.own_compiled import STOCK_SIZE
from workers.engine.policies.program import Finish
from workers.engine.scalar.bits import bit, count, single, word
from workers.engine.scalar.choose import choose, finish, is_plain
from workers.engine.scalar.layout import (
    DRAW_LIMIT,
    DRAWING,
    EMPTY,
    HAND,
    LOW,
    MAX_SEATS,
    NONE,
    PIPS,
    PLAYERS,
    RESERVE,
    SUITS,
    TILES,
    ZERO,
    Integers,
    Legal,
    Word,
    Words,
)
from workers.engine.scalar.random import decision_word
from workers.engine.scalar.settle import pips_outside, settle_blocked, side_of
from workers.engine.search.decide import decide
from workers.engine.search.layout import Search
from workers.engine.search.own import forget_plies, note_ply

OUT, BLOCKED = 0, 1
_TOP = int(Finish.TOP)

# Columns of a trace, a row for each ply.
ROUND, SEAT, DRAWN, CHOICES, TILE, END = range(6)
TRACE_COLUMNS = 6
"""TILE is -1 for a pass, END for an opening or a pass; DRAWN and CHOICES are counts, the rest numbers from 0."""


@compiled(inline=True)
def play_round(
    rules: Integers, tile_sets: Words, figures: Integers, programs: Integers, places: Integers, hands: Words,
    stock: Integers, stock_size: int, leader: int, forced: int, ends: tuple[int, int], passes_in_a_row: int, base: Word,
    round_number: int, lacks: Words, turns: Integers, script: Integers, cursor: Integers, trace: Integers,
    search: Search | None,
) -> tuple[int, int, int, int, int]:  # fmt: skip
    """Play a dealt round: (reason, winning seat or -1, award, plies, passes).

    `hands` is left as it is at the end; `lacks` and `turns` are room for `MAX_SEATS` each; `forced` is the tile that must
    open, or -1; `ends` and `passes_in_a_row` say where the round starts, (-1, -1) and 0 for a dealt one; `places[word(seat)]`
    says which program the seat plays, or, with `search`, which plan; `trace` has no rows where none is wanted.
    """
    players = rules[PLAYERS]
    for each in range(MAX_SEATS):
        lacks[word(each)] = EMPTY
        turns[word(each)] = 0
    line_low = line_high = EMPTY
    left_end, right_end = ends
    next_of_stock = ZERO
    plies = passes = ZERO
    if search is not None:
        forget_plies(rules, search)
    seat = leader
    while True:
        legal = _legal(tile_sets, hands[word(2 * seat)], hands[word(2 * seat + 1)], left_end, right_end, forced)
        choices = count(legal[0], legal[1]) + count(legal[2], legal[3])
        drawn = ZERO
        if choices == 0 and rules[DRAWING]:
            while choices == 0 and drawn < rules[DRAW_LIMIT] and stock_size - next_of_stock > rules[RESERVE]:
                low, high = single(stock[word(next_of_stock)])
                next_of_stock += 1
                drawn += 1
                hands[word(2 * seat)] |= low
                hands[word(2 * seat + 1)] |= high
                legal = _legal(tile_sets, low, high, left_end, right_end, NONE)
                choices = count(legal[0], legal[1]) + count(legal[2], legal[3])
        number = turns[word(seat)]
        turns[word(seat)] += 1
        plies += 1
        if choices == 0:
            _note_lacks(lacks, seat, drawn, left_end, right_end)
            passes += 1
            passes_in_a_row += 1
            _write(trace, cursor, round_number, seat, drawn, ZERO, NONE, NONE)
            if search is not None:
                note_ply(search, seat, drawn, NONE, NONE)
            if passes_in_a_row >= players and not (rules[DRAWING] and stock_size - next_of_stock > rules[RESERVE]):
                winner, award = settle_blocked(rules, tile_sets, figures, hands, leader)
                return BLOCKED, winner, award, plies, passes
        else:
            passes_in_a_row = 0
            place = places[word(seat)]
            random_word = decision_word(base, seat, number)
            if search is not None:
                if choices == 1:
                    placement = finish(_TOP, legal, left_end, right_end, random_word, script, cursor)
                else:
                    search.seen[STOCK_SIZE] = (
                        stock_size - next_of_stock if rules[DRAWING] else rules[TILES] - players * rules[HAND]
                    )
                    placement = decide(
                        rules, tile_sets, figures, search, place, legal, (left_end, right_end), leader, seat, hands, lacks,
                        (line_low, line_high), random_word, script, cursor,
                    )  # fmt: skip
            elif is_plain(programs, place):
                placement = finish(programs[word(place), 0], legal, left_end, right_end, random_word, script, cursor)
            else:
                placement = choose(
                    rules, tile_sets, figures, programs, place, legal, (left_end, right_end), seat, hands, lacks,
                    (line_low, line_high), random_word, script, cursor,
                )  # fmt: skip
            if drawn:
                # Only now: the turn is not over for who looks on while it chooses.
                _note_lacks(lacks, seat, drawn - 1, left_end, right_end)
            tile, side = placement >> 1, placement & 1
            _write(trace, cursor, round_number, seat, drawn, choices, tile, right_end if side else left_end)
            if search is not None:
                note_ply(search, seat, drawn, tile, right_end if side else left_end)
            low, high = single(tile)
            line_low |= low
            line_high |= high
            hands[word(2 * seat)] &= ~low
            hands[word(2 * seat + 1)] &= ~high
            if left_end < 0:
                left_end = figures[word(LOW + tile)]
                right_end = figures[word(PIPS + tile)] - left_end
                forced = NONE
            else:
                # Which end it is nobody can foretell, so there is no branch for it.
                outward = figures[word(PIPS + tile)] - (right_end if side else left_end)
                left_end, right_end = (left_end if side else outward), (outward if side else right_end)
            if not hands[word(2 * seat)] | hands[word(2 * seat + 1)]:
                return OUT, seat, pips_outside(rules, tile_sets, hands, side_of(rules, seat)), plies, passes
        seat = seat + 1 if seat + 1 < players else 0


@compiled(inline=True)
def _legal(tile_sets: Words, low: Word, high: Word, left_end: int, right_end: int, forced: int) -> Legal:
    """The tiles that join the left end, then those that join the right end where it differs, as two sets."""
    nothing = EMPTY
    if left_end < 0:
        if forced >= 0:
            low, high = single(forced)
        return low, high, nothing, nothing
    left, right = SUITS + 2 * left_end, SUITS + 2 * right_end
    fits_left = low & tile_sets[word(left)], high & tile_sets[word(left + 1)]
    if left_end == right_end:
        return fits_left[0], fits_left[1], nothing, nothing
    return fits_left[0], fits_left[1], low & tile_sets[word(right)], high & tile_sets[word(right + 1)]


@compiled(inline=True)
def _note_lacks(lacks: Words, seat: int, kept: int, left_end: int, right_end: int) -> None:
    """After a turn without a fitting tile in the hand: it lacks both ends, and what was known before only if no drawn
    tile stayed in it (`kept` of them did)."""
    known = EMPTY if kept else lacks[word(seat)]
    lacks[word(seat)] = known | bit(left_end) | bit(right_end)


@compiled(inline=True)
def _write(
    trace: Integers, cursor: Integers, round_number: int, seat: int, drawn: int, choices: int, tile: int, end: int,
) -> None:  # fmt: skip
    if cursor[1] < trace.shape[0]:
        row = cursor[1]
        trace[row, ROUND] = round_number
        trace[row, SEAT] = seat
        trace[row, DRAWN] = drawn
        trace[row, CHOICES] = choices
        trace[row, TILE] = tile
        trace[row, END] = end
        cursor[1] += 1
