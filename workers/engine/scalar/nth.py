"""The tile at a place of a set: one instruction deposits a bit there, where the processor has it."""

from workers.engine.compile import compiled
from workers.engine.lanes.bits import deposit
from workers.engine.scalar.bits import bit, lowest, ones
from workers.engine.scalar.layout import Word


@compiled(inline=True)
def nth_tile(low: Word, high: Word, number: int) -> int:
    """The tile number `number` of a set, in rank order; 128 at most where the set has fewer."""
    in_low = ones(low)
    bits = low if number < in_low else high
    place = number if number < in_low else number - in_low
    begin = 0 if number < in_low else 64
    return begin + lowest(deposit(bit(place), bits))
