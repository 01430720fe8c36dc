"""Every world that agrees with all passes, compiled: `policies.endgame.every_world` into the room for worlds."""

from workers.engine.compile import compiled
from workers.engine.lanes.bits import deposit
from workers.engine.scalar.bits import bit, count, lowest, ones, word
from workers.engine.scalar.layout import ALL, EMPTY, PLAYERS, ZERO, Integers, Word, Words
from workers.engine.search.layout import Search
from workers.engine.search.worlds import showing


@compiled()
def tiles_in_hands(rules: Integers, hands: Words) -> int:
    """Tiles of all hands together."""
    total = ZERO
    for seat in range(rules[PLAYERS]):
        total += count(hands[word(2 * seat)], hands[word(2 * seat + 1)])
    return total


@compiled()
def every_world(
    rules: Integers, tile_sets: Words, search: Search, seat: int, hands: Words, lacks: Words, line: Word, most: int
) -> int:
    """Fill the rows of `search.worlds` with all worlds; returns their number, or `most` + 1 as soon as there are more."""
    players = rules[PLAYERS]
    unseen = tile_sets[ALL] & ~line & ~hands[word(2 * seat)]
    first = (seat + 1) % players
    second = (seat + 2) % players
    third = (seat + 3) % players
    first_may = unseen & ~showing(rules, tile_sets, lacks[word(first)])
    second_may = unseen & ~showing(rules, tile_sets, lacks[word(second)])
    third_may = unseen & ~showing(rules, tile_sets, lacks[word(third)])
    # A seat that is not there draws nothing: its one hand is the empty one.
    first_size = ones(hands[word(2 * first)])
    second_size = ones(hands[word(2 * second)]) if players > 2 else ZERO
    third_size = ones(hands[word(2 * third)]) if players > 3 else ZERO
    found = ZERO
    first_subset = _first(first_size)
    while _is_within(first_subset, first_may, first_size):
        first_hand = deposit(first_subset, first_may)
        free = second_may & ~first_hand
        second_subset = _first(second_size)
        while _is_within(second_subset, free, second_size):
            second_hand = deposit(second_subset, free)
            last = third_may & ~first_hand & ~second_hand
            third_subset = _first(third_size)
            while _is_within(third_subset, last, third_size):
                if found == most:
                    return most + 1
                search.worlds[word(found), word(seat)] = hands[word(2 * seat)]
                if players > 3:
                    search.worlds[word(found), word(third)] = deposit(third_subset, last)
                if players > 2:
                    search.worlds[word(found), word(second)] = second_hand
                search.worlds[word(found), word(first)] = first_hand
                found += 1
                third_subset = _next(third_subset, third_size)
            second_subset = _next(second_subset, second_size)
        first_subset = _next(first_subset, first_size)
    return found


@compiled(inline=True)
def _first(size: int) -> Word:
    """The lowest subset of that size, as a word."""
    return bit(size) - word(1)


@compiled(inline=True)
def _is_within(subset: Word, tiles: Word, size: int) -> bool:
    """Whether a subset is one of so many tiles; the last of size 0 is marked by a bit beyond them all."""
    return subset >> word(ones(tiles)) == 0 and ones(tiles) >= size


@compiled(inline=True)
def _next(subset: Word, size: int) -> Word:
    """The next greater subset of the same size (Gosper's way); beyond every set after the one of size 0."""
    if size == 0:
        return bit(63)
    low = subset & (EMPTY - subset)
    ripple = subset + low
    return ripple | ((subset ^ ripple) >> word(2)) >> word(lowest(low))
