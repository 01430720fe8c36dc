"""The addressed random numbers of `rng`, compiled; the layout is documented there."""

from numba import uint64

from workers.engine import rng
from workers.engine.compile import compiled
from workers.engine.scalar.bits import whole, word
from workers.engine.scalar.layout import Pair, Word, Words

_MASK32 = uint64(rng.MASK32)
_GAMMA = uint64(rng.GAMMA)
_MIX_1, _MIX_2 = uint64(rng.MIX_1), uint64(rng.MIX_2)
_MULTIPLIER_0, _MULTIPLIER_1 = (uint64(multiplier) for multiplier in rng.PHILOX_MULTIPLIERS)
_WEYL_0, _WEYL_1 = (uint64(step) for step in rng.PHILOX_WEYL)
_PHILOX_ROUNDS = rng.PHILOX_ROUNDS
_SEATS_PER_NUMBER = uint64(rng.SEATS_PER_NUMBER)
WORDS_AT_ONCE = 16
"""Two words a counter, and eight counters in the widest vectors there are."""


@compiled(inline=True)
def mix64(bits: Word) -> Word:
    """`rng.mix64`."""
    bits = (bits ^ (bits >> uint64(30))) * _MIX_1
    bits = (bits ^ (bits >> uint64(27))) * _MIX_2
    return bits ^ (bits >> uint64(31))


@compiled(inline=True)
def philox(c0: Word, c1: Word, c2: Word, c3: Word, seed: Word) -> Pair:
    """`rng.philox4x32` under a seed's key, as two 64-bit words; the counters are words below 2^32."""
    k0 = seed & _MASK32
    k1 = seed >> uint64(32)
    for _ in range(_PHILOX_ROUNDS):
        product0 = c0 * _MULTIPLIER_0
        product1 = c2 * _MULTIPLIER_1
        c0 = (product1 >> uint64(32)) ^ c1 ^ k0
        c2 = (product0 >> uint64(32)) ^ c3 ^ k1
        c1 = product1 & _MASK32
        c3 = product0 & _MASK32
        k0 = (k0 + _WEYL_0) & _MASK32
        k1 = (k1 + _WEYL_1) & _MASK32
    return c0 | (c1 << uint64(32)), c2 | (c3 << uint64(32))


@compiled(inline=True)
def addressed_pair(seed: Word, block: Word, round_number: int, stream: int, pair: int) -> Pair:
    """The words number `2 * pair` and `2 * pair + 1` of `rng.addressed_word`."""
    address = word((stream << 16) | pair)
    return philox(address, word(round_number), block & _MASK32, block >> uint64(32), seed)


@compiled(inline=True)
def addressed_words(seed: Word, block: Word, round_number: int, stream: int, count: int, words: Words) -> None:
    """The first `count` words of `rng.addressed_word`, and some more that come for nothing: they are made in vectors.

    `words` has room for `count` rounded up to a multiple of `WORDS_AT_ONCE`.
    """
    counter = word(stream << 16)
    low, high = block & _MASK32, block >> uint64(32)
    for pair in range((count + WORDS_AT_ONCE - 1) // WORDS_AT_ONCE * (WORDS_AT_ONCE // 2)):
        even, odd = philox(counter | uint64(pair), word(round_number), low, high, seed)
        words[uint64(2 * pair)] = even
        words[uint64(2 * pair + 1)] = odd


@compiled(inline=True)
def stream_word(first: Word, number: int) -> Word:
    """Number `number` (from 1) of the `rng.DecisionRandom` that begins with `first`."""
    return mix64(first + word(number) * _GAMMA)


@compiled(inline=True)
def scaled(bits: Word, bound: int) -> int:
    """`rng.scaled` for a bound below 2^32: the high word of the product."""
    small = word(bound)
    return whole((bits >> uint64(32)) * small + (((bits & _MASK32) * small) >> uint64(32)) >> uint64(32))


@compiled(inline=True)
def choice(bits: Word, bound: int) -> int:
    """`rng.choice`."""
    if bound <= 28:
        return whole((bits >> uint64(32)) * word(bound) >> uint64(32))
    return scaled(bits, bound)


@compiled(inline=True)
def low_choice(bits: Word, bound: int) -> int:
    """A number below `bound` from the low half of the word."""
    return whole((bits & _MASK32) * word(bound) >> uint64(32))


@compiled(inline=True)
def block_base(seed: Word, block: Word) -> Word:
    """The part of `rng.decision_base` that all rounds of a block share."""
    return mix64(mix64(seed) + block * _GAMMA)


@compiled(inline=True)
def decision_base(base: Word, round_number: int) -> Word:
    """`rng.decision_base` from `block_base`."""
    return mix64(base + word(round_number) * _GAMMA)


@compiled(inline=True)
def decision_word(base: Word, seat: int, number: int) -> Word:
    """`rng.decision_word`."""
    return mix64(base + (word(number) * _SEATS_PER_NUMBER + word(seat)) * _GAMMA)
