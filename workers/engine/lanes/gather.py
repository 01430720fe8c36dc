"""Marked lanes: listed, and their rows brought together in columns of the work table and back."""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types, uint64
from numba.extending import intrinsic

from workers.engine.compile import compiled
from workers.engine.lanes.bits import compiles_to, freeze, write_four
from workers.engine.lanes.layout import LANES, MARKS, Rows, Shorts
from workers.engine.scalar.bits import ones, whole, word
from workers.engine.scalar.layout import Word, Words

_BYTES_TO_BITS = np.uint64(0x0102_0408_1020_4080)
"""Times eight bytes of 0 or 1: gathers them in the highest byte, which a shift by `_TO_BITS` brings down."""
_TO_BITS = np.uint64(56)
_UNMARKED = 0x80
"""The lowest number of a byte with a sign."""
_PLACES = [[place for place in range(MARKS) if bits >> place & 1] for bits in range(1 << MARKS)]
_PLACES_OF_BITS: Words = np.array(
    [sum(place << 16 * rank for rank, place in enumerate(places[half : half + 4])) for places in _PLACES for half in (0, 4)],
    np.uint64,
)
"""By eight bits: the places of the set ones from the lowest, sixteen bits each, in two words."""
_ORDER_OF_BITS: Words = np.array([sum(place << 8 * rank for rank, place in enumerate(places)) for places in _PLACES], np.uint64)
"""By eight bits: the places of the set ones from the lowest, a byte each."""
_RANKS_OF_BITS: Words = np.array(
    [sum((places.index(p) if p in places else _UNMARKED) << 8 * p for p in range(MARKS)) for places in _PLACES], np.uint64
)
"""By eight bits: for each place, a byte each, how many set ones are below it, or `_UNMARKED`."""
_MARKS, _FOUR, _FOUR_SHORTS = np.uint64(MARKS), np.uint64(4), np.uint64(0x0001_0001_0001_0001)
_EIGHT, _EIGHT_BYTES = ir.VectorType(ir.IntType(32), MARKS), ir.VectorType(ir.IntType(8), MARKS)
_PERMUTE = "llvm.x86.avx2.permd"


def _place(context: Any, builder: Any, kind: Any, array: Any, first: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [first]), _EIGHT.as_pointer())


def _permuted(builder: Any, place: Any, order: Any) -> Any:
    function = builder.module.globals.get(_PERMUTE)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(_EIGHT, [_EIGHT, _EIGHT]), _PERMUTE)
    return builder.call(function, [builder.load(place, align=4), order])


@intrinsic
def _pack(_context: Any, source: Any, _first: Any, _order: Any, target: Any, _column: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        read = _place(context, builder, signature.args[0], arguments[0], arguments[1])
        written = _place(context, builder, signature.args[3], arguments[3], arguments[4])
        order = builder.zext(builder.bitcast(arguments[2], _EIGHT_BYTES), _EIGHT)
        builder.store(_permuted(builder, read, order), written, align=4)

    return types.void(source, types.uint64, types.uint64, target, types.uint64), generate


@intrinsic
def _unpack(_context: Any, source: Any, _column: Any, _ranks: Any, target: Any, _first: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        read = _place(context, builder, signature.args[0], arguments[0], arguments[1])
        written = _place(context, builder, signature.args[3], arguments[3], arguments[4])
        ranks = builder.sext(builder.bitcast(arguments[2], _EIGHT_BYTES), _EIGHT)
        # Frozen, so that no masked store is made of this, as `bits.Operations.same` says.
        old = freeze(builder, builder.load(written, align=4))
        stays = builder.icmp_signed("<", ranks, _EIGHT(None))
        builder.store(builder.select(stays, old, _permuted(builder, read, ranks)), written, align=4)

    return types.void(source, types.uint64, types.uint64, target, types.uint64), generate


@cache
def can_pack() -> bool:
    """Whether the processor moves the eight words of 32 bits of a vector to any places by one instruction (AVX2)."""
    return compiles_to("vpsllvd", _EIGHT, lambda builder, words, by: builder.shl(words, by))


pack: Callable[[Rows, Word, Word, Rows, Word], None] = cast(Any, _pack)
"""Of eight words of 32 bits of an array, from a place on, those of an `order_of` to a place of another array.

Eight are written; what the order does not name is of no use. Only where `can_pack`.
"""
unpack: Callable[[Rows, Word, Word, Rows, Word], None] = cast(Any, _unpack)
"""The way back: words of an array, from a place on, into those of eight of another array that `ranks_of` names."""


@compiled(inline=True)
def marked(marks: Words, group: Word) -> Word:
    """The marks of eight lanes, a byte each in `marks`, as the bits of a number."""
    bits: Word = marks[group] * _BYTES_TO_BITS >> _TO_BITS
    return bits


@compiled(inline=True)
def order_of(bits: Word) -> Word:
    """Which of eight are marked, by the bits of a number, as `pack` takes it."""
    order: Word = _ORDER_OF_BITS[bits]
    return order


@compiled(inline=True)
def ranks_of(bits: Word) -> Word:
    """The same as `unpack` takes it."""
    ranks: Word = _RANKS_OF_BITS[bits]
    return ranks


@compiled()
def gather(marks: Words, lanes: Shorts) -> int:
    """The marked lanes, in order, into `lanes`; returns how many.

    Eight at a time: their marks become bits, which say where the set ones are. All eight places are written, four at once, and
    as many count as are set.
    """
    count = uint64(0)
    for number in range(LANES // MARKS):
        group = uint64(number)
        bits = marked(marks, group)
        first = group * _MARKS * _FOUR_SHORTS
        write_four(lanes, count, _PLACES_OF_BITS[bits + bits] + first)
        write_four(lanes, count + _FOUR, _PLACES_OF_BITS[bits + bits + uint64(1)] + first)
        count += word(ones(bits))
    return whole(count)
