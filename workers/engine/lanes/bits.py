"""Bit operations on the words of lanes, and the one 64-bit operation that only some processors have."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple, cast

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from workers.engine.compile import compiled
from workers.engine.lanes.layout import Bits, Masks, Shorts
from workers.engine.scalar.bits import operation, word
from workers.engine.scalar.layout import Word

_WORD = ir.IntType(64)
_DEPOSIT: Final = "llvm.x86.bmi.pdep.64"


def freeze(builder: Any, bits: Any) -> Any:
    frozen = ir.instructions.Instruction(builder.block, bits.type, "freeze", [bits])
    builder._insert(frozen)
    return frozen


def compiles_to(instruction: str, number: Any, operate: Callable[[Any, Any, Any], Any]) -> bool:
    """Whether the processor that numba compiles for has an instruction, told by an operation on two numbers that uses it.

    The target machine itself is asked, since a processor's name and its list of features may each tell half of it.
    """
    codegen = cpu_target.target_context.codegen()
    module = ir.Module()
    module.triple = binding.get_process_triple()
    function = ir.Function(module, ir.FunctionType(number, [number, number]), "operate")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(operate(builder, *function.args))
    assembly: str = codegen._tm.emit_assembly(binding.parse_assembly(str(module)))
    return instruction in assembly


@cache
def can_deposit() -> bool:
    """Whether the processor has `pdep`: where LLVM shifts with `shlx` it has that family (BMI2)."""
    return compiles_to("shlx", _WORD, lambda builder, bits, by: builder.shl(bits, by))


@cache
def can_count_in_vectors() -> bool:
    """Whether the processor counts the bits of all words of a vector by one instruction."""
    vector = ir.VectorType(ir.IntType(32), 8)

    def count(builder: Any, words: Any, _: Any) -> Any:
        return builder.call(ir.Function(builder.module, ir.FunctionType(vector, [vector]), "llvm.ctpop.v8i32"), [words])

    return compiles_to("vpopcntd", vector, count)


@intrinsic
def _pdep(_context: Any, _bits: Any, _places: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        function = builder.module.globals.get(_DEPOSIT)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(_WORD, [_WORD, _WORD]), _DEPOSIT)
        return builder.call(function, arguments)

    return types.uint64(types.uint64, types.uint64), generate


@compiled()
def _deposit_by_loop(bits: Word, places: Word) -> Word:
    """Without such an instruction: one place after the other."""
    deposited = word(0)
    while bits:
        place = places & (~places + word(1))
        if bits & word(1):
            deposited |= place
        places ^= place
        bits >>= word(1)
    return deposited


deposit: Callable[[Word, Word], Word] = cast(Any, _pdep) if can_deposit() else _deposit_by_loop
"""The low bits of the first word, in turn, at the places of the set bits of the second."""


@intrinsic
def _write_four(_context: Any, numbers: Any, _first: Any, _four: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), _WORD.as_pointer())
        builder.store(arguments[2], place, align=2)

    return types.void(numbers, types.uint64, types.uint64), generate


write_four: Callable[[Shorts, Word, Word], None] = cast(Any, _write_four)
"""Write four numbers of 16 bits, one above the other in a word, into an array from a place on."""


class Operations(NamedTuple):
    """What is done with words of one size in vectors."""

    ones: Callable[[Bits], Bits]
    """How many bits of a word are set."""
    signed: Callable[[Bits], Any]
    """The same bits as a signed number: vector units compare signed numbers in one instruction."""
    same: Callable[[Bits], Bits]
    """The same bits, whose origin the compiler forgets. A choice between something new and what was loaded from the place that
    is written would otherwise become a masked store, which takes tens of cycles on some processors without AVX-512."""
    narrowed: Callable[[Bits, Bits, Bits, Bits], tuple[Bits, Bits]]
    """Two sets of placements, each cut down to a mask of its own, if that leaves anything of the two."""
    scaled: Callable[[Bits, Bits], Bits]
    """`rng.choice` from the high half of a random word: exact for a bound up to 28."""
    lowest: Callable[[Bits], Bits]
    """The lowest set bit alone; nothing of nothing."""
    highest: Callable[[Bits], Bits]
    """The highest set bit alone; nothing of nothing."""
    where: Callable[[Bits, Bits, Bits], Bits]
    """A value where a word has any bit of a mask, else 0. (Compared in its own size: numba alone would compare 64 bits.)"""
    unless: Callable[[Bits, Bits, Bits], Bits]
    """A value where a word has no bit of a mask, else 0."""


def operations(masks: Masks) -> Operations:
    """The operations on words of the size that these masks have."""
    is_wide, sized = masks.is_wide, masks.sized
    zero, low_half = masks.number(0), np.uint64(0xFFFF_FFFF)

    @compiled(inline=True)
    def scaled(bits: Bits, bound: Bits) -> Bits:
        if is_wide:
            return sized(sized(sized(bits & low_half) * bound) >> sized(32))
        low = sized(sized(sized(bits & sized(0xFFFF)) * bound) >> sized(16))
        return sized(sized(sized(sized(bits >> sized(16)) * bound) + low) >> sized(16))

    @compiled(inline=True)
    def lowest(bits: Bits) -> Bits:
        return sized(bits & sized(zero - bits))

    @compiled(inline=True)
    def highest(bits: Bits) -> Bits:
        bits = sized(bits | sized(bits >> sized(1)))
        bits = sized(bits | sized(bits >> sized(2)))
        bits = sized(bits | sized(bits >> sized(4)))
        bits = sized(bits | sized(bits >> sized(8)))
        bits = sized(bits | sized(bits >> sized(16)))
        if is_wide:
            bits = sized(bits | sized(bits >> sized(32)))
        return sized(bits ^ sized(bits >> sized(1)))

    @compiled(inline=True)
    def where(bits: Bits, mask: Bits, value: Bits) -> Bits:
        return value if sized(bits & mask) != zero else zero

    @compiled(inline=True)
    def unless(bits: Bits, mask: Bits, value: Bits) -> Bits:
        return value if sized(bits & mask) == zero else zero

    same: Callable[[Bits], Bits] = operation(sized, sized, freeze)

    @compiled(inline=True)
    def narrowed(left: Bits, right: Bits, wanted_left: Bits, wanted_right: Bits) -> tuple[Bits, Bits]:
        less_left = sized(left & wanted_left)
        less_right = sized(right & wanted_right)
        some = sized(less_left | less_right) != zero
        return less_left if some else same(left), less_right if some else same(right)

    return Operations(
        ones=operation(sized, sized, lambda builder, bits: builder.ctpop(bits)),
        signed=operation(sized, masks.whole, lambda _builder, bits: bits),
        same=same, narrowed=narrowed, scaled=scaled, lowest=lowest, highest=highest, where=where, unless=unless,
    )  # fmt: skip
