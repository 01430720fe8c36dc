"""Blocks of matches, compiled: the only function of the scalar kernel that Python calls."""

import numpy as np
import numpy.typing as npt

from workers.engine.compile import compiled
from workers.engine.policies.own_compiled import SCORES
from workers.engine.scalar.bits import word
from workers.engine.scalar.deal import deal_round, leader_by_lot, opening_tile
from workers.engine.scalar.layout import (
    GIVEN_ENDS,
    GIVEN_LEADER,
    GIVEN_PASSES,
    GIVEN_STOCK,
    MAX_SEATS,
    MAX_TILES,
    MAX_WORDS,
    NONE,
    OPENS_BY_DOUBLE,
    PLAYERS,
    ZERO,
    Integers,
    Shorts,
    Word,
    Words,
)
from workers.engine.scalar.random import block_base, decision_base
from workers.engine.scalar.round import BLOCKED, play_round
from workers.engine.scalar.settle import match_winners, next_leader, side_of
from workers.engine.search.layout import FAILED, FAILED_MATCH, Search

# Places in the totals.
PLIES, PASSES, BLOCKED_ROUNDS, TIED_BLOCKED_ROUNDS, LEADER_ROUNDS_WON = range(5)
TOTALS = 5


@compiled(entry=True)
def play_matches(
    rules: Integers, tile_sets: Words, figures: Integers, hand_figures: Integers, begins: Words, before: Shorts,
    segments: Words, lowers: Shorts, programs: Integers, seed: Word, first_block: Word, rotations: int, given: Integers,
    script: Integers, trace: Integers,
    scores: npt.NDArray[np.int32], winners: npt.NDArray[np.uint8], rounds: npt.NDArray[np.int32], rounds_won: Integers,
    totals: Integers, search: Search | None,
) -> None:  # fmt: skip
    """Play the matches of `rounds` in order; the five arrays before `search` are the output, as in `play.MatchRows`.

    `given` is empty, or it is where all rounds start, for tests that drive a position through the kernel: the words of
    the hands, then at the places GIVEN_* the rest. `search` has the plans of a line-up that is not of programs alone: numba
    compiles one form without it and one with it.
    """
    players = rules[PLAYERS]
    hands = np.zeros(2 * MAX_SEATS, np.uint64)
    lacks = np.zeros(MAX_SEATS, np.uint64)
    turns = np.zeros(MAX_SEATS, np.int64)
    stock = np.zeros(MAX_TILES, np.int64)
    words = np.zeros(MAX_WORDS, np.uint64)
    cursor = np.zeros(2, np.int64)
    places = np.zeros(MAX_SEATS, np.int64)
    for match in range(rounds.shape[0]):
        block = first_block + word(match // rotations)
        rotation = match % rotations
        for seat in range(players):
            places[word(seat)] = (seat + players - rotation) % players
        base = block_base(seed, block)
        leader = leader_by_lot(rules, seed, block)
        number = ZERO
        over, winning = False, 0
        ends, passes_in_a_row = (NONE, NONE), ZERO
        while not over:
            forced = NONE
            if given.shape[0]:
                stock_size = _take_given(given, hands, stock)
                leader = given[GIVEN_LEADER]
                ends = given[GIVEN_ENDS], given[GIVEN_ENDS + 1]
                passes_in_a_row = given[GIVEN_PASSES]
            else:
                stock_size = deal_round(
                    rules, tile_sets, hand_figures, begins, before, segments, lowers, seed, block, number, hands, stock, words
                )  # fmt: skip
            if number == 0 and rules[OPENS_BY_DOUBLE]:
                leader, forced = opening_tile(rules, tile_sets, hands)
            if search is not None:
                for seat in range(players):
                    search.seen[word(SCORES + seat)] = scores[match, seat]
            reason, winner, award, plies, passes = play_round(
                rules, tile_sets, figures, programs, places, hands, stock, stock_size, leader, forced,
                ends, passes_in_a_row, decision_base(base, number), number, lacks, turns, script, cursor, trace, search,
            )  # fmt: skip
            if search is not None and search.failure[FAILED]:
                search.failure[FAILED_MATCH] = match
                return
            number += 1
            totals[PLIES] += plies
            totals[PASSES] += passes
            if reason == BLOCKED:
                totals[BLOCKED_ROUNDS] += 1
                if winner < 0:
                    totals[TIED_BLOCKED_ROUNDS] += 1
            if winner >= 0:
                rounds_won[rotation, winner] += 1
                if winner == leader:
                    totals[LEADER_ROUNDS_WON] += 1
                for seat in range(players):
                    if side_of(rules, seat) == side_of(rules, winner):
                        scores[match, seat] += award
            over, winning = match_winners(rules, scores[match], number)
            leader = next_leader(rules, tile_sets, hands, leader, winner)
        rounds[match] = number
        winners[match] = winning


@compiled()
def _take_given(given: Integers, hands: Words, stock: Integers) -> int:
    """Lay out the given tiles; returns the size of the stock."""
    for position in range(2 * MAX_SEATS):
        hands[word(position)] = word(given[word(position)])
    size: int = given.shape[0] - GIVEN_STOCK
    for position in range(size):
        stock[word(position)] = given[word(GIVEN_STOCK + position)]
    return size
