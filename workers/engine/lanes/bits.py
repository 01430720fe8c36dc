"""Bit operations on 32-bit lanes, and the one 64-bit operation that only some processors have."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, cast

from llvmlite import binding, ir
from numba import types, uint32
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from workers.engine.compile import compiled
from workers.engine.lanes.layout import ZERO32, Bits
from workers.engine.scalar.bits import operation, word
from workers.engine.scalar.layout import Word

_WORD = ir.IntType(64)
_DEPOSIT: Final = "llvm.x86.bmi.pdep.64"


ones32: Callable[[Bits], Bits] = operation(types.uint32, types.uint32, lambda builder, bits: builder.ctpop(bits))
"""How many bits of a 32-bit word are set."""

signed: Callable[[Bits], int] = operation(types.uint32, types.int32, lambda _builder, bits: bits)
"""The same 32 bits as a signed number: vector units compare signed numbers in one instruction."""


def _freeze(builder: Any, bits: Any) -> Any:
    frozen = ir.instructions.Instruction(builder.block, bits.type, "freeze", [bits])
    builder._insert(frozen)
    return frozen


same: Callable[[Bits], Bits] = operation(types.uint32, types.uint32, _freeze)
"""The same bits, whose origin the compiler forgets. A choice between something new and what was loaded from the place that is
written would otherwise become a masked store, which takes tens of cycles on some processors without AVX-512."""


@cache
def can_deposit() -> bool:
    """Whether the processor that numba compiles for has `pdep`: where LLVM shifts with `shlx` it has that family (BMI2).

    The target machine itself is asked, since a processor's name and its list of features may each tell half of it.
    """
    codegen = cpu_target.target_context.codegen()
    triple = binding.get_process_triple()
    if not triple.startswith("x86_64"):
        return False
    module = ir.Module()
    module.triple = triple
    function = ir.Function(module, ir.FunctionType(_WORD, [_WORD, _WORD]), "shift")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(builder.shl(*function.args))
    assembly: str = codegen._tm.emit_assembly(binding.parse_assembly(str(module)))
    return "shlx" in assembly


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


@compiled(inline=True)
def scaled32(bits: Bits, bound: Bits) -> Bits:
    """`rng.choice` from the high half of a word, in 32-bit steps: exact for a bound up to 28."""
    low = uint32(uint32(uint32(bits & uint32(0xFFFF)) * bound) >> uint32(16))
    return uint32(uint32(uint32(uint32(bits >> uint32(16)) * bound) + low) >> uint32(16))


@compiled(inline=True)
def lowest32(bits: Bits) -> Bits:
    """The lowest set bit alone; nothing of nothing."""
    return uint32(bits & uint32(ZERO32 - bits))


@compiled(inline=True)
def highest32(bits: Bits) -> Bits:
    """The highest set bit alone; nothing of nothing."""
    bits = uint32(bits | uint32(bits >> uint32(1)))
    bits = uint32(bits | uint32(bits >> uint32(2)))
    bits = uint32(bits | uint32(bits >> uint32(4)))
    bits = uint32(bits | uint32(bits >> uint32(8)))
    bits = uint32(bits | uint32(bits >> uint32(16)))
    return uint32(bits ^ uint32(bits >> uint32(1)))


@compiled(inline=True)
def where(bits: Bits, mask: Bits, value: Bits) -> Bits:
    """A value where a word has any bit of a mask, else 0. (Compared as 32 bits: numba alone would compare 64.)"""
    return value if uint32(bits & mask) != ZERO32 else ZERO32


@compiled(inline=True)
def unless(bits: Bits, mask: Bits, value: Bits) -> Bits:
    """A value where a word has no bit of a mask, else 0."""
    return value if uint32(bits & mask) == ZERO32 else ZERO32
