"""Error rates of the sequential test, measured: thousands of tests on matches really played, at both hypotheses.

H0, then H1, is put at the pair's own share, so that the chance to pass (alpha) and the chance to flag (beta) can be counted.
Every test plays fresh blocks: one stream of blocks in index order is cut into looks, a test takes looks until it is decided,
and the next test begins with the look after. Blocks are independent and where a test stops depends on its own blocks alone,
so the tests are independent too. (Resampling a pool of blocks would tie the tests together by the pool's own error.)

Measured with 2,000 tests each (`--slow`), where up to 0.0646 is within three standard errors:

| pair | H1 - H0 | passed at H0 | blocks a test | flagged at H1 | blocks a test |
|---|---|---|---|---|---|
| double, heaviest | 0.020 | 0.0280 | 1,511 | 0.0225 | 1,525 |
| double, two of heaviest | 0.015 | 0.0275 | 1,727 | 0.0295 | 1,740 |
| the same, upper bound of 8 alpha | 0.015 | 0.2235 | 1,257 | 0.0205 | 753 |
| the same, lower bound of 8 beta | 0.015 | 0.0155 | 725 | 0.2270 | 1,283 |

A candidate that plays at random one move in twenty, at 2 players with h0 = -0.005 and a cap of 500,000 matches, is caught at
the fourth look: 1,024 blocks, LLR -3.41.

Both levels are 0.05. Looks at whole steps overshoot the bounds, which makes the rates lower than their levels.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
import pytest

from workers.engine.play import ENGINE_VERSION, Lineup, MatchRows, play_blocks, play_literally
from workers.engine.policies import Policy, resolve_policy
from workers.engine.reference import Choose, Placement, View
from workers.engine.rng import DecisionRandom
from workers.engine.rules import Ruleset, resolve_ruleset
from workers.regressions.spec import TestSpec
from workers.stats.sprt import LOOK_STEP, Bounds, Decision, log_likelihood_ratio

ALPHA: Final = 0.05
BETA: Final = 0.05
LOOKS_A_CALL: Final = 128


@dataclass(frozen=True)
class Pair:
    """A candidate once in every seat against a field of its baseline; its share was measured once, from 10^8 matches.

    By `blockyard simulate --players N --policy CANDIDATE --policy BASELINE ... --matches 100000000 --seed 20261130` with
    engine version 1: `scores` is the histogram of the candidate's block scores.
    """

    candidate: str
    baseline: str
    players: int
    scores: tuple[int, ...]

    @property
    def share(self) -> float:
        """The share of matches that the candidate wins; its standard error is below 0.00005."""
        return sum(score * count for score, count in enumerate(self.scores)) / (sum(self.scores) * self.players)

    def lineup(self, seed: int) -> Lineup:
        """The pair as the engine plays it."""
        policies = [self.candidate, *[self.baseline] * (self.players - 1)]
        resolved = tuple(resolve_policy(name, self.players) for name in policies)
        return Lineup(resolve_ruleset("block", self.players), resolved, self.players, seed)


TWO_SEATS: Final = Pair("double", "heaviest", 2, (3_516_373, 28_702_165, 17_781_462))
THREE_SEATS: Final = Pair("double", "heaviest", 3, (4_738_040, 18_442_985, 8_934_655, 1_217_654))


def candidate_scores(rows: MatchRows, players: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """[blocks] matches that place 0 won in each block: in rotation k it sits in seat k."""
    won = rows.winners.reshape(-1, players) >> np.arange(players) & 1
    return cast("np.ndarray[Any, np.dtype[np.int64]]", won.sum(axis=1, dtype=np.int64))


def looks(pair: Pair, seed: int) -> Iterator[Counter[int]]:
    """The histograms of block scores of one look after the other, for ever."""
    lineup, first = pair.lineup(seed), 0
    while True:
        scores = candidate_scores(play_blocks(lineup, first, LOOKS_A_CALL * LOOK_STEP), pair.players)
        for look in scores.reshape(LOOKS_A_CALL, LOOK_STEP):
            yield Counter(dict(enumerate(np.bincount(look, minlength=pair.players + 1).tolist())))
        first += LOOKS_A_CALL * LOOK_STEP


@dataclass
class Measured:
    """What so many tests came to; `scores` are all blocks that they played."""

    decisions: Counter[Decision]
    scores: Counter[int]

    @property
    def tests(self) -> int:
        return self.decisions.total()

    def rate(self, decision: Decision) -> float:
        return self.decisions[decision] / self.tests

    def keeps(self, decision: Decision, level: float) -> bool:
        """Whether a wrong decision is no more frequent than its level and three standard errors."""
        return self.rate(decision) <= level + 3 * math.sqrt(level * (1 - level) / self.tests)


def measure(pair: Pair, s0: float, s1: float, tests: int, seed: int, bounds: Bounds | None = None) -> Measured:
    """So many tests of s0 against s1, one after the other on fresh blocks, each until it is decided."""
    bounds = bounds or Bounds.of_errors(ALPHA, BETA)
    stream, found = looks(pair, seed), Measured(Counter(), Counter())
    for _ in range(tests):
        scores: Counter[int] = Counter()
        decision: Decision = "undecided"
        while decision == "undecided":
            scores.update(next(stream))
            decision = bounds.decide(log_likelihood_ratio(scores, pair.players, s0, s1))
        found.decisions[decision] += 1
        found.scores.update(scores)
    return found


def prove_levels(pair: Pair, difference: float, tests: int, seed: int, bounds: Bounds | None = None) -> list[str]:
    """Which of the two levels is not kept, with H0 and then H1 at the pair's own share; prints what was measured."""
    at_h0 = measure(pair, pair.share, pair.share + difference, tests, seed, bounds)
    at_h1 = measure(pair, pair.share - difference, pair.share, tests, seed + 1, bounds)
    for name, at, wrong in (("H0", at_h0, "passed"), ("H1", at_h1, "regressed")):
        blocks = at.scores.total() / tests
        rate = at.rate(cast(Decision, wrong))
        print(f"{pair.players} players, difference {difference}, {name}: {rate:.4f} {wrong}, {blocks:.0f} blocks a test")  # noqa: T201
    kept = {"alpha": at_h0.keeps("passed", ALPHA), "beta": at_h1.keeps("regressed", BETA)}
    return [level for level, is_kept in kept.items() if not is_kept]


# Bounds of one error level that are as if eight times that level were asked for.
WRONG_UPPER: Final = Bounds(Bounds.of_errors(ALPHA, BETA).lower, Bounds.of_errors(8 * ALPHA, BETA).upper)
WRONG_LOWER: Final = Bounds(Bounds.of_errors(ALPHA, 8 * BETA).lower, Bounds.of_errors(ALPHA, BETA).upper)


def test_a_few_tests_keep_their_levels() -> None:
    assert prove_levels(THREE_SEATS, 0.02, tests=250, seed=1) == []


@pytest.mark.parametrize(("bounds", "level"), [(WRONG_UPPER, "alpha"), (WRONG_LOWER, "beta")])
def test_a_few_tests_show_a_wrong_bound(bounds: Bounds, level: str) -> None:
    assert prove_levels(THREE_SEATS, 0.02, tests=250, seed=1, bounds=bounds) == [level]


def test_the_shares_are_those_of_this_engine() -> None:
    assert ENGINE_VERSION == "1", "measure the shares again: they are those of the engine's first version"
    for pair in (TWO_SEATS, THREE_SEATS):
        blocks = 20_000
        scores = candidate_scores(play_blocks(pair.lineup(9), 0, blocks), pair.players) / pair.players
        assert abs(scores.mean() - pair.share) < 4 * scores.std() / math.sqrt(blocks)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("pair", "difference"), [(TWO_SEATS, 0.02), (THREE_SEATS, 0.015)], ids=["two seats", "three seats"])
def test_two_thousand_tests_keep_their_levels(pair: Pair, difference: float) -> None:
    assert prove_levels(pair, difference, tests=2000, seed=3) == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("bounds", "level"), [(WRONG_UPPER, "alpha"), (WRONG_LOWER, "beta")])
def test_two_thousand_tests_show_a_wrong_bound(bounds: Bounds, level: str) -> None:
    assert prove_levels(THREE_SEATS, 0.015, tests=2000, seed=3, bounds=bounds) == [level]


class Mistaken:
    """A policy that plays at random one move in twenty."""

    def __init__(self, policy: Policy, players: int) -> None:
        self._policy, self._random = policy, resolve_policy("random", players)

    def choose(self, view: View, random: DecisionRandom) -> Placement:
        return (self._random if random.below(20) == 0 else self._policy).choose(view, random)

    def check(self, ruleset: Ruleset, path: str) -> None:
        """It plays wherever both of its parts do."""
        self._policy.check(ruleset, path)

    def chooser(self) -> Choose:
        """It remembers nothing, so that one plays all matches."""
        return self.choose


MISTAKEN_SEED: Final = 77
MISTAKEN_LOOKS: Final = ((33, 209, 14), (24, 220, 12), (24, 215, 17), (26, 223, 7))
"""Blocks with scores 0, 1 and 2 of `heaviest` with a random move in twenty against `heaviest`, look by look."""
MISTAKEN_FIRST: Final = (1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 2, 1)
"""The scores of the first blocks of the first look."""


def mistaken_scores(first: int, blocks: int) -> list[int]:
    """Played by the literal rules, as any policy that is no program: half a minute of computing for two looks."""
    policy = resolve_policy("heaviest", 2)
    lineup = Lineup(resolve_ruleset("block", 2), (cast(Policy, Mistaken(policy, 2)), policy), 2, MISTAKEN_SEED)
    return cast(list[int], candidate_scores(play_literally(lineup, first, blocks), 2).tolist())


def test_a_random_move_in_twenty_is_caught_from_its_record() -> None:
    # What was played is kept, and its beginning played again: the whole of it takes a minute of computing.
    assert mistaken_scores(0, len(MISTAKEN_FIRST)) == list(MISTAKEN_FIRST)
    planned = TestSpec("x", 2, "heaviest", "heaviest", h0=-0.005, h1=0.0, max_matches=500_000).sequential(ALPHA, BETA)
    assert planned.step == LOOK_STEP
    scores, decisions = Counter[int](), list[Decision]()
    for look in MISTAKEN_LOOKS:
        assert sum(look) == LOOK_STEP
        scores.update(dict(enumerate(look)))
        decisions.append(planned.bounds.decide(log_likelihood_ratio(scores, planned.units, planned.s0, planned.s1)))
    assert decisions == ["undecided"] * 3 + ["regressed"]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_record_of_a_random_move_in_twenty_is_what_is_played() -> None:
    for look, recorded in enumerate(MISTAKEN_LOOKS):
        scores = mistaken_scores(look * LOOK_STEP, LOOK_STEP)
        assert tuple(scores.count(score) for score in range(3)) == recorded
        assert look or tuple(scores[: len(MISTAKEN_FIRST)]) == MISTAKEN_FIRST
