"""Policies of one's own that are compiled, as the kernel calls them (`policies.own_compiled`)."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from workers.engine.compile import compiled
from workers.engine.policies.own_compiled import (
    CHOICE_ENDS,
    CHOICE_TILES,
    CHOICES,
    HAND_COUNTS,
    HELD,
    LACKS,
    LEADER,
    LINE_ENDS,
    NEW_LEFT,
    NEW_RIGHT,
    PASSES,
    PLIES,
    PLIES_SO_FAR,
    PLY_COLUMNS,
    RANDOM,
    RANDOM_NUMBERS,
    SEAT,
    WHEREABOUTS,
)
from workers.engine.scalar.bits import bit, count, first_tile, single, whole, word
from workers.engine.scalar.layout import PLAYERS, TILES, VALUES, ZERO, Integers, Legal, Pair, Word, Words
from workers.engine.scalar.random import stream_word
from workers.engine.search.best import ends_by
from workers.engine.search.layout import FAILED, FAILED_ANSWER, FAILED_PLACE, FAILED_SEAT, Search


@intrinsic
def _enter(_context: Any, address: Any, numbers: Any, rules: Any, figures: Any) -> Any:
    """What the machine code at an address answers to pointers to what is seen, as `CompiledChoice.address` tells."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = ir.IntType(64)
        pointer = integer.as_pointer()
        kind = ir.FunctionType(integer, [pointer] * 5)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        seen, *others = [
            context.make_array(array)(context, builder, argument).data
            for array, argument in zip(signature.args[1:], arguments[1:], strict=True)
        ]
        parts = [builder.gep(seen, [ir.Constant(integer, begin)]) for begin in (LACKS, PLIES)]
        return builder.call(function, [seen, *parts, *others])

    return types.int64(address, numbers, rules, figures), generate


_call: Callable[[Word, Integers, Integers, Integers], int] = _enter  # type: ignore[assignment]


@compiled(inline=True)
def forget_plies(rules: Integers, search: Search) -> None:
    """A round begins."""
    search.seen[PLIES_SO_FAR] = 0
    for seat in range(rules[PLAYERS]):
        search.seen[word(PASSES + seat)] = 0


@compiled(inline=True)
def note_ply(search: Search, seat: int, drawn: int, tile: int, end: int) -> None:
    """One more ply of the round: `tile` is -1 for a pass, `end` for an opening or a pass."""
    begin = PLIES + PLY_COLUMNS * search.seen[PLIES_SO_FAR]
    search.seen[word(begin)], search.seen[word(begin + 1)] = seat, drawn
    search.seen[word(begin + 2)], search.seen[word(begin + 3)] = tile, end
    search.seen[PLIES_SO_FAR] += 1
    if tile < 0:
        search.seen[word(PASSES + seat)] += 1


@compiled()
def choose_by_own(
    rules: Integers, figures: Integers, search: Search, row: int, place: int, legal: Legal, ends: tuple[int, int], leader: int,
    seat: int, hands: Words, lacks: Words, line: Pair, random_word: Word,
) -> int:  # fmt: skip
    """What the function of a stage chooses, coded as in `scalar.choose`; what it does wrong stands in `search.failure`."""
    seen = search.seen
    seen[SEAT], seen[LEADER], seen[LINE_ENDS], seen[LINE_ENDS + 1] = seat, leader, ends[0], ends[1]
    for each in range(rules[PLAYERS]):
        seen[word(HAND_COUNTS + each)] = count(hands[word(2 * each)], hands[word(2 * each + 1)])
        for value in range(rules[VALUES]):
            seen[word(LACKS + each * rules[VALUES] + value)] = whole((lacks[word(each)] >> word(value)) & bit(0))
    for number in range(RANDOM_NUMBERS):
        seen[word(RANDOM + number)] = whole((stream_word(random_word, number) if number else random_word) >> word(32))
    # IN_HAND is 1 and ON_LINE 2: a bit of each.
    for tile in range(min(rules[TILES], 64)):
        seen[word(WHEREABOUTS + tile)] = whole(
            ((hands[word(2 * seat)] >> word(tile)) & bit(0)) | ((line[0] >> word(tile)) & bit(0)) << word(1)
        )
    for tile in range(64, rules[TILES]):
        seen[word(WHEREABOUTS + tile)] = whole(
            ((hands[word(2 * seat + 1)] >> word(tile - 64)) & bit(0)) | ((line[1] >> word(tile - 64)) & bit(0)) << word(1)
        )
    held = ZERO
    low, high = hands[word(2 * seat)], hands[word(2 * seat + 1)]
    while low | high:
        tile = first_tile(low, high)
        one = single(tile)
        low, high = low & ~one[0], high & ~one[1]
        seen[word(HELD + held)] = tile
        held += 1
    choices = ZERO
    for side in range(2):
        low, high = (legal[2], legal[3]) if side else (legal[0], legal[1])
        while low | high:
            tile = first_tile(low, high)
            one = single(tile)
            low, high = low & ~one[0], high & ~one[1]
            left, right = ends_by(figures, tile, side, ends[0], ends[1])
            seen[word(CHOICE_TILES + choices)], seen[word(CHOICE_ENDS + choices)] = tile, ends[1] if side else ends[0]
            seen[word(NEW_LEFT + choices)], seen[word(NEW_RIGHT + choices)] = left, right
            choices += 1
    seen[CHOICES] = choices
    answer = _call(search.entries[word(row)], seen, rules, figures) - 1
    if answer < 0 or answer >= choices:
        failure = search.failure
        if failure[FAILED] == 0:
            failure[FAILED], failure[FAILED_PLACE], failure[FAILED_SEAT], failure[FAILED_ANSWER] = 1, place, seat, answer
        answer = ZERO
    side = 1 if answer >= count(legal[0], legal[1]) else 0
    chosen: int = seen[word(CHOICE_TILES + answer)]
    return 2 * chosen + side
