"""What a program chooses, compiled for sets of tiles that are one word: several times as fast as `scalar.choose`.

All features of a placement are counted at once, without a branch, and each preference is a weighted sum like the weights.
"""

import numpy as np

from workers.engine.compile import compiled
from workers.engine.policies.program import Feature, Finish
from workers.engine.scalar.bits import bit, highest, lowest, ones, word
from workers.engine.scalar.layout import EMPTY, LOW, PIPS, SUITS, ZERO, Integers, Pair, Word, Words
from workers.engine.scalar.nth import nth_tile
from workers.engine.scalar.random import choice, low_choice
from workers.engine.search.layout import FINISH, KEYS, Search

_TOP, _RANDOM = int(Finish.TOP), int(Finish.RANDOM)
_PIPS, _DOUBLE, _MOBILITY, _DISTINCT = int(Feature.PIPS), int(Feature.DOUBLE), int(Feature.MOBILITY), int(Feature.DISTINCT)
_NEXT_ONE, _NEXT_BOTH, _UNSEEN = int(Feature.NEXT_LACKS_ONE), int(Feature.NEXT_LACKS_BOTH), int(Feature.UNSEEN)
_OTHER_LACKS, _NO_FOLLOW_UP, _EQUAL_ENDS = int(Feature.OTHER_LACKS), int(Feature.NO_FOLLOW_UP), int(Feature.EQUAL_ENDS)
_ONE = np.uint64(1)
WORST = -(1 << 40)
"""Less than anything is worth."""


@compiled(inline=True)
def legal_words(tile_sets: Words, hand: Word, left_end: int, right_end: int) -> Pair:
    """The tiles of a hand that join the left end, and those that join the right end where it differs."""
    left = hand & tile_sets[word(SUITS + 2 * left_end)]
    return left, EMPTY if left_end == right_end else hand & tile_sets[word(SUITS + 2 * right_end)]


@compiled(inline=True)
def ends_by(figures: Integers, tile: int, side: int, left_end: int, right_end: int) -> tuple[int, int]:
    """The ends after a tile is placed at a side (0 left); before the opening both ends are -1."""
    total = figures[word(PIPS + tile)]
    if left_end < 0:
        low = figures[word(LOW + tile)]
        return low, total - low
    outward = total - (right_end if side else left_end)
    return left_end if side else outward, outward if side else right_end


@compiled(inline=True)
def keep_best(worth: int, one: Word, side: int, most: int, left: Word, right: Word) -> tuple[int, Word, Word]:
    """(greatest worth, its placements at the left end, at the right end) once one more, of the tile `one`, is looked at."""
    if worth > most:
        most, left, right = worth, EMPTY, EMPTY
    if worth == most:
        left, right = (left, right | one) if side else (left | one, right)
    return most, left, right


@compiled(inline=True)
def best_placement(
    tile_sets: Words, figures: Integers, search: Search, row: int, left: Word, right: Word, left_end: int, right_end: int,
    hand: Word, unseen: Word, next_lacks: Word, others_lack: Word, random_word: Word,
) -> int:  # fmt: skip
    """What the program of a stage chooses among the placements `left` and `right`, coded as in `scalar.choose`.

    `unseen` are the tiles neither in the hand nor on the line.
    """
    for key in range(search.stages[word(row), KEYS]):
        if not (left | right) & ((left | right) - _ONE) and not left & right:
            break
        left, right = _narrowed(
            tile_sets, figures, search, row, key, left, right, left_end, right_end, hand, unseen, next_lacks, others_lack
        )
    return finish_words(search.stages[word(row), FINISH], left, right, left_end, right_end, random_word)


@compiled(inline=True)
def finish_words(kind: int, left: Word, right: Word, left_end: int, right_end: int, random_word: Word) -> int:
    """`scalar.choose.finish`."""
    if kind == _RANDOM:
        in_left = ones(left)
        number = choice(random_word, in_left + ones(right))
        if number >= in_left:
            return 2 * nth_tile(right, EMPTY, number - in_left) + 1
        return 2 * nth_tile(left, EMPTY, number)
    either = left | right
    tile = highest(either) if kind == _TOP else nth_tile(either, EMPTY, choice(random_word, ones(either)))
    one = bit(tile)
    fits_left, fits_right = (left & one) != 0, (right & one) != 0
    if kind == _TOP:
        to_right = fits_right & (not fits_left or right_end < left_end)
    else:
        to_right = fits_right & (not fits_left or low_choice(random_word, 2) == 1)
    return 2 * tile + (1 if to_right else 0)


@compiled(inline=True)
def _narrowed(
    tile_sets: Words, figures: Integers, search: Search, row: int, key: int, left: Word, right: Word, left_end: int,
    right_end: int, hand: Word, unseen: Word, next_lacks: Word, others_lack: Word,
) -> Pair:  # fmt: skip
    """The placements with the greatest weighted sum."""
    weights = search.keys[word(row), word(key)]
    pips, double, mobility, distinct = weights[_PIPS], weights[_DOUBLE], weights[_MOBILITY], weights[_DISTINCT]
    next_one, next_both, unseen_tiles = weights[_NEXT_ONE], weights[_NEXT_BOTH], weights[_UNSEEN]
    other, stuck, equal = weights[_OTHER_LACKS], weights[_NO_FOLLOW_UP], weights[_EQUAL_ENDS]
    kept_left = kept_right = EMPTY
    most = WORST
    side = ZERO
    rest, later = left, right
    while True:
        if rest == 0:
            if side or later == 0:
                break
            side, rest = side + 1, later
        tile = lowest(rest)
        one = bit(tile)
        rest ^= one
        first, second = ends_by(figures, tile, side, left_end, right_end)
        low = figures[word(LOW + tile)]
        total = figures[word(PIPS + tile)]
        fits = tile_sets[word(SUITS + 2 * first)] | tile_sets[word(SUITS + 2 * second)]
        followers = ones(hand & fits & ~one)
        # How many distinct values the hand keeps is what it had, alike for all placements, less those that only this tile has.
        lost = (hand & tile_sets[word(SUITS + 2 * low)] == one) + (
            (2 * low != total) & (hand & tile_sets[word(SUITS + 2 * (total - low))] == one)
        )
        next_left, next_right = (next_lacks >> word(first)) & _ONE, (next_lacks >> word(second)) & _ONE
        worth = (
            pips * total + mobility * followers + unseen_tiles * ones(unseen & fits) - distinct * lost
            + (double if 2 * low == total else 0) + (next_one if next_left | next_right else 0)
            + (next_both if next_left & next_right else 0)
            + (other if ((others_lack >> word(first)) | (others_lack >> word(second))) & _ONE else 0)
            + (stuck if followers == 0 else 0) + (equal if first == second else 0)
        )  # fmt: skip
        most, kept_left, kept_right = keep_best(worth, one, side, most, kept_left, kept_right)
    return kept_left, kept_right
