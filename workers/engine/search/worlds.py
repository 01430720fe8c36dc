"""Hidden hands, compiled: `policies.worlds.sample_hands` over sets of tiles that are one word."""

from workers.engine.compile import compiled
from workers.engine.scalar.bits import bit, ones, word
from workers.engine.scalar.layout import ALL, EMPTY, NONE, PLAYERS, SUITS, VALUES, ZERO, Integers, Word, Words
from workers.engine.scalar.nth import nth_tile
from workers.engine.scalar.random import choice, stream_word
from workers.engine.search.layout import Search


@compiled()
def sample_worlds(
    rules: Integers, tile_sets: Words, search: Search, seat: int, hands: Words, lacks: Words, line: Word, random_word: Word,
    begin: int, end: int,
) -> None:  # fmt: skip
    """Fill the rows from `begin` to before `end` of `search.worlds` and `search.bases`."""
    players = rules[PLAYERS]
    unseen = tile_sets[ALL] & ~line & ~hands[word(2 * seat)]
    first = second = third = NONE
    first_may = second_may = third_may = EMPTY
    for distance in range(1, players):
        other = seat + distance
        other = other - players if other >= players else other
        may = unseen & ~showing(rules, tile_sets, lacks[word(other)])
        # Whoever may hold fewest stands first; of equals, the first clockwise.
        if first < 0 or ones(may) < ones(first_may):
            third, third_may, second, second_may = second, second_may, first, first_may
            first, first_may = other, may
        elif second < 0 or ones(may) < ones(second_may):
            third, third_may = second, second_may
            second, second_may = other, may
        else:
            third, third_may = other, may
    first_size = ones(hands[word(2 * first)])
    second_size = ones(hands[word(2 * second)]) if second >= 0 else ZERO
    third_size = ones(hands[word(2 * third)]) if third >= 0 else ZERO
    second_most = ones(second_may) - max(ZERO, first_size - ones(first_may & ~second_may))
    third_most = ones(third_may) - max(ZERO, first_size + second_size - ones((first_may | second_may) & ~third_may))
    for world in range(begin, end):
        stream = stream_word(random_word, world + 1)
        drawn = ZERO
        first_hand = second_hand = third_hand = EMPTY
        while True:
            first_hand, drawn = _draw(first_may, first_size, stream, drawn)
            if second < 0:
                break
            may = second_may & ~first_hand
            accepted, drawn = _accept(ones(may), second_most, second_size, stream, drawn)
            if not accepted:
                continue
            second_hand, drawn = _draw(may, second_size, stream, drawn)
            if third < 0:
                break
            may = third_may & ~first_hand & ~second_hand
            accepted, drawn = _accept(ones(may), third_most, third_size, stream, drawn)
            if accepted:
                third_hand, drawn = _draw(may, third_size, stream, drawn)
                break
        search.worlds[word(world), word(seat)] = hands[word(2 * seat)]
        search.worlds[word(world), word(first)] = first_hand
        if second >= 0:
            search.worlds[word(world), word(second)] = second_hand
        if third >= 0:
            search.worlds[word(world), word(third)] = third_hand
        search.bases[word(world)] = stream_word(~stream, 0)


@compiled(inline=True)
def showing(rules: Integers, tile_sets: Words, values: Word) -> Word:
    """All tiles that show one of the values."""
    tiles = EMPTY
    for value in range(rules[VALUES]):
        if values & bit(value):
            tiles |= tile_sets[word(SUITS + 2 * value)]
    return tiles


@compiled(inline=True)
def _number(stream: Word, drawn: int) -> Word:
    return stream_word(stream, drawn) if drawn else stream


@compiled(inline=True)
def _draw(may: Word, size: int, stream: Word, drawn: int) -> tuple[Word, int]:
    """So many of the tiles, uniformly; and how many numbers of the stream are drawn by then."""
    left = ones(may)
    if left == size:
        return may, drawn
    hand = EMPTY
    for _ in range(size):
        one = bit(nth_tile(may, EMPTY, choice(_number(stream, drawn), left)))
        drawn += 1
        left -= 1
        may ^= one
        hand |= one
    return hand, drawn


@compiled(inline=True)
def _accept(left: int, most: int, size: int, stream: Word, drawn: int) -> tuple[bool, int]:
    """Yes with the chance C(left, size) / C(most, size)."""
    if left == most:
        return True, drawn
    for taken in range(size):
        drawn += 1
        if choice(_number(stream, drawn - 1), most - taken) >= left - taken:
            return False, drawn
    return True, drawn
