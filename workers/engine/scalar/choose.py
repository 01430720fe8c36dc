"""Policies, compiled: the programs of `policies.program` over sets of tiles.

The legal placements are two sets of tiles: those that join the left end (or open the line), and those that join the right
end where it differs. A placement is coded as `2 * tile + side`, side 0 for left.
"""

from workers.engine.compile import compiled
from workers.engine.policies.program import MAX_PREFERENCES, Feature, Finish
from workers.engine.scalar.bits import (
    bit,
    count,
    first_tile,
    last_tile,
    single,
    word,
)
from workers.engine.scalar.layout import (
    ALL,
    DOUBLES,
    EMPTY,
    LOW,
    NONE,
    PIP_CLASSES,
    PIPS,
    PLAYERS,
    SUITS,
    VALUES,
    ZERO,
    Integers,
    Legal,
    Pair,
    Word,
    Words,
)
from workers.engine.scalar.nth import nth_tile
from workers.engine.scalar.random import choice, low_choice

SCRIPTED = 3
"""A finish beside those of `Finish`, for tests that walk a tree: the placement whose number stands next in a script."""

_TOP, _RANDOM = int(Finish.TOP), int(Finish.RANDOM)
_PIPS, _DOUBLE, _MOBILITY, _DISTINCT = int(Feature.PIPS), int(Feature.DOUBLE), int(Feature.MOBILITY), int(Feature.DISTINCT)
_NEXT_ONE, _NEXT_BOTH, _UNSEEN = int(Feature.NEXT_LACKS_ONE), int(Feature.NEXT_LACKS_BOTH), int(Feature.UNSEEN)
_OTHER_LACKS, _NO_FOLLOW_UP, _EQUAL_ENDS = int(Feature.OTHER_LACKS), int(Feature.NO_FOLLOW_UP), int(Feature.EQUAL_ENDS)
_FEATURES = len(Feature)

# Places in an encoded program.
_FINISH, _HAS_WEIGHTS, _PREFERENCES, _FIRST_PREFERENCE = 0, 1, 2, 3
_FIRST_WEIGHT = _FIRST_PREFERENCE + MAX_PREFERENCES


@compiled(inline=True)
def is_plain(programs: Integers, place: int) -> bool:
    """Whether a program has no preferences and no weights, so that its finish alone decides."""
    return bool(programs[word(place), _PREFERENCES] == 0 and programs[word(place), _HAS_WEIGHTS] == 0)


@compiled(inline=True)
def finish(
    kind: int, legal: Legal, left_end: int, right_end: int, random_word: Word, script: Integers, cursor: Integers,
) -> int:  # fmt: skip
    """The placement that a finish picks from the legal sets (left low, left high, right low, right high)."""
    left_low, left_high, right_low, right_high = legal
    low, high = left_low | right_low, left_high | right_high
    if kind in (_RANDOM, SCRIPTED):
        in_left = count(left_low, left_high)
        choices = in_left + count(right_low, right_high)
        number = choice(random_word, choices)
        if kind == SCRIPTED and choices > 1:
            number = script[cursor[0]]
            cursor[0] += 1
        # One way for both ends: which one it is nobody can foretell.
        to_right = number >= in_left
        tile = nth_tile(
            right_low if to_right else left_low, right_high if to_right else left_high,
            number - in_left if to_right else number,
        )  # fmt: skip
        return 2 * tile + (1 if to_right else 0)
    tile = last_tile(low, high) if kind == _TOP else nth_tile(low, high, choice(random_word, count(low, high)))
    low, high = single(tile)
    fits_left = ((left_low & low) | (left_high & high)) != 0
    fits_right = ((right_low & low) | (right_high & high)) != 0
    if kind == _TOP:
        to_right = fits_right & (not fits_left or right_end < left_end)
    else:
        to_right = fits_right & (not fits_left or low_choice(random_word, 2) == 1)
    return 2 * tile + (1 if to_right else 0)


@compiled(inline=True)
def choose(
    rules: Integers, tile_sets: Words, figures: Integers, programs: Integers, place: int, legal: Legal,
    ends: tuple[int, int], seat: int, hands: Words, lacks: Words, line: Pair, random_word: Word, script: Integers,
    cursor: Integers,
) -> int:  # fmt: skip
    """`program.select` for the seat to move; `ends` is (-1, -1) before the opening, `line` the set of placed tiles."""
    for preference in range(programs[word(place), _PREFERENCES]):
        if count(legal[0], legal[1]) + count(legal[2], legal[3]) == 1:
            break
        code = programs[word(place), word(_FIRST_PREFERENCE + preference)]
        feature, fewest = code >> 1, code & 1
        if feature == _PIPS:
            legal = _narrow_pips(tile_sets, figures, legal, fewest)
        elif feature == _DOUBLE:
            legal = _narrow_double(tile_sets, legal, fewest)
        else:
            legal = _narrow(rules, tile_sets, figures, programs, place, feature, fewest, legal, ends, seat, hands, lacks, line)
    if programs[word(place), _HAS_WEIGHTS]:
        legal = _narrow(rules, tile_sets, figures, programs, place, NONE, ZERO, legal, ends, seat, hands, lacks, line)
    return finish(programs[word(place), _FINISH], legal, ends[0], ends[1], random_word, script, cursor)


@compiled(inline=True)
def _narrow_pips(tile_sets: Words, figures: Integers, legal: Legal, fewest: int) -> Legal:
    low, high = legal[0] | legal[2], legal[1] | legal[3]
    tile = first_tile(low, high) if fewest else last_tile(low, high)
    alike = PIP_CLASSES + 2 * figures[word(PIPS + tile)]
    low, high = tile_sets[word(alike)], tile_sets[word(alike + 1)]
    return legal[0] & low, legal[1] & high, legal[2] & low, legal[3] & high


@compiled(inline=True)
def _narrow_double(tile_sets: Words, legal: Legal, fewest: int) -> Legal:
    low, high = tile_sets[DOUBLES], tile_sets[DOUBLES + 1]
    if fewest:
        low, high = ~low, ~high
    kept = legal[0] & low, legal[1] & high, legal[2] & low, legal[3] & high
    return kept if kept[0] | kept[1] | kept[2] | kept[3] else legal


@compiled()
def _narrow(
    rules: Integers, tile_sets: Words, figures: Integers, programs: Integers, place: int, feature: int, fewest: int,
    legal: Legal, ends: tuple[int, int], seat: int, hands: Words, lacks: Words, line: Pair,
) -> Legal:  # fmt: skip
    """The placements that are best in one feature, or in the weighted sum where `feature` is -1."""
    kept_low = kept_high = kept_right_low = kept_right_high = EMPTY
    best = -(1 << 40)
    for side in range(2):
        low = legal[2] if side else legal[0]
        high = legal[3] if side else legal[1]
        while low | high:
            tile = first_tile(low, high)
            tile_low, tile_high = single(tile)
            low &= ~tile_low
            high &= ~tile_high
            left, right = _ends_after(figures, tile, side, ends)
            if feature >= 0:
                worth = _feature(feature, rules, tile_sets, figures, tile, left, right, seat, hands, lacks, line)
            else:
                worth = 0
                for one in range(ZERO, _FEATURES):
                    weight = programs[word(place), word(_FIRST_WEIGHT + one)]
                    if weight:
                        worth += weight * _feature(one, rules, tile_sets, figures, tile, left, right, seat, hands, lacks, line)
            if fewest:
                worth = -worth
            if worth > best:
                best = worth
                kept_low = kept_high = kept_right_low = kept_right_high = EMPTY
            if worth == best:
                if side:
                    kept_right_low |= tile_low
                    kept_right_high |= tile_high
                else:
                    kept_low |= tile_low
                    kept_high |= tile_high
    return kept_low, kept_high, kept_right_low, kept_right_high


@compiled(inline=True)
def _ends_after(figures: Integers, tile: int, side: int, ends: tuple[int, int]) -> tuple[int, int]:
    """`reference.ends_after`."""
    if ends[0] < 0:
        low = figures[word(LOW + tile)]
        return low, figures[word(PIPS + tile)] - low
    if side:
        return ends[0], figures[word(PIPS + tile)] - ends[1]
    return figures[word(PIPS + tile)] - ends[0], ends[1]


@compiled()
def _feature(
    feature: int, rules: Integers, tile_sets: Words, figures: Integers, tile: int, left: int, right: int, seat: int,
    hands: Words, lacks: Words, line: Pair,
) -> int:  # fmt: skip
    """One of `program.features` for placing `tile`, after which the ends are `left` and `right`."""
    tile_pips: int = figures[word(PIPS + tile)]
    if feature == _PIPS:
        return tile_pips
    if feature == _DOUBLE:
        return 1 if 2 * figures[word(LOW + tile)] == tile_pips else 0
    if feature == _EQUAL_ENDS:
        return 1 if left == right else 0
    if feature in (_NEXT_ONE, _NEXT_BOTH):
        after = seat + 1 if seat + 1 < rules[PLAYERS] else 0
        lacks_left, lacks_right = lacks[word(after)] & bit(left), lacks[word(after)] & bit(right)
        if feature == _NEXT_ONE:
            return 1 if lacks_left or lacks_right else 0
        return 1 if lacks_left and lacks_right else 0
    if feature == _OTHER_LACKS:
        for other in range(rules[PLAYERS]):
            if other != seat and lacks[word(other)] & (bit(left) | bit(right)):
                return 1
        return 0
    tile_low, tile_high = single(tile)
    own_low, own_high = hands[word(2 * seat)], hands[word(2 * seat + 1)]
    kept_low, kept_high = own_low & ~tile_low, own_high & ~tile_high
    if feature == _DISTINCT:
        distinct = 0
        for value in range(rules[VALUES]):
            if (kept_low & tile_sets[word(SUITS + 2 * value)]) | (kept_high & tile_sets[word(SUITS + 2 * value + 1)]):
                distinct += 1
        return distinct
    fits_low = tile_sets[word(SUITS + 2 * left)] | tile_sets[word(SUITS + 2 * right)]
    fits_high = tile_sets[word(SUITS + 2 * left + 1)] | tile_sets[word(SUITS + 2 * right + 1)]
    if feature == _UNSEEN:
        unseen_low = tile_sets[ALL] & ~own_low & ~line[0]
        unseen_high = tile_sets[ALL + 1] & ~own_high & ~line[1]
        return count(unseen_low & fits_low, unseen_high & fits_high)
    mobility = count(kept_low & fits_low, kept_high & fits_high)
    if feature == _NO_FOLLOW_UP:
        return 1 if mobility == 0 else 0
    return mobility
