"""Deals, compiled: `deal.deal_round` and the leader's lot into word-pair hands."""

import numpy as np
from numba import uint64

from workers.engine import rng
from workers.engine.compile import compiled
from workers.engine.lanes.bits import deposit
from workers.engine.lanes.subsets import BUCKET, BUCKET_BITS, SEGMENT, SUBSETS, UPPER_SHIFT
from workers.engine.scalar.bits import last_tile, lowest, ones, single, word
from workers.engine.scalar.layout import (
    ALL,
    DOUBLES,
    DRAWING,
    EMPTY,
    HAND,
    NONE,
    PLAYERS,
    RESERVE,
    TILES,
    UNRANKED,
    ZERO,
    Integers,
    Shorts,
    Word,
    Words,
    typed,
)
from workers.engine.scalar.random import addressed_pair, addressed_words, scaled
from workers.engine.tiles import set_size

_ALL = np.uint64((1 << set_size(6)) - 1)
_ONE, _TWO = np.uint64(1), np.uint64(2)
_BUCKET_BITS, _IN_BUCKET = np.uint64(BUCKET_BITS), np.uint64((1 << BUCKET_BITS) - 1)
_UPPER_SHIFT, _OFFSET = np.uint64(UPPER_SHIFT), np.uint64((1 << UPPER_SHIFT) - 1)
_DEAL, _LOT, _STOCK = typed(rng.DEAL), typed(rng.LOT), typed(rng.STOCK)


@compiled()
def leader_by_lot(rules: Integers, seed: Word, block: Word) -> int:
    """`deal.first_leader_by_lot`."""
    return scaled(addressed_pair(seed, block, ZERO, _LOT, ZERO)[0], rules[PLAYERS])


@compiled(inline=True)
def opening_tile(rules: Integers, tile_sets: Words, hands: Words) -> tuple[int, int]:
    """`reference.opening_tile`: (seat, tile)."""
    best_seat, best_tile = NONE, NONE
    for only_doubles in range(1, -1, -1):
        for seat in range(rules[PLAYERS]):
            low, high = hands[word(2 * seat)], hands[word(2 * seat + 1)]
            if only_doubles:
                low, high = low & tile_sets[DOUBLES], high & tile_sets[DOUBLES + 1]
            if (low | high) and last_tile(low, high) > best_tile:
                best_seat, best_tile = seat, last_tile(low, high)
        if best_seat >= 0:
            break
    return best_seat, best_tile


@compiled(inline=True)
def deal_round(
    rules: Integers, tile_sets: Words, hand_figures: Integers, begins: Words, before: Shorts, segments: Words, lowers: Shorts,
    seed: Word, block: Word, round_number: int, hands: Words, stock: Integers, words: Words,
) -> int:  # fmt: skip
    """Deal into `hands` (`[2 * MAX_SEATS]` words) and, where tiles are drawn, into `stock` (tiles in drawing order).

    Returns the size of the stock, 0 where nothing is ever drawn. `words` is room for `MAX_WORDS` random numbers.
    """
    if rules[UNRANKED]:
        _unranked_hands(
            rules, hand_figures, begins, before, segments, lowers, seed, block, round_number, hands, words
        )  # fmt: skip
    else:
        _shuffled_hands(rules, seed, block, round_number, hands, stock, words)
    if not rules[DRAWING]:
        return ZERO
    low, high = tile_sets[ALL], tile_sets[ALL + 1]
    for seat in range(rules[PLAYERS]):
        low &= ~hands[word(2 * seat)]
        high &= ~hands[word(2 * seat + 1)]
    size = ZERO
    while low:
        stock[word(size)] = lowest(low)
        low &= low - word(1)
        size += 1
    while high:
        stock[word(size)] = 64 + lowest(high)
        high &= high - word(1)
        size += 1
    # Tiles that are never drawn need no order.
    addressed_words(seed, block, round_number, _STOCK, size, words)
    _shuffle(stock, size, min(size - 1, max(ZERO, size - rules[RESERVE])), words)
    return size


@compiled(inline=True)
def _shuffle(order: Integers, size: int, steps: int, words: Words) -> None:
    """The first `steps` steps of Durstenfeld's shuffle of `order[:size]`, each with a word of its own."""
    for step in range(steps):
        other = step + scaled(words[word(step)], size - step)
        order[word(step)], order[word(other)] = order[word(other)], order[word(step)]


@compiled(inline=True)
def _unranked_hands(
    rules: Integers, hand_figures: Integers, begins: Words, before: Shorts, segments: Words, lowers: Shorts, seed: Word,
    block: Word, round_number: int, hands: Words, words: Words,
) -> None:  # fmt: skip
    """Each seat's hand is a numbered subset of the tiles that the seats before it left; see `lanes.subsets` for the tables."""
    addressed_words(seed, block, round_number, _DEAL, rules[PLAYERS], words)
    rest = _ALL
    for seat in range(rules[PLAYERS]):
        rank = word(scaled(words[word(seat)], hand_figures[word(seat), SUBSETS]))
        bucket = word(hand_figures[word(seat), BUCKET]) + (rank >> _BUCKET_BITS)
        begun = begins[bucket] & (_TWO << (rank & _IN_BUCKET)) - _ONE
        segment = segments[word(hand_figures[word(seat), SEGMENT]) + uint64(before[bucket]) + word(ones(begun)) - _ONE]
        lower = segment + rank & _OFFSET
        mask = segment >> _UPPER_SHIFT | uint64(lowers[lower])
        hand = deposit(mask, rest)
        rest ^= hand
        hands[word(2 * seat)], hands[word(2 * seat + 1)] = hand, EMPTY


@compiled(inline=True)
def _shuffled_hands(
    rules: Integers, seed: Word, block: Word, round_number: int, hands: Words, order: Integers, words: Words,
) -> None:  # fmt: skip
    """Hands from the front of a shuffle of the whole set; `order` is room for it."""
    size = rules[TILES]
    for tile in range(size):
        order[word(tile)] = tile
    hand = rules[HAND]
    dealt = rules[PLAYERS] * hand
    addressed_words(seed, block, round_number, _DEAL, dealt, words)
    step = ZERO
    for seat in range(rules[PLAYERS]):
        low = high = EMPTY
        for _ in range(hand):
            # A step of the shuffle; what is dealt is looked at no more.
            other = step + scaled(words[word(step)], size - step)
            more_low, more_high = single(order[word(other)])
            order[word(other)] = order[word(step)]
            low |= more_low
            high |= more_high
            step += 1
        hands[word(2 * seat)], hands[word(2 * seat + 1)] = low, high
