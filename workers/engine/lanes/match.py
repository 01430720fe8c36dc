"""Whole matches in lanes, compiled.

All lanes advance by one ply at every step, and the seat that moves stands on the same row in all of them. Rows belong to
places of the lineup wherever programs differ, so that every step runs one program; a lane whose next leader's program is
not due yet waits for its step with empty hands.
"""

from collections.abc import Callable

import numpy as np
from numba import int64, uint8, uint64

from workers.engine.compile import compiled
from workers.engine.lanes.deal import deal_for, draw_lots
from workers.engine.lanes.fits import fits_of
from workers.engine.lanes.gather import gather
from workers.engine.lanes.layout import (
    BASE,
    BLOCK,
    ENTRY,
    HANDS,
    LANES,
    LEADER,
    MATCH,
    MAX_SEATS,
    MOVER,
    NEXT_TOUCHED,
    OPENERS,
    OTHERS_TOUCHED,
    RECORD,
    ROTATION,
    ROUND,
    TOUCHED,
    WIDTH,
    Bytes,
    Masks,
    Rows,
    Shorts,
    Weights,
)
from workers.engine.lanes.narrow import narrows_of
from workers.engine.lanes.ply import copy_row, draw_long_words, draw_words, merge_row, plies_of
from workers.engine.lanes.room import Results, Room, Tables
from workers.engine.lanes.round import finish, rounds_of, settle, write_counters
from workers.engine.lanes.score import scores_of
from workers.engine.lanes.stock import stocks_of
from workers.engine.policies.program import MAX_PREFERENCES, Feature, Finish
from workers.engine.scalar.bits import bit, whole, word
from workers.engine.scalar.deal import opening_tile
from workers.engine.scalar.layout import HAND, NET, OPENS_BY_DOUBLE, PLAYERS, Integers, Word, Words
from workers.engine.scalar.layout import VALUES as SET_VALUES
from workers.engine.scalar.match import BLOCKED_ROUNDS, PASSES, PLIES

_L = np.uint64(LANES)
_ZERO, _ONE, _LANES, _WIDTH = np.uint64(0), np.uint64(1), np.uint64(LANES), np.uint64(WIDTH)
_MOVER, _NEXT_TOUCHED, _OTHERS_TOUCHED, _HANDS, _TOUCHED = (
    np.uint64(row * WIDTH) for row in (MOVER, NEXT_TOUCHED, OTHERS_TOUCHED, HANDS, TOUCHED)
)
_SEATS = np.uint64(MAX_SEATS)
_LOTS_END = np.uint64(2 * LANES)
_TOP, _RANDOM = int(Finish.TOP), int(Finish.RANDOM)
_PIPS, _DOUBLE, _MOBILITY, _DISTINCT = int(Feature.PIPS), int(Feature.DOUBLE), int(Feature.MOBILITY), int(Feature.DISTINCT)
_NEXT_ONE, _NEXT_BOTH, _UNSEEN = int(Feature.NEXT_LACKS_ONE), int(Feature.NEXT_LACKS_BOTH), int(Feature.UNSEEN)
_OTHER_LACKS, _NO_FOLLOW_UP = int(Feature.OTHER_LACKS), int(Feature.NO_FOLLOW_UP)

# Places in an encoded program.
_FINISH, _HAS_WEIGHTS, _PREFERENCES, _FIRST_PREFERENCE = 0, 1, 2, 3
_FIRST_WEIGHT = _FIRST_PREFERENCE + MAX_PREFERENCES
_SMALL_HAND, _USUAL_HAND = 5, 7
"""The largest hands that `choose_random_five` and `choose_random_seven` take."""


@compiled(inline=True)
def _begin_matches(
    rules: Integers, records: Integers, entries: Integers, table: Rows, lanes: Words, count: int, first: int, seed: Word,
    first_block: Word, rotations: int, lots: Words, fresh: Words, going_on: int,
) -> None:  # fmt: skip
    """Put the matches from number `first` on into the first `count` of `lanes`, and these behind the lanes of `fresh`.

    `lots` holds what `draw_lots` made of some blocks; after them comes the number, from 0, of the first block that it lacks.
    """
    number_of_block = word(first // rotations)
    rotation = first % rotations
    for number in range(count):
        if number_of_block == lots[_LOTS_END]:
            draw_lots(rules, seed, first_block + number_of_block, lots)
            lots[_LOTS_END] = number_of_block + _LANES
        column = uint64(number)
        lane = lanes[column]
        record = lane * RECORD
        drawn = number_of_block & (_LANES - _ONE)
        entry = lane * ENTRY
        entries[entry + MATCH] = first + number
        entries[entry + ROTATION] = rotation
        records[record + BLOCK] = whole(first_block + number_of_block)
        records[record + ROUND] = 0
        records[record + LEADER] = whole(lots[drawn])
        records[record + BASE] = whole(lots[_LANES + drawn])
        write_counters(records, record, table, word(going_on) + column)
        fresh[word(going_on) + column] = lane
        rotation += 1
        if rotation == rotations:
            rotation = 0
            number_of_block += _ONE


@compiled()
def _weights(programs: Integers, place: Word) -> Weights:
    first = _FIRST_WEIGHT
    return (
        int64(programs[place, first]), int64(programs[place, first + 1]), int64(programs[place, first + 2]),
        int64(programs[place, first + 3]), int64(programs[place, first + 4]), int64(programs[place, first + 5]),
        int64(programs[place, first + 6]), int64(programs[place, first + 7]), int64(programs[place, first + 8]),
        int64(programs[place, first + 9]),
    )  # fmt: skip


@compiled()
def _gather_lacks(rules: Integers, rows: Rows, row: Word) -> None:
    """What the next seat and what all other seats together are known to lack."""
    players = word(rules[PLAYERS])
    after = row + _ONE if row + _ONE < players else _ZERO
    copy_row(rows, _TOUCHED + after * _WIDTH, _NEXT_TOUCHED)
    copy_row(rows, _NEXT_TOUCHED, _OTHERS_TOUCHED)
    for distance in range(2, rules[PLAYERS]):
        merge_row(rows, _TOUCHED + (row + uint64(distance)) % players * _WIDTH, _OTHERS_TOUCHED)


def matches(masks: Masks) -> Callable[..., None]:
    """The kernel for a set of tiles."""
    everything = np.uint64(masks.all)
    all_tiles, doubles, not_doubles = masks.all, masks.doubles, masks.all & ~masks.doubles
    deal = deal_for(masks)
    drawable, shuffle_stocks, lay_stocks, take_stocks, mark_drawers, draw_tiles = stocks_of(masks)
    (lay_out_2, lay_out_3, lay_out_4), begin_lines, (judge_2, judge_3, judge_4) = rounds_of(masks)
    mark_rivals, narrow_weighted = scores_of(masks)
    (
        place_choices, choose_random_five, choose_random_seven, choose_top, fill_kept, finish_random_seven, finish_random_any,
        finish_top, finish_random_tile,
    ) = plies_of(masks)  # fmt: skip
    (
        narrow_pips, narrow_double, narrow_equal_ends, narrow_next_lacks_one, narrow_next_lacks_both, narrow_other_lacks,
        note_lacks, narrow_distinct, narrow_no_follow_up,
    ) = narrows_of(masks)  # fmt: skip
    (
        narrow_most_mobility, narrow_least_mobility, narrow_most_unseen, narrow_least_unseen, then_most_mobility,
        then_least_mobility, then_most_unseen, then_least_unseen, open_by_mobility, open_by_unseen,
    ) = fits_of(masks)  # fmt: skip

    @compiled(inline=True)
    def _queue(
        rules: Integers, tile_sets: Words, period: int, records: Integers, entries: Integers, lanes: Words, count: int,
        dealt: Rows, hands: Words, due: Words, dues: Integers,
    ) -> None:  # fmt: skip
        """Queue lanes with a new deal for the steps in which their leader's program moves."""
        players = rules[PLAYERS]
        if rules[OPENS_BY_DOUBLE]:
            for number in range(count):
                lane = lanes[uint64(number)]
                record = lane * RECORD
                openers = everything
                if records[record + ROUND] == 0:
                    for seat in range(players):
                        hands[2 * seat] = uint64(dealt[lane * _SEATS + uint64(seat)])
                    leader, tile = opening_tile(rules, tile_sets, hands)
                    records[record + LEADER] = leader
                    openers = bit(tile)
                entries[lane * ENTRY + OPENERS] = whole(openers)
        if period == 1:
            for number in range(count):
                due[uint64(number)] = lanes[uint64(number)]
            dues[0] = count
            return
        for number in range(count):
            lane = lanes[uint64(number)]
            place = records[lane * RECORD + LEADER] - entries[lane * ENTRY + ROTATION]
            place = place + players if place < 0 else place
            # A period that is shorter than the number of players is 1 or 2.
            turn = word(place if period == players else place & (period - 1))
            due[turn * _LANES + word(dues[turn])] = lane
            dues[turn] += 1

    @compiled(inline=True)
    def _lay_out(
        rules: Integers, reads_table: bool, rows: Rows, addresses: Words, records: Integers, entries: Integers,
        first_rows: Bytes, dealt: Rows, table: Rows, due: Words, first: Word, opened: int, row: Word,
    ) -> None:  # fmt: skip
        if rules[PLAYERS] == 2:
            lay_out_2(rules, reads_table, rows, addresses, records, entries, first_rows, dealt, table, due, first, opened, row)
        elif rules[PLAYERS] == 3:
            lay_out_3(rules, reads_table, rows, addresses, records, entries, first_rows, dealt, table, due, first, opened, row)
        else:
            lay_out_4(rules, reads_table, rows, addresses, records, entries, first_rows, dealt, table, due, first, opened, row)

    @compiled(inline=True)
    def _judge(rules: Integers, rows: Rows, first_rows: Bytes, table: Rows, over: Shorts, ending: int, take: bool) -> None:
        if rules[PLAYERS] == 2:
            judge_2(rows, first_rows, table, over, ending, rules[NET], take)
        elif rules[PLAYERS] == 3:
            judge_3(rows, first_rows, table, over, ending, rules[NET], take)
        else:
            judge_4(rows, first_rows, table, over, ending, rules[NET], take)

    @compiled(inline=True)
    def _play(
        rules: Integers, most: int, programs: Integers, place: Word, reads_table: bool, rows: Rows, addresses: Words,
        marks: Words, ended: Bytes, rivals: Shorts, table: Rows, openings: Words, first_opening: Word, opened: int, row: Word,
    ) -> None:  # fmt: skip
        """One ply of every lane by the program of a place; the seat to move stands on this row of each kind.

        No hand has more than `most` placements at an end. `ended` are the bytes of `marks`; these and `rivals` are free until
        it is known which rounds end.
        """
        first = row * _WIDTH
        kind = programs[place, _FINISH]
        plain = programs[place, _PREFERENCES] == 0 and programs[place, _HAS_WEIGHTS] == 0
        if kind == _RANDOM:
            draw_words(rows, addresses, first)
        elif kind != _TOP:
            draw_long_words(rows, addresses, first)
        if reads_table:
            note_lacks(rows, _TOUCHED + row * _WIDTH)
        if plain and kind == _RANDOM and most <= _SMALL_HAND:
            choose_random_five(rows)
            place_choices(rows, ended)
            return
        if plain and kind == _RANDOM and most <= _USUAL_HAND:
            choose_random_seven(rows)
            place_choices(rows, ended)
            return
        if plain and kind == _TOP:
            choose_top(rows)
            place_choices(rows, ended)
            return
        preferences = programs[place, _PREFERENCES]
        by_double = preferences > 0 and programs[place, _FIRST_PREFERENCE] >> 1 == _DOUBLE
        fewest_doubles = programs[place, _FIRST_PREFERENCE] & 1
        fill_kept(rows, (not_doubles if fewest_doubles else doubles) if by_double else all_tiles)
        if reads_table:
            _gather_lacks(rules, rows, row)
        for number in range(1 if by_double else 0, preferences):
            code = programs[place, _FIRST_PREFERENCE + number]
            feature, fewest = code >> 1, code & 1
            if feature in (_MOBILITY, _UNSEEN):
                after_double = by_double and number == 1
                _prefer_fits(rows, table, marks, ended, rivals, feature, fewest, after_double)
                if feature == _MOBILITY:
                    open_by_mobility(rows, table, openings, first_opening, opened, rivals, fewest)
                else:
                    open_by_unseen(rows, table, openings, first_opening, opened, rivals, fewest)
            else:
                _prefer(rows, feature, fewest)
        if programs[place, _HAS_WEIGHTS]:
            mark_rivals(rows, ended)
            narrow_weighted(rows, rivals, gather(marks, rivals), _weights(programs, place))
        if kind == _RANDOM and most <= _USUAL_HAND:
            finish_random_seven(rows)
        elif kind == _RANDOM:
            finish_random_any(rows)
        elif kind == _TOP:
            finish_top(rows)
        else:
            finish_random_tile(rows)
        place_choices(rows, ended)

    @compiled()
    def _prefer_fits(
        rows: Rows, table: Rows, marks: Words, ended: Bytes, undecided: Shorts, feature: int, fewest: int, after_double: bool,
    ) -> None:  # fmt: skip
        if after_double:
            if feature == _MOBILITY:
                if fewest:
                    then_least_mobility(rows, table, marks, ended, undecided)
                else:
                    then_most_mobility(rows, table, marks, ended, undecided)
            elif fewest:
                then_least_unseen(rows, table, marks, ended, undecided)
            else:
                then_most_unseen(rows, table, marks, ended, undecided)
        elif feature == _MOBILITY:
            if fewest:
                narrow_least_mobility(rows, table, marks, ended, undecided)
            else:
                narrow_most_mobility(rows, table, marks, ended, undecided)
        elif fewest:
            narrow_least_unseen(rows, table, marks, ended, undecided)
        else:
            narrow_most_unseen(rows, table, marks, ended, undecided)

    @compiled()
    def _prefer(rows: Rows, feature: int, fewest: int) -> None:
        if feature == _PIPS:
            narrow_pips(rows, fewest)
        elif feature == _DOUBLE:
            narrow_double(rows, fewest)
        elif feature == _DISTINCT:
            narrow_distinct(rows, fewest)
        elif feature == _NEXT_ONE:
            narrow_next_lacks_one(rows, fewest)
        elif feature == _NEXT_BOTH:
            narrow_next_lacks_both(rows, fewest)
        elif feature == _OTHER_LACKS:
            narrow_other_lacks(rows, fewest)
        elif feature == _NO_FOLLOW_UP:
            narrow_no_follow_up(rows, fewest)
        else:
            narrow_equal_ends(rows, fewest)

    @compiled()
    def play(
        rules: Integers, tile_sets: Words, figures: Integers, tables: Tables, programs: Integers, period: int,
        reads_table: bool, seed: Word, first_block: Word, rotations: int, results: Results, room: Room,
    ) -> None:  # fmt: skip
        """Play the matches of the results' rounds.

        `period` is the smallest rotation of `programs` that leaves them as they are; `reads_table` says whether any of them
        asks for more than the own hand and the ends: what seats are known to lack, or what has not been seen.
        """
        players = rules[PLAYERS]
        hand_figures, begins, before, segments, lowers = tables
        scores, winners, rounds, rounds_won, totals = results
        (
            rows, addresses, records, entries, first_rows, dealt, table, marks, ended, hands, lots, fresh, done, due, dues,
            over, rivals, stocks, drawing, drawing_passes, others,
        ) = room  # fmt: skip
        to_draw = drawable(rules)
        # A hand that draws may hold all tiles of a suit but one, which is on the line.
        most = max(rules[HAND], rules[SET_VALUES]) if to_draw else rules[HAND]
        matches = rounds.shape[0]
        begun = min(matches, LANES)
        for lane in range(begun):
            done[lane] = uint64(lane)
        _begin_matches(rules, records, entries, table, done, begun, 0, seed, first_block, rotations, lots, fresh, 0)
        going_on = begun
        under_way = begun
        step = plies = 0
        row = uint64(0)
        while under_way:
            deal(rules, hand_figures, begins, before, segments, lowers, seed, fresh, going_on, table, dealt, others, stocks)
            if to_draw:
                shuffle_stocks(rules, seed, fresh, going_on, table, others, stocks)
            _queue(rules, tile_sets, period, records, entries, fresh, going_on, dealt, hands, due, dues)
            turn = row % word(period)
            first = turn * _LANES
            opened = dues[turn]
            dues[turn] = 0
            _lay_out(rules, reads_table, rows, addresses, records, entries, first_rows, dealt, table, due, first, opened, row)
            copy_row(rows, _HANDS + row * _WIDTH, _MOVER)
            shut = 0
            if to_draw:
                lay_stocks(rows, due, first, opened)
                mark_drawers(rows, ended)
                drawers = gather(marks, drawing)
                shut = draw_tiles(rules, rows, stocks, drawing_passes, drawing, drawers, _TOUCHED + row * _WIDTH, step, totals)
            _play(
                rules, most, programs, turn, reads_table, rows, addresses, marks, ended, rivals, table, due, first, opened, row
            )
            copy_row(rows, _MOVER, _HANDS + row * _WIDTH)
            begin_lines(rows, ended, table, due, first, opened, row)
            for number in range(shut):
                ended[uint64(drawing[uint64(number)])] = uint8(1)
            ending = gather(marks, over)
            if to_draw:
                take_stocks(rows, over, ending)
            # Where every lane is laid out again at the next step its old hands do no harm.
            _judge(rules, rows, first_rows, table, over, ending, period > 1 or begun + ending > matches)
            going_on, finished = settle(rules, tile_sets, figures, records, table, over, ending, hands, totals, fresh, done)
            finish(rules, records, entries, done, finished, scores, winners, rounds, rounds_won)
            # A round has as many plies as steps, and one pass of every seat once nobody can play.
            plies += ending * (step + 1) - opened * step
            again = min(finished, matches - begun)
            _begin_matches(
                rules, records, entries, table, done, again, begun, seed, first_block, rotations, lots, fresh, going_on
            )
            begun += again
            going_on += again
            under_way -= finished - again
            step += 1
            row = row + _ONE if row + _ONE < word(players) else _ZERO
        totals[PLIES] += plies + totals[BLOCKED_ROUNDS] * players
        totals[PASSES] += plies

    return play
