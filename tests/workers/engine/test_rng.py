"""Random numbers: published known answers, and the layout of this project pinned."""

import pytest

from tests.workers.engine.engines import golden
from workers.engine import rng

KNOWN = golden("random_numbers")


@pytest.mark.parametrize("vector", KNOWN["philox4x32_10"])
def test_philox_gives_the_published_answers(vector: dict[str, list[str]]) -> None:
    counter, key, out = ([int(word, 16) for word in vector[name]] for name in ("ctr", "key", "out"))
    assert list(rng.philox4x32(counter, key)) == out


def test_splitmix_gives_the_published_answers() -> None:
    seed = KNOWN["splitmix64"]["seed"]
    outputs = [rng.mix64(seed + step * rng.GAMMA & rng.MASK64) for step in range(1, 6)]
    assert outputs == KNOWN["splitmix64"]["outputs"]
    from_zero = [f"{rng.mix64(step * rng.GAMMA & rng.MASK64):016x}" for step in range(1, 4)]
    assert from_zero == KNOWN["splitmix64"]["seed0_first"]


SEED = 0x0123_4567_89AB_CDEF
BLOCK = 0xFEDC_BA98_7654_3210


def test_addressed_words_are_laid_out_as_documented() -> None:
    for stream, number in ((rng.DEAL, 0), (rng.DEAL, 1), (rng.LOT, 0), (rng.STOCK, 26), (rng.STOCK, 89)):
        out = rng.philox4x32(
            (stream << 16 | number // 2, 7, BLOCK & 0xFFFF_FFFF, BLOCK >> 32), (SEED & 0xFFFF_FFFF, SEED >> 32)
        )
        low, high = out[2 * (number % 2) : 2 * (number % 2) + 2]
        assert rng.addressed_word(SEED, BLOCK, 7, stream, number) == low | high << 32


def test_the_layout_is_pinned() -> None:
    # Computed once by this project; another value means that every match of every seed has changed.
    words = [
        rng.addressed_word(SEED, BLOCK, 0, rng.DEAL, 0), rng.addressed_word(SEED, BLOCK, 0, rng.DEAL, 1),
        rng.addressed_word(SEED, BLOCK, 9_999, rng.DEAL, 3), rng.addressed_word(SEED, BLOCK, 0, rng.LOT, 0),
        rng.addressed_word(SEED, BLOCK, 2, rng.STOCK, 25),
    ]  # fmt: skip
    assert [f"{word:016x}" for word in words] == PINNED_WORDS
    base = rng.decision_base(SEED, BLOCK, 3)
    decisions = [base, rng.decision_word(base, 0, 0), rng.decision_word(base, 7, 0), rng.decision_word(base, 1, 12)]
    assert [f"{word:016x}" for word in decisions] == PINNED_DECISIONS


PINNED_WORDS = ["f69b5950aef2adf7", "89b6573a3ceb44f4", "9cb187aea25d3bf3", "9b2e7d634e3895d3", "5a9a1a508b1d4922"]
PINNED_DECISIONS = ["4449506e461cb77f", "1fc1b0c0e5d77e35", "faa38fc2f82030aa", "b112344ffd939d14"]


def test_every_part_of_an_address_matters() -> None:
    address = (SEED, BLOCK, 1, rng.DEAL, 2)
    words = {rng.addressed_word(*address)}
    for place in range(5):
        changed = list(address)
        changed[place] += 1
        words.add(rng.addressed_word(*changed))
    words |= {rng.addressed_word(SEED, BLOCK + 2**32 & rng.MASK64, 1, rng.DEAL, 2)}
    words |= {rng.addressed_word(SEED + 2**32, BLOCK, 1, rng.DEAL, 2)}
    assert len(words) == 8


def test_choices_cover_their_range_and_its_ends() -> None:
    for bound in (1, 2, 7, 28, 29, 182):
        assert rng.choice(0, bound) == 0
        assert rng.choice(rng.MASK64, bound) == bound - 1
        assert rng.scaled(rng.MASK64, bound) == bound - 1
        found = {rng.choice(rng.mix64(step), bound) for step in range(40 * bound)}
        assert found == set(range(bound))


def test_a_decision_has_more_words_where_a_policy_asks_for_them() -> None:
    random = rng.DecisionRandom(5)
    words = [random.next_word() for _ in range(3)]
    assert words == [5, rng.mix64(5 + rng.GAMMA), rng.mix64(5 + 2 * rng.GAMMA & rng.MASK64)]
    assert 0 <= random.below(3) < 3
