"""Bits of 64-bit words, as the processor counts them.

A set of tiles is a pair of words (low, high): tile t is bit t % 64 of word t // 64. Words are `uint64`, counts and
positions `int64`; the two are never mixed in arithmetic, which numba would carry out in floating point.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from workers.engine.compile import compiled
from workers.engine.scalar.layout import EMPTY

_ZERO_IS_DEFINED = ir.Constant(ir.IntType(1), 0)


@intrinsic
def ones(_context: Any, _word: Any) -> Any:
    """How many bits of a word are set."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def lowest(_context: Any, _word: Any) -> Any:
    """The position of the lowest set bit; 64 for an empty word."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], _ZERO_IS_DEFINED)

    return types.int64(types.uint64), generate


@intrinsic
def highest(_context: Any, _word: Any) -> Any:
    """The position of the highest set bit; -1 for an empty word."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.sub(ir.Constant(ir.IntType(64), 63), builder.ctlz(arguments[0], _ZERO_IS_DEFINED))

    return types.int64(types.uint64), generate


@intrinsic
def word(_context: Any, _number: Any) -> Any:
    """The same 64 bits as an unsigned word."""

    def generate(_context: Any, _builder: Any, _signature: Any, arguments: Any) -> Any:
        return arguments[0]

    return types.uint64(types.int64), generate


@intrinsic
def whole(_context: Any, _word: Any) -> Any:
    """The same 64 bits as a whole number."""

    def generate(_context: Any, _builder: Any, _signature: Any, arguments: Any) -> Any:
        return arguments[0]

    return types.int64(types.uint64), generate


@compiled(inline=True)
def bit(position):
    """The word with one bit set, at 0 to 63."""
    return word(1) << word(position)


@compiled(inline=True)
def nth(bits, number):
    """The position of the set bit number `number`, counted from the lowest as 0."""
    for _ in range(number):
        bits &= bits - word(1)
    return lowest(bits)


@compiled(inline=True)
def nth_tile(low, high, number):
    """The tile number `number` of a set, in rank order."""
    in_low = ones(low)
    return nth(low, number) if number < in_low else 64 + nth(high, number - in_low)


@compiled(inline=True)
def count(low, high):
    """How many tiles a set has."""
    return ones(low) + ones(high)


@compiled(inline=True)
def first_tile(low, high):
    """The lowest tile of a set that is not empty."""
    return lowest(low) if low else 64 + lowest(high)


@compiled(inline=True)
def last_tile(low, high):
    """The highest tile of a set that is not empty: its heaviest."""
    return 64 + highest(high) if high else highest(low)


@compiled(inline=True)
def single(tile):
    """The set of one tile."""
    return (bit(tile), EMPTY) if tile < 64 else (EMPTY, bit(tile - 64))
