"""Deals: which hands and which stock belong to an address. The literal form; the kernel must agree with it.

On double-six a hand is unranked: seat p's word gives a number below C(remaining tiles, hand), and that number names a
subset of the remaining tiles in increasing order of their bit masks (the combinatorial number system). Larger sets, where
the number of hands can pass 64 bits, are shuffled instead (Fisher and Yates, Durstenfeld's form).
"""

from dataclasses import dataclass
from math import comb

from workers.engine.rng import DEAL, LOT, STOCK, addressed_word, scaled
from workers.engine.rules import Ruleset
from workers.engine.tiles import Tile, TileId, set_size, tile_set


@dataclass(frozen=True, slots=True)
class Deal:
    """One round's tiles: a hand for each seat in rank order, and the undealt rest in drawing order."""

    hands: tuple[tuple[Tile, ...], ...]
    stock: tuple[Tile, ...]


def unrank_subset(rank: int, size: int, among: list[TileId]) -> list[TileId]:
    """The subset number `rank` of `size` elements, subsets ordered by their masks over `among` (ascending)."""
    chosen: list[TileId] = []
    position = len(among)
    for left in range(size, 0, -1):
        while comb(position, left) > rank:
            position -= 1
        chosen.append(among[position])
        rank -= comb(position, left)
    return sorted(chosen)


def deal_round(ruleset: Ruleset, seed: int, block: int, round_number: int) -> Deal:
    """The deal with this address: a function of seed, block, round, players, hand and set alone."""
    tiles = tile_set(ruleset.set)
    deal_ids = _unranked_hands if ruleset.set == 6 else _shuffled_hands
    hands, rest = deal_ids(ruleset, seed, block, round_number)
    stock = list(rest)
    for step in range(len(stock) - 1):
        other = step + scaled(addressed_word(seed, block, round_number, STOCK, step), len(stock) - step)
        stock[step], stock[other] = stock[other], stock[step]
    return Deal(tuple(tuple(tiles[i] for i in hand) for hand in hands), tuple(tiles[i] for i in stock))


def first_leader_by_lot(ruleset: Ruleset, seed: int, block: int) -> int:
    """The seat that a fair lot sends first in this block."""
    return scaled(addressed_word(seed, block, 0, LOT, 0), ruleset.players)


def _unranked_hands(ruleset: Ruleset, seed: int, block: int, round_number: int) -> tuple[list[list[TileId]], list[TileId]]:
    rest = list(range(set_size(ruleset.set)))
    hands = []
    for seat in range(ruleset.players):
        word = addressed_word(seed, block, round_number, DEAL, seat)
        hand = unrank_subset(scaled(word, comb(len(rest), ruleset.hand)), ruleset.hand, rest)
        hands.append(hand)
        rest = [tile for tile in rest if tile not in hand]
    return hands, rest


def _shuffled_hands(ruleset: Ruleset, seed: int, block: int, round_number: int) -> tuple[list[list[TileId]], list[TileId]]:
    order = list(range(set_size(ruleset.set)))
    dealt = ruleset.players * ruleset.hand
    for step in range(min(dealt, len(order) - 1)):
        other = step + scaled(addressed_word(seed, block, round_number, DEAL, step), len(order) - step)
        order[step], order[other] = order[other], order[step]
    hands = [sorted(order[seat * ruleset.hand : (seat + 1) * ruleset.hand]) for seat in range(ruleset.players)]
    return hands, sorted(order[dealt:])
