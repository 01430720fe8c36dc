"""Bits of 64-bit words, as the processor counts them.

A set of tiles is a pair of words (low, high): tile t is bit t % 64 of word t // 64. Words are `uint64`, counts and
positions `int64`; the two are never mixed in arithmetic, which numba would carry out in floating point.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from workers.engine.compile import compiled
from workers.engine.scalar.layout import EMPTY, Pair, Word

_ZERO_IS_DEFINED = ir.Constant(ir.IntType(1), 0)


def operation(argument: Any, result: Any, generate: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A function of one word that is a few instructions, which `generate` makes from a builder and the argument."""

    @intrinsic
    def operate(_context: Any, _argument: Any) -> Any:
        return result(argument), lambda _context, builder, _signature, arguments: generate(builder, arguments[0])

    return operate  # type: ignore[return-value]


ones: Callable[[Word], int] = operation(types.uint64, types.int64, lambda builder, bits: builder.ctpop(bits))
"""How many bits of a word are set."""

lowest: Callable[[Word], int] = operation(
    types.uint64, types.int64, lambda builder, bits: builder.cttz(bits, _ZERO_IS_DEFINED)
)
"""The position of the lowest set bit; 64 for an empty word."""

highest: Callable[[Word], int] = operation(
    types.uint64,
    types.int64,
    lambda builder, bits: builder.sub(ir.Constant(ir.IntType(64), 63), builder.ctlz(bits, _ZERO_IS_DEFINED)),
)
"""The position of the highest set bit; -1 for an empty word."""

word: Callable[[int], Word] = operation(types.int64, types.uint64, lambda _builder, number: number)
"""The same 64 bits as an unsigned word."""

whole: Callable[[Word], int] = operation(types.uint64, types.int64, lambda _builder, bits: bits)
"""The same 64 bits as a whole number."""


@compiled(inline=True)
def bit(position: int) -> Word:
    """The word with one bit set, at 0 to 63."""
    return word(1) << word(position)


@compiled(inline=True)
def count(low: Word, high: Word) -> int:
    """How many tiles a set has."""
    return ones(low) + ones(high)


@compiled(inline=True)
def first_tile(low: Word, high: Word) -> int:
    """The lowest tile of a set that is not empty."""
    return lowest(low) if low else 64 + lowest(high)


@compiled(inline=True)
def last_tile(low: Word, high: Word) -> int:
    """The highest tile of a set that is not empty: its heaviest."""
    return 64 + highest(high) if high else highest(low)


@compiled(inline=True)
def single(tile: int) -> Pair:
    """The set of one tile. Without a branch: which word a tile is in is as good as random."""
    one = bit(tile & 63)
    in_high = EMPTY - word(tile >> 6)
    return one & ~in_high, one & in_high
