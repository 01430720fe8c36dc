"""The lane kernel against the literal rules and the scalar kernel, on every processor family that it is compiled for."""

import hashlib
import os
import random
import subprocess
import sys
from math import comb
from pathlib import Path
from typing import Any

import llvmlite.binding
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workers.engine import strategies
from tests.workers.engine.engines import ROW_FIELDS, difference, lineup
from workers.engine.compile import WIDE_KERNEL
from workers.engine.deal import unrank_subset
from workers.engine.lanes.door import period, play_in_lanes
from workers.engine.lanes.layout import LANES
from workers.engine.lanes.subsets import hand_tables
from workers.engine.play import LANE_HAND, LANE_KERNEL, SCALAR_KERNEL, Lineup, MatchRows, kernel_of, play_literally
from workers.engine.policies.program import Feature, Finish, Preference, Program
from workers.engine.policies.resolve import NAMED
from workers.engine.rules import resolve_ruleset
from workers.engine.scalar.door import play_scalar
from workers.engine.tiles import set_size

DOUBLE_NINE = {"set": 9}
NAMES = [policy.name for policy in NAMED]
WRITTEN: list[Any] = [
    {"prefer": ["double", "equal_ends", "fewest_pips", "random"]},
    {"prefer": ["next_lacks_both", "fewest_next_lacks_one", "other_lacks", "random_tile"]},
    {"prefer": ["fewest_unseen", "no_follow_up", "fewest_distinct"]},
    {"prefer": ["fewest_mobility"], "weights": {"pips": -1, "other_lacks": 3.5, "no_follow_up": -0.125}},
    # After doubles other passes count than elsewhere.
    {"prefer": ["double", "mobility", "unseen", "random"]},
    {"prefer": ["double", "unseen", "mobility"]},
    {"prefer": ["double", "fewest_unseen", "random_tile"]},
    {"prefer": ["fewest_double", "fewest_mobility", "fewest_unseen"]},
]


def in_lanes(playing: Lineup, first_block: int, blocks: int) -> MatchRows:
    rows = MatchRows.empty(blocks * playing.rotations, playing.ruleset.players, playing.rotations)
    play_in_lanes(playing, first_block, rows)
    return rows


def one_by_one(playing: Lineup, first_block: int, blocks: int) -> MatchRows:
    rows = MatchRows.empty(blocks * playing.rotations, playing.ruleset.players, playing.rotations)
    play_scalar(playing, first_block, rows)
    return rows


@st.composite
def rulesets_of_lanes(draw: Any) -> tuple[dict[str, Any], int]:
    """Every ruleset of lanes, for every number of players."""
    players = draw(st.integers(2, 4))
    ruleset, _ = draw(strategies.rulesets())
    highest = draw(st.sampled_from((6, 9)))
    hand = draw(st.integers(1, min(set_size(highest) // players, LANE_HAND)))
    ruleset |= {"set": highest, "hand": hand, "partners": False}
    if players == 4:
        ruleset["partners"] = draw(st.booleans())
    return ruleset, players


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(), table=rulesets_of_lanes(), seed=strategies.seeds,
    block=st.one_of(st.integers(0, 1000), st.integers(2**32 - 3, 2**32 + 3), strategies.blocks),
)  # fmt: skip
def test_lanes_play_as_the_literal_rules_do(
    data: st.DataObject, table: tuple[dict[str, Any], int], seed: int, block: int
) -> None:
    ruleset, players = table
    field = data.draw(st.lists(strategies.policies, min_size=players, max_size=players))
    playing = lineup(field, ruleset=ruleset, seed=seed, rotations=data.draw(st.integers(1, players)))
    assert difference(play_literally(playing, block, 2), in_lanes(playing, block, 2)) == []


@pytest.mark.parametrize("policy", [*NAMES, *WRITTEN], ids=str)
@pytest.mark.parametrize("players", [2, 3, 4])
def test_lanes_that_take_many_matches_play_as_one_after_the_other(policy: Any, players: int) -> None:
    blocks = 3 * LANES // players
    for field in ([policy, *["random"] * (players - 1)], [policy] * players):
        for ruleset in ("block", "traditional", "draw", DOUBLE_NINE, {"preset": "draw", "set": 9, "draw": {"limit": 1}}):
            playing = lineup(field, ruleset=ruleset, seed=17)
            assert difference(one_by_one(playing, 5, blocks), in_lanes(playing, 5, blocks)) == []


@pytest.mark.parametrize("partner_count", ["lowest_hand", "side_total"])
@pytest.mark.parametrize("next_leader", ["clockwise", "loser", "winner"])
def test_partners_and_alternating_policies(partner_count: str, next_leader: str) -> None:
    ruleset = {"preset": "traditional", "partners": True, "partner_count": partner_count, "next_leader": next_leader}
    playing = lineup(["linear", "random_tile", "linear", "random_tile"], ruleset=ruleset, seed=3, rotations=2)
    assert difference(one_by_one(playing, 2**40, 600), in_lanes(playing, 2**40, 600)) == []


def test_stocks_of_every_size_limits_and_reserves() -> None:
    for highest, players, hand in (
        (6, 2, 1), (6, 2, 13), (6, 3, 2), (6, 3, 9), (6, 4, 1), (6, 4, 6), (9, 2, 1), (9, 2, 14), (9, 3, 2), (9, 4, 13),
    ):  # fmt: skip
        for limit, reserve in ((None, 0), (1, 0), (2, 1), (3, 30)):
            draw = {"limit": limit, "reserve": reserve}
            ruleset = {"preset": "draw", "set": highest, "hand": hand, "draw": draw, "ends": {"rounds": 3}}
            playing = lineup(["starver", "random", "balance", "random_tile"][:players], ruleset=ruleset, seed=hand)
            assert difference(one_by_one(playing, 2**32 - 9, 300), in_lanes(playing, 2**32 - 9, 300)) == []


@settings(max_examples=100, deadline=None)
@given(seed=strategies.seeds)
def test_hands_by_number_are_those_of_the_literal_deal(seed: int) -> None:
    chosen = random.Random(seed)
    players = chosen.randint(2, 4)
    hand = chosen.randint(1, 28 // players)
    tables = hand_tables(players, hand)
    for seat, (total, bucket, segment) in enumerate(tables.figures.tolist()):
        among = 28 - seat * hand
        assert total == comb(among, hand)
        for rank in (0, total - 1, chosen.randrange(total)):
            in_bucket, position = divmod(rank, 64)
            begun = int(tables.begins[bucket + in_bucket]) & (2 << position) - 1
            found = int(tables.segments[segment + int(tables.before[bucket + in_bucket]) + begun.bit_count() - 1])
            lower = tables.lowers[(found + rank) % 2**32]
            assert found >> 32 | int(lower) == sum(1 << tile for tile in unrank_subset(rank, hand, list(range(among))))


def test_what_lanes_play() -> None:
    assert kernel_of(resolve_ruleset("block", 4)) == LANE_KERNEL
    assert kernel_of(resolve_ruleset({"preset": "traditional", "hand": 14}, 2)) == LANE_KERNEL
    assert kernel_of(resolve_ruleset("draw", 2)) == LANE_KERNEL
    assert kernel_of(resolve_ruleset({"preset": "draw", "set": 9, "hand": 14}, 3)) == WIDE_KERNEL
    assert kernel_of(resolve_ruleset({"preset": "block", "set": 9, "hand": 15}, 3)) == SCALAR_KERNEL
    assert kernel_of(resolve_ruleset({"preset": "block", "set": 9, "hand": 5, "ends": {"rounds": 5}}, 5)) == SCALAR_KERNEL
    assert kernel_of(resolve_ruleset({"preset": "block", "set": 12}, 2)) == SCALAR_KERNEL


def test_programs_are_simplified_only_where_the_finish_repeats_them() -> None:
    heaviest, double = Preference(Feature.PIPS), Preference(Feature.DOUBLE)
    assert Program((double, heaviest)).simplified() == Program((double,))
    assert Program((heaviest, double)).simplified() == Program((heaviest, double))
    assert Program((heaviest,), finish=Finish.RANDOM).simplified() == Program((heaviest,), finish=Finish.RANDOM)
    assert Program((heaviest,), (0,) * len(Feature)).simplified() == Program((heaviest,), (0,) * len(Feature))


def test_the_period_of_a_lineup() -> None:
    top, other = Program(), Program(finish=Finish.RANDOM)
    fields = [top] * 4, [top, other] * 2, [top, top, other, other], [top, top, other]
    assert [period(field) for field in fields] == [1, 2, 4, 3]


DIGEST = """
from workers.engine.lanes import bits
bits.can_count_in_vectors = lambda: {counts}
from tests.workers.engine.test_lanes import digest
print(bits.can_deposit(), digest({highest}))
"""


def digest(highest: int) -> str:
    """What all kinds of programs made of some matches."""
    seen = hashlib.sha256()
    for players in (2, 3, 4):
        for place, policy in enumerate([*NAMES, *WRITTEN]):
            ruleset = {"preset": ("block", "draw")[place % 2], "set": highest}
            rows = in_lanes(lineup([policy, *["random"] * (players - 1)], ruleset=ruleset, seed=place), 2**33, 40)
            seen.update(repr([getattr(rows, name) for name in ROW_FIELDS[4:]]).encode())
            for name in ROW_FIELDS[:4]:
                seen.update(getattr(rows, name).tobytes())
    return seen.hexdigest()


def runs_avx512() -> bool:
    """Whether this processor has the vectors of `skylake-avx512`."""
    host = llvmlite.binding.get_host_cpu_features()
    return all(host.get(f"avx512{part}") for part in ("f", "bw", "cd", "dq", "vl"))


@pytest.mark.parametrize("highest", [6, pytest.param(9, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("processor", "deposits"),
    [
        ("haswell", True),
        ("generic", False),
        pytest.param(
            "skylake-avx512", True,
            marks=[pytest.mark.slow, pytest.mark.skipif(not runs_avx512(), reason="this processor has no AVX-512")],
        ),
    ],
)  # fmt: skip
@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="names of x86 processors")
def test_other_processors_give_the_same_integers(processor: str, deposits: bool, highest: int, tmp_path: Path) -> None:
    """The first also counts bits as processors do that have an instruction for it in vectors, which this one may not have."""
    run = subprocess.run(
        [sys.executable, "-c", DIGEST.format(highest=highest, counts=deposits)], capture_output=True, text=True, timeout=600,
        env={**os.environ, "NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "BLOCKYARD_CACHE_DIR": str(tmp_path)},
        cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert run.stdout.split() == [str(deposits), digest(highest)], run.stderr
