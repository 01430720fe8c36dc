"""Deals, compiled: `deal.deal_round` and the leader's lot into word-pair hands."""

from workers.engine import rng
from workers.engine.compile import compiled
from workers.engine.scalar.bits import bit, count, first_tile, last_tile, lowest, single, word
from workers.engine.scalar.layout import (
    ALL,
    DOUBLES,
    DRAWING,
    EMPTY,
    HAND,
    NONE,
    PLAYERS,
    TILES,
    UNRANKED,
    ZERO,
    Integers,
    Masks,
    Word,
    Words,
    typed,
)
from workers.engine.scalar.random import addressed_pair, scaled

_DEAL, _LOT, _STOCK = typed(rng.DEAL), typed(rng.LOT), typed(rng.STOCK)


@compiled()
def leader_by_lot(rules: Integers, seed: Word, block: Word) -> int:
    """`deal.first_leader_by_lot`."""
    return scaled(addressed_pair(seed, block, ZERO, _LOT, ZERO)[0], rules[PLAYERS])


@compiled()
def opening_tile(rules: Integers, tile_sets: Words, hands: Words) -> tuple[int, int]:
    """`reference.opening_tile`: (seat, tile)."""
    best_seat, best_tile = NONE, NONE
    for only_doubles in range(1, -1, -1):
        for seat in range(rules[PLAYERS]):
            low, high = hands[2 * seat], hands[2 * seat + 1]
            if only_doubles:
                low, high = low & tile_sets[DOUBLES], high & tile_sets[DOUBLES + 1]
            if (low | high) and last_tile(low, high) > best_tile:
                best_seat, best_tile = seat, last_tile(low, high)
        if best_seat >= 0:
            break
    return best_seat, best_tile


@compiled()
def deal_round(
    rules: Integers, tile_sets: Words, subsets: Masks, begins: Integers, binomials: Integers, seed: Word, block: Word,
    round_number: int, hands: Words, stock: Integers,
) -> int:  # fmt: skip
    """Deal into `hands` (`[2 * MAX_SEATS]` words) and, where tiles are drawn, into `stock` (tiles in drawing order).

    Returns the size of the stock, 0 where nothing is ever drawn.
    """
    if rules[UNRANKED]:
        _unranked_hands(rules, subsets, begins, binomials, seed, block, round_number, hands)
    else:
        _shuffled_hands(rules, seed, block, round_number, hands, stock)
    if not rules[DRAWING]:
        return ZERO
    low, high = tile_sets[ALL], tile_sets[ALL + 1]
    for seat in range(rules[PLAYERS]):
        low &= ~hands[2 * seat]
        high &= ~hands[2 * seat + 1]
    size = count(low, high)
    for position in range(size):
        stock[position] = first_tile(low, high)
        gone_low, gone_high = single(stock[position])
        low &= ~gone_low
        high &= ~gone_high
    _shuffle(stock, size, size - 1, seed, block, round_number, _STOCK)
    return size


@compiled()
def _shuffle(order: Integers, size: int, steps: int, seed: Word, block: Word, round_number: int, stream: int) -> None:
    """The first `steps` steps of Durstenfeld's shuffle of `order[:size]`."""
    even = odd = EMPTY
    for step in range(steps):
        if step % 2 == 0:
            even, odd = addressed_pair(seed, block, round_number, stream, step // 2)
        other = step + scaled(odd if step % 2 else even, size - step)
        order[step], order[other] = order[other], order[step]


@compiled()
def _unranked_hands(
    rules: Integers, subsets: Masks, begins: Integers, binomials: Integers, seed: Word, block: Word, round_number: int,
    hands: Words,
) -> None:  # fmt: skip
    """Each seat's hand is a numbered subset of the tiles that the seats before it left."""
    hand = rules[HAND]
    taken = EMPTY
    even = odd = EMPTY
    for seat in range(rules[PLAYERS]):
        if seat % 2 == 0:
            even, odd = addressed_pair(seed, block, round_number, _DEAL, seat // 2)
        among = rules[TILES] - seat * hand
        rank = scaled(odd if seat % 2 else even, binomials[among * 29 + hand])
        in_table = begins[seat] >= 0
        mask = word(subsets[begins[seat] + rank]) if in_table else _unrank(binomials, rank, hand, among)
        mask = _spread(mask, taken)
        hands[2 * seat], hands[2 * seat + 1] = mask, EMPTY
        taken |= mask


@compiled()
def _unrank(binomials: Integers, rank: int, size: int, among: int) -> Word:
    """`deal.unrank_subset` as a mask over the positions 0 to among - 1."""
    mask = EMPTY
    position = among
    for left in range(size, 0, -1):
        while binomials[position * 29 + left] > rank:
            position -= 1
        mask |= bit(position)
        rank -= binomials[position * 29 + left]
    return mask


@compiled(inline=True)
def _spread(mask: Word, taken: Word) -> Word:
    """The mask over the tiles that are not taken, as one over all tiles: a gap opens at each taken tile."""
    while taken:
        below = bit(lowest(taken)) - word(1)
        mask = (mask & below) | ((mask & ~below) << word(1))
        taken &= taken - word(1)
    return mask


@compiled()
def _shuffled_hands(rules: Integers, seed: Word, block: Word, round_number: int, hands: Words, order: Integers) -> None:
    """Hands from the front of a shuffle of the whole set; `order` is room for it."""
    size = rules[TILES]
    for tile in range(size):
        order[tile] = tile
    hand = rules[HAND]
    dealt = rules[PLAYERS] * hand
    _shuffle(order, size, min(dealt, size - 1), seed, block, round_number, _DEAL)
    for seat in range(rules[PLAYERS]):
        low = high = EMPTY
        for position in range(seat * hand, (seat + 1) * hand):
            more_low, more_high = single(order[position])
            low |= more_low
            high |= more_high
        hands[2 * seat], hands[2 * seat + 1] = low, high
