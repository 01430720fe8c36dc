"""Bit operations on 32-bit lanes, and the one 64-bit operation that only some processors have."""

from functools import cache
from typing import Any, Final

from llvmlite import binding, ir
from numba import int32, types, uint32
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from workers.engine.compile import compiled
from workers.engine.lanes.layout import ONE32, ZERO32
from workers.engine.scalar.bits import word

_WORD = ir.IntType(64)
_DEPOSIT: Final = "llvm.x86.bmi.pdep.64"


@intrinsic
def ones32(_context: Any, _bits: Any) -> Any:
    """How many bits of a 32-bit word are set."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint32(types.uint32), generate


@intrinsic
def signed(_context: Any, _bits: Any) -> Any:
    """The same 32 bits as a signed number: vector units compare signed numbers in one instruction."""

    def generate(_context: Any, _builder: Any, _signature: Any, arguments: Any) -> Any:
        return arguments[0]

    return types.int32(types.uint32), generate


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
def _deposit_by_loop(bits, places):
    """Without such an instruction: one place after the other."""
    deposited = word(0)
    while bits:
        place = places & (~places + word(1))
        if bits & word(1):
            deposited |= place
        places ^= place
        bits >>= word(1)
    return deposited


deposit = _pdep if can_deposit() else _deposit_by_loop
"""The low bits of the first word, in turn, at the places of the set bits of the second."""


@compiled(inline=True)
def scaled32(bits, bound):
    """`rng.choice` from the high half of a word, in 32-bit steps: exact for a bound up to 28."""
    low = uint32(uint32(uint32(bits & uint32(0xFFFF)) * bound) >> uint32(16))
    return uint32(uint32(uint32(uint32(bits >> uint32(16)) * bound) + low) >> uint32(16))


@compiled(inline=True)
def lowest32(bits):
    """The lowest set bit alone; nothing of nothing."""
    return uint32(bits & uint32(ZERO32 - bits))


@compiled(inline=True)
def highest32(bits):
    """The highest set bit alone; nothing of nothing."""
    bits = uint32(bits | uint32(bits >> uint32(1)))
    bits = uint32(bits | uint32(bits >> uint32(2)))
    bits = uint32(bits | uint32(bits >> uint32(4)))
    bits = uint32(bits | uint32(bits >> uint32(8)))
    bits = uint32(bits | uint32(bits >> uint32(16)))
    return uint32(bits ^ uint32(bits >> uint32(1)))


@compiled(inline=True)
def drop_six(bits, number, first):
    """Without its lowest `number - first` set bits, where that is 0 to 6. A step a bit beats a search by halves: a suit is
    short, and each step is four instructions."""
    bits = uint32(bits & uint32(bits - ONE32)) if number > int32(first) else bits
    bits = uint32(bits & uint32(bits - ONE32)) if number > int32(first + int32(1)) else bits
    bits = uint32(bits & uint32(bits - ONE32)) if number > int32(first + int32(2)) else bits
    bits = uint32(bits & uint32(bits - ONE32)) if number > int32(first + int32(3)) else bits
    bits = uint32(bits & uint32(bits - ONE32)) if number > int32(first + int32(4)) else bits
    return uint32(bits & uint32(bits - ONE32)) if number > int32(first + int32(5)) else bits


@compiled(inline=True)
def where(bits, mask, value):
    """A value where a word has any bit of a mask, else 0. (Compared as 32 bits: numba alone would compare 64.)"""
    return value if uint32(bits & mask) != ZERO32 else ZERO32


@compiled(inline=True)
def unless(bits, mask, value):
    """A value where a word has no bit of a mask, else 0."""
    return value if uint32(bits & mask) == ZERO32 else ZERO32
