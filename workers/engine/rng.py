"""Random numbers by address: every number of a match is a function of where it is used, none comes from a running stream.

Deals and lots come from Philox4x32-10 (Salmon et al. 2011), decisions from the mix of splitmix64 (Steele et al. 2014).

Layout, all of it; a change here raises the engine version:

- **Philox key**: word 0 is the low half of the seed, word 1 the high half.
- **Philox counter**: word 0 is `stream << 16 | number // 2`, word 1 the round from 0, words 2 and 3 the low and high half
  of the block's number. The four output words make two 64-bit numbers: `out[0] | out[1] << 32` for an even `number`,
  `out[2] | out[3] << 32` for an odd one. The rotation is no part of it, so every rotation sees the same deals.
- **Streams**: `DEAL` (number p: the hand of seat p on double-six, else step p of the shuffle), `LOT` (number 0 in round 0:
  the first leader), `STOCK` (number i: step i of the shuffle of the stock).
- **Decisions**: `decision_base(seed, block, round) + (number * 8 + seat) * GAMMA`, mixed; `number` counts the turns that
  the seat has had in this round, from 0, passes included. Equal policies in one seat so decide equally.
- **A choice among n**: the high 32 bits of the word times n, shifted right by 32, for n <= 28 (relative bias below
  2^-27); the high half of the 128-bit product for larger n.
"""

from collections.abc import Sequence
from typing import Final

MASK32: Final = 0xFFFF_FFFF
MASK64: Final = 0xFFFF_FFFF_FFFF_FFFF

GAMMA: Final = 0x9E37_79B9_7F4A_7C15
"""The increment of splitmix64: 2^64 divided by the golden ratio, odd."""
MIX_1: Final = 0xBF58_476D_1CE4_E5B9
MIX_2: Final = 0x94D0_49BB_1331_11EB

PHILOX_MULTIPLIERS: Final = (0xD251_1F53, 0xCD9E_8D57)
PHILOX_WEYL: Final = (0x9E37_79B9, 0xBB67_AE85)
PHILOX_ROUNDS: Final = 10

DEAL: Final = 0
LOT: Final = 1
STOCK: Final = 2

SEATS_PER_NUMBER: Final = 8
"""The stride between a seat's decisions: room for eight seats."""


def mix64(word: int) -> int:
    """The finaliser of splitmix64: a bijection of 64-bit words."""
    word = (word ^ word >> 30) * MIX_1 & MASK64
    word = (word ^ word >> 27) * MIX_2 & MASK64
    return word ^ word >> 31


def philox4x32(counter: Sequence[int], key: Sequence[int]) -> tuple[int, int, int, int]:
    """Philox4x32-10: four 32-bit words for a counter of four and a key of two."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(PHILOX_ROUNDS):
        product0 = c0 * PHILOX_MULTIPLIERS[0]
        product1 = c2 * PHILOX_MULTIPLIERS[1]
        c0, c1, c2, c3 = product1 >> 32 ^ c1 ^ k0, product1 & MASK32, product0 >> 32 ^ c3 ^ k1, product0 & MASK32
        k0 = k0 + PHILOX_WEYL[0] & MASK32
        k1 = k1 + PHILOX_WEYL[1] & MASK32
    return c0, c1, c2, c3


def addressed_word(seed: int, block: int, round_number: int, stream: int, number: int) -> int:
    """The 64-bit word with this address; `seed` and `block` below 2^64, `number` below 2^17."""
    counter = (stream << 16 | number // 2, round_number, block & MASK32, block >> 32)
    out = philox4x32(counter, (seed & MASK32, seed >> 32))
    return out[2] | out[3] << 32 if number % 2 else out[0] | out[1] << 32


def scaled(word: int, bound: int) -> int:
    """A number in [0, bound) from all 64 bits of `word`; relative bias below bound / 2^64."""
    return word * bound >> 64


def decision_base(seed: int, block: int, round_number: int) -> int:
    """Where the decisions of one round start."""
    return mix64(mix64(mix64(seed) + block * GAMMA & MASK64) + round_number * GAMMA & MASK64)


def decision_word(base: int, seat: int, number: int) -> int:
    """The 64-bit word of a seat's decision in its turn `number` (from 0) of the round."""
    return mix64(base + (number * SEATS_PER_NUMBER + seat) * GAMMA & MASK64)


def choice(word: int, bound: int) -> int:
    """A number in [0, bound) for a decision, by the rule of the layout above."""
    return (word >> 32) * bound >> 32 if bound <= 28 else scaled(word, bound)


class DecisionRandom:
    """The generator of one decision: number k (from 0) is `mix64(word + k * GAMMA)`, with the word itself for k = 0."""

    def __init__(self, word: int) -> None:
        self.word = word
        self._drawn = 0

    def next_word(self) -> int:
        """The next 64 bits."""
        drawn, self._drawn = self._drawn, self._drawn + 1
        return self.word if drawn == 0 else mix64(self.word + drawn * GAMMA & MASK64)

    def below(self, bound: int) -> int:
        """A number in [0, bound), bound at least 1."""
        return choice(self.next_word(), bound)
